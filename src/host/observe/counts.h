/* counts.h - what SHMEM_STATS counts: counts.c counts, stats_text.c and stats.c print. */
#ifndef SHI_COUNTS_H
#define SHI_COUNTS_H

#include <stdint.h>
#include <stdio.h>

#include "host/ops/span.h"
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
    int up, traces; /* there are statistics; there is a trace */
} shi_counts;

/* A call of the program has ended: count it, and add it to the trace. */
void shi_counts_span(const struct shi_span *s);

/* The proxy took n requests of kernels in one round, at whose start `deep` were in the ring or under way. Call it only when
 * shi_world.watched: counting reads the ring's head, a cache line that kernels write. */
void shi_counts_ring(uint64_t n, uint64_t deep);

/* For the trace: a kernel ran between these times. Any thread. */
void shi_counts_kernel(const char *kernel, uint64_t start_ns, uint64_t end_ns);

/* ---- stats_text.c ------------------------------------------------------------------------------------------------ */

/* Print what this PE counted. */
void shi_stats_text(FILE *f);

/* Collective: one PE gets what all PEs counted: 1 there. Else 0, -ENOMEM, or -ECANCELED: a PE has failed meanwhile (host/survive). */
int shi_stats_gather(void);

/* Collective: the PEs that live. NULL: all. */
struct shmem_team;
extern struct shmem_team *(*shi_stats_team)(void);

/* The PE with 1, after that: print a table of all. Pair of shi_stats_gather: it frees what that allocated. */
void shi_stats_table(FILE *f);

#endif
