/*
 * coll.h - collectives of a team's PEs, called by one work-item or one group of each PE. Members put data to their final
 * places in every dest; reductions get them from every source; syncs separate the steps. The context's PE numbers must be
 * those of the world.
 *
 *   word           written by                                  read by        order
 *   team's offset  the member before this one, put-with-signal  this member  release -> acquire of the watch
 *                  this member, back to 0                                    before the sync that ends the collect
 *
 * Checked by test/model/collect.pml.
 */
#ifndef SHI_COLL_H
#define SHI_COLL_H

#include "device/lib/sync.h"

/* Complete this PE's puts and wait until the other members' puts are complete. */
SHI_FN int shi_quiet_sync(shmem_ctx_t ctx, int g, shmem_team_t team)
{
    shi_quiet(ctx, g);
    return shi_sync(ctx, g, team);
}

/* ---- data movement -------------------------------------------------------------------------------------------------- */

SHI_FN int shi_broadcast(shmem_ctx_t ctx, int g, shmem_team_t team, void *dest, const void *source, shi_u64 bytes,
                         int root)
{
    if (!shi_team_good(ctx, team))
        return -1;
    if (root < 0 || root >= team->n) {
        shi_fault(ctx, SHI_FAULT_PE, (shi_u32)root);
        return -1;
    }
    for (int i = 0; root == team->me && i < team->n; i++)
        if (i != root || dest != source)
            shi_put(ctx, g, dest, source, bytes, shi_member(team, i), 1);
    return shi_quiet_sync(ctx, g, team);
}

/* Member m's block is at offset m * bytes of every dest. */
SHI_FN int shi_fcollect(shmem_ctx_t ctx, int g, shmem_team_t team, void *dest, const void *source, shi_u64 bytes)
{
    if (!shi_team_good(ctx, team))
        return -1;
    for (int i = 0; i < team->n; i++)
        shi_put(ctx, g, (char *)dest + (shi_u64)team->me * bytes, source, bytes, shi_member(team, i), 1);
    return shi_quiet_sync(ctx, g, team);
}

SHI_FN int shi_alltoall(shmem_ctx_t ctx, int g, shmem_team_t team, void *dest, const void *source, shi_u64 bytes)
{
    if (!shi_team_good(ctx, team))
        return -1;
    for (int i = 0; i < team->n; i++)
        shi_put(ctx, g, (char *)dest + (shi_u64)team->me * bytes, (const char *)source + (shi_u64)i * bytes, bytes,
                shi_member(team, i), 1);
    return shi_quiet_sync(ctx, g, team);
}

/* The offset of this member's block: wait for it from the previous member, plus 1, and send the next member its own. */
SHI_FN shi_u64 shi_offset_by_chain(shmem_ctx_t ctx, shmem_team_t team, shi_u64 bytes)
{
    SHI_GLOBAL shi_u64 *word = (SHI_GLOBAL shi_u64 *)(ctx->heap + team->flags) + SHI_DEV_ROUNDS;
    shi_u64 at = 1;
    shi_u32 looks = 0;
    if (team->me) {
        while (!(at = shi_load_relaxed(word)) && !shi_aborted_sometimes(ctx, &looks))
            shi_pause();
        shi_fence_acquire();
        shi_store_relaxed(word, 0);
    }
    if (team->me + 1 < team->n)
        shi_put_signal(ctx, SHI_THREAD, word, word, 0, word, at + bytes, SHI_SIGNAL_SET,
                       shi_member(team, team->me + 1), 1);
    return at - 1;
}

/* Blocks of different lengths, concatenated. */
SHI_FN int shi_collect(shmem_ctx_t ctx, int g, shmem_team_t team, void *dest, const void *source, shi_u64 bytes)
{
    shi_u64 at = 0;
    if (!shi_team_good(ctx, team))
        return -1;
    if (shi_rank(g) == 0)
        at = shi_offset_by_chain(ctx, team, bytes);
    shi_group_barrier(g);
    at = shi_group_broadcast(g, at);
    for (int i = 0; i < team->n; i++)
        shi_put(ctx, g, (char *)dest + at, source, bytes, shi_member(team, i), 1);
    return shi_quiet_sync(ctx, g, team);
}

/* ---- reductions ------------------------------------------------------------------------------------------------------- */

enum { SHI_FOLD_MAX, SHI_FOLD_MIN, SHI_FOLD_SUM, SHI_FOLD_PROD, SHI_FOLD_AND, SHI_FOLD_OR, SHI_FOLD_XOR };
enum { SHI_FOLD_PART = 8 }; /* elements that a work-item holds in registers */

#define SHI_FOLD_BITS_0(a, b)
#define SHI_FOLD_BITS_1(a, b)                                                                                         \
    case SHI_FOLD_AND:                                                                                                \
        return (a) & (b);                                                                                             \
    case SHI_FOLD_OR:                                                                                                 \
        return (a) | (b);                                                                                             \
    case SHI_FOLD_XOR:                                                                                                \
        return (a) ^ (b);

/* How many subtrees of a reduction of n members end with member i: see host/coll/tree.h, whose results have the same bits. */
SHI_FN int shi_tree_ends(int n, int i)
{
    int power = 1, of_items, ends = 0;
    while (2 * power <= n)
        power *= 2;
    if (i < 2 * (n - power)) {
        if (i % 2 == 0)
            return 0;
        ends = 1;
        of_items = i / 2 + 1;
    } else {
        of_items = i - (n - power) + 1;
    }
    for (; of_items % 2 == 0; of_items /= 2)
        ends++;
    return ends;
}

enum { SHI_TREE_DEPTH = 24 };

/*
 * For the type T: shi_fold_N combines the elements of members 0 to last - 1 of a team, in the order of a reduction of so many; the
 * result of no members is 0. VALUE converts bits to T. All members read all sources, so dest is written after all have read: at the end,
 * or, when dest is source, part by part.
 */
#define SHI_FOLD_(N, T, VALUE, BITWISE)                                                                               \
    SHI_FN T shi_combine_##N##_(int op, T a, T b)                                                                     \
    {                                                                                                                 \
        switch (op) {                                                                                                 \
        case SHI_FOLD_MAX:                                                                                            \
            return a < b ? b : a;                                                                                     \
        case SHI_FOLD_MIN:                                                                                            \
            return b < a ? b : a;                                                                                     \
        case SHI_FOLD_PROD:                                                                                           \
            return a * b;                                                                                             \
            SHI_FOLD_BITS_##BITWISE(a, b)                                                                             \
        default:                                                                                                      \
            return a + b;                                                                                             \
        }                                                                                                             \
    }                                                                                                                 \
    SHI_FN T shi_fold_one_##N##_(shmem_ctx_t ctx, shmem_team_t team, const T *source, int op, int last)               \
    {                                                                                                                 \
        T left[SHI_TREE_DEPTH] = {0}; /* the results of subtrees */                                                   \
        int depth = 0;                                                                                                \
        for (int i = 0; i < last; i++) {                                                                              \
            T all = VALUE(shi_g(ctx, source, sizeof(T), shi_member(team, i)));                                        \
            SHI_SCALAR                                                                                                \
            for (int ends = shi_tree_ends(last, i); ends > 0; ends--)                                                 \
                all = shi_combine_##N##_(op, left[--depth], all);                                                     \
            left[depth++] = all;                                                                                      \
        }                                                                                                             \
        return left[0];                                                                                               \
    }                                                                                                                 \
    SHI_FN int shi_fold_##N##_(shmem_ctx_t ctx, int g, shmem_team_t team, T *dest, const T *source, size_t n, int op, \
                               int last)                                                                              \
    {                                                                                                                 \
        size_t lanes = shi_lanes(g), rank = shi_rank(g);                                                              \
        if (!shi_team_good(ctx, team) || shi_quiet_sync(ctx, g, team))                                                \
            return -1;                                                                                                \
        for (size_t from = 0; from < n; from += lanes * SHI_FOLD_PART) {                                              \
            T part[SHI_FOLD_PART];                                                                                    \
            for (size_t k = 0, at = from + rank; k < SHI_FOLD_PART && at < n; k++, at += lanes)                       \
                part[k] = shi_fold_one_##N##_(ctx, team, source + at, op, last);                                      \
            if (dest == source && shi_sync(ctx, g, team))                                                             \
                return -1;                                                                                            \
            for (size_t k = 0, at = from + rank; k < SHI_FOLD_PART && at < n; k++, at += lanes)                       \
                dest[at] = part[k];                                                                                   \
        }                                                                                                             \
        return shi_sync(ctx, g, team);                                                                                \
    }

#endif
