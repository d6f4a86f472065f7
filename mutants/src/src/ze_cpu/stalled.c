/*
 * stalled.c - table of threads whose work-items have only polled for some time, readable by a signal handler.
 *
 *   word   written by                                        read by             order
 *   state  the thread that runs the groups: FREE to TAKEN    threads, handlers   R1 (READY) -> A1: the fields are complete
 *          by compare-exchange, then READY, then FREE                            R2 (FREE) -> A2: the last owner is done
 *   other  the same, while TAKEN                             the same, after A1  plain; the reader checks state again after
 */
#include "ze_cpu/stalled.h"

#include <stdio.h>
#include <string.h>

#include "ze_cpu/launch.h"

enum { ENTRIES = 64, NAME_BYTES = 64 };
enum { FREE, TAKEN, READY };

static struct {
    uint32_t state;
    char kernel[NAME_BYTES];
    uint32_t items, words;
    uint64_t addr[ZC_POLLED], value[ZC_POLLED];
} entry[ENTRIES];

/* Record the words that a work-item polls. Their address is a value in the frame plus a constant; translated code may have
 * that value in a register only, then the address is not known. */
static void record_words(unsigned p, const struct zc_item *it, bool translated)
{
    for (unsigned k = 0; k < ZC_POLLED && it->polled[k].pc; k++) {
        uint64_t base;
        memcpy(&base, it->f + it->polled[k].pc->a, sizeof base);
        entry[p].addr[k] = translated ? 0 : base + (uint64_t)it->polled[k].pc->imm;
        entry[p].value[k] = it->polled[k].value;
        entry[p].words++;
    }
}

static void record(unsigned p, const struct zc_launch *l, const struct zc_worker *w)
{
    snprintf(entry[p].kernel, sizeof entry[p].kernel, "%s", l->k->name);
    entry[p].items = entry[p].words = 0;
    for (uint32_t g = 0; g < w->groups; g++) {
        entry[p].items += w->group[g].live;
        for (uint32_t i = 0; w->group[g].live && !entry[p].words && i < w->group[g].items; i++)
            if (w->group[g].item[i].state == ITEM_RUN)
                record_words(p, &w->group[g].item[i], l->m->native != NULL);
    }
}

unsigned zc_stalled_enter(const struct zc_launch *l, const struct zc_worker *w)
{
    for (unsigned p = 0; p < ENTRIES; p++) {
        uint32_t is = FREE;
        if (!__atomic_compare_exchange_n(&entry[p].state, &is, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* A2 */
            continue;
        record(p, l, w);
        __atomic_store_n(&entry[p].state, READY, __ATOMIC_RELEASE); /* R1 */
        return p + 1;
    }
    return 0;
}

void zc_stalled_leave(unsigned entered)
{
    if (entered)
        __atomic_store_n(&entry[entered - 1].state, FREE, __ATOMIC_RELEASE); /* R2 */
}

int zc_stalled(int *at, char *kernel, size_t room, uint32_t *items, uint64_t *addr, uint64_t *value, uint32_t *words)
{
    while (*at < ENTRIES) {
        int p = (*at)++;
        if (__atomic_load_n(&entry[p].state, __ATOMIC_ACQUIRE) != READY) /* A1 */
            continue;
        size_t n = room < NAME_BYTES ? room : NAME_BYTES;
        memcpy(kernel, entry[p].kernel, n);
        kernel[n - 1] = 0;
        *items = entry[p].items;
        *words = entry[p].words < *words ? entry[p].words : *words;
        memcpy(addr, entry[p].addr, *words * sizeof *addr);
        memcpy(value, entry[p].value, *words * sizeof *value);
        if (__atomic_load_n(&entry[p].state, __ATOMIC_RELAXED) == READY)
            return 1;
    }
    return 0;
}
