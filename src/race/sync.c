/* sync.c - see sync.h. */
#include "race/sync.h"

#include <sched.h>
#include <stdlib.h>

#include "race/node.h"

uint64_t race_sync_key(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29 ^ b) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 32 ^ c) * 0x94d049bb133111ebu;
    return (h ^ h >> 31) | 1;
}

/* Adjacent words have adjacent clocks: find() begins at the entry that has these bits of the key. */
enum { ADJACENT = 16, ADJACENT_AT = 1 };

uint64_t race_sync_word(int pe, int segment, uint64_t offset)
{
    enum { WORD = 8 };
    uint64_t key = race_sync_key((uint64_t)pe << 8 | (uint64_t)(segment + 1), offset / WORD / ADJACENT, 5);
    return (key & ~((uint64_t)(ADJACENT - 1) << ADJACENT_AT)) | offset / WORD % ADJACENT << ADJACENT_AT;
}

static void lock(struct race_clock *c)
{
    enum { SPINS = 200 };
    for (int tries = 0; __atomic_exchange_n(&c->lock, 1, __ATOMIC_ACQUIRE); tries++) /* A3 */
        if (tries >= SPINS)
            sched_yield();
}

static void unlock(struct race_clock *c)
{
    __atomic_store_n(&c->lock, 0, __ATOMIC_RELEASE); /* R3 */
}

static struct race_clock *find(uint64_t key, int make)
{
    enum { PROBES = 16 };
    uint64_t *keys = race_node.shared->sync_key;
    size_t at = 0, first = (key >> 20) / ADJACENT * ADJACENT + (key >> ADJACENT_AT) % ADJACENT;
    for (size_t i = 0; i < PROBES; i++) {
        at = (first + i) % RACE_SYNCS;
        uint64_t k = __atomic_load_n(&keys[at], __ATOMIC_RELAXED);
        if (k == 0 && !make)
            return NULL;
        if (k == key ||
            (k == 0 && (__atomic_compare_exchange_n(&keys[at], &k, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || k == key)))
            break;
    }
    return (struct race_clock *)(race_node.syncs + at * race_dim.bytes);
}

void race_sync_prefetch(uint64_t key)
{
    const struct race_clock *c = find(key, 0);
    if (c)
        __builtin_prefetch(c, 1);
}

/* Under the clock's lock. What the thread has given at this version of its clock is in it: all but its epoch. */
static void give(struct race_thread *u, struct race_clock *c)
{
    uint64_t inside = c->inside;
    uint32_t *t = race_t(c, u->actor), epoch = *race_t(u->clock, u->actor);
    if (u->self && c->giver == u->self && c->version == u->version)
        *t = *t > epoch ? *t : epoch;
    else
        race_clock_join(c, u->clock);
    c->giver = u->self, c->version = u->version;
    c->inside = u->self && inside == u->self ? inside : 0;
}

void race_sync_give_to(struct race_thread *u, struct race_clock *c)
{
    lock(c);
    give(u, c);
    unlock(c);
    race_clock_tick(u);
}

void race_sync_take_from(struct race_thread *u, struct race_clock *c)
{
    lock(c);
    if (!u->self || c->inside != u->self) {
        if (race_clock_join(u->clock, c))
            race_clock_changed(u);
        c->inside = u->self;
    }
    unlock(c);
}

void race_sync_give(struct race_thread *u, uint64_t key, const struct race_also *also)
{
    struct race_clock *c = find(key, 1);
    lock(c);
    give(u, c);
    if (also) {
        race_clock_deliver(c, also->stream, also->target, also->delivered);
        if (also->exact)
            race_clock_exact(c, (struct race_exact){(uint16_t)also->stream, (uint16_t)also->target, also->exact});
    }
    unlock(c);
    race_clock_tick(u);
}

void race_sync_take(struct race_thread *u, uint64_t key)
{
    struct race_clock *c = find(key, 0);
    if (c)
        race_sync_take_from(u, c);
}

/* ---- of this process ------------------------------------------------------------------------------------------------ */

enum { LOCALS = 1024 };
static struct race_clock *local[LOCALS]; /* by a hash of the object's address; objects may share one */

struct race_clock *race_sync_local(const void *object)
{
    struct race_clock **at = &local[race_sync_key((uintptr_t)object, 0, 0) >> 32 & (LOCALS - 1)],
                      *c = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (c)
        return c;
    struct race_clock *new = calloc(1, race_dim.bytes);
    if (!new)
        abort();
    if (__atomic_compare_exchange_n(at, &c, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return new;
    free(new);
    return c;
}
