/*
 * sweep.h - the sizes of a sweep: from 1 B to a limit in steps of the square root of 2, and one case for each. Arguments of the programs: the
 * largest size or 0, the smallest.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "bench.h"

enum { SWEEP_MAX = 56, SWEEP_BURST_BYTES = 16 << 20, SWEEP_BURST = 16 };

struct sweep {
    char *remote, *local;
    size_t bytes;
    long burst; /* operations before a quiet or a reply */
};

static size_t sweep_least = 1;

/* Fill bytes[] up to and including limit; return how many. */
static inline int sweep_sizes(size_t *bytes, size_t limit)
{
    int n = 0;
    for (double size = 1; n < SWEEP_MAX && size < (double)limit * 1.01; size *= 1.4142135623730951) {
        size_t now = (size_t)(size + 0.5);
        if (now >= sweep_least && (n == 0 || bytes[n - 1] != now))
            bytes[n++] = now;
    }
    return n;
}

/* The limit: the program's argument, or most. Sets the smallest size. */
static inline size_t sweep_limit(int argc, char **argv, size_t most)
{
    if (argc > 2)
        sweep_least = strtoull(argv[2], NULL, 0);
    size_t asked = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    return asked ? asked : most;
}

/* The number of operations of a burst: SWEEP_BURST, fewer of long ones. */
static inline long sweep_burst(size_t bytes)
{
    size_t fit = SWEEP_BURST_BYTES / bytes;
    return fit < 1 ? 1 : fit > SWEEP_BURST ? SWEEP_BURST : (long)fit;
}

/* Collective: time loop for all sizes, on PE 0 alone or on all PEs, and print a row for each. unit: BENCH_US for single operations,
 * BENCH_GB_PER_S for bursts. ops: operations in a call with a burst of 1. */
static inline void sweep_run(const char *bench, enum bench_unit unit, size_t limit, char *remote, char *local, int joint, int ops,
                             void (*loop)(void *arg, long calls))
{
    static struct bench_case cases[SWEEP_MAX];
    static struct sweep of[SWEEP_MAX];
    size_t bytes[SWEEP_MAX];
    int n = sweep_sizes(bytes, limit);

    for (int i = 0; i < n; i++) {
        of[i] = (struct sweep){remote, local, bytes[i], unit == BENCH_US ? 1 : sweep_burst(bytes[i])};
        cases[i] = (struct bench_case){bench, "heap", NULL, unit, bytes[i], (double)(of[i].burst * ops), loop, &of[i], 0, {0}};
    }
    shmem_barrier_all();
    if (joint)
        bench_joint(cases, n);
    else if (shmem_my_pe() == 0)
        bench_local(cases, n);
    shmem_barrier_all();
}

#endif
