/*
 * amo.h - atomic memory operations: the CPU's of the PE that owns the word, or of a PE that maps it.
 *
 * All are sequentially consistent, on every type that the table lists, floating point included; whoever asks, one kind
 * of agent updates a word, so host atomics, signals and waits on it agree.
 */
#ifndef SHI_AMO_H
#define SHI_AMO_H

#include <string.h>

#include "host/net/amo_word.h"
#include "host/ops/address.h"

/* What is done to a word of 4 or 8 bytes; values in the low bytes. */
struct shi_amo_call {
    const char *routine, *arg; /* who calls, and the name of the address argument */
    int op;                    /* SHI_AMO_ */
    uint64_t value, cond;
};

/* What missed the fast table: over the network, or here after every check, or death, with SHMEM_CHECK=1 also when the word
 * is not aligned to its size, for a split one is not atomic. */
void shi_amo_update(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call);
uint64_t shi_amo_fetch(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call);

/* The old value comes to *fetch, complete after quiet. */
void shi_amo_fetch_nbi(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call,
                       void *fetch);

#endif
