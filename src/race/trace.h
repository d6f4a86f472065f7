/*
 * trace.h - SHMEM_TRACE: the races that are reported, as events of the PE's trace, which the trace's file shows as arrows between the accesses.
 *
 * The later access of a race is made now. For the earlier one each actor keeps when it made the first access of an epoch from a place: an access
 * has the time of the first one from its place since its thread's last event by which others could learn of it. Later entries replace earlier ones,
 * so an access may have no time. Kernels' accesses have none. Without a trace nothing is kept.
 */
#ifndef RACE_TRACE_H
#define RACE_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct race_trace_access {
    int pe;
    uint64_t bits, when; /* as in cell.h */
    const char *source, *routine;
};
/* The time now; 0: there is no trace. */
uint64_t race_trace_now(void);
/* A race of `bytes`; the calling thread makes the later access, at this time. */
void race_trace_add(const struct race_trace_access *earlier, const struct race_trace_access *later, size_t bytes, uint64_t later_ns);

#endif
