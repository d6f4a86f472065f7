/*
 * amo.h - atomic memory operations: the CPU's, on the target word itself.
 *
 * All are sequentially consistent, on every type that the table lists, floating point included; the word of a peer
 * is updated in place, so host atomics, signals and waits on it agree.
 */
#ifndef SHI_AMO_H
#define SHI_AMO_H

#include "host/ops/world.h"

/* What missed the fast table: die, also when the word is not aligned to its size, for a split one is not atomic. */
void *shi_amo_miss(const char *routine, const struct shmem_ctx *ctx, const char *arg, const void *addr, size_t bytes,
                   int pe);

static inline void *shi_amo_at(const char *routine, const struct shmem_ctx *ctx, const char *arg, const void *addr,
                               size_t bytes, int pe)
{
    void *at = shi_fast(ctx, addr, bytes, pe);
    return shi_likely(at != NULL) ? at : shi_amo_miss(routine, ctx, arg, addr, bytes, pe);
}

#endif
