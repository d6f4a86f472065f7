/*
 * amo.h - atomic memory operations: the CPU's, on the target word itself.
 *
 * All are sequentially consistent, on every type that the table lists, floating point included; the word of a peer
 * is updated in place, so host atomics, signals and waits on it agree.
 */
#ifndef SHI_AMO_H
#define SHI_AMO_H

#include "host/ops/world.h"

/* SHMEM_CHECK=1: die when the word is not aligned to its size; a split one is not atomic. */
void shi_amo_check(const char *routine, const void *addr, size_t bytes, int pe);

static inline void *shi_amo_at(const char *routine, const struct shmem_ctx *ctx, const char *arg, const void *addr,
                               size_t bytes, int pe)
{
    if (shi_unlikely(shi_world.check))
        shi_amo_check(routine, addr, bytes, pe);
    return shi_at(routine, ctx, arg, addr, bytes, pe);
}

#endif
