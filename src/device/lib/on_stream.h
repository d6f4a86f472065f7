/*
 * on_stream.h - what operations in the order of a stream have in common, for on_stream.cu and for NVSHMEM's names: a collective of a kind,
 * and reductions whose elements travel as bits, so that one function serves all types. CUDA C++ only.
 */
#ifndef SHI_ON_STREAM_H
#define SHI_ON_STREAM_H

#include "device/lib/coll.h"

/* As shi_fold_one of coll.h, whose order of additions it has. COMBINE: a function object of two elements as bits. */
template <typename COMBINE>
SHI_FN shi_u64 shi_fold_bits(shmem_ctx_t ctx, shmem_team_t team, const char *source, shi_u64 bytes, COMBINE combine)
{
    shi_u64 left[SHI_TREE_DEPTH]; /* the results of subtrees */
    int depth = 0;
    for (int i = 0; i < team->n; i++) {
        shi_u64 all = shi_g(ctx, source, bytes, shi_member(team, i));
        for (int ends = shi_tree_ends(team->n, i); ends > 0; ends--)
            all = combine(left[--depth], all);
        left[depth++] = all;
    }
    return left[0];
}

/* Combine n elements of each member's source in dest, which may be source. Members must not change their sources before it has ended. */
template <typename COMBINE>
SHI_FN int shi_reduce_bits(shmem_ctx_t ctx, int g, shmem_team_t team, char *dest, const char *source, size_t n, shi_u64 bytes, COMBINE combine)
{
    size_t lanes = shi_lanes(g), rank = shi_rank(g);
    if (!shi_team_good(ctx, team) || shi_quiet_sync(ctx, g, team))
        return -1;
    for (size_t from = 0; from < n; from += lanes) {
        size_t at = from + rank;
        shi_u64 all = at < n ? shi_fold_bits(ctx, team, source + at * bytes, bytes, combine) : 0;
        if (dest == source)
            shi_sync(ctx, g, team);
        if (at < n)
            shi_scatter(dest + at * bytes, all, bytes);
    }
    return shi_sync(ctx, g, team);
}

#endif
