/* span.c - begin a span, and count it at its end: the code for SHMEM_CHECK, SHMEM_STATS, SHMEM_TRACE and ThreadSanitizer. */
#include "host/ops/span.h"

#include "host/ops/caller.h"

static void (*on_end)(const struct shi_span *s);

void shi_span_on_end(void (*count)(const struct shi_span *s))
{
    on_end = count;
}

void shi_span_begin(struct shi_span *s, enum shi_family family, const char *routine, const struct shmem_team *team, int pe,
                    size_t bytes)
{
    int inside = shi_world.check && shi_caller_enter(routine);
    uint64_t now = shi_world.watched ? shi_now_ns() : 0;
    shi_tsan_release();
    *s = (struct shi_span){.began_ns = now, .begun = 1, .inside = inside, .looked_ns = now, .routine = routine, .team = team, .bytes = bytes, .pe = pe,
                           .family = family, .way = SHI_BY_STORES};
}

void shi_span_count(const struct shi_span *s)
{
    if (s->began_ns)
        on_end(s);
    if (s->inside)
        shi_caller_leave();
    if (s->family != SHI_PUTS && s->family != SHI_SIGNALS)
        shi_tsan_acquire();
    shi_tsan_release();
}
