/*
 * context.h - translate a context and an object's address to the object's location on a PE. Errors are recorded.
 *
 *   word                  written by                   read by  order
 *   SHMEMG_DEFAULT_       host, before the launch      device   the launch
 *   shmemg_fault_         device, compare-and-swap     host     the kernel's end
 *   *ctx->fault           device, compare-and-swap     host     relaxed: an error code; no other data depends on it
 *   shmemg_turn_          device                       device   relaxed: every value is right, see many.h
 */
#ifndef SHI_CONTEXT_H
#define SHI_CONTEXT_H

#include "device/lib/state.h"

typedef SHI_GLOBAL struct shi_dev_ctx *shmem_ctx_t;

#ifdef SHI_SYCL
/* An address, not a pointer: llvm-spirv 15 crashes where all values that a pointer can have are NULL. */
struct shmem_team_t {
    shi_u64 at;
    shmem_team_t() = default;
    explicit shmem_team_t(shi_u64 address) : at(address) {}
    explicit operator bool() const { return at != 0; }
    explicit operator shi_u64() const { return at; }
    SHI_GLOBAL struct shi_dev_team *operator->() const { return (SHI_GLOBAL struct shi_dev_team *)at; }
};
#define SHI_CTX_DEFAULT_ (&shi_sycl_state()->ctx)
#define shmemg_fault_ (*(SHI_GLOBAL shi_u64 *)shi_sycl_state()->fault)
#define shmemg_turn_ (shi_sycl_state()->turn)
#if SHI_ACPP
SHI_HOT SHI_GLOBAL struct shi_sycl_state *shi_sycl_state(void)
{
    return (SHI_GLOBAL struct shi_sycl_state *)SHI_SYCL_PLACE;
}
#else
inline sycl::ext::oneapi::experimental::device_global<struct shi_sycl_state *> shi_sycl_at;
SHI_HOT SHI_GLOBAL struct shi_sycl_state *shi_sycl_state(void)
{
    return shi_sycl_at;
}
#endif
#else
typedef SHI_GLOBAL struct shi_dev_team *shmem_team_t;
/* The context of routines without one. The host writes it once per module. */
SHI_CONSTANT struct shi_dev_ctx SHMEMG_DEFAULT_ = {0};
/* The first error of a routine that was called without a valid context. As *ctx->fault. */
SHI_PROGRAM_SCOPE shi_u64 shmemg_fault_ = 0;
SHI_SYMBOLS(SHMEMG_DEFAULT_, shmemg_fault_)
/* Where the next search for any word starts. */
SHI_PROGRAM_SCOPE shi_u64 shmemg_turn_ = 0;
#define SHI_CTX_DEFAULT_ ((SHI_GLOBAL struct shi_dev_ctx *)&SHMEMG_DEFAULT_)
#endif

SHI_FN void shi_fault(shmem_ctx_t ctx, int kind, shi_u64 culprit)
{
    SHI_GLOBAL shi_u64 *word = ctx && ctx->fault ? (SHI_GLOBAL shi_u64 *)ctx->fault : &shmemg_fault_;
    shi_atom64_cswap(word, 0, culprit << 8 | (shi_u64)kind);
}

SHI_FN int shi_ctx_good(shmem_ctx_t ctx)
{
    if (ctx && ctx->version == SHI_DEV_VERSION)
        return 1;
    shi_fault(0, SHI_FAULT_CONTEXT, (shi_u64)ctx);
    return 0;
}

/* The address of the struct shi_dev_added that has these bytes, or 0: none has. No pointer: see SHI_CHOSEN_ in dialect.h. */
SHI_FN shi_u64 shi_added_with(shmem_ctx_t ctx, shi_u64 address, shi_u64 bytes)
{
    const SHI_GLOBAL struct shi_dev_added *a = (const SHI_GLOBAL struct shi_dev_added *)ctx->added;
    shi_u64 last = address + bytes - 1;
    SHI_ROLLED
    for (int i = 0; i < SHI_DEV_ADDED && last >= address; i++, a++)
        if (address >= a->lo && last < a->end)
            return (shi_u64)a;
    return 0;
}

/* The distance of an address from the heap's start. 0 and a fault when it is not symmetric or not a multiple of align. */
SHI_HOT int shi_offset(shmem_ctx_t ctx, const void *object, shi_u64 bytes, shi_u64 align, shi_u64 *out)
{
    shi_u64 address = shi_address(object), offset = address - ctx->heap;
    int outside = offset >= ctx->heap_bytes || bytes > ctx->heap_bytes - offset;
    if (bytes && ((address & (align - 1)) || (outside && !shi_added_with(ctx, address, bytes)))) {
        shi_fault(ctx, SHI_FAULT_ADDRESS, (shi_u64)object);
        return 0;
    }
    *out = offset;
    return 1;
}

/* World PE of member i of the context's team, and of a team. */
SHI_FN int shi_ctx_member(shmem_ctx_t ctx, int i)
{
    return ctx->stride ? ctx->start + i * ctx->stride : ((const SHI_GLOBAL int *)ctx->list)[i];
}
SHI_FN int shi_member(shmem_team_t team, int i)
{
    return team->stride ? team->start + i * team->stride : ((const SHI_GLOBAL int *)team->list)[i];
}

/* 1: an operation on the own PE may name any memory of the device, as NVSHMEM's may; else only what is symmetric, which other PEs may
 * update at the same time. */
#ifndef SHI_SELF_ANYWHERE
#define SHI_SELF_ANYWHERE 0
#endif
SHI_FN int shi_is_outside(shmem_ctx_t ctx, const void *object)
{
    return SHI_SELF_ANYWHERE && shi_address(object) - ctx->heap >= ctx->heap_bytes && !shi_added_with(ctx, shi_address(object), 1);
}

/* What shi_find_far returns, by the table of PEs' addresses. */
SHI_FN shi_u64 shi_at_peer(shi_u64 peers, int world_pe, shi_u64 offset)
{
    shi_u64 base = ((const SHI_GLOBAL shi_u64 *)peers)[world_pe];
    return base ? base + offset : 1 + (shi_u64)world_pe;
}

/* The end of shi_find_far where the object is not in the heap, or not aligned; it keeps no registers there. */
SHI_NOINLINE shi_u64 shi_find_added(shmem_ctx_t ctx, const void *object, shi_u64 bytes, shi_u64 align, int pe)
{
    shi_u64 address = shi_address(object), at = address & (align - 1) ? 0 : shi_added_with(ctx, address, bytes);
    if (at) {
        const SHI_GLOBAL struct shi_dev_added *a = (const SHI_GLOBAL struct shi_dev_added *)at;
        return shi_at_peer(a->peer, shi_ctx_member(ctx, pe), address - a->lo);
    }
    shi_fault(ctx, SHI_FAULT_ADDRESS, address);
    return 0;
}

/* Where PE pe of the context's team has the object that corresponds to this local address: an address, if this device reaches it, or 1 + the
 * PE's number in the world, for a request. 0: nowhere, with a fault; or there are no bytes. */
SHI_NOINLINE shi_u64 shi_find_far(shmem_ctx_t ctx, const void *object, shi_u64 bytes, shi_u64 align, int pe)
{
    shi_u64 offset;
    if (!shi_ctx_good(ctx))
        return 0;
    if ((shi_u32)pe >= (shi_u32)ctx->n_pes) {
        shi_fault(ctx, SHI_FAULT_PE, (shi_u32)pe);
        return 0;
    }
    if (bytes && pe == ctx->me && shi_is_outside(ctx, object))
        return shi_address(object);
    if (!bytes)
        return 0;
    offset = shi_address(object) - ctx->heap;
    if (offset >= ctx->heap_bytes || bytes > ctx->heap_bytes - offset || (shi_address(object) & (align - 1)))
        return shi_find_added(ctx, object, bytes, align, pe);
    return shi_at_peer(ctx->peer_heap, shi_ctx_member(ctx, pe), offset);
}

SHI_FN int shi_is_direct(shi_u64 at)
{
    return at > (shi_u64)1 << SHI_PE_BITS;
}

/* The address, if what is usual holds: the PE is near, no error. Else 0. The default context of a module that the host has not written has no
 * near PEs. */
SHI_HOT shi_u64 shi_near(shmem_ctx_t ctx, const void *object, shi_u64 bytes, shi_u64 align, int pe)
{
    if (ctx != SHI_CTX_DEFAULT_ && !ctx)
        return 0;
    shi_u64 address = shi_address(object), offset = address - ctx->heap, at;
    shi_u32 near = (shi_u32)pe - ctx->near_first;
    if ((ctx == SHI_CTX_DEFAULT_ || ctx->version == SHI_DEV_VERSION) && near < ctx->near_n && (bytes <= 8 || bytes <= ctx->heap_bytes) &&
        offset <= ctx->heap_bytes - bytes && !(address & (align - 1))) { /* no heap has less than 8 bytes */
        at = ctx->near[near] + offset;
        SHI_ASSUME(at > (shi_u64)1 << SHI_PE_BITS);
        return at;
    }
    return 0;
}

SHI_HOT shi_u64 shi_find(shmem_ctx_t ctx, const void *object, shi_u64 bytes, shi_u64 align, int pe)
{
    shi_u64 at = shi_near(ctx, object, bytes, align, pe);
    return at ? at : shi_find_far(ctx, object, bytes, align, pe);
}

/* What a request needs of an object that is not direct: the PE of the world, and the distance from the heap's start. */
SHI_FN int shi_far_pe(shi_u64 at)
{
    return (int)at - 1;
}
SHI_HOT shi_u64 shi_far_offset(shmem_ctx_t ctx, const void *object)
{
    return (shi_address(object) - ctx->heap) & SHI_REQUEST_LOW;
}

SHI_FN SHI_GLOBAL struct shi_ring *shi_ctx_ring(shmem_ctx_t ctx)
{
    return (SHI_GLOBAL struct shi_ring *)ctx->ring;
}

SHI_FN int shi_my_pe(shmem_ctx_t ctx)
{
    return shi_ctx_good(ctx) ? ctx->me : -1;
}

SHI_FN int shi_n_pes(shmem_ctx_t ctx)
{
    return shi_ctx_good(ctx) ? ctx->n_pes : -1;
}

/* The address of PE pe's object for loads and stores by this device, or NULL. */
SHI_FN void *shi_ptr(shmem_ctx_t ctx, const void *object, int pe)
{
    shi_u64 at = shi_find(ctx, object, 1, 1, pe);
    return (void *)(SHI_GLOBAL char *)SHI_CHOSEN_(shi_is_direct(at) ? at : 0);
}

SHI_FN shmem_team_t shi_team_world(shmem_ctx_t ctx)
{
    return shi_ctx_good(ctx) ? (shmem_team_t)ctx->world : (shmem_team_t)0;
}

SHI_FN shmem_team_t shi_team_shared(shmem_ctx_t ctx)
{
    return shi_ctx_good(ctx) ? (shmem_team_t)ctx->shared : (shmem_team_t)0;
}

/* -1 for an invalid team and for a PE that is no member. */
SHI_FN int shi_team_my_pe(shmem_team_t team)
{
    return team ? team->me : -1;
}

SHI_FN int shi_team_n_pes(shmem_team_t team)
{
    return team ? team->n : -1;
}

/* The number in the team of a world PE, or -1. */
SHI_FN int shi_member_of(shmem_team_t team, int world_pe)
{
    int i = 0;
    if (!team)
        return -1;
    if (team->stride)
        i = (world_pe - team->start) / team->stride;
    else
        while (i < team->n && shi_member(team, i) != world_pe)
            i++;
    return i >= 0 && i < team->n && shi_member(team, i) == world_pe ? i : -1;
}

SHI_FN int shi_team_translate(shmem_team_t from, int pe, shmem_team_t to)
{
    return from && pe >= 0 && pe < from->n ? shi_member_of(to, shi_member(from, pe)) : -1;
}

#endif
