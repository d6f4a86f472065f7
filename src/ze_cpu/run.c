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
#include "ze_cpu/group_op.h"
#include "ze_cpu/guard.h"
#include "ze_cpu/lanes_run.h"
#include "ze_cpu/named.h"
#include "ze_cpu/stalled.h"
#include "ze_cpu/vm.h"
#include "ze_cpu/warp.h"

enum { GROUPS_EAGER = 8, ROUNDS_LONG = 16, BUSY_QUANTA = 32, YIELD_ROUNDS = 4000, SLEEP_NS = 20000, SUBGROUP_ROUNDS = 64 };
enum { SPILL = 4, SPILLS_MAX = 16 };
enum { RUNS_SHARE = 4, RUN_MOST = 64 }; /* runs of groups: a thread's share of the rest in so many; groups of one */
enum { NAP_NS = 1000, LONG_YIELD_NS = 1500000, FIRST_BUSY_NS = 20000000, LAST_BUSY_NS = 1280000000 };

/* ---- frames ----------------------------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t v, uint64_t to)
{
    return (v + to - 1) / to * to;
}

/* Bytes of frame, copies of arguments by value, and call stack of one work-item. */
static uint64_t state_bytes(const struct zc_launch *l)
{
    return round_up(l->k->frame, 8) + (l->m->fns.v[l->k->fn].depth + 1) * sizeof(void *);
}

/* All bytes of one work-item: an odd number of cache lines. */
static uint64_t item_bytes(const struct zc_launch *l)
{
    return round_up(state_bytes(l) + (zc_config.count ? l->k->frame * sizeof(uint16_t) : 0), 64) | 64;
}

static uint64_t local_bytes(const struct zc_launch *l)
{
    uint64_t n = round_up(l->m->local_bytes, 64);
    for (uint32_t i = 0; i < l->k->nargs; i++)
        n += l->k->arg[i].local ? round_up(l->local[i], 64) : 0;
    return n;
}

/* Allocate frames and local memory of g. After the frames of the work-items comes the one that work-items share when 8 of them run at
 * once. Returns 0 or -1. */
static int allocate(struct zc_group *g, const struct zc_launch *l, uint32_t items)
{
    uint64_t each = item_bytes(l), frames = each * (items + 1), bytes = frames + local_bytes(l) + 64;
    if (g->room < items) {
        free(g->item);
        g->item = calloc(items, sizeof *g->item);
        g->room = g->item ? items : 0;
    }
    if (!g->frames || g->bytes < bytes || g->bytes > 4 * bytes + (1 << 20)) {
        free(g->frames);
        g->frames = aligned_alloc(64, round_up(bytes, 64));
        g->bytes = g->frames ? bytes : 0;
    }
    if (!g->frames || !g->item)
        return -1;
    g->items = items;
    g->shared = g->frames + each * items;
    g->local = g->frames + frames;
    for (uint32_t k = 0; k < items; k++) {
        g->item[k].f = g->frames + each * k;
        g->item[k].stack = (void *)(g->item[k].f + round_up(l->k->frame, 8));
        g->item[k].chain = zc_config.count ? (void *)(g->item[k].f + state_bytes(l)) : NULL;
        g->item[k].local = g->local;
        g->item[k].local_bytes = (uint64_t)(g->frames + g->bytes - g->local);
    }
    return 0;
}

static void put_u64(uint8_t *f, uint32_t slot, uint64_t v)
{
    memcpy(f + slot, &v, sizeof v);
}

static bool varies(uint32_t what)
{
    return what == BUILTIN_GROUP_ID || what == BUILTIN_GLOBAL_ID || what == BUILTIN_GLOBAL_INDEX;
}

/* Set a built-in variable of a work-item that is the same for all groups, in frame f. */
static void fixed_builtin(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f, uint32_t what,
                          uint32_t slot)
{
    uint64_t v[3] = {0, 0, 0};
    uint32_t size = l->m->subgroup, sub = it->index / size, lane = it->index % size, subs = (g->items + size - 1) / size;
    uint64_t left = g->items - sub * size, all = (1ull << size) - 1;
    for (int k = 0; k < 3; k++) {
        const uint64_t by[] = {l->count[k], l->group[k], 0, it->lid[k], 0, 0, 0,
                               (uint64_t)l->count[k] * l->group[k], l->group[k], l->offset[k]};
        if (what >= BUILTIN_GROUPS && what <= BUILTIN_GLOBAL_OFFSET)
            v[k] = by[what - BUILTIN_GROUPS];
    }
    const uint64_t sub_values[] = {left < size ? left : size, size, subs, subs, sub, lane};
    if (what >= BUILTIN_SUBGROUP_SIZE && what <= BUILTIN_SUBGROUP_LOCAL_ID)
        v[0] = sub_values[what - BUILTIN_SUBGROUP_SIZE];
    const uint64_t masks[] = {1ull << lane, all & ~((1ull << lane) - 1), all & ~((2ull << lane) - 1),
                              (2ull << lane) - 1, (1ull << lane) - 1};
    if (what >= BUILTIN_SUBGROUP_EQ_MASK && what <= BUILTIN_SUBGROUP_LT_MASK)
        v[0] = masks[what - BUILTIN_SUBGROUP_EQ_MASK];
    if (what == BUILTIN_LOCAL_INDEX)
        v[0] = it->index;
    if (what == BUILTIN_WORK_DIM) /* Level Zero passes none: the last dimension with more than one work-item */
        v[0] = l->count[2] > 1 || l->group[2] > 1 ? 3 : l->count[1] > 1 || l->group[1] > 1 ? 2 : 1;
    if (what == BUILTIN_GRID_BARRIER && l->cooperative) {
        v[0] = (uint32_t)(uintptr_t)l->grid_barrier;
        v[1] = (uint64_t)(uintptr_t)l->grid_barrier >> 32;
    }
    memcpy(f + slot, v, sizeof v);
}

static void fixed_builtins(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f)
{
    for (uint32_t i = 0; i < l->m->builtins.n; i++)
        if (!varies(l->m->builtins.v[i].of))
            fixed_builtin(l, g, it, f, l->m->builtins.v[i].of, l->m->builtins.v[i].slot);
}

/* Set the built-in variables of a work-item that differ from group to group. */
static void group_builtins(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f)
{
    for (uint32_t i = 0; i < l->m->builtins.n; i++) {
        uint32_t what = l->m->builtins.v[i].of;
        uint64_t v[3] = {g->id[0], g->id[1], g->id[2]};
        if (!varies(what))
            continue;
        for (int k = 0; k < 3 && what != BUILTIN_GROUP_ID; k++)
            v[k] = v[k] * l->group[k] + it->lid[k] + (what == BUILTIN_GLOBAL_ID ? l->offset[k] : 0);
        if (what == BUILTIN_GLOBAL_INDEX)
            v[0] += (uint64_t)l->count[0] * l->group[0] * (v[1] + (uint64_t)l->count[1] * l->group[1] * v[2]);
        for (uint32_t k = 0; k < 3; k++)
            put_u64(f, l->m->builtins.v[i].slot + k * 8, v[k]);
    }
}

/* Let the built-in variables of a work-item in frame f be those of `it`, the n-th after it in the same row. */
static void step_builtins(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f, uint32_t n)
{
    for (uint32_t i = 0; i < l->m->builtins.n; i++) {
        uint32_t what = l->m->builtins.v[i].of, slot = l->m->builtins.v[i].slot;
        if (what == BUILTIN_GLOBAL_ID || what == BUILTIN_GLOBAL_INDEX || what == BUILTIN_LOCAL_ID || what == BUILTIN_LOCAL_INDEX) {
            uint64_t v;
            memcpy(&v, f + slot, sizeof v);
            put_u64(f, slot, v + n);
        } else if (what >= BUILTIN_SUBGROUP_SIZE && what <= BUILTIN_SUBGROUP_LT_MASK) {
            fixed_builtin(l, g, it, f, what, slot);
        }
    }
}

/* Fill in what is the same for all groups in a work-item's frame f: constants and arguments. */
static void prepare_frame(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f)
{
    const struct zc_module *m = l->m;
    uint64_t at = (uint64_t)(uintptr_t)g->local;
    memcpy(f, m->image.v, m->image.n);
    for (uint32_t i = 0; i < m->locals.n; i++)
        put_u64(f, m->locals.v[i].slot, at + m->locals.v[i].of);
    fixed_builtins(l, g, it, f);
    at += round_up(m->local_bytes, 64);
    for (uint32_t i = 0; i < l->k->nargs; i++) {
        uint32_t slot = l->k->arg[i].slot;
        if (l->k->arg[i].local) {
            put_u64(f, slot, at);
            at += round_up(l->local[i], 64);
        } else if (l->k->arg[i].byval) {
            put_u64(f, slot, (uint64_t)(uintptr_t)(f + l->k->arg[i].copy));
        } else {
            memcpy(f + slot, l->arg[i], l->k->arg[i].size);
        }
    }
}

static int prepare(struct zc_group *g, const struct zc_launch *l)
{
    uint32_t n = l->group[0] * l->group[1] * l->group[2];
    if (allocate(g, l, n))
        return -1;
    for (uint32_t k = 0; k < n; k++) {
        struct zc_item *it = &g->item[k];
        it->index = k;
        it->state = ITEM_DONE;
        it->lid[0] = k % l->group[0];
        it->lid[1] = k / l->group[0] % l->group[1];
        it->lid[2] = k / l->group[0] / l->group[1];
        it->prepared = false;
    }
    prepare_frame(l, g, g->item, g->shared);
    g->ready = true;
    return 0;
}

static void start(struct zc_group *g, const struct zc_launch *l, uint64_t id)
{
    uint64_t row = id < l->count[0] ? 0 : id / l->count[0];
    g->id[0] = (uint32_t)(id - row * l->count[0]);
    g->id[1] = row ? (uint32_t)(row % l->count[1]) : 0;
    g->id[2] = row ? (uint32_t)(row / l->count[1]) : 0;
    g->live = g->items;
    g->at_barrier = 0;
    memset(g->arrived, 0, sizeof g->arrived);
    g->started = 0;
}

/* Put a work-item at the start of the kernel. */
static void start_item(const struct zc_group *g, const struct zc_launch *l, struct zc_item *it)
{
    if (!it->prepared)
        prepare_frame(l, g, it, it->f);
    it->prepared = true;
    it->pc = l->m->code.v + l->m->fns.v[l->k->fn].pc;
    memset(it->polled, 0, sizeof it->polled);
    it->spins = 0;
    it->sp = 0;
    it->state = ITEM_RUN;
    if (it->chain)
        memset(it->chain, 0, l->k->frame * sizeof *it->chain);
    group_builtins(l, g, it, it->f);
    for (uint32_t i = 0; i < l->k->nargs; i++)
        if (l->k->arg[i].byval)
            memcpy(it->f + l->k->arg[i].copy, l->arg[i], l->k->arg[i].size);
}

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
        start_item(g, x->l, &it[n]);
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
            step_builtins(x->l, g, it, g->shared, ZC_LANES);
        } else {
            fixed_builtins(x->l, g, it, g->shared);
            group_builtins(x->l, g, it, g->shared);
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
            start_item(g, x->l, &g->item[g->started]);
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

/* Complete the operations of a sub-group for which enough of its work-items wait. Returns whether any continue. */
static bool pass_subgroup(const struct zc_vm *x, struct zc_group *g, uint32_t first, uint32_t end, bool stalled)
{
    return x->m->warps ? zc_warp_pass(g, first, end, stalled)
                       : zc_group_pass(g, x->l, first, end, SCOPE_SUBGROUP, stalled);
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
        r.progress = true;
    }
    r.progress |= x->m->named && zc_named_pass(g);
    if (g->live && g->at_barrier < g->live && is_waiting(g)) {
        bool stalled = !r.progress; /* the others only poll: non-uniform operations go on without them */
        r.progress |= zc_group_pass(g, x->l, 0, g->items, SCOPE_WORKGROUP, stalled);
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
    if (!g->ready && prepare(g, l))
        return -1;
    start(g, l, id);
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
static int rounds(struct zc_worker *w, struct zc_vm *x, struct round *r)
{
    int live = 0;
    for (uint32_t k = 0; k < w->groups; k++) {
        if (w->group[k].live && !group_round(x, &w->group[k], r))
            return -1;
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
        live = rounds(w, x, &r);
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
        w->vectors = aligned_alloc(64, round_up(k->bytes, 64));
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
    struct zc_vm x = {.l = l, .m = l->m, .guarded = zc_config.check || zc_config.private_memory || zc_config.count,
                      .counts = zc_config.count ? &counts : NULL};
    x.vectors = vectors(w, l->k->lanes);
    zc_guard_run(l);
    bool good = work(w, l, &x);
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
