/*
 * span.h - SHMEM_STATS and SHMEM_TRACE: measure each call from its beginning to its end; observe/stats.h counts them.
 * SHMEM_CHECK=1: no two calls overlap that may not (caller.h). ThreadSanitizer: calls order threads (util/tsan.h).
 *
 * When one of these is set, every context has the empty table, so that put, get and atomics begin a span on their slow path only;
 * collectives and waits test one word at their beginning and end.
 */
#ifndef SHI_SPAN_H
#define SHI_SPAN_H

#include "host/ops/state.h"
#include "host/util/trace_format.h"

/* One call, from its beginning to the end of the scope it is declared in. Only calls that return are counted. */
struct shi_span {
    uint64_t began_ns;             /* 0: not counted */
    int begun;                     /* 1: shi_span_count follows */
    int inside;                    /* 1: and shi_caller_leave */
    const char *routine;
    const struct shmem_team *team; /* of pe; NULL: the world */
    size_t bytes;                  /* to each target */
    int pe;                        /* a number of the team, SHI_TO_ALL (its other members), SHI_TO_NONE */
    enum shi_family family;
    enum shi_way way;
    uint16_t track;                /* of the trace: 0: the calling thread's, SHI_TRACE_REQUESTS */
    /* For the trace's arrows. Memory is named by this PE's addresses. */
    const void *at;                /* the call writes to [at, + extent) of pe; NULL: nowhere, or only the word */
    size_t extent;
    const void *word;              /* it updates this word, or has waited for it; NULL: none */
    size_t word_bytes;
    uint64_t value;                /* which the word has then, or which ended the wait, in its low bytes */
    int has_value;                 /* 0: not known */
    uint64_t looked_ns, false_ns;  /* a wait: before the last look; before the last one that did not satisfy it, 0: none */
};

/* Call `count` at the end of every span; set before shi_world.watched. It is called from any thread. */
void shi_span_on_end(void (*count)(const struct shi_span *s));

/* The beginning and the end of a span, with shi_world.spans. */
void shi_span_begin(struct shi_span *s, enum shi_family family, const char *routine, const struct shmem_team *team,
                    int pe, size_t bytes) __attribute__((cold));
void shi_span_count(const struct shi_span *s) __attribute__((cold));

/* A wait has looked at its words, in vain. Returns 0. */
static inline int shi_span_in_vain(struct shi_span *s)
{
    if (shi_unlikely(s->began_ns != 0)) {
        s->false_ns = s->looked_ns;
        s->looked_ns = shi_now_ns();
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the look comes after this time: util/trace_arrows.c */
    }
    return 0;
}

/* The wait has ended because this word has this value. */
static inline void shi_span_ended_by(struct shi_span *s, const void *word, size_t bytes, uint64_t value)
{
    if (shi_likely(s->began_ns == 0))
        return;
    s->word = word;
    s->word_bytes = bytes;
    s->value = value;
    s->has_value = 1;
}

static inline void shi_span_end(struct shi_span *s)
{
    if (shi_unlikely(s->begun))
        shi_span_count(s);
}

/* Count the rest of the scope as one call. */
#define SHI_SPAN(NAME, FAMILY, ROUTINE, TEAM, PE, BYTES)                                                             \
    struct shi_span NAME __attribute__((cleanup(shi_span_end)));                                                     \
    NAME.began_ns = 0;                                                                                               \
    NAME.begun = 0;                                                                                                  \
    if (shi_unlikely(shi_world.spans))                                                                               \
        shi_span_begin(&NAME, FAMILY, ROUTINE, TEAM, PE, BYTES)

#endif
