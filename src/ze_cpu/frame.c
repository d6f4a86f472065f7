/* frame.c - frames and local memory of a group's work-items: constants, arguments, built-in variables. */
#include "ze_cpu/frame.h"

#include <stdlib.h>
#include <string.h>

#include "ze_cpu/config.h"

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

void zc_frame_fixed(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f)
{
    for (uint32_t i = 0; i < l->m->builtins.n; i++)
        if (!varies(l->m->builtins.v[i].of))
            fixed_builtin(l, g, it, f, l->m->builtins.v[i].of, l->m->builtins.v[i].slot);
}

void zc_frame_group(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f)
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

void zc_frame_step(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f, uint32_t n)
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
    zc_frame_fixed(l, g, it, f);
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

int zc_frame_prepare(struct zc_group *g, const struct zc_launch *l)
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

void zc_frame_start(struct zc_group *g, const struct zc_launch *l, uint64_t id)
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

void zc_frame_start_item(const struct zc_group *g, const struct zc_launch *l, struct zc_item *it)
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
    zc_frame_group(l, g, it, it->f);
    for (uint32_t i = 0; i < l->k->nargs; i++)
        if (l->k->arg[i].byval)
            memcpy(it->f + l->k->arg[i].copy, l->arg[i], l->k->arg[i].size);
}
