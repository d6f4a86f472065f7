/* kernel.c - see kernel.h: clocks of groups and work-items, their accesses and atomics. */
#include "race/kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "race/clock.h"
#include "race/page.h"
#include "race/record.h"
#include "race/shadow.h"
#include "race/stream.h"
#include "race/sync.h"
#include "ze_cpu/race.h"

static struct race_clock *new_clock(const struct race_clock *from)
{
    struct race_clock *c = calloc(1, race_dim.bytes);
    if (!c)
        abort();
    if (from)
        race_clock_join(c, from);
    return c;
}

static void forget(struct race_clock **c)
{
    free(*c);
    *c = NULL;
}

/* ---- clocks of threads, queues and events ---------------------------------------------------------------------------- */

static pthread_mutex_t clocks = PTHREAD_MUTEX_INITIALIZER;

/* SYCL's runtime appends commands by threads of its own. submitter: the thread that waits meanwhile, see fulmar_race_submit. ended: the commands that
 * threads have waited for; NULL where there is no such runtime. It may leave out that a command depends on one that has ended. */
static pthread_mutex_t submitting = PTHREAD_MUTEX_INITIALIZER;
static struct race_thread *submitter;
static struct race_clock *ended;
char race_queue_ended;

RACE_API void fulmar_race_submit(int begins);
void fulmar_race_submit(int begins)
{
    struct race_thread *u = race_self();
    if (begins)
        pthread_mutex_lock(&submitting);
    pthread_mutex_lock(&clocks);
    submitter = begins ? u : NULL;
    if (u && !ended)
        ended = new_clock(NULL);
    pthread_mutex_unlock(&clocks);
    if (!begins)
        pthread_mutex_unlock(&submitting);
}

void race_kernel_now(void **clock)
{
    struct race_thread *u = race_self();
    if (!u || !race_running)
        return;
    race_sync_take_from(u, race_sync_local(&race_queue_ended)); /* of calls that have ended since the launch was called, too */
    pthread_mutex_lock(&clocks);
    *clock = *clock ? *clock : new_clock(NULL);
    race_sync_give_to(u, *clock);
    if (submitter && submitter != u) {
        race_sync_give_to(submitter, *clock);
        race_clock_join(*clock, ended);
    }
    pthread_mutex_unlock(&clocks);
}

void race_kernel_reach(void *const *clock)
{
    struct race_thread *u = race_self();
    pthread_mutex_lock(&clocks);
    if (u && race_running && *clock) {
        race_sync_take_from(u, *clock);
        if (ended)
            race_clock_join(ended, *clock);
    }
    pthread_mutex_unlock(&clocks);
}

/* Threads that have waited for the same queue know what each of them has seen. */
RACE_API void fulmar_race_waited(void **clock);
void fulmar_race_waited(void **clock)
{
    race_kernel_reach(clock);
    race_kernel_now(clock);
}

void race_kernel_join(void **clock, void *const *other)
{
    pthread_mutex_lock(&clocks);
    if (*other && *other != *clock) {
        *clock = *clock ? *clock : new_clock(NULL);
        race_clock_join(*clock, *other);
    }
    pthread_mutex_unlock(&clocks);
}

void race_kernel_drop(void **clock)
{
    pthread_mutex_lock(&clocks);
    free(*clock);
    *clock = NULL;
    pthread_mutex_unlock(&clocks);
}

/* ---- groups ------------------------------------------------------------------------------------------------------------ */

static unsigned half_of(uint32_t item)
{
    return item != 0;
}

static void begin_half(struct race_thread *u, const struct race_clock *after)
{
    u->clock = new_clock(after);
    race_thread_enter(u);
    u->born = u->epoch;
    u->before = after ? *race_t(after, u->actor) : 0;
}

void *race_kernel_group(void *const *clock, uint64_t first, uint32_t items)
{
    if (!race_running)
        return NULL;
    struct race_group_of_items *g = calloc(1, sizeof *g + items * sizeof *g->item);
    if (!g)
        return NULL;
    g->first = first, g->items = items;
    pthread_mutex_lock(&clocks);
    for (unsigned h = 0; h < 2; h++)
        begin_half(&g->half[h], *clock);
    pthread_mutex_unlock(&clocks);
    return g;
}

void race_kernel_group_end(void *group, void **clock)
{
    struct race_group_of_items *g = group;
    pthread_mutex_lock(&clocks);
    *clock = *clock ? *clock : new_clock(NULL);
    for (uint32_t i = 0; i < g->items; i++) {
        struct race_item *it = &g->item[i];
        if (it->own)
            race_clock_join(*clock, it->own);
        forget(&it->own), forget(&it->release), forget(&it->acquire);
    }
    for (unsigned h = 0; h < 2; h++) {
        *race_t(g->half[h].clock, g->half[h].actor) = g->half[h].epoch;
        race_clock_join(*clock, g->half[h].clock);
        race_thread_leave(&g->half[h]);
        forget(&g->half[h].clock);
    }
    race_stream_end_kernel(*clock);
    pthread_mutex_unlock(&clocks);
    free(g);
}

void race_kernel_done(struct race_group_of_items *g, uint32_t item, const struct race_thread *u)
{
    struct race_thread *h = &g->half[half_of(item)];
    if (h->epoch != u->epoch || h->item != u->item)
        race_record_turn(u->actor, u->epoch, u->item);
    h->epoch = u->epoch, h->item = u->item;
}

struct race_thread *race_kernel_item(struct race_group_of_items *g, uint32_t item)
{
    unsigned h = half_of(item);
    struct race_item *it = &g->item[item];
    static __thread struct race_thread own;
    struct race_thread *u = &own;
    own = g->half[h];
    own.clock = it->own ? it->own : own.clock;
    own.before = it->before > own.before ? it->before : own.before;
    own.item = (uint32_t)(g->first + item + 1);
    own.after = it->after > g->met[h] ? it->after : g->met[h];
    race_clock_epoch(u, u->epoch);
    if (g->half[h].item != u->item) /* each epoch is of one work-item */
        race_clock_tick(u);
    race_kernel_done(g, item, u);
    return u;
}

struct race_thread *race_kernel_learns(struct race_group_of_items *g, uint32_t item)
{
    struct race_item *it = &g->item[item];
    if (!it->own && item != 0) /* the first one is an actor by itself */
        it->own = new_clock(g->half[1].clock);
    return race_kernel_item(g, item);
}

/* The work-items from first on have met: each knows what all of them know. */
void race_kernel_meet(void *group, uint32_t first, uint32_t end)
{
    struct race_group_of_items *g = group;
    int all = first == 0 && end >= g->items;
    struct race_thread *leader = &g->half[0], *others = &g->half[1];
    struct race_clock *known = new_clock(others->clock);
    uint32_t before = 0; /* of the others */
    for (uint32_t i = first; i < end && i < g->items; i++) {
        if (g->item[i].own)
            race_clock_join(known, g->item[i].own);
        if (i && g->item[i].before > before)
            before = g->item[i].before;
    }
    if (first == 0)
        race_clock_join(known, leader->clock);
    for (unsigned h = 0; h < 2; h++)
        if (h || first == 0)
            *race_t(known, g->half[h].actor) = g->half[h].epoch;
    for (uint32_t i = first; i < end && i < g->items; i++) {
        struct race_item *it = &g->item[i];
        if (i != 0 && all)
            forget(&it->own);
        else if (i != 0 && it->own)
            race_clock_join(it->own, known);
        else if (i != 0)
            it->own = new_clock(known);
        it->after = others->epoch;
        if (i)
            it->before = before;
    }
    if (first == 0)
        race_clock_join(leader->clock, known);
    if (all)
        race_clock_join(others->clock, known);
    for (unsigned h = 0; h < 2; h++) {
        g->met[h] = all ? g->half[h].epoch : g->met[h];
        race_clock_epoch(&g->half[h], g->half[h].epoch);
        race_clock_tick(&g->half[h]);
        g->half[h].item = 0; /* of no work-item yet */
    }
    free(known);
}

/* ---- atomics ----------------------------------------------------------------------------------------------------------- */

static int acquires(int order)
{
    return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

static int releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

/* Of a word: by the shared clock where PEs' routines find it, and by the one of atomics of the PE's own threads. */
static uint64_t key_of(uint64_t addr)
{
    struct race_where w;
    race_page_find((uintptr_t)addr, &w);
    return race_sync_word(w.pe, w.segment, w.offset);
}

static void take_word(struct race_thread *u, uint64_t addr)
{
    if (race_kernel_symmetric(addr))
        race_sync_take(u, key_of(addr));
    race_sync_take_from(u, race_sync_local((void *)(uintptr_t)addr));
}

/* The actor's epoch in the clock is what is given, twice: not the new epochs that follow. */
static void give_word(struct race_thread *u, uint64_t addr)
{
    uint32_t *t = race_t(u->clock, u->actor), given = *t;
    if (race_kernel_symmetric(addr))
        race_sync_give(u, key_of(addr), NULL);
    *t = given;
    race_sync_give_to(u, race_sync_local((void *)(uintptr_t)addr));
    *t = given;
}

void race_kernel_learned(struct race_group_of_items *g, uint32_t item, const struct race_clock *from)
{
    const struct race_thread *h = &g->half[half_of(item)];
    uint32_t t = *race_t(from, h->actor), *known = t >= h->born ? &g->item[item].after : &g->item[item].before;
    *known = t > *known ? t : *known;
}

/* The load of before is over: what it saw is known, or will be after a fence. */
void race_kernel_look(struct race_group_of_items *g, uint32_t item)
{
    struct race_item *it = &g->item[item];
    uint64_t addr = it->looked;
    it->looked = 0;
    if (!addr)
        return;
    struct race_clock *seen = new_clock(NULL);
    struct race_thread into = g->half[half_of(item)];
    into.clock = seen;
    take_word(&into, addr);
    if (acquires(it->looked_how)) {
        race_clock_join(race_kernel_learns(g, item)->clock, seen);
        race_kernel_learned(g, item, seen);
        free(seen);
    } else if (it->acquire) {
        race_clock_join(it->acquire, seen);
        free(seen);
    } else {
        it->acquire = seen;
    }
}

void race_kernel_fence(void *group, uint32_t item, int order)
{
    struct race_group_of_items *g = group;
    struct race_item *it = &g->item[item];
    if (it->inside)
        return;
    race_kernel_look(g, item);
    if (acquires(order) && it->acquire) {
        race_clock_join(race_kernel_learns(g, item)->clock, it->acquire);
        race_kernel_learned(g, item, it->acquire);
        forget(&it->acquire);
    }
    if (releases(order)) {
        struct race_thread *u = race_kernel_item(g, item);
        forget(&it->release);
        it->release = new_clock(u->clock);
        race_clock_tick(u);
        race_kernel_done(g, item, u);
    }
}

/* An atomic store or update gives a clock, a load or update takes one. */
static void synchronise(struct race_group_of_items *g, const struct zc_race_access *a)
{
    struct race_item *it = &g->item[a->item];
    if (a->what != ZC_RACE_ATOMIC_LOAD && (releases(a->order) || it->release)) {
        struct race_thread *u = race_kernel_item(g, a->item), by_fence = *u;
        by_fence.clock = it->release;
        struct race_thread *gives = releases(a->order) ? u : &by_fence;
        give_word(gives, a->addr);
        race_kernel_done(g, a->item, gives);
    }
    if (a->what != ZC_RACE_ATOMIC_STORE) {
        it->looked = a->addr;
        it->looked_how = acquires(a->order) ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    }
}

/* ---- accesses ---------------------------------------------------------------------------------------------------------- */

int race_kernel_symmetric(uint64_t addr)
{
    enum { PAGE_BITS = 12, KEPT = 256 };
    static __thread uint64_t kept[KEPT]; /* page << 2 | 1: symmetric, 2: not */
    static __thread uint32_t changes;
    if (changes != race_page_changes) {
        memset(kept, 0, sizeof kept);
        changes = race_page_changes;
    }
    uint64_t *k = &kept[addr >> PAGE_BITS & (KEPT - 1)];
    if (*k >> 2 != addr >> PAGE_BITS || !*k) {
        struct race_where w;
        race_page_find((uintptr_t)addr, &w);
        *k = addr >> PAGE_BITS << 2 | (w.segment >= 0 ? 1u : 2u);
    }
    return *k & 1;
}

void race_kernel_access(void *group, const struct zc_race_access *a)
{
    struct race_group_of_items *g = group;
    static const uint8_t kind[] = {[ZC_RACE_LOAD] = RACE_LOAD,
                                   [ZC_RACE_STORE] = RACE_STORE,
                                   [ZC_RACE_ATOMIC_LOAD] = RACE_AMO_READ,
                                   [ZC_RACE_ATOMIC_STORE] = RACE_AMO_FETCH,
                                   [ZC_RACE_ATOMIC] = RACE_AMO_FETCH};
    static const char *const name[] = {[ZC_RACE_LOAD] = "load",
                                       [ZC_RACE_STORE] = "store",
                                       [ZC_RACE_ATOMIC_LOAD] = "atomic load",
                                       [ZC_RACE_ATOMIC_STORE] = "atomic store",
                                       [ZC_RACE_ATOMIC] = "atomic"};
    struct race_item *it = &g->item[a->item];
    if (it->inside || !race_running)
        return;
    race_kernel_look(g, a->item);
    int atomic = a->what >= ZC_RACE_ATOMIC_LOAD;
    if (race_kernel_symmetric(a->addr)) {
        struct race_thread *u = race_kernel_item(g, a->item);
        unsigned type = a->bytes == 8 ? 10 : a->bytes == 4 ? 8 : 12; /* as race_op_atomic's; 12: a size that routines have no atomics of */
        const struct race_access x = {.u = u,
                                      .bits = (uint64_t)kind[a->what] << RACE_KIND_AT | (uint64_t)u->actor << RACE_ACTOR_AT |
                                              (atomic ? (uint64_t)type << RACE_ATOMIC_AT : 0),
                                      .when = u->epoch,
                                      .routine = name[a->what],
                                      .place = a->place};
        race_shadow_here(&x, (uintptr_t)a->addr, a->bytes);
        race_kernel_done(g, a->item, u);
    }
    if (atomic)
        synchronise(g, a);
}
