/*
 * failed.c - see failed.h.
 *
 *   word       written by            read by   order
 *   order[i]   the watching thread;  all       R1 -> A1 an entry is there before it is counted; written under lock (spin.h)
 *              shi_failed_replace
 *   count      same                  all       same
 *   is[pe]     same, before count    all       relaxed: who counts i failures finds i set
 *   since[pe]  shi_failed_replace    all       relaxed: calls on teams after it are ordered behind it by an agreement
 *   acked      program's threads     all       relaxed: a number that only grows, but for shi_failed_replace
 */
#include "host/survive/failed.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "host/util/spin.h"

static struct {
    int *order;
    uint8_t *is;
    uint64_t *since; /* the first team of the present process of a PE */
    int count, acked, replaced;
    uint8_t lock;
} failed;

int shi_failed_up(int n_pes)
{
    failed.order = calloc((size_t)n_pes, sizeof *failed.order);
    failed.is = calloc((size_t)n_pes, 1);
    failed.since = calloc((size_t)n_pes, sizeof *failed.since);
    failed.count = failed.acked = failed.replaced = 0;
    return failed.order && failed.is && failed.since ? 0 : -ENOMEM;
}

void shi_failed_down(void)
{
    free(failed.order);
    free(failed.is);
    free(failed.since);
    failed.order = NULL;
    failed.is = NULL;
    failed.since = NULL;
    failed.count = failed.acked = failed.replaced = 0;
}

void shi_failed_add(int pe)
{
    shi_spin_lock(&failed.lock);
    __atomic_store_n(&failed.order[failed.count], pe, __ATOMIC_RELAXED);
    __atomic_store_n(&failed.is[pe], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&failed.count, failed.count + 1, __ATOMIC_RELEASE); /* R1 */
    shi_spin_unlock(&failed.lock);
}

void shi_failed_replace(int pe, uint64_t number)
{
    int n = 0, acked = 0;
    shi_spin_lock(&failed.lock);
    for (int i = 0; i < failed.count; i++) {
        if (failed.order[i] == pe)
            continue;
        acked += i < failed.acked;
        __atomic_store_n(&failed.order[n++], failed.order[i], __ATOMIC_RELAXED);
    }
    __atomic_store_n(&failed.acked, acked, __ATOMIC_RELAXED);
    __atomic_store_n(&failed.is[pe], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&failed.since[pe], number, __ATOMIC_RELAXED);
    __atomic_store_n(&failed.count, n, __ATOMIC_RELEASE); /* R1 */
    __atomic_store_n(&failed.replaced, 1, __ATOMIC_RELAXED);
    shi_spin_unlock(&failed.lock);
}

int shi_failed_any_replaced(void)
{
    return __atomic_load_n(&failed.replaced, __ATOMIC_RELAXED);
}

int shi_failed_in(int pe, uint64_t number)
{
    return shi_failed_is(pe) || __atomic_load_n(&failed.since[pe], __ATOMIC_RELAXED) > number;
}

int shi_failed_count(void)
{
    return __atomic_load_n(&failed.count, __ATOMIC_ACQUIRE); /* A1 */
}

int shi_failed_nth(int i)
{
    return __atomic_load_n(&failed.order[i], __ATOMIC_RELAXED);
}

int shi_failed_is(int pe)
{
    return shi_failed_count() && __atomic_load_n(&failed.is[pe], __ATOMIC_RELAXED);
}

int shi_failed_acked(void)
{
    return __atomic_load_n(&failed.acked, __ATOMIC_RELAXED);
}

int shi_failed_ack(void)
{
    int n = shi_failed_count();
    __atomic_store_n(&failed.acked, n, __ATOMIC_RELAXED);
    return n;
}
