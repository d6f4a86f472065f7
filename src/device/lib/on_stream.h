/*
 * on_stream.h - what operations in the order of a stream have in common, for on_stream.cu and for NVSHMEM's names: a collective of a kind,
 * and reductions whose elements travel as bits, so that one function serves all types. CUDA C++ only.
 */
#ifndef SHI_ON_STREAM_H
#define SHI_ON_STREAM_H

#include "device/lib/coll.h"

/* As shi_fold_one of coll.h, whose order of additions it has. COMBINE: a function object of two elements as bits. */
template <typename COMBINE>
SHI_FN shi_u64 shi_fold_bits(shmem_ctx_t ctx, const struct shi_fold *f, size_t at, COMBINE combine)
{
    shi_u64 left[SHI_TREE_DEPTH]; /* the results of subtrees */
    int depth = 0;
    for (int i = 0; i < f->last; i++) {
        shi_u64 all = shi_fold_word(ctx, f, i, at);
        for (int ends = shi_tree_ends(f->last, i); ends > 0; ends--)
            all = combine(left[--depth], all);
        left[depth++] = all;
    }
    return left[0];
}

/* Combine n elements of each member's source in dest, which may be source. Members must not change their sources before it has ended. */
template <typename COMBINE>
SHI_FN int shi_reduce_bits(shmem_ctx_t ctx, int g, shmem_team_t team, char *dest, const char *source, size_t n, shi_u64 bytes, COMBINE combine)
{
    int more;
    struct shi_fold f = {team, dest, source, bytes, n, team ? team->n : 0, 0, 0, 0, 0};
    if (shi_fold_begin(ctx, g, &f))
        return -1;
    while ((more = shi_fold_next(ctx, g, &f)) == 1)
        for (size_t at = shi_rank(g); at < f.length; at += shi_lanes(g))
            shi_scatter(f.to + at * bytes, shi_fold_bits(ctx, &f, at, combine), bytes);
    return more ? -1 : shi_sync(ctx, g, team);
}

#endif
