/*
 * warp.c - operations of CUDA's warps: shuffles, votes, matches, reductions, activemask.
 *
 * An operation with a mask runs when all work-items that its mask names wait at an operation of the same kind with the same
 * mask, or have ended; whether the others run, wait or have diverged does not matter. activemask takes the work-items that
 * wait at the same instruction as soon as none of the warp runs, or after PATIENCE rounds.
 */
#include "ze_cpu/warp.h"

#include <string.h>

#include "ze_cpu/op.h"

enum { LANES = 32, PATIENCE = 32 };

/* The work-items of one operation: bit k of `lanes` is the work-item item[k]. */
struct set {
    struct zc_item *item;
    uint32_t lanes, mask;
    unsigned what;
};

#define EACH(k, lanes) for (uint32_t left_ = (lanes), k; left_ && (k = (uint32_t)__builtin_ctz(left_), 1); left_ &= left_ - 1)

static bool waits(const struct zc_item *it)
{
    return it->state == ITEM_GROUP && it->pc->op == OP_WARP;
}

static uint64_t get(const struct zc_item *it, uint32_t slot, unsigned width)
{
    uint64_t v = 0;
    memcpy(&v, it->f + slot, width);
    return v;
}

static void put(const struct zc_item *it, uint32_t v)
{
    memcpy(it->f + it->pc->d, &v, sizeof v);
}

static void put_flag(const struct zc_item *it, bool v)
{
    if (it->pc->u[1] != ZC_NONE)
        it->f[it->pc->u[1]] = v;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

static void vote(const struct set *s)
{
    uint32_t ballot = 0;
    EACH(k, s->lanes)
        ballot |= (uint32_t)(s->item[k].f[s->item[k].pc->a] != 0) << k;
    bool all = ballot == s->lanes;
    EACH(k, s->lanes) {
        const struct zc_item *it = &s->item[k];
        if (s->what == WARP_BALLOT)
            put(it, ballot);
        else
            it->f[it->pc->d] = s->what == WARP_ALL ? all : s->what == WARP_ANY ? ballot != 0 : all || !ballot;
    }
}

static void match(const struct set *s)
{
    bool wide = s->what == WARP_MATCH_ANY_8 || s->what == WARP_MATCH_ALL_8;
    bool all = s->what == WARP_MATCH_ALL_4 || s->what == WARP_MATCH_ALL_8;
    EACH(k, s->lanes) {
        uint64_t mine = get(&s->item[k], s->item[k].pc->a, wide ? 8 : 4);
        uint32_t same = 0;
        EACH(j, s->lanes)
            same |= (uint32_t)(get(&s->item[j], s->item[j].pc->a, wide ? 8 : 4) == mine) << j;
        put(&s->item[k], all && same != s->lanes ? 0 : same);
        put_flag(&s->item[k], same == s->lanes);
    }
}

/* The lane that lane k reads, from the shuffle's operands b (lane, distance or mask) and c (clamp and segment mask). */
static uint32_t source(unsigned what, uint32_t k, uint32_t b, uint32_t c, bool *inside)
{
    uint32_t segment = c >> 8 & 31, most = (k & segment) | (c & 31 & ~segment), least = k & segment;
    b &= 31;
    uint32_t from = what == WARP_UP ? k - b : what == WARP_DOWN ? k + b : what == WARP_BFLY ? k ^ b : least | (b & ~segment);
    *inside = what == WARP_UP ? (int32_t)from >= (int32_t)most : from <= most;
    return *inside ? from : k;
}

static void shuffle(const struct set *s)
{
    uint32_t value[LANES] = {0};
    EACH(k, s->lanes)
        value[k] = (uint32_t)get(&s->item[k], s->item[k].pc->a, 4);
    EACH(k, s->lanes) {
        const struct zc_item *it = &s->item[k];
        bool inside;
        uint32_t from = source(s->what, k, (uint32_t)get(it, it->pc->b, 4), (uint32_t)get(it, it->pc->c, 4), &inside);
        put(it, s->lanes >> from & 1 ? value[from] : value[k]); /* a lane that takes no part: its value is undefined */
        put_flag(it, inside);
    }
}

static uint32_t combine(unsigned what, uint32_t a, uint32_t b)
{
    switch (what) {
    case WARP_ADD:
        return a + b;
    case WARP_UMIN:
        return a < b ? a : b;
    case WARP_UMAX:
        return a > b ? a : b;
    case WARP_SMIN:
        return (int32_t)a < (int32_t)b ? a : b;
    case WARP_SMAX:
        return (int32_t)a > (int32_t)b ? a : b;
    case WARP_AND:
        return a & b;
    case WARP_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void reduce(const struct set *s)
{
    const struct zc_item *first = &s->item[__builtin_ctz(s->lanes)];
    uint32_t acc = (uint32_t)get(first, first->pc->a, 4);
    EACH(k, s->lanes & (s->lanes - 1))
        acc = combine(s->what, acc, (uint32_t)get(&s->item[k], s->item[k].pc->a, 4));
    EACH(k, s->lanes)
        put(&s->item[k], acc);
}

static void complete(const struct set *s)
{
    if (s->what >= WARP_ALL && s->what <= WARP_BALLOT)
        vote(s);
    else if (s->what >= WARP_MATCH_ANY_4 && s->what <= WARP_MATCH_ALL_8)
        match(s);
    else if (s->what >= WARP_IDX && s->what <= WARP_BFLY)
        shuffle(s);
    else if (s->what >= WARP_ADD && s->what <= WARP_XOR)
        reduce(s);
    EACH(k, s->lanes) {
        struct zc_item *it = &s->item[k];
        if (s->what == WARP_ACTIVE)
            put(it, s->lanes);
        it->pc++;
        it->state = ITEM_RUN;
        it->waited = 0;
    }
}

/* ---- participants ------------------------------------------------------------------------------------------------- */

/* The operation at which work-item k waits; false: others that it names have yet to arrive. */
static bool arrived(struct zc_item *item, uint32_t n, uint32_t k, struct set *s)
{
    uint32_t all = n == LANES ? ~0u : (1u << n) - 1;
    *s = (struct set){.item = item, .mask = (uint32_t)get(&item[k], item[k].pc->u[0], 4), .what = item[k].pc->w};
    EACH(j, (s->mask | 1u << k) & all) {
        if (item[j].state == ITEM_DONE)
            continue;
        if (!waits(&item[j]) || item[j].pc->w != s->what || get(&item[j], item[j].pc->u[0], 4) != s->mask)
            return false;
        s->lanes |= 1u << j;
    }
    return true;
}

/* The work-items that wait at the first activemask of the code. */
static struct set active(struct zc_item *item, uint32_t n, bool stalled)
{
    struct set s = {.item = item, .what = WARP_ACTIVE};
    const struct zc_ins *at = NULL;
    bool now = stalled, runs = false;
    for (uint32_t k = 0; k < n; k++) {
        bool here = waits(&item[k]) && item[k].pc->w == WARP_ACTIVE;
        runs |= item[k].state == ITEM_RUN;
        if (here && (!at || item[k].pc < at))
            at = item[k].pc;
        if (here && item[k].waited < PATIENCE)
            item[k].waited++;
        now |= here && item[k].waited == PATIENCE;
    }
    for (uint32_t k = 0; at && (now || !runs) && k < n; k++)
        s.lanes |= (uint32_t)(waits(&item[k]) && item[k].pc == at) << k;
    return s;
}

bool zc_warp_pass(struct zc_group *g, uint32_t first, uint32_t end, bool stalled)
{
    struct zc_item *item = g->item + first;
    uint32_t n = end - first;
    bool any = false;
    struct set s;
    for (uint32_t k = 0; k < n; k++)
        if (waits(&item[k]) && item[k].pc->w != WARP_ACTIVE && arrived(item, n, k, &s)) {
            complete(&s);
            any = true;
        }
    if (!any) {
        s = active(item, n, stalled);
        any = s.lanes != 0;
        if (any)
            complete(&s);
    }
    return any;
}
