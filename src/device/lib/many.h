/*
 * many.h - waits for and tests of several words of this PE's heap at once, and of counted signals.
 *
 * Words with status[i] != 0 are skipped. One work-item of a group polls and writes indices, so all items of the group must
 * be able to read that memory.
 */
#ifndef SHI_MANY_H
#define SHI_MANY_H

#include "device/lib/amo.h"
#include "device/lib/sync.h"

/* The condition. Values are `vector` ? values[i] : value. */
struct shi_many {
    const SHI_GLOBAL char *ivars;
    const char *values;
    const int *status;
    size_t n;
    char *seen; /* gets what the words held, of all words, the one, or those of indices; or NULL */
    shi_u64 bytes, value;
    int is_signed, cmp, vector;
};

enum { SHI_MANY_ALL, SHI_MANY_ANY, SHI_MANY_SOME };

/* Relaxed: shi_many makes the acquire fence. k: the place of what it holds. */
SHI_FN int shi_many_holds(const struct shi_many *m, size_t i, size_t k)
{
    shi_u64 now = shi_peek(m->ivars + i * m->bytes, m->bytes), than = m->vector ? shi_gather(m->values + i * m->bytes, m->bytes) : m->value;
    int so = shi_compare(shi_rankable(now, m->bytes, m->is_signed), m->cmp, shi_rankable(than, m->bytes, m->is_signed));
    if (so && m->seen)
        shi_scatter(m->seen + k * m->bytes, now, m->bytes);
    return so;
}

/* 1 when all hold. A word counts once it held, even if it changes during the wait for the others. */
SHI_FN shi_u64 shi_many_all(shmem_ctx_t ctx, const struct shi_many *m, int wait)
{
    shi_u32 looks = 0;
    for (size_t i = 0; i < m->n; i++)
        while (!(m->status && m->status[i]) && !shi_many_holds(m, i, i)) {
            if (!wait || shi_aborted_sometimes(ctx, &looks))
                return 0;
            shi_pause();
        }
    return 1;
}

/* The number of words that hold, and their indices in order. 0: none. *tested: the number of words tested. */
SHI_FN shi_u64 shi_many_some(const struct shi_many *m, size_t *indices, shi_u64 *tested)
{
    shi_u64 n = 0;
    *tested = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (m->status && m->status[i])
            continue;
        ++*tested;
        if (shi_many_holds(m, i, n))
            indices[n++] = i;
    }
    return n;
}

/* 1 + the index of a word that holds, else 0. Fair: the search starts behind the last one found, so that no word starves. */
SHI_FN shi_u64 shi_many_any(const struct shi_many *m, shi_u64 *tested)
{
    size_t i = m->n ? (size_t)(shi_load_relaxed(&shmemg_turn_) % m->n) : 0;
    *tested = 0;
    for (size_t k = 0; k < m->n; k++, i = i + 1 < m->n ? i + 1 : 0) {
        if (m->status && m->status[i])
            continue;
        ++*tested;
        if (shi_many_holds(m, i, 0)) {
            shi_store_relaxed(&shmemg_turn_, i + 1);
            return i + 1;
        }
    }
    return 0;
}

/* ALL: 1 or 0. ANY: the index of a word that holds, or SIZE_MAX. SOME: the number of those that hold, and their indices. */
SHI_FN shi_u64 shi_many(shmem_ctx_t ctx, int g, int wait, int kind, const void *ivars, shi_u64 bytes, int is_signed,
                        size_t n, size_t *indices, const int *status, int cmp, shi_u64 value, const void *values, void *seen)
{
    shi_u64 found = 0, tested;
    shi_u32 looks = 0;
    if (!shi_may_wait(ctx, ivars, bytes, n, cmp))
        return 0;
    if (shi_rank(g) == 0) {
        struct shi_many m;
        m.ivars = (const SHI_GLOBAL char *)shi_to_global(ivars);
        m.values = (const char *)values;
        m.status = status;
        m.n = n;
        m.seen = (char *)seen;
        m.bytes = bytes;
        m.value = value;
        m.is_signed = is_signed;
        m.cmp = cmp;
        m.vector = values != 0;
        if (kind == SHI_MANY_ALL)
            found = shi_many_all(ctx, &m, wait);
        else
            while (!(found = kind == SHI_MANY_SOME ? shi_many_some(&m, indices, &tested) : shi_many_any(&m, &tested)) && wait && tested &&
                   !shi_aborted_sometimes(ctx, &looks))
                shi_pause();
        if (found)
            shi_fence_acquire();
    }
    shi_group_barrier(g);
    found = shi_group_broadcast(g, found);
    return kind == SHI_MANY_ANY ? found - 1 : found;
}

/* ---- counted signals ---------------------------------------------------------------------------------------------- */

/* Arrivals add while this takes n off. It is done on return, so that the next wait sees it. */
SHI_FN void shi_take_count(shmem_ctx_t ctx, int g, void *sig_addr, shi_u64 n)
{
    if (shi_rank(g) == 0)
        shi_amo(ctx, SHI_AMO_ADD, sig_addr, 8, (shi_u64)0 - n, 0, shi_my_pe(ctx), SHI_RESULT_SLOT);
}

/* The signal before n were taken off; less than n, after an abort or fault: it is as it was. */
SHI_FN shi_u64 shi_wait_count(shmem_ctx_t ctx, int g, void *sig_addr, shi_u64 n)
{
    shi_u64 was = shi_wait_until(ctx, g, sig_addr, 8, 0, SHI_CMP_GE, n);
    if (was >= n)
        shi_take_count(ctx, g, sig_addr, n);
    return was;
}

SHI_FN int shi_test_count(shmem_ctx_t ctx, int g, void *sig_addr, shi_u64 n)
{
    int came = shi_test(ctx, g, sig_addr, 8, 0, SHI_CMP_GE, n);
    if (came)
        shi_take_count(ctx, g, sig_addr, n);
    return came;
}

#endif
