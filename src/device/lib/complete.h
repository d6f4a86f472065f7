/*
 * complete.h - quiet and fence for some PEs, and local completion (shmem_pe_quiet, shmemx_pe_fence, shmemx_flush in kernels).
 *
 * The ring's `done` counts requests in their order, so a wait for those to one PE waits for all earlier ones. A PE to which no operation is a
 * request needs the memory fence alone: no wait for slower PEs, and requests to others stay unordered.
 */
#ifndef SHI_COMPLETE_H
#define SHI_COMPLETE_H

#include "device/lib/sync.h"

/* Can puts, gets or atomics to this PE of the world be requests? */
SHI_FN int shi_pe_has_requests(shmem_ctx_t ctx, int world_pe)
{
    const SHI_GLOBAL struct shi_dev_added *a = (const SHI_GLOBAL struct shi_dev_added *)ctx->added;
    int has = ctx->ring_updates || !((const SHI_GLOBAL shi_u64 *)ctx->peer_heap)[world_pe];
    SHI_ROLLED
    for (int i = 0; i < SHI_DEV_ADDED && !has; i++, a++)
        has = a->end && !((const SHI_GLOBAL shi_u64 *)a->peer)[world_pe];
    return has;
}

enum { SHI_PES_WRONG = -1, SHI_PES_MEMORY, SHI_PES_REQUESTS };

/* What may be under way to these PEs of the context's team. MEMORY: loads and stores alone; a fence that acquires (A8) must follow. WRONG: one
 * is no PE, with a fault. */
SHI_NOINLINE int shi_pes_under_way(shmem_ctx_t ctx, const int *pes, size_t n)
{
    shi_u64 head;
    int idle = shi_ring_is_idle(shi_ctx_ring(ctx), &head), is = SHI_PES_MEMORY;
    for (size_t i = 0; i < n; i++) {
        int pe = pes[i];
        if ((shi_u32)pe >= (shi_u32)ctx->n_pes) {
            shi_fault(ctx, SHI_FAULT_PE, (shi_u32)pe);
            return SHI_PES_WRONG;
        }
        if (!idle && is == SHI_PES_MEMORY && shi_pe_has_requests(ctx, shi_ctx_member(ctx, pe)))
            is = SHI_PES_REQUESTS;
    }
    return is;
}

/* Complete the operations on these PEs. */
SHI_FN void shi_pe_quiet(shmem_ctx_t ctx, int g, const int *pes, size_t n)
{
    if (!shi_ctx_good(ctx))
        return;
    shi_group_barrier(g);
    if (shi_rank(g) == 0) {
        int is = shi_pes_under_way(ctx, pes, n);
        if (is == SHI_PES_REQUESTS)
            shi_ring_quiet(shi_ctx_ring(ctx), ctx->single);
        else if (is == SHI_PES_MEMORY)
            shi_fence_total();
    }
    shi_group_barrier(g);
}

/* Order later operations on these PEs after earlier ones. */
SHI_FN void shi_pe_fence(shmem_ctx_t ctx, int g, const int *pes, size_t n)
{
    if (!shi_ctx_good(ctx))
        return;
    shi_group_barrier(g);
    if (shi_rank(g) == 0) {
        int is = shi_pes_under_way(ctx, pes, n);
        if (is == SHI_PES_REQUESTS)
            shi_fence_ring(ctx);
        else if (is == SHI_PES_MEMORY)
            shi_fence_acq_rel();
    }
    shi_group_barrier(g);
}

/* Sources of nonblocking puts may change, and what nonblocking gets and fetches return is there: a request is done with both when it has
 * completed; a load and store is done when it returns. */
SHI_FN void shi_flush(shmem_ctx_t ctx, int g)
{
    if (!shi_ctx_good(ctx))
        return;
    shi_group_barrier(g);
    if (shi_rank(g) == 0) {
        SHI_GLOBAL struct shi_ring *r = shi_ctx_ring(ctx);
        shi_u64 head;
        if (shi_ring_is_idle(r, &head))
            shi_fence_acquire(); /* A8 */
        else
            shi_ring_wait_done(r, ctx->single, head);
    }
    shi_group_barrier(g);
}

#endif
