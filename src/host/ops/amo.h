/*
 * amo.h - atomic memory operations, by the CPU of the PE that owns the word or of a PE that maps it.
 *
 * All are sequentially consistent, on every type that the table lists, floating point included. Only CPU instructions update
 * a word, whatever PE requested it, so host atomics, signals and waits on it agree. A word in device memory that the host
 * cannot access is copied to the host, updated and copied back under the lock of its PE's words (proxy/staged.c).
 */
#ifndef SHI_AMO_H
#define SHI_AMO_H

#include <string.h>

#include "host/net/node/amo_word.h"
#include "host/ops/address.h"

/* An operation on a word of 4 or 8 bytes; values in the low bytes. */
struct shi_amo_call {
    const char *routine, *arg; /* the calling routine, and the name of its address argument */
    int op;                    /* SHI_AMO_ */
    uint64_t value, cond;
};

/* The slow path, where the fast table missed: over the network, or here after every check. Dies on a bad address, and on a word that is not
 * aligned to its size, since no update of it is atomic. */
void shi_amo_update(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call);
uint64_t shi_amo_fetch(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call);

/* Update the word at `at`, where PE pe's object is mapped. The old value, of a SHI_AMO_SET 0. */
uint64_t shi_amo_mapped(const struct shmem_ctx *ctx, void *at, size_t width, int pe, const struct shi_amo_call *call);

/* The old value is in *fetch after quiet. */
void shi_amo_fetch_nbi(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call,
                       void *fetch);

/* Compare-and-swap of the 16 bytes at dest; dies where the machine or the memory has none. old: what they were. */
void shi_amo_wide(const struct shmem_ctx *ctx, const char *routine, void *dest, const uint64_t value[2], const uint64_t cond[2],
                  int pe, uint64_t old[2]);

#endif
