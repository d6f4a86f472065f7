/*
 * stalled.c - where items of kernels wait that have only polled for some time: kept where a signal handler may read it.
 *
 *   word   written by                                              read by             order
 *   state  the thread that runs the groups: FREE to TAKEN by       threads, handlers   R1 (TOLD) -> A1 the rest is whole
 *          compare-swap, then TOLD, then FREE                                          R2 (FREE) -> A2 the reader is not asked
 *   rest   the same, while TAKEN                                   the same, after A1  plain; the state is looked at again
 */
#include "ze_cpu/stalled.h"

#include <stdio.h>
#include <string.h>

#include "ze_cpu/launch.h"

enum { PLACES = 64, NAME_BYTES = 64 };
enum { FREE, TAKEN, TOLD };

static struct {
    uint32_t state;
    char kernel[NAME_BYTES];
    uint32_t items, words;
    uint64_t addr[ZC_POLLED], value[ZC_POLLED];
} place[PLACES];

/* The words that the item polls. The address that an instruction polls is a value of the item's plus a constant; translated
 * code may have that value in a register only, and then the address is not known. */
static void look(unsigned p, const struct zc_item *it, bool translated)
{
    for (unsigned k = 0; k < ZC_POLLED && it->polled[k].pc; k++) {
        uint64_t base;
        memcpy(&base, it->f + it->polled[k].pc->a, sizeof base);
        place[p].addr[k] = translated ? 0 : base + (uint64_t)it->polled[k].pc->imm;
        place[p].value[k] = it->polled[k].value;
        place[p].words++;
    }
}

static void tell(unsigned p, const struct zc_launch *l, const struct zc_worker *w)
{
    snprintf(place[p].kernel, sizeof place[p].kernel, "%s", l->k->name);
    place[p].items = place[p].words = 0;
    for (uint32_t g = 0; g < w->groups; g++) {
        place[p].items += w->group[g].live;
        for (uint32_t i = 0; w->group[g].live && !place[p].words && i < w->group[g].items; i++)
            if (w->group[g].item[i].state == ITEM_RUN)
                look(p, &w->group[g].item[i], l->m->native != NULL);
    }
}

unsigned zc_stalled_enter(const struct zc_launch *l, const struct zc_worker *w)
{
    for (unsigned p = 0; p < PLACES; p++) {
        uint32_t is = FREE;
        if (!__atomic_compare_exchange_n(&place[p].state, &is, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* A2 */
            continue;
        tell(p, l, w);
        __atomic_store_n(&place[p].state, TOLD, __ATOMIC_RELEASE); /* R1 */
        return p + 1;
    }
    return 0;
}

void zc_stalled_leave(unsigned entered)
{
    if (entered)
        __atomic_store_n(&place[entered - 1].state, FREE, __ATOMIC_RELEASE); /* R2 */
}

int zc_stalled(int *at, char *kernel, size_t room, uint32_t *items, uint64_t *addr, uint64_t *value, uint32_t *words)
{
    while (*at < PLACES) {
        int p = (*at)++;
        if (__atomic_load_n(&place[p].state, __ATOMIC_ACQUIRE) != TOLD) /* A1 */
            continue;
        size_t n = room < NAME_BYTES ? room : NAME_BYTES;
        memcpy(kernel, place[p].kernel, n);
        kernel[n - 1] = 0;
        *items = place[p].items;
        *words = place[p].words < *words ? place[p].words : *words;
        memcpy(addr, place[p].addr, *words * sizeof *addr);
        memcpy(value, place[p].value, *words * sizeof *value);
        if (__atomic_load_n(&place[p].state, __ATOMIC_RELAXED) == TOLD)
            return 1;
    }
    return 0;
}
