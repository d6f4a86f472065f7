/* rma.h - put, get, their strided forms and signals: by loads and stores where the memory is mapped. */
#ifndef SHI_RMA_H
#define SHI_RMA_H

#include "host/ops/address.h"
#include "host/ops/copy.h"

/* The slow path, where the fast table missed: check, count, then copy or use the network; dies on a bad address. how:
 * SHI_NBI, SHI_MORE. */
void shi_rma_put_slow(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source, size_t bytes,
                      int pe, int how);
void shi_rma_get_slow(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source, size_t bytes,
                      int pe, int how);

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

void shi_rma_put_strided(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source,
                         const struct shi_strided *s, int pe);
void shi_rma_get_strided(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source,
                         const struct shi_strided *s, int pe);

/* After the data: set (SHMEM_SIGNAL_SET) or add to the signal, as one atomic update that carries the data with it. */
void shi_signal(const char *routine, const struct shmem_ctx *ctx, uint64_t *sig_addr, uint64_t signal, int sig_op,
                int pe);

#endif
