/*
 * counts.h - what SHMEM_STATS counts, between stats.c, which counts, and stats_text.c, which prints.
 */
#ifndef SHI_COUNTS_H
#define SHI_COUNTS_H

#include <stdint.h>
#include <stdio.h>

#include "host/util/trace_format.h"

struct shi_counter {
    uint64_t calls, bytes, ns;
};

enum { SHI_ROUTINES = 128 };

/* A collective routine or barrier. */
struct shi_routine {
    const char *name; /* NULL: free */
    uint64_t calls, ns, longest_ns;
};

/* Of this PE. */
extern struct shi_counts {
    struct shi_counter family[SHI_FAMILIES], way[SHI_WAYS];
    struct shi_counter (*to)[SHI_TARGETED]; /* [n_pes] */
    struct shi_routine routine[SHI_ROUTINES];
    struct {
        uint64_t requests, rounds, deepest;
    } ring;
    uint64_t start_ns;
    int up;
} shi_counts;

/* Print what this PE counted. */
void shi_stats_text(FILE *f);

/* Collective: give PE 0 what all PEs counted. 0, or -ENOMEM. */
int shi_stats_gather(void);

/* PE 0, after that: print a table of all PEs. Pair of shi_stats_gather: it frees what that allocated. */
void shi_stats_table(FILE *f);

#endif
