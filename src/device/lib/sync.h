/*
 * sync.h - fence, quiet, waits for a word of this PE's heap, and the sync of a team.
 *
 * All waits end when the ring's abort word is set. Where a PE has failed while the job goes on, those for words and syncs end, too.
 */
#ifndef SHI_SYNC_H
#define SHI_SYNC_H

#include "device/lib/rma.h"

enum { SHI_CMP_EQ = 1, SHI_CMP_NE, SHI_CMP_GT, SHI_CMP_GE, SHI_CMP_LT, SHI_CMP_LE }; /* SHMEM_CMP_ */

/* At some looks of a wait for what PEs do: nonzero: it has to end. */
SHI_FN shi_u64 shi_aborted_sometimes(shmem_ctx_t ctx, shi_u32 *looks)
{
    return shi_ring_aborted_sometimes(shi_ctx_ring(ctx), looks);
}

/* ---- fence and quiet -------------------------------------------------------------------------------------------- */

SHI_FN void shi_fence(shmem_ctx_t ctx, int g)
{
    if (!shi_ctx_good(ctx))
        return;
    shi_group_barrier(g);
    if (shi_rank(g) == 0)
        shi_fence_ring(ctx);
    shi_group_barrier(g);
}

/* 0, or the abort word, for rank 0. */
SHI_FN shi_u64 shi_quiet(shmem_ctx_t ctx, int g)
{
    shi_u64 aborted = 0;
    if (!shi_ctx_good(ctx))
        return 0;
    shi_group_barrier(g);
    if (shi_rank(g) == 0)
        aborted = shi_ring_quiet(shi_ctx_ring(ctx), ctx->single); /* the stores of all items, which the barrier orders before it, too */
    shi_group_barrier(g);
    return aborted;
}

/* ---- wait ------------------------------------------------------------------------------------------------------- */

/* Map a value to a number whose unsigned order is the order of the value's type. */
SHI_FN shi_u64 shi_rankable(shi_u64 v, shi_u64 bytes, int is_signed)
{
    if (!is_signed)
        return v;
    shi_u64 top = (shi_u64)1 << (8 * bytes - 1);
    return ((v ^ top) - top) ^ (shi_u64)1 << 63;
}

SHI_FN int shi_compare(shi_u64 a, int cmp, shi_u64 b)
{
    switch (cmp) {
    case SHI_CMP_EQ:
        return a == b;
    case SHI_CMP_NE:
        return a != b;
    case SHI_CMP_GT:
        return a > b;
    case SHI_CMP_LE:
        return a <= b;
    case SHI_CMP_LT:
        return a < b;
    default:
        return a >= b;
    }
}

/* 1 when n words of `bytes` bytes each may be compared by cmp; else a fault. */
SHI_FN int shi_may_wait(shmem_ctx_t ctx, const void *ivars, shi_u64 bytes, size_t n, int cmp)
{
    shi_u64 offset;
    if (!shi_ctx_good(ctx) || !shi_offset(ctx, ivars, n * bytes, bytes, &offset))
        return 0;
    if (cmp >= SHI_CMP_EQ && cmp <= SHI_CMP_LE)
        return 1;
    shi_fault(ctx, SHI_FAULT_OPERATOR, (shi_u32)cmp);
    return 0;
}

/* Words of 2 bytes, for which there are no atomics, are read with the 4 bytes around them. */
SHI_FN const SHI_GLOBAL shi_u32 *shi_word_around(const SHI_GLOBAL void *p)
{
    return (const SHI_GLOBAL shi_u32 *)((const SHI_GLOBAL char *)p - ((shi_u64)p & 3));
}
SHI_FN shi_u64 shi_half_word(shi_u32 word, const SHI_GLOBAL void *p)
{
    return (word >> (8 * ((shi_u64)p & 3))) & 0xffff;
}

/* Pairs with the release of a signal by a device or by the proxy. */
SHI_FN shi_u64 shi_watch(const SHI_GLOBAL void *p, shi_u64 bytes)
{
    return bytes == 8   ? shi_load_acquire((const SHI_GLOBAL shi_u64 *)p)
           : bytes == 4 ? shi_load32_acquire((const SHI_GLOBAL shi_u32 *)p)
                        : shi_half_word(shi_load32_acquire(shi_word_around(p)), p);
}

/* The same, relaxed, for polls: a wait that ends then makes shi_fence_acquire. On a GPU each acquire invalidates a cache. */
SHI_FN shi_u64 shi_peek(const SHI_GLOBAL void *p, shi_u64 bytes)
{
    return bytes == 8   ? shi_load_relaxed((const SHI_GLOBAL shi_u64 *)p)
           : bytes == 4 ? shi_atom32_fetch((SHI_GLOBAL shi_u32 *)p)
                        : shi_half_word(shi_atom32_fetch((SHI_GLOBAL shi_u32 *)shi_word_around(p)), p);
}

/* Wait until *ivar, of 2, 4 or 8 bytes, satisfies the comparison, and return its value; any value after an abort, a fault, or the failure
 * of a PE. */
SHI_FN shi_u64 shi_wait_until(shmem_ctx_t ctx, int g, const void *ivar, shi_u64 bytes, int is_signed, int cmp,
                              shi_u64 cmp_value)
{
    shi_u64 v = 0, than = shi_rankable(cmp_value, bytes, is_signed);
    shi_u32 looks = 0;
    if (!shi_may_wait(ctx, ivar, bytes, 1, cmp))
        return 0;
    if (shi_rank(g) == 0) {
        const SHI_GLOBAL void *p = shi_to_global(ivar);
        v = shi_watch(p, bytes);
        while (!shi_compare(shi_rankable(v, bytes, is_signed), cmp, than) && !shi_aborted_sometimes(ctx, &looks)) {
            shi_pause();
            v = shi_peek(p, bytes);
        }
        if (looks)
            shi_fence_acquire();
    }
    shi_group_barrier(g);
    return shi_group_broadcast(g, v);
}

SHI_FN int shi_test(shmem_ctx_t ctx, int g, const void *ivar, shi_u64 bytes, int is_signed, int cmp, shi_u64 cmp_value)
{
    int so = 0;
    if (!shi_may_wait(ctx, ivar, bytes, 1, cmp))
        return 0;
    if (shi_rank(g) == 0)
        so = shi_compare(shi_rankable(shi_watch(shi_to_global(ivar), bytes), bytes, is_signed), cmp,
                         shi_rankable(cmp_value, bytes, is_signed));
    shi_group_barrier(g);
    return (int)shi_group_broadcast(g, (shi_u64)so);
}

SHI_FN shi_u64 shi_signal_fetch(shmem_ctx_t ctx, const void *sig_addr)
{
    return shi_may_wait(ctx, sig_addr, 8, 1, SHI_CMP_EQ) ? shi_watch(shi_to_global(sig_addr), 8) : 0;
}

/* ---- sync ------------------------------------------------------------------------------------------------------- */

SHI_NOINLINE void shi_raise_by_ring(shmem_ctx_t ctx, shi_u64 flag, int world_pe)
{
    struct shi_request q;
    shi_request_put(&q, 0, 0, 0);
    shi_request_put_signal_inline(&q, 0, 0, flag, 1, SHI_SIGNAL_ADD);
    shi_post_and_wait(ctx, &q, world_pe, 0, 0);
}

/* Add 1 to the flag at this offset of a PE of the world. */
SHI_FN void shi_raise(shmem_ctx_t ctx, shi_u64 flag, int world_pe)
{
    shi_u64 base = ((const SHI_GLOBAL shi_u64 *)ctx->peer_heap)[world_pe];
    if (base)
        shi_add_release((SHI_GLOBAL shi_u64 *)(base + flag), 1);
    else
        shi_raise_by_ring(ctx, flag, world_pe);
}

SHI_FN int shi_team_good(shmem_ctx_t ctx, shmem_team_t team)
{
    if (!shi_ctx_good(ctx))
        return 0;
    if (team && team->n >= 1 && (shi_u32)team->me < (shi_u32)team->n)
        return 1;
    shi_fault(ctx, SHI_FAULT_TEAM, (shi_u64)team);
    return 0;
}

/* Dissemination barrier: in round r each member notifies the member 2^r after it. A flag is incremented, never set, so the
 * notifications of two syncs may arrive in either order. */
SHI_FN int shi_disseminate(shmem_ctx_t ctx, shmem_team_t team)
{
    for (int r = 0, ahead = 1; ahead < team->n; r++, ahead *= 2) {
        shi_u64 offset = team->flags + 8 * (shi_u64)r;
        int left = team->n - team->me;
        shi_raise(ctx, offset, shi_member(team, ahead < left ? team->me + ahead : ahead - left));
        const SHI_GLOBAL shi_u64 *flag = (SHI_GLOBAL shi_u64 *)(ctx->heap + offset);
        shi_u64 seen = ++team->seen[r];
        shi_u32 looks = 0;
        while ((shi_u64)(shi_load_relaxed(flag) - seen) >> 63) {
            if (shi_aborted_sometimes(ctx, &looks))
                return -1;
            shi_pause();
        }
        shi_fence_acquire();
    }
    return 0;
}

/* 0 when all PEs of the team have entered; -1 after an abort or a fault. */
SHI_FN int shi_sync(shmem_ctx_t ctx, int g, shmem_team_t team)
{
    shi_u64 bad = 0, offset;
    if (!shi_team_good(ctx, team) ||
        !shi_offset(ctx, (SHI_GLOBAL char *)(ctx->heap + team->flags), SHI_DEV_TEAM_WORDS * 8, 8, &offset))
        return -1;
    shi_group_barrier(g);
    if (shi_rank(g) == 0)
        bad = (shi_u64)-shi_disseminate(ctx, team);
    shi_group_barrier(g);
    return -(int)shi_group_broadcast(g, bad);
}

#endif
