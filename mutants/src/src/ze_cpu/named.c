/*
 * named.c - barriers of CUDA that have a number, and may have a count of threads.
 *
 * With a count a barrier is complete when so many threads have arrived, those included that did not wait (bar.arrive); without
 * one, when all threads of the group that have not ended wait there. Counts are multiples of the warp's size: the last thread
 * of a group whose last warp is incomplete counts for the missing ones, too.
 */
#include "ze_cpu/named.h"

#include <string.h>

#include "ze_cpu/op.h"

enum { LANES = 32 };

struct barrier {
    uint32_t items, weight, count; /* that wait; the threads that they count for; needed, or 0 */
    uint32_t yes;                  /* of the predicates */
};

static bool waits(const struct zc_item *it)
{
    return it->state == ITEM_GROUP && it->pc->op == OP_NAMED;
}

static uint32_t get(const struct zc_item *it, uint32_t slot)
{
    uint32_t v;
    memcpy(&v, it->f + slot, sizeof v);
    return v;
}

static uint32_t weight(const struct zc_group *g, const struct zc_item *it)
{
    return it->index + 1 == g->items ? 1 + (LANES - g->items % LANES) % LANES : 1;
}

static void go_on(struct zc_item *it)
{
    it->pc++;
    it->state = ITEM_RUN;
}

/* Count a work-item at its barrier. Returns whether it continues at once. */
static bool count(struct zc_group *g, struct zc_item *it, struct barrier *all)
{
    const struct zc_ins *i = it->pc;
    uint32_t number = get(it, i->a) % ZC_NAMED;
    struct barrier *b = &all[number];
    if (i->w == NAMED_ARRIVE) {
        g->arrived[number] += weight(g, it);
        go_on(it);
        return true;
    }
    b->items++;
    b->weight += weight(g, it);
    b->count = i->u[0] == ZC_NONE ? 0 : get(it, i->u[0]);
    b->yes += i->w >= NAMED_ALL && it->f[i->c];
    return false;
}

static void result(const struct zc_item *it, const struct barrier *b)
{
    const struct zc_ins *i = it->pc;
    if (i->w == NAMED_COUNT)
        memcpy(it->f + i->d, &b->yes, sizeof b->yes);
    else if (i->w >= NAMED_ALL)
        it->f[i->d] = i->w == NAMED_ALL ? b->yes == b->items : b->yes != 0;
}

bool zc_named_pass(struct zc_group *g)
{
    struct barrier all[ZC_NAMED] = {{0}};
    bool any = false;
    for (uint32_t k = 0; k < g->items; k++)
        if (waits(&g->item[k]))
            any |= count(g, &g->item[k], all);
    for (uint32_t k = 0; k < g->items; k++) {
        struct zc_item *it = &g->item[k];
        if (!waits(it))
            continue;
        uint32_t number = get(it, it->pc->a) % ZC_NAMED;
        const struct barrier *b = &all[number];
        if (b->count ? b->weight + g->arrived[number] < b->count : b->items < g->live)
            continue;
        result(it, b);
        go_on(it);
        any = true;
    }
    for (uint32_t n = 0; n < ZC_NAMED; n++)
        if (all[n].count && all[n].weight + g->arrived[n] >= all[n].count)
            g->arrived[n] = 0;
    return any;
}
