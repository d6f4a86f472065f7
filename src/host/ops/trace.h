/* trace.h - SHMEM_TRACE: what this PE did and when, kept in its part of the trace. */
#ifndef SHI_TRACE_H
#define SHI_TRACE_H

#include <stddef.h>

#include "host/util/telling.h"

/* Start this PE's part of the trace `path`, of at most `bytes`; the newest events are kept. 0, or -errno after one line. */
int shi_trace_up(const char *path, size_t bytes);

/* Add an event, from any thread. The name is routine's without what all have in common. */
void shi_trace_add(const char *routine, const struct shi_trace_event *e);

/* End the part. Join all parts where `join`; the others' must be ended. */
void shi_trace_down(void);
void shi_trace_join_all(const char *path);

#endif
