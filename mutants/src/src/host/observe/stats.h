/*
 * stats.h - SHMEM_STATS and SHMEM_TRACE: count this PE's calls, their bytes, targets and time; print or write them at the
 * end.
 */
#ifndef SHI_STATS_H
#define SHI_STATS_H

#include <stdint.h>

/* Start counting according to the settings; 0, or -errno after one line. Pair: shi_stats_stop. */
int shi_stats_up(void);

/* Collective: print or write what the settings ask for, and stop counting. */
void shi_stats_stop(void);

/* The job is aborted: report where the parts of the trace are. */
void shi_stats_abort(void);

/* The proxy took n requests of kernels in one round, at whose start `deep` were in the ring or under way. Call it only when
 * shi_world.watched: counting reads the ring's head, a cache line that kernels write. */
void shi_stats_ring(uint64_t n, uint64_t deep);

/* 1: there is a trace. */
int shi_stats_traces(void);

/* For the trace: a kernel ran between these times. Any thread. */
void shi_stats_kernel(const char *kernel, uint64_t start_ns, uint64_t end_ns);

#endif
