/*
 * stats.h - SHMEM_STATS and SHMEM_TRACE: count this PE's calls, their bytes, targets and time; print or write them at the
 * end.
 */
#ifndef SHI_STATS_H
#define SHI_STATS_H

/* Start counting according to the settings; 0, or -errno after one line. Pair: shi_stats_stop. */
int shi_stats_up(void);

/* Collective: print or write what the settings ask for, and stop counting. */
void shi_stats_stop(void);

/* The job is aborted: report where the parts of the trace are. */
void shi_stats_abort(void);

#endif
