/* trace.h - SHMEM_TRACE: record this PE's calls and their times in its part of the trace. */
#ifndef SHI_TRACE_H
#define SHI_TRACE_H

#include <stddef.h>

#include "host/util/trace_format.h"

/* Start this PE's part of the trace `path`, of at most `bytes`; the newest events are kept. 0, or -errno. */
int shi_trace_up(const char *path, size_t bytes);

/* Collective, between start and end of the parts: barriers by which oshinfo aligns the nodes' clocks, SHI_TRACE_AT_START or
 * SHI_TRACE_AT_END. */
void shi_trace_compare_clocks(int when);

/* Add an event, from any thread; thread 0: the calling one. */
void shi_trace_add(const char *routine, const struct shi_trace_event *e);

/* End the part. 0, or -errno when the disk was full before all events were written. */
int shi_trace_down(void);

/* Join the parts of all PEs, which must be ended. 0, or -errno when they cannot be joined. */
int shi_trace_join_all(const char *path);

#endif
