/*
 * stats.h - SHMEM_STATS and SHMEM_TRACE: what this PE asked for, how much, to whom, and how long it took.
 *
 * When either is set, every context gets the table in which everything misses, so that put, get and the like come by
 * here on their slow halves only; collectives, waits and the like test one word at either end.
 */
#ifndef SHI_STATS_H
#define SHI_STATS_H

#include "host/ops/state.h"
#include "host/util/telling.h"

/* One call, from its beginning to the end of the scope it is declared in. Only calls that return are counted. */
struct shi_span {
    uint64_t began_ns;             /* 0: not counted */
    const char *routine;
    const struct shmem_team *team; /* of pe; NULL: the world */
    size_t bytes;                  /* to each target */
    int pe;                        /* a number of the team, SHI_TO_ALL (its other members), SHI_TO_NONE */
    enum shi_family family;
    enum shi_way way;
};

/* Start counting as the settings say; 0, or -errno after one line. Collective: print or write what they ask for. */
int shi_stats_up(void);
void shi_stats_down(const char *routine);

/* The job ends here: say what becomes of the trace. */
void shi_stats_abort(void);

/* The cold ends of a span. */
void shi_span_begin(struct shi_span *s, enum shi_family family, const char *routine, const struct shmem_team *team,
                    int pe, size_t bytes) __attribute__((cold));
void shi_span_add(const struct shi_span *s) __attribute__((cold));

/* The proxy took n requests of kernels in one round, at whose start `deep` were in the ring or under way. Only where
 * shi_world.watched: to count those takes the ring's head away from the kernels. */
void shi_stats_ring(uint64_t n, uint64_t deep);

static inline void shi_span_end(struct shi_span *s)
{
    if (shi_unlikely(s->began_ns != 0))
        shi_span_add(s);
}

/* Count the rest of the scope as one call. */
#define SHI_SPAN(NAME, FAMILY, ROUTINE, TEAM, PE, BYTES)                                                             \
    struct shi_span NAME __attribute__((cleanup(shi_span_end)));                                                     \
    NAME.began_ns = 0;                                                                                               \
    if (shi_unlikely(shi_world.watched))                                                                             \
        shi_span_begin(&NAME, FAMILY, ROUTINE, TEAM, PE, BYTES)

#endif
