/*
 * span.h - SHMEM_STATS and SHMEM_TRACE: measure each call from its beginning to its end; observe/stats.h counts them.
 *
 * When either is set, every context has the empty table, so that put, get and atomics begin a span on their slow path only;
 * collectives and waits test one word at their beginning and end.
 */
#ifndef SHI_SPAN_H
#define SHI_SPAN_H

#include "host/ops/state.h"
#include "host/util/trace_format.h"

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

/* Call `count` at the end of every span; set before shi_world.watched. It is called from any thread. */
void shi_span_on_end(void (*count)(const struct shi_span *s));

/* The beginning and the end of a span, with SHMEM_STATS or SHMEM_TRACE. */
void shi_span_begin(struct shi_span *s, enum shi_family family, const char *routine, const struct shmem_team *team,
                    int pe, size_t bytes) __attribute__((cold));
void shi_span_count(const struct shi_span *s) __attribute__((cold));

static inline void shi_span_end(struct shi_span *s)
{
    if (shi_unlikely(s->began_ns != 0))
        shi_span_count(s);
}

/* Count the rest of the scope as one call. */
#define SHI_SPAN(NAME, FAMILY, ROUTINE, TEAM, PE, BYTES)                                                             \
    struct shi_span NAME __attribute__((cleanup(shi_span_end)));                                                     \
    NAME.began_ns = 0;                                                                                               \
    if (shi_unlikely(shi_world.watched))                                                                             \
        shi_span_begin(&NAME, FAMILY, ROUTINE, TEAM, PE, BYTES)

#endif
