/*
 * failed.c - see failed.h.
 *
 *   word       written by            read by   order
 *   order[i]   the watching thread   all       R1 -> A1 an entry is there before it is counted
 *   count      same                  all
 *   is[pe]     same, before count    all       relaxed: who counts i failures finds i set
 *   acked      program's threads     all       relaxed: a number that only grows
 */
#include "host/survive/failed.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static struct {
    int *order;
    uint8_t *is;
    int count, acked;
} failed;

int shi_failed_up(int n_pes)
{
    failed.order = calloc((size_t)n_pes, sizeof *failed.order);
    failed.is = calloc((size_t)n_pes, 1);
    failed.count = failed.acked = 0;
    return failed.order && failed.is ? 0 : -ENOMEM;
}

void shi_failed_down(void)
{
    free(failed.order);
    free(failed.is);
    failed.order = NULL;
    failed.is = NULL;
    failed.count = failed.acked = 0;
}

void shi_failed_add(int pe)
{
    failed.order[failed.count] = pe;
    __atomic_store_n(&failed.is[pe], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&failed.count, failed.count + 1, __ATOMIC_RELEASE); /* R1 */
}

int shi_failed_count(void)
{
    return __atomic_load_n(&failed.count, __ATOMIC_ACQUIRE); /* A1 */
}

int shi_failed_nth(int i)
{
    return failed.order[i];
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
