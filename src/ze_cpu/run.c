/*
 * run.c - runs work-groups on one thread: takes them from the launch and schedules their work-items in rounds.
 *
 * In each round, every work-item of the thread's resident groups runs once, up to its quantum. A thread starts with one
 * group. It starts another when all its groups have ended, when a round changed nothing (all work-items poll, perhaps for a
 * group that has not started), and, up to GROUPS_EAGER groups, when no work-item has ended for ROUNDS_LONG rounds. In a
 * cooperative launch, all groups are resident from the start.
 *
 *   word          written by               read by            order
 *   launch.next   threads, fetch-add       threads            relaxed: hands out group numbers, publishes nothing
 *   launch.fault  the faulting thread      threads            relaxed: a hint to stop; zc_pool_run reads it after the helpers left
 *   at_once, diverged  threads, fetch-add  tests           relaxed: counts
 *   idle_hook     zc_while_idle            threads            R1 -> A1: the hook's data is visible before the hook
 */
#include "ze_cpu/run.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ze_cpu/config.h"
#include "ze_cpu/count.h"
#include "ze_cpu/frame.h"
#include "ze_cpu/group_op.h"
#include "ze_cpu/guard.h"
#include "ze_cpu/lanes_run.h"
#include "ze_cpu/named.h"
#include "ze_cpu/race.h"
#include "ze_cpu/stalled.h"
#include "ze_cpu/vm.h"
#include "ze_cpu/warp.h"

enum { GROUPS_EAGER = 8, ROUNDS_LONG = 16, BUSY_QUANTA = 32, YIELD_ROUNDS = 4000, SLEEP_NS = 20000, SUBGROUP_ROUNDS = 64 };
enum { SPILL = 4, SPILLS_MAX = 16 };
enum { RUNS_SHARE = 4, RUN_MOST = 64 }; /* runs of groups: a thread's share of the rest in so many; groups of one */
enum { NAP_NS = 1000, LONG_YIELD_NS = 1500000, FIRST_BUSY_NS = 20000000, LAST_BUSY_NS = 1280000000 };

/* ---- rounds ----------------------------------------------------------------------------------------------------- */

struct round {
    bool progress, ended; /* a work-item did more than poll; one ended */
};

/* The next 8 work-items are of one sub-group (of 16 or 32) and one row, in which the first is at lid0. */
static bool can_run_at_once(const struct zc_vm *x, const struct zc_group *g, uint32_t lid0)
{
    uint32_t size = x->m->subgroup;
    return x->spills < SPILLS_MAX && g->items - g->started >= ZC_LANES && (g->started & (size - 1)) + ZC_LANES <= size &&
           lid0 + ZC_LANES <= x->l->group[0];
}

/* 8 work-items have come to pc, where they continue one by one. */
static void diverge(struct zc_vm *x, struct zc_group *g, struct zc_item *it, const struct zc_ins *pc)
{
    x->diverged++;
    x->spills += SPILL;
    for (uint32_t n = 0; n < ZC_LANES; n++)
        zc_frame_start_item(g, x->l, &it[n]);
    zc_lanes_spill(x->l, it, g->shared, x->vectors, pc);
}

/* Start work-items, 8 at once, while that is possible. They need not wait for each other, so that all of them run before those that
 * continue one by one. */
static void run_at_once(struct zc_vm *x, struct zc_group *g, struct round *r)
{
    if (!x->vectors)
        return;
    uint32_t lid0 = g->item[g->started].lid[0];
    bool last = false; /* the shared frame has the built-in variables of the last 8 */
    while (can_run_at_once(x, g, lid0)) {
        struct zc_item *it = &g->item[g->started];
        if (last && lid0) {
            zc_frame_step(x->l, g, it, g->shared, ZC_LANES);
        } else {
            zc_frame_fixed(x->l, g, it, g->shared);
            zc_frame_group(x->l, g, it, g->shared);
        }
        last = true;
        lid0 = lid0 + ZC_LANES == x->l->group[0] ? 0 : lid0 + ZC_LANES;
        const struct zc_ins *pc = zc_lanes_run(x->l->k->lanes, it, g->shared, x->vectors);
        g->started += ZC_LANES;
        r->progress = true;
        if (pc) {
            diverge(x, g, it, pc);
            continue;
        }
        x->at_once++;
        x->spills -= x->spills > 0;
        g->live -= ZC_LANES; /* their state is ITEM_DONE already, from the last group or from prepare */
        r->ended = true;
    }
}

/* Start the work-items up to `end`. Just before they run, their memory is then in the cache. */
static void start_items(struct zc_vm *x, struct zc_group *g, uint32_t end, struct round *r)
{
    while (g->started < end) {
        run_at_once(x, g, r);
        if (g->started < end) {
            zc_frame_start_item(g, x->l, &g->item[g->started]);
            g->started++;
        }
    }
}

/* Run a work-item for one quantum. Returns false after a fault. */
static bool run_item(struct zc_vm *x, struct zc_group *g, struct zc_item *it, struct round *r)
{
    switch (zc_vm_run(x, it)) {
    case STOP_DONE:
        it->state = ITEM_DONE;
        g->live--;
        r->ended = r->progress = true;
        return true;
    case STOP_BARRIER:
        it->state = ITEM_BARRIER;
        g->at_barrier++;
        r->progress = true;
        return true;
    case STOP_GROUP:
        it->state = ITEM_GROUP;
        r->progress = true;
        return true;
    case STOP_QUANTUM:
        r->progress = true;
        return true;
    case STOP_SPIN:
        return true;
    default:
        zc_guard_report(x, it);
        return false;
    }
}

/* Tell race.h's library that these work-items have met: all of them, although some may not have taken part. */
static void met(const struct zc_group *g, uint32_t first, uint32_t end)
{
    if (g->race)
        zc_config.race->meet(g->race, first, end);
}

/* Complete the operations of a sub-group for which enough of its work-items wait. Returns whether any continue. */
static bool pass_subgroup(const struct zc_vm *x, struct zc_group *g, uint32_t first, uint32_t end, bool stalled)
{
    bool any = x->m->warps ? zc_warp_pass(g, first, end, stalled)
                           : zc_group_pass(g, x->l, first, end, SCOPE_SUBGROUP, stalled);
    if (any)
        met(g, first, end);
    return any;
}

/* Run the work-items [first, end) of a sub-group, again while they complete operations of the sub-group. */
static bool subgroup(struct zc_vm *x, struct zc_group *g, uint32_t first, uint32_t end, struct round *r)
{
    for (int k = 0; k < SUBGROUP_ROUNDS; k++) {
        bool waits = false;
        for (uint32_t i = first; i < end; i++) {
            struct zc_item *it = &g->item[i];
            if (it->state == ITEM_RUN && !run_item(x, g, it, r))
                return false;
            waits |= it->state == ITEM_GROUP;
        }
        if (!waits || !pass_subgroup(x, g, first, end, false))
            return true;
        r->progress = true;
    }
    return true;
}

static bool is_waiting(const struct zc_group *g)
{
    for (uint32_t i = 0; i < g->items; i++)
        if (g->item[i].state == ITEM_GROUP)
            return true;
    return false;
}

/* The group has ended, or will not be continued. */
static void end_group(struct zc_group *g, struct zc_launch *l)
{
    if (g->race)
        zc_config.race->group_end(g->race, &l->done);
    g->race = NULL;
}

/* Run each work-item of the group once. Returns false after a fault. */
static bool group_round(struct zc_vm *x, struct zc_group *g, struct round *all)
{
    struct round r = {false, false};
    uint32_t size = x->m->subgroup;
    x->g = g;
    for (uint32_t i = 0; i < g->items; i += size) {
        uint32_t end = i + size < g->items ? i + size : g->items;
        start_items(x, g, end, &r);
        if (!g->live) /* all of them have ended at once */
            break;
        if (!subgroup(x, g, i, end, &r))
            return false;
    }
    if (g->at_barrier && g->at_barrier == g->live) {
        for (uint32_t i = 0; i < g->items; i++)
            if (g->item[i].state == ITEM_BARRIER)
                g->item[i].state = ITEM_RUN;
        g->at_barrier = 0;
        met(g, 0, g->items);
        r.progress = true;
    }
    if (x->m->named && zc_named_pass(g)) {
        met(g, 0, g->items);
        r.progress = true;
    }
    if (g->live && g->at_barrier < g->live && is_waiting(g)) {
        bool stalled = !r.progress; /* the others only poll: non-uniform operations go on without them */
        if (zc_group_pass(g, x->l, 0, g->items, SCOPE_WORKGROUP, stalled)) {
            met(g, 0, g->items);
            r.progress = true;
        }
        for (uint32_t i = 0; stalled && i < g->items; i += size)
            r.progress |= pass_subgroup(x, g, i, i + size < g->items ? i + size : g->items, true);
    }
    all->progress |= r.progress;
    all->ended |= r.ended;
    return true;
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

/* The number of the thread's next group. Where threads take single groups in turns, they read and write neighbouring cache lines. So a
 * thread takes a run of groups, a part of its share of those left; only of kernels that run 8 work-items at once, whose groups do not wait
 * for each other. */
static uint64_t next_group(struct zc_worker *w, struct zc_launch *l)
{
    if (w->next == w->end) {
        uint64_t begun = atomic_load_explicit(&l->next, memory_order_relaxed), n = 1;
        if (l->k->lanes && begun < l->total)
            n = (l->total - begun) / (RUNS_SHARE * l->workers);
        n = n < 1 ? 1 : n < RUN_MOST ? n : RUN_MOST;
        w->next = atomic_fetch_add_explicit(&l->next, n, memory_order_relaxed);
        w->end = w->next + n;
    }
    return w->next++;
}

/* Make the launch's next group resident. Returns 1, 0 when none is left, -1 when out of memory. */
static int start_group(struct zc_worker *w, struct zc_launch *l)
{
    uint64_t id = next_group(w, l);
    if (id >= l->total)
        return 0;
    uint32_t k = 0;
    while (k < w->groups && w->group[k].live)
        k++;
    if (k == w->groups) {
        struct zc_group *more = realloc(w->group, (k + 1) * sizeof *more);
        if (!more)
            return -1;
        memset(&more[k], 0, sizeof *more);
        w->group = more;
        w->groups++;
    }
    struct zc_group *g = &w->group[k];
    if (!g->ready && zc_frame_prepare(g, l))
        return -1;
    zc_frame_start(g, l, id);
    if (zc_config.race)
        g->race = zc_config.race->group(l->after, id * g->items, g->items);
    return 1;
}

static int (*idle_hook)(void);

void zc_while_idle(int (*fn)(void))
{
    __atomic_store_n(&idle_hook, fn, __ATOMIC_RELEASE); /* R1 */
}

/* All work-items of the thread poll: call the hook. Returns whether it did anything. */
static bool call_idle_hook(const struct zc_launch *l)
{
    int (*fn)(void) = __atomic_load_n(&idle_hook, __ATOMIC_ACQUIRE); /* A1 */
    if (!fn)
        return false;
    zc_guard_run(NULL);
    bool done = fn();
    zc_guard_run(l);
    return done;
}

static void sleep_ns(long ns)
{
    struct timespec ts = {0, ns};
    nanosleep(&ts, NULL);
}

/* Another process that computes keeps the core for its whole time slice after each yield, but a thread that wakes from sleep
 * gets the core back. So after a long yield sleep instead, first briefly, for longer each time that the next yield is long
 * again. */
static void yield(struct zc_worker *w)
{
    uint64_t before = zc_now_ns();
    if (before < w->busy_until_ns) {
        sleep_ns(NAP_NS);
        return;
    }
    sched_yield();
    uint64_t now = zc_now_ns();
    if (now - before < LONG_YIELD_NS) {
        w->busy_ns = 0;
        return;
    }
    w->busy_ns = w->busy_ns == 0 ? FIRST_BUSY_NS : w->busy_ns * 2 < LAST_BUSY_NS ? w->busy_ns * 2 : LAST_BUSY_NS;
    w->busy_until_ns = now + w->busy_ns;
}

/* Back off after `idle` rounds in a row in which all `items` work-items only polled: first spin, then yield, then sleep. */
static void back_off(struct zc_worker *w, unsigned idle, uint64_t items)
{
    if (idle * items < BUSY_QUANTA)
        return;
    if (idle < YIELD_ROUNDS)
        yield(w);
    else
        sleep_ns(SLEEP_NS);
}

/* One round over all groups of this thread. Returns how many are live, or -1 after a fault. */
static int rounds(struct zc_worker *w, struct zc_launch *l, struct zc_vm *x, struct round *r)
{
    int live = 0;
    for (uint32_t k = 0; k < w->groups; k++) {
        if (w->group[k].live && !group_round(x, &w->group[k], r))
            return -1;
        if (!w->group[k].live)
            end_group(&w->group[k], l);
        live += w->group[k].live != 0;
    }
    return live;
}

static void not_stalled(struct zc_worker *w)
{
    zc_stalled_leave(w->stalled);
    w->stalled = 0;
}

static bool work(struct zc_worker *w, struct zc_launch *l, struct zc_vm *x)
{
    int live = 0, more = 1;
    unsigned idle = 0, since = 0, target = l->cooperative ? (unsigned)(l->total / l->workers + 1) : 1;
    while (!atomic_load_explicit(&l->fault, memory_order_relaxed)) {
        for (; more > 0 && (unsigned)live < target; live += more > 0)
            more = start_group(w, l);
        if (more < 0 || !live)
            return more >= 0;
        struct round r = {false, false};
        live = rounds(w, l, x, &r);
        if (live < 0)
            return false;
        since = r.ended ? 0 : since + 1;
        idle = r.progress || call_idle_hook(l) ? 0 : idle + 1;
        target = l->cooperative ? target : 1;
        if (more && live && (idle > 1 || (since > ROUNDS_LONG && live < GROUPS_EAGER))) {
            target = (unsigned)live + 1;
            since = 0;
        }
        if (idle == YIELD_ROUNDS)
            w->stalled = zc_stalled_enter(l, w);
        else if (!idle)
            not_stalled(w);
        back_off(w, idle, (uint64_t)live * w->group[0].items);
    }
    return true;
}

static _Atomic uint64_t at_once, diverged;

void zc_lanes_count(uint64_t *ended, uint64_t *left)
{
    *ended = atomic_load_explicit(&at_once, memory_order_relaxed);
    *left = atomic_load_explicit(&diverged, memory_order_relaxed);
}

/* Provide vectors for a kernel that has lanes. NULL: none, or no memory. */
static uint8_t *vectors(struct zc_worker *w, const struct zc_lanes *k)
{
    if (!k)
        return NULL;
    if (w->room < k->bytes) {
        free(w->vectors);
        w->vectors = aligned_alloc(64, (k->bytes + 63) / 64 * 64);
        w->room = w->vectors ? k->bytes : 0;
    }
    if (w->vectors)
        zc_lanes_prepare(k, w->vectors);
    return w->vectors;
}

void zc_run_groups(struct zc_worker *w, struct zc_launch *l)
{
    for (uint32_t k = 0; k < w->groups; k++) {
        w->group[k].ready = false;
        w->group[k].live = 0;
    }
    w->next = w->end = 0;
    struct zc_counts counts = {0};
    struct zc_vm x = {.l = l, .m = l->m, .guarded = zc_config.check || zc_config.private_memory || zc_config.count || zc_config.race,
                      .races = zc_config.race != NULL,
                      .counts = zc_config.count ? &counts : NULL};
    x.vectors = vectors(w, l->k->lanes);
    zc_guard_run(l);
    bool good = work(w, l, &x);
    for (uint32_t k = 0; k < w->groups; k++)
        end_group(&w->group[k], l);
    not_stalled(w);
    zc_guard_run(NULL);
    if (x.counts)
        zc_count_add(l->k->name, x.counts);
    if (x.vectors) {
        atomic_fetch_add_explicit(&at_once, x.at_once, memory_order_relaxed);
        atomic_fetch_add_explicit(&diverged, x.diverged, memory_order_relaxed);
    }
    if (!good)
        atomic_store_explicit(&l->fault, 1, memory_order_relaxed);
}

void zc_worker_free(struct zc_worker *w)
{
    for (uint32_t k = 0; k < w->groups; k++) {
        free(w->group[k].item);
        free(w->group[k].frames);
    }
    free(w->group);
    free(w->vectors);
    *w = (struct zc_worker){.group = NULL};
}
