/* strided.h - strided puts and gets of blocks: one contiguous operation for each block, divided among a group. */
#ifndef SHI_STRIDED_H
#define SHI_STRIDED_H

#include "device/lib/rma.h"

/* nblocks blocks of bsize elements of `bytes` bytes, dst and sst elements apart. They complete as put and get do. */
SHI_FN void shi_strided(shmem_ctx_t ctx, int g, int is_get, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t bsize, size_t nblocks, shi_u64 bytes, int pe)
{
    shi_group_barrier(g);
    for (size_t i = shi_rank(g); i < nblocks; i += shi_lanes(g)) {
        char *to = (char *)dest + (ptrdiff_t)i * dst * (ptrdiff_t)bytes;
        const char *from = (const char *)source + (ptrdiff_t)i * sst * (ptrdiff_t)bytes;
        if (is_get)
            shi_get(ctx, SHI_THREAD, to, from, bsize * bytes, pe, 0);
        else
            shi_put(ctx, SHI_THREAD, to, from, bsize * bytes, pe, 0);
    }
    shi_group_barrier(g);
}

#endif
