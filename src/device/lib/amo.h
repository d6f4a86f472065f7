/*
 * amo.h - atomic operations on 4 and 8 bytes of a PE's heap: by the device's atomics, or by the proxy.
 *
 * The two are not atomic with respect to each other where the host cannot access device memory: the proxy's are copies to
 * the host and back, under a lock (proxy/staged.c). So if any PE of the job has to update any other's words by requests
 * (ctx->ring_updates), all do, also where the device maps the word:
 *
 *   device memory   PEs                            updated by
 *   host accesses   any                            atomics of devices and of CPUs
 *   private         all map each other             atomics of devices; calls of the host must not overlap with them
 *   private         some only by requests          the holder of the word lock: a proxy, a record of the network, a call of the host
 *
 * Stores (p, put, signals that are set) are no updates: a word that is stored must not be updated at the same time. Stores go
 * directly to a PE that is mapped, and no fence of the ring orders them after a request. So an update by a request to a mapped
 * PE always waits for its result: all later operations come after it, whichever way they go (test/model/fence.pml).
 */
#ifndef SHI_AMO_H
#define SHI_AMO_H

#include "device/lib/rma.h"

#define SHI_AMO_SWITCH_(W, T)                                                                                         \
    SHI_FN T shi_amo_direct##W(SHI_GLOBAL T *p, int amo, T value, T cond)                                             \
    {                                                                                                                 \
        switch (amo) {                                                                                                \
        case SHI_AMO_FETCH:                                                                                           \
            return shi_atom##W##_fetch(p);                                                                            \
        case SHI_AMO_CSWAP:                                                                                           \
            return shi_atom##W##_cswap(p, cond, value);                                                               \
        case SHI_AMO_ADD:                                                                                             \
            return shi_atom##W##_add(p, value);                                                                       \
        case SHI_AMO_AND:                                                                                             \
            return shi_atom##W##_and(p, value);                                                                       \
        case SHI_AMO_OR:                                                                                              \
            return shi_atom##W##_or(p, value);                                                                        \
        case SHI_AMO_XOR:                                                                                             \
            return shi_atom##W##_xor(p, value);                                                                       \
        default:                                                                                                      \
            return shi_atom##W##_swap(p, value);                                                                      \
        }                                                                                                             \
    }
SHI_AMO_SWITCH_(32, shi_u32)
SHI_AMO_SWITCH_(64, shi_u64)

SHI_FN shi_u64 shi_amo_direct(SHI_GLOBAL char *p, int amo, shi_u64 bytes, shi_u64 value, shi_u64 cond)
{
    if (bytes == 8)
        return shi_amo_direct64((SHI_GLOBAL shi_u64 *)p, amo, value, cond);
    return shi_amo_direct32((SHI_GLOBAL shi_u32 *)p, amo, (shi_u32)value, (shi_u32)cond);
}

/* On PE pe of the context's team. */
SHI_NOINLINE shi_u64 shi_amo_by_ring(shmem_ctx_t ctx, int pe, int amo, shi_u64 target, shi_u64 bytes, shi_u64 value,
                                     shi_u64 cond, shi_u64 fetch, int result)
{
    struct shi_request q;
    shi_u64 ticket, before = 0;
    shi_request_amo(&q, amo, target, bytes, value, cond, fetch, result);
    if (result == SHI_RESULT_ADDRESS)
        shi_fence_release(); /* R1: earlier stores to fetch must not overwrite the proxy's result */
    if (!shi_post(ctx, &q, shi_ctx_member(ctx, pe), 0, &ticket) && result == SHI_RESULT_SLOT)
        shi_ring_take_result(shi_ctx_ring(ctx), ticket, &before);
    return before;
}

/* The old value with SHI_RESULT_SLOT; 0 when the request is refused. A request to a mapped PE waits for its result, see above. */
SHI_FN shi_u64 shi_amo(shmem_ctx_t ctx, int amo, const void *dest, shi_u64 bytes, shi_u64 value, shi_u64 cond, int pe,
                       int result)
{
    shi_u64 to = shi_find(ctx, dest, bytes, bytes, pe);
    if (!to)
        return 0;
    return shi_updates_directly(ctx, dest, to, amo != SHI_AMO_FETCH)
               ? shi_amo_direct((SHI_GLOBAL char *)to, amo, bytes, value, cond)
               : shi_amo_by_ring(ctx, pe, amo, shi_far_offset(ctx, dest), bytes, value, cond, 0,
                                 shi_is_direct(to) ? SHI_RESULT_SLOT : result);
}

/* The old value is in *fetch after the next quiet. */
SHI_FN void shi_amo_nbi(shmem_ctx_t ctx, int amo, void *fetch, const void *dest, shi_u64 bytes, shi_u64 value,
                        shi_u64 cond, int pe)
{
    shi_u64 to = shi_find(ctx, dest, bytes, bytes, pe), address = (shi_u64)shi_to_global(fetch), before;
    if (!to)
        return;
    if (!shi_is_direct(to) && address) {
        shi_amo_by_ring(ctx, pe, amo, shi_far_offset(ctx, dest), bytes, value, cond, address, SHI_RESULT_ADDRESS);
        return;
    }
    before = shi_updates_directly(ctx, dest, to, amo != SHI_AMO_FETCH)
                 ? shi_amo_direct((SHI_GLOBAL char *)to, amo, bytes, value, cond)
                 : shi_amo_by_ring(ctx, pe, amo, shi_far_offset(ctx, dest), bytes, value, cond, 0, SHI_RESULT_SLOT);
    shi_scatter(fetch, before, bytes);
}

/* ---- addition of float and double, by their bits ---------------------------------------------------------------- */

/* Not part of shi_amo, so that kernels without it need no double. */
SHI_FN shi_u64 shi_amo_fadd_direct(shi_u64 to, shi_u64 bytes, shi_u64 value)
{
    return bytes == 8 ? shi_atom64_fadd((SHI_GLOBAL shi_u64 *)to, value)
                      : (shi_u64)shi_atom32_fadd((SHI_GLOBAL shi_u32 *)to, (shi_u32)value);
}

/* As shi_amo. */
SHI_FN shi_u64 shi_amo_fadd(shmem_ctx_t ctx, const void *dest, shi_u64 bytes, shi_u64 value, int pe, int result)
{
    shi_u64 to = shi_find(ctx, dest, bytes, bytes, pe);
    if (!to)
        return 0;
    return shi_updates_directly(ctx, dest, to, 1)
               ? shi_amo_fadd_direct(to, bytes, value)
               : shi_amo_by_ring(ctx, pe, SHI_AMO_FADD, shi_far_offset(ctx, dest), bytes, value, 0, 0,
                                 shi_is_direct(to) ? SHI_RESULT_SLOT : result);
}

/* As shi_amo_nbi. */
SHI_FN void shi_amo_fadd_nbi(shmem_ctx_t ctx, void *fetch, const void *dest, shi_u64 bytes, shi_u64 value, int pe)
{
    shi_u64 to = shi_find(ctx, dest, bytes, bytes, pe), address = (shi_u64)shi_to_global(fetch);
    if (!to)
        return;
    if (!shi_is_direct(to) && address)
        shi_amo_by_ring(ctx, pe, SHI_AMO_FADD, shi_far_offset(ctx, dest), bytes, value, 0, address, SHI_RESULT_ADDRESS);
    else
        shi_scatter(fetch, shi_amo_fadd(ctx, dest, bytes, value, pe, SHI_RESULT_SLOT), bytes);
}

#endif
