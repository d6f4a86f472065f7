/* rma.h - put, get, their strided forms and signals: by loads and stores where those reach. */
#ifndef SHI_RMA_H
#define SHI_RMA_H

#include <string.h>

#include "host/ops/address.h"

/* Copy with the commonest small sizes as single moves: a call of memcpy costs as much as the rest of an 8-byte put. */
static inline void shi_copy(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes) /* a transfer of nothing may name NULL */
        memcpy(to, from, bytes);
}

/* Bytes of n elements, or SIZE_MAX, which no address range holds, when that overflows. */
static inline size_t shi_bytes(size_t n, size_t elem)
{
    size_t bytes;
    return __builtin_mul_overflow(n, elem, &bytes) ? SIZE_MAX : bytes;
}

/* How a transfer is asked for: as the nbi forms; with a signal to follow, which may share its message. */
enum { SHI_NBI = 1, SHI_MORE = 2 };

/* What missed the fast table: over the network, or the same after every check, counted, or death. how: SHI_NBI, SHI_MORE. */
void shi_rma_put_slow(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source, size_t bytes,
                      int pe, int how);
void shi_rma_get_slow(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source, size_t bytes,
                      int pe, int how);

/* SHMEM_CHECK=1: die when the two ranges, both addresses of this process, overlap. */
void shi_rma_check(const char *routine, const void *dest, const void *source, size_t bytes, int pe);

SHI_INLINE void shi_rma_put(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source,
                            size_t bytes, int pe, int how)
{
    void *at = shi_fast(ctx, dest, bytes, pe);
    if (shi_likely(at != NULL))
        shi_copy(at, source, bytes);
    else
        shi_rma_put_slow(routine, ctx, dest, source, bytes, pe, how);
}

SHI_INLINE void shi_rma_get(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source,
                            size_t bytes, int pe, int how)
{
    const void *at = shi_fast(ctx, source, bytes, pe);
    if (shi_likely(at != NULL))
        shi_copy(dest, at, bytes);
    else
        shi_rma_get_slow(routine, ctx, dest, source, bytes, pe, how);
}

/* How a strided transfer lies in memory: `count` blocks of `block` elements of `elem` bytes, a block every `dst` and
 * `sst` elements. iput and iget have blocks of one element. */
struct shi_strided {
    ptrdiff_t dst, sst;
    size_t block, count, elem;
};

/* The copy itself, between addresses of this process. */
void shi_copy_strided(char *to, const char *from, const struct shi_strided *s);

void shi_rma_put_strided(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source,
                         const struct shi_strided *s, int pe);
void shi_rma_get_strided(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source,
                         const struct shi_strided *s, int pe);

/* After the data: set (SHMEM_SIGNAL_SET) or add to the signal, as one atomic update that carries the data with it. */
void shi_signal(const char *routine, const struct shmem_ctx *ctx, uint64_t *sig_addr, uint64_t signal, int sig_op,
                int pe);

#endif
