/*
 * trace.c - see trace.h.
 *
 *   word             written by         read by            order
 *   times.lock       its actor, reports  the same          taken with acquire and freed with release, by one that finds it free; without it a time
 *                                                          is not kept, or not known: nothing waits for it
 *   times.at         owner of the lock   owner of the lock
 */
#include "race/trace.h"

#include <stdio.h>
#include <string.h>

#include "host/util/trace_format.h"
#include "race/clock.h"
#include "race/node.h"
#include "race/place.h"

static const struct shi_trace_calls *trace; /* NULL: there is no trace */

/* The actor's times, whose lock is free and now taken; NULL: it was not free. */
static struct race_times *lock(unsigned actor)
{
    struct race_times *t = (struct race_times *)race_node.times + actor;
    return __atomic_exchange_n(&t->lock, 1, __ATOMIC_ACQUIRE) ? NULL : t;
}

static void unlock(struct race_times *t)
{
    __atomic_store_n(&t->lock, 0, __ATOMIC_RELEASE);
}

static struct race_time *time_of(struct race_times *t, uint32_t epoch, uint32_t place)
{
    return &t->at[(epoch * 0x9e3779b1u ^ place * 0x85ebca6bu) >> 16 & (RACE_TIMES - 1)];
}

/* Threads that share the last row have epochs in common, and a kernel's work-items have no place that comes here. */
static void used(uint32_t place)
{
    const struct race_thread *u = race_thread;
    struct race_times *t = u && u->number < RACE_ROWS - 1 ? lock(u->actor) : NULL;
    if (!t)
        return;
    struct race_time *at = time_of(t, u->epoch, place);
    if (!at->ns || at->epoch != u->epoch || at->place != place)
        *at = (struct race_time){u->epoch, (uint16_t)place, trace->thread(), trace->now_ns()};
    unlock(t);
}

/* libfulmar calls it in shmem_init. */
RACE_API void fulmar_race_trace_1(const struct shi_trace_calls *calls);
RACE_API void fulmar_race_trace_1(const struct shi_trace_calls *calls)
{
    trace = calls;
    race_place_used = used;
}

/* As a text of JSON. */
static void print(const struct race_trace_access *a, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s %s", a->source, a->routine);
    for (char *c = text; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = '?';
}

uint64_t race_trace_now(void)
{
    return trace ? trace->now_ns() : 0;
}

void race_trace_add(const struct race_trace_access *earlier, const struct race_trace_access *later, size_t bytes, uint64_t later_ns)
{
    if (!trace)
        return;
    char name[SHI_TRACE_NAME_BYTES];
    struct shi_trace_event e = {.start_ns = later_ns, .bytes = bytes, .to = earlier->pe, .family = SHI_TRACE_RACE};
    struct race_times *t = lock(RACE_ACTOR_OF(earlier->bits));
    if (t) {
        const struct race_time *at = time_of(t, (uint32_t)earlier->when, RACE_PLACE_OF(earlier->bits));
        if (at->epoch == (uint32_t)earlier->when && at->place == RACE_PLACE_OF(earlier->bits))
            e.earlier_ns = at->ns, e.earlier_thread = at->thread;
        unlock(t);
    }
    print(earlier, e.earlier, sizeof e.earlier);
    print(later, name, sizeof name);
    trace->add(name, &e);
}
