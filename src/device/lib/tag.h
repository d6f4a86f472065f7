/*
 * tag.h - tagged messages from kernels: the proxy sends them as messages of this PE in SHMEM_TEAM_WORLD.
 *
 * The request carries a short message, from any memory. The proxy reads a longer one in the device heap.
 */
#ifndef SHI_DEVICE_TAG_H
#define SHI_DEVICE_TAG_H

#include "device/lib/rma.h"

/* nbi: return before source may be written again. */
SHI_NOINLINE void shi_tag_by_ring(shmem_ctx_t ctx, const void *source, shi_u64 bytes, shi_u64 tag, int pe, int nbi)
{
    struct shi_request q;
    shi_u64 offset;
    if (!shi_ctx_good(ctx))
        return;
    if (pe < 0 || pe >= ctx->n_pes) {
        shi_fault(ctx, SHI_FAULT_PE, (shi_u32)pe);
        return;
    }
    pe = shi_ctx_member(ctx, pe);
    if (bytes <= SHI_INLINE_TAG) {
        shi_gather_words(q.arg + 2, SHI_INLINE_TAG / 8, source, bytes);
        shi_request_tag_inline(&q, tag, bytes);
        shi_post_and_wait(ctx, &q, pe, 0);
    } else if (shi_offset(ctx, source, bytes, 1, &offset)) {
        shi_request_tag(&q, tag, ctx->heap + offset, bytes);
        shi_fence_release(); /* R1 */
        shi_post_and_wait(ctx, &q, pe, !nbi);
    }
}

#endif
