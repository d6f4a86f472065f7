/*
 * gpc.h - global procedure calls from kernels: the proxy starts them and returns the reply.
 *
 * The request carries the header. The proxy writes the reply to the kernel's buffer before it sets the result slot (R4 -> A4).
 */
#ifndef SHI_DEVICE_GPC_H
#define SHI_DEVICE_GPC_H

#include "device/lib/rma.h"

/* 0 and a fault for invalid arguments. */
SHI_FN int shi_gpc_request(shmem_ctx_t ctx, int pe, const void *hdr, shi_u64 hlen, shi_u64 rhdr, shi_u64 rhlen)
{
    if (!shi_ctx_good(ctx))
        return 0;
    if (pe < 0 || pe >= ctx->n_pes)
        shi_fault(ctx, SHI_FAULT_PE, (shi_u32)pe);
    else if (hlen > SHI_INLINE_GPC)
        shi_fault(ctx, SHI_FAULT_ADDRESS, (shi_u64)hdr);
    else if (rhlen && !rhdr)
        shi_fault(ctx, SHI_FAULT_ADDRESS, rhdr);
    else
        return 1;
    return 0;
}

/* wait: the status of the call, else 0. -22 (EINVAL) when it is refused, -5 (EIO) after an abort. */
SHI_NOINLINE int shi_gpc(shmem_ctx_t ctx, int func, int pe, const void *hdr, shi_u64 hlen, void *rhdr, shi_u64 rhlen,
                         int wait)
{
    struct shi_request q;
    shi_u64 ticket, status = 0, reply = (shi_u64)shi_to_global(rhdr);
    if (!shi_gpc_request(ctx, pe, hdr, hlen, reply, rhlen))
        return -22;
    struct shi_payload p = {(const char *)hdr, hlen, 2, SHI_RING_ARGS};
    shi_request_gpc(&q, func, hlen, reply, rhlen, wait ? SHI_RESULT_SLOT : SHI_RESULT_NONE);
    if (rhlen)
        shi_fence_release(); /* R1: earlier stores to rhdr must not overwrite the proxy's reply */
    if (shi_post(ctx, &q, shi_ctx_member(ctx, pe), &p, &ticket))
        return -5;
    if (wait && shi_ring_take_result(shi_ctx_ring(ctx), ticket, &status))
        return -5;
    return (int)status;
}

/* Chained: ids, idlen PEs of the world, is in the device heap, or NULL: all PEs. *failed: of the PE that failed, or -1; or NULL. */
SHI_NOINLINE int shi_gpc_chained(shmem_ctx_t ctx, int func, int callback, const void *hdr, shi_u64 hlen, void *rhdr,
                                 shi_u64 rhlen, int idlen, const int *ids, int tree, int *failed, int wait)
{
    struct shi_request q;
    shi_u64 ticket, offset, result[2] = {0, ~(shi_u64)0}, reply = (shi_u64)shi_to_global(rhdr);
    if (failed)
        *failed = -1;
    if (!shi_gpc_request(ctx, 0, hdr, hlen, reply, rhlen))
        return -22;
    if (hlen > SHI_INLINE_GPC_CHAINED || idlen < 0) {
        shi_fault(ctx, SHI_FAULT_ADDRESS, (shi_u64)hdr);
        return -22;
    }
    if (ids && !shi_offset(ctx, ids, idlen ? (shi_u64)idlen * 4 : 1, 4, &offset))
        return -22;
    struct shi_payload p = {(const char *)hdr, hlen, 4, SHI_RING_ARGS};
    shi_request_gpc(&q, func, hlen, reply, rhlen, wait ? SHI_RESULT_SLOT : SHI_RESULT_NONE);
    shi_request_gpc_chained(&q, callback, tree, idlen, ids ? ctx->heap + offset : 0);
    shi_fence_release(); /* R1: ids is complete; as above */
    if (shi_post(ctx, &q, shi_team_world(ctx)->me, &p, &ticket))
        return -5;
    if (wait && shi_ring_take_words(shi_ctx_ring(ctx), ticket, result, 2))
        return -5;
    if (failed)
        *failed = (int)result[1];
    return (int)result[0];
}

#endif
