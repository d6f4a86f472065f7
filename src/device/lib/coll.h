/*
 * coll.h - collectives of a team's PEs, called by one work-item or one group of each PE. Members put data to their final
 * places in every dest; reductions read them from every source, and get in blocks those that the device does not reach; syncs separate the
 * steps. The context's PE numbers must be those of the world.
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

/* 1 + the offset of this member's block: wait for it from the previous member, and send the next member its own. 0 after an abort or a failure. */
SHI_FN shi_u64 shi_offset_by_chain(shmem_ctx_t ctx, shmem_team_t team, shi_u64 bytes)
{
    SHI_GLOBAL shi_u64 *word = (SHI_GLOBAL shi_u64 *)(ctx->heap + team->flags) + SHI_DEV_ROUNDS;
    shi_u64 at = 1;
    shi_u32 looks = 0;
    if (team->me) {
        while (!(at = shi_load_relaxed(word)) && !shi_aborted_sometimes(ctx, &looks))
            shi_pause();
        if (!at)
            return 0;
        shi_fence_acquire();
        shi_store_relaxed(word, 0);
    }
    if (team->me + 1 < team->n)
        shi_put_signal(ctx, SHI_THREAD, word, word, 0, word, at + bytes, SHI_SIGNAL_SET,
                       shi_member(team, team->me + 1), 1);
    return at;
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
    if (!at--)
        return -1;
    for (int i = 0; i < team->n; i++)
        shi_put(ctx, g, (char *)dest + at, source, bytes, shi_member(team, i), 1);
    return shi_quiet_sync(ctx, g, team);
}

/* ---- reductions ------------------------------------------------------------------------------------------------------- */

enum { SHI_FOLD_MAX, SHI_FOLD_MIN, SHI_FOLD_SUM, SHI_FOLD_PROD, SHI_FOLD_AND, SHI_FOLD_OR, SHI_FOLD_XOR };

/*
 * A fold combines the elements of members 0 to last - 1 of a team, in blocks. Each item computes its elements of a block by loads: from the
 * members' sources, or, for members that this device does not reach, from the rows of the team's stage. There one get for each such member
 * brings its part of the block; all of them are in progress at the same time. A block has at most a row's elements, or all where no row is
 * needed. If dest is source, results stay in this member's row until all members have read the block; that all members have
 * blocks of the same length follows from the team alone.
 */
struct shi_fold {
    shmem_team_t team;
    char *dest;
    const char *source;
    shi_u64 bytes; /* of an element */
    size_t n;
    int last;
    /* of shi_fold_next */
    int far;             /* a member is not reached */
    char *to;            /* where the block's results belong */
    size_t from, length; /* the block */
};

SHI_FN shi_u64 shi_fold_row_bytes(shmem_team_t team)
{
    return team->stage_bytes / (shi_u64)team->n & ~(shi_u64)15;
}
SHI_FN shi_u64 shi_fold_row(shmem_team_t team, int i)
{
    return team->stage + (shi_u64)i * shi_fold_row_bytes(team);
}

/* Which members' parts of a block need a get: 1 if there are such. get: post the gets. */
SHI_FN int shi_fold_fetch(shmem_ctx_t ctx, int g, const struct shi_fold *f, shi_u64 bytes, int get)
{
    const char *source = f->source + f->from * f->bytes;
    int far = 0;
    for (int i = 0; i < f->last; i++) {
        shi_u64 from = shi_find_far(ctx, source, bytes, 1, shi_member(f->team, i));
        if (!from || shi_is_direct(from))
            continue;
        far = 1;
        if (get && shi_rank(g) == 0)
            shi_get_by_ring(ctx, shi_far_pe(from), shi_fold_row(f->team, i), shi_far_offset(ctx, source), bytes, 1);
    }
    return far;
}

/* Wait until the members have written their sources. 0, or -1 after an abort or a fault. */
SHI_FN int shi_fold_begin(shmem_ctx_t ctx, int g, struct shi_fold *f)
{
    f->from = f->length = 0;
    if (!shi_team_good(ctx, f->team))
        return -1;
#ifdef SHI_RACE_H /* a reduction does not order its own reads after what others do before it */
    shi_race_reads(ctx, g, f->source, f->n * f->bytes, shi_member(f->team, f->team->me));
#endif
    if (shi_quiet_sync(ctx, g, f->team))
        return -1;
    f->far = shi_fold_fetch(ctx, g, f, f->n * f->bytes, 0);
    return 0;
}

/* End a block and begin the next one. 1: it is there, 0: there is none, -1: after an abort. */
SHI_NOINLINE int shi_fold_next(shmem_ctx_t ctx, int g, struct shi_fold *f)
{
    int in_place = f->dest == f->source;
    if (f->length && in_place) {
        if (shi_sync(ctx, g, f->team))
            return -1;
        shi_copy(f->dest + f->from * f->bytes, f->to, f->length * f->bytes, shi_rank(g), shi_lanes(g));
    }
    f->from += f->length;
    f->length = f->n - f->from;
    if (!f->length)
        return 0;
    f->to = f->dest + f->from * f->bytes;
    if (f->far || in_place) {
        size_t most = shi_fold_row_bytes(f->team) / f->bytes;
        f->length = f->length < most ? f->length : most;
        if (f->from)
            shi_group_barrier(g); /* no item reads the rows any more */
    }
    if (in_place)
        f->to = (char *)(SHI_GLOBAL char *)shi_fold_row(f->team, f->team->me);
    if (f->far) {
        shi_fold_fetch(ctx, g, f, f->length * f->bytes, 1);
        shi_quiet(ctx, g);
    }
    return 1;
}

/* Where the block's element `at` of member i is for loads; 0: nowhere, with a fault. */
SHI_FN shi_u64 shi_fold_at(shmem_ctx_t ctx, const struct shi_fold *f, int i, size_t at)
{
    shi_u64 align = f->bytes < 8 ? f->bytes : 8;
    shi_u64 from = shi_find(ctx, f->source + (f->from + at) * f->bytes, f->bytes, align, shi_member(f->team, i));
    return !from || shi_is_direct(from) ? from : shi_fold_row(f->team, i) + at * f->bytes;
}

/* The same element as a word, of at most 8 bytes. */
SHI_FN shi_u64 shi_fold_word(shmem_ctx_t ctx, const struct shi_fold *f, int i, size_t at)
{
    shi_u64 from = shi_fold_at(ctx, f, i, at);
    return from ? shi_load_word(from, f->bytes) : 0;
}

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

/* For the type T: shi_fold_N combines in the order of a reduction of so many members; the result of no members is 0. VALUE converts bits
 * to T. */
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
    SHI_FN T shi_fold_one_##N##_(shmem_ctx_t ctx, const struct shi_fold *f, size_t at, int op)                        \
    {                                                                                                                 \
        T left[SHI_TREE_DEPTH] = {0}; /* the results of subtrees */                                                   \
        int depth = 0;                                                                                                \
        for (int i = 0; i < f->last; i++) {                                                                           \
            T all = VALUE(shi_fold_word(ctx, f, i, at));                                                              \
            SHI_SCALAR                                                                                                \
            for (int ends = shi_tree_ends(f->last, i); ends > 0; ends--)                                              \
                all = shi_combine_##N##_(op, left[--depth], all);                                                     \
            left[depth++] = all;                                                                                      \
        }                                                                                                             \
        return left[0];                                                                                               \
    }                                                                                                                 \
    SHI_FN int shi_fold_##N##_(shmem_ctx_t ctx, int g, shmem_team_t team, T *dest, const T *source, size_t n, int op, \
                               int last)                                                                              \
    {                                                                                                                 \
        int more;                                                                                                     \
        struct shi_fold f = {team, (char *)dest, (const char *)source, sizeof(T), n, last, 0, 0, 0, 0};               \
        if (shi_fold_begin(ctx, g, &f))                                                                               \
            return -1;                                                                                                \
        while ((more = shi_fold_next(ctx, g, &f)) == 1)                                                               \
            for (size_t at = shi_rank(g); at < f.length; at += shi_lanes(g))                                          \
                ((T *)f.to)[at] = shi_fold_one_##N##_(ctx, &f, at, op);                                               \
        return more ? -1 : shi_sync(ctx, g, team);                                                                    \
    }

#endif
