/*
 * rma.h - put, get, put-with-signal: by load and store where this device reaches the PE's heap, else by the ring.
 *
 * The ring's part is in functions that are never inlined, so that the direct path keeps its registers; their PE numbers
 * are the world's, as the proxy's. Requests and results carry data of private and local memory, which the proxy cannot
 * access.
 */
#ifndef SHI_RMA_H
#define SHI_RMA_H

#include "device/lib/context.h"
#include "device/lib/copy.h"
#include "device/lib/group.h"
#include "device/lib/request.h"

enum { SHI_SIGNAL_SET = 1, SHI_SIGNAL_ADD = 2 }; /* SHMEM_SIGNAL_ */

/* Post for the items of a group that have a request; all items call. 0 and the ticket, or the abort word. A context of one caller at a time
 * may be a group's, whose items call at the same time. */
SHI_HOT shi_u64 shi_post_each(shmem_ctx_t ctx, int g, const struct shi_request *q, int pe,
                              const struct shi_payload *p, int mine, shi_u64 *ticket)
{
    int alone = g == SHI_THREAD && ctx->single;
    if (SHI_AGGREGATE || (!alone && (g == SHI_HTG || ctx->lockstep)))
        return shi_ring_post_group(shi_ctx_ring(ctx), alone, q->op, (shi_u32)pe, q->arg, p, mine, ticket);
    return mine ? shi_ring_post(shi_ctx_ring(ctx), alone, q->op, (shi_u32)pe, q->arg, p, ticket) : 0;
}

SHI_HOT shi_u64 shi_post(shmem_ctx_t ctx, const struct shi_request *q, int pe, const struct shi_payload *p, shi_u64 *ticket)
{
    return shi_post_each(ctx, SHI_THREAD, q, pe, p, 1, ticket);
}

SHI_FN void shi_fence_ring(shmem_ctx_t ctx)
{
    shi_ring_fence(shi_ctx_ring(ctx), ctx->single);
}

/* Post, and wait for completion unless nonblocking. */
SHI_HOT void shi_post_and_wait(shmem_ctx_t ctx, const struct shi_request *q, int pe, const struct shi_payload *p, int wait)
{
    shi_u64 ticket;
    if (!shi_post(ctx, q, pe, p, &ticket) && wait)
        shi_ring_wait_done(shi_ctx_ring(ctx), ctx->single, ticket + 1);
}

/* Post, and wait for the result. 0 after an abort. */
SHI_FN shi_u64 shi_post_and_take(shmem_ctx_t ctx, const struct shi_request *q, int pe)
{
    shi_u64 ticket, value = 0;
    if (!shi_post(ctx, q, pe, 0, &ticket))
        shi_ring_take_result(shi_ctx_ring(ctx), ticket, &value);
    return value;
}

/* ---- put -------------------------------------------------------------------------------------------------------- */

/* For one work-item. */
SHI_NOINLINE void shi_put_by_ring(shmem_ctx_t ctx, int pe, shi_u64 target, const void *source, shi_u64 bytes, int nbi)
{
    struct shi_request q;
    struct shi_payload p = {(const char *)source, bytes, 0, 0};
    shi_request_put(&q, target, (shi_u64)shi_to_global(source), bytes);
    if (bytes <= SHI_INLINE_PUT) {
        shi_request_put_inline(&q, target, bytes);
        p.end = SHI_INLINE_PUT / 8;
        nbi = 1;
    } else {
        shi_fence_release(); /* R1 */
    }
    shi_post_and_wait(ctx, &q, pe, &p, !nbi);
}

/* A piece of at most SHI_INLINE_PUT bytes for each item of a group; or none. */
SHI_NOINLINE void shi_put_piece(shmem_ctx_t ctx, int g, int pe, shi_u64 target, const char *source, shi_u32 bytes)
{
    struct shi_request q;
    shi_u64 ticket;
    struct shi_payload p = {source, bytes, 0, SHI_INLINE_PUT / 8};
    shi_request_put_inline(&q, target, bytes);
    shi_post_each(ctx, g, &q, pe, &p, bytes != 0, &ticket);
}

/* Put by inline requests, divided among the group: from memory that the proxy cannot access. */
SHI_FN void shi_put_in_pieces(shmem_ctx_t ctx, int g, int pe, shi_u64 target, const void *source, shi_u64 bytes)
{
    SHI_ROLLED
    for (shi_u64 from = 0; from < bytes; from += (shi_u64)shi_lanes(g) * SHI_INLINE_PUT) {
        shi_u64 at = from + (shi_u64)shi_rank(g) * SHI_INLINE_PUT, left = at < bytes ? bytes - at : 0;
        shi_put_piece(ctx, g, pe, target + at, (const char *)source + at, left < SHI_INLINE_PUT ? (shi_u32)left : SHI_INLINE_PUT);
    }
}

/* to: of shi_find. */
SHI_FN void shi_put_to(shmem_ctx_t ctx, int g, shi_u64 to, void *dest, const void *source, shi_u64 bytes, int nbi)
{
    if (!to)
        return;
    if (shi_is_direct(to))
        shi_copy((SHI_GLOBAL char *)to, source, bytes, shi_rank(g), shi_lanes(g));
    else if (bytes > SHI_INLINE_PUT && !shi_to_global(source))
        shi_put_in_pieces(ctx, g, shi_far_pe(to), shi_far_offset(ctx, dest), source, bytes);
    else if (shi_rank(g) == 0)
        shi_put_by_ring(ctx, shi_far_pe(to), shi_far_offset(ctx, dest), source, bytes, nbi);
}

/* Put by a group to a PE that is not near. */
SHI_NOINLINE void shi_put_far(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, int pe, int nbi)
{
    shi_put_to(ctx, g, shi_find_far(ctx, dest, bytes, 1, pe), dest, source, bytes, nbi);
}

SHI_FN void shi_put(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, int pe, int nbi)
{
    if (g == SHI_THREAD) {
        shi_put_to(ctx, g, shi_find(ctx, dest, bytes, 1, pe), dest, source, bytes, nbi);
        return;
    }
    shi_u64 to = shi_near(ctx, dest, bytes, 1, pe);
    shi_group_barrier(g);
    if (to)
        shi_copy((SHI_GLOBAL char *)to, source, bytes, shi_rank(g), shi_lanes(g));
    else
        shi_put_far(ctx, g, dest, source, bytes, pe, nbi);
    shi_group_barrier(g);
}

SHI_NOINLINE void shi_p_by_ring(shmem_ctx_t ctx, int pe, shi_u64 target, shi_u64 value, shi_u64 bytes)
{
    struct shi_request q;
    q.arg[0] = value;
    q.arg[1] = q.arg[2] = q.arg[3] = q.arg[4] = q.arg[5] = 0;
    shi_request_put_inline(&q, target, bytes);
    shi_post_and_wait(ctx, &q, pe, 0, 0);
}

/* Put the low `bytes` bytes, at most 8, of a value; by one store where dest is aligned. */
SHI_FN void shi_p(shmem_ctx_t ctx, void *dest, shi_u64 value, shi_u64 bytes, int pe)
{
    shi_u64 to = shi_find(ctx, dest, bytes, bytes, pe);
    if (!to)
        return;
    if (!shi_is_direct(to))
        shi_p_by_ring(ctx, shi_far_pe(to), shi_far_offset(ctx, dest), value, bytes);
    else if (bytes == 8)
        shi_store_relaxed((SHI_GLOBAL shi_u64 *)to, value);
    else if (bytes == 4)
        shi_atom32_set((SHI_GLOBAL shi_u32 *)to, (shi_u32)value);
    else
        shi_scatter((SHI_GLOBAL char *)to, value, bytes);
}

/* ---- get -------------------------------------------------------------------------------------------------------- */

SHI_NOINLINE shi_u64 shi_g_by_ring(shmem_ctx_t ctx, int pe, shi_u64 target, shi_u64 bytes)
{
    struct shi_request q;
    shi_request_get_inline(&q, target, bytes);
    return shi_post_and_take(ctx, &q, pe);
}

/* Get a piece of at most 8 bytes for each item of a group; or none. */
SHI_NOINLINE void shi_get_piece(shmem_ctx_t ctx, int g, int pe, char *dest, shi_u64 target, shi_u32 bytes)
{
    struct shi_request q;
    shi_u64 ticket = 0, value;
    shi_request_get_inline(&q, target, bytes);
    shi_u64 aborted = shi_post_each(ctx, g, &q, pe, 0, bytes != 0, &ticket);
    if (bytes && !aborted && !shi_ring_take_result(shi_ctx_ring(ctx), ticket, &value))
        shi_scatter(dest, value, bytes);
}

/* Get by such requests, divided among the group: to memory that the proxy cannot access. */
SHI_FN void shi_get_in_pieces(shmem_ctx_t ctx, int g, int pe, void *dest, shi_u64 target, shi_u64 bytes)
{
    SHI_ROLLED
    for (shi_u64 from = 0; from < bytes; from += (shi_u64)shi_lanes(g) * 8) {
        shi_u64 at = from + (shi_u64)shi_rank(g) * 8, left = at < bytes ? bytes - at : 0;
        shi_get_piece(ctx, g, pe, (char *)dest + at, target + at, left < 8 ? (shi_u32)left : 8);
    }
}

/* For one work-item; address: dest, for the proxy. */
SHI_NOINLINE void shi_get_by_ring(shmem_ctx_t ctx, int pe, shi_u64 address, shi_u64 target, shi_u64 bytes, int nbi)
{
    struct shi_request q;
    shi_request_get(&q, address, target, bytes);
    shi_fence_release(); /* R1: earlier stores to dest must not overwrite the proxy's data */
    shi_post_and_wait(ctx, &q, pe, 0, !nbi);
}

/* Get from a PE that is not near. */
SHI_NOINLINE void shi_get_far(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, int pe, int nbi)
{
    shi_u64 from = shi_find_far(ctx, source, bytes, 1, pe);
    if (!from)
        return;
    if (shi_is_direct(from))
        shi_copy(dest, (SHI_GLOBAL char *)from, bytes, shi_rank(g), shi_lanes(g));
    else if (!shi_to_global(dest))
        shi_get_in_pieces(ctx, g, shi_far_pe(from), dest, shi_far_offset(ctx, source), bytes);
    else if (shi_rank(g) == 0)
        shi_get_by_ring(ctx, shi_far_pe(from), shi_address(dest), shi_far_offset(ctx, source), bytes, nbi);
}

SHI_FN void shi_get(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, int pe, int nbi)
{
    shi_u64 from = shi_near(ctx, source, bytes, 1, pe);
    shi_group_barrier(g);
    if (from)
        shi_copy(dest, (SHI_GLOBAL char *)from, bytes, shi_rank(g), shi_lanes(g));
    else
        shi_get_far(ctx, g, dest, source, bytes, pe, nbi);
    shi_group_barrier(g);
}

/* A value of at most 8 bytes in memory that this device reaches. */
SHI_FN shi_u64 shi_load_word(shi_u64 from, shi_u64 bytes)
{
    if (bytes == 8)
        return shi_load_relaxed((SHI_GLOBAL shi_u64 *)from);
    if (bytes == 4)
        return shi_atom32_fetch((SHI_GLOBAL shi_u32 *)from);
    return shi_gather((SHI_GLOBAL char *)from, bytes);
}

/* Get a value of at most 8 bytes; 0 when the request is refused. */
SHI_FN shi_u64 shi_g(shmem_ctx_t ctx, const void *source, shi_u64 bytes, int pe)
{
    shi_u64 from = shi_find(ctx, source, bytes, bytes, pe);
    if (!from)
        return 0;
    if (!shi_is_direct(from))
        return shi_g_by_ring(ctx, shi_far_pe(from), shi_far_offset(ctx, source), bytes);
    return shi_load_word(from, bytes);
}

/* at: of shi_find. 1: this device accesses the word itself, 0: by a request. */
SHI_FN int shi_updates_directly(shmem_ctx_t ctx, const void *object, shi_u64 at, int updates)
{
    return shi_is_direct(at) && !(updates && ctx->ring_updates && !shi_is_outside(ctx, object));
}

/* Add to a word of a mapped PE of the context's team by a request, and wait until it is done, see amo.h. */
SHI_NOINLINE void shi_signal_add_by_ring(shmem_ctx_t ctx, int pe, shi_u64 signal, shi_u64 value)
{
    struct shi_request q;
    pe = shi_ctx_member(ctx, pe);
    shi_request_amo(&q, SHI_AMO_ADD, signal, 8, value, 0, 0, SHI_RESULT_SLOT);
    shi_fence_release(); /* the data, which was stored directly, is visible before the proxy changes the signal */
    shi_post_and_take(ctx, &q, pe);
}

/* ---- put with signal -------------------------------------------------------------------------------------------- */

/* For one work-item. fence: of its earlier requests. */
SHI_NOINLINE void shi_put_signal_by_ring(shmem_ctx_t ctx, int fence, int pe, shi_u64 target, const void *source,
                                         shi_u64 bytes, shi_u64 signal, shi_u64 value, int sig_op, int nbi)
{
    struct shi_request q;
    if (fence)
        shi_fence_ring(ctx);
    struct shi_payload p = {(const char *)source, bytes, 0, 0};
    shi_request_put_signal(&q, target, (shi_u64)shi_to_global(source), bytes, signal, value, sig_op);
    if (bytes <= SHI_INLINE_SIGNAL) {
        shi_request_put_signal_inline(&q, target, bytes, signal, value, sig_op);
        p.end = SHI_INLINE_SIGNAL / 8;
        nbi = 1;
    } else {
        shi_fence_release(); /* R1 */
    }
    shi_post_and_wait(ctx, &q, pe, &p, !nbi);
}

/* Data and signal to a PE that is not near, a signal that is added by a request, or an error. */
SHI_NOINLINE void shi_put_signal_far(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, void *sig_addr,
                                     shi_u64 value, int sig_op, int pe, int nbi)
{
    shi_u64 to = shi_find_far(ctx, dest, bytes, 1, pe), signal = bytes && !to ? 0 : shi_find_far(ctx, sig_addr, 8, 8, pe);
    if (!signal)
        return;
    if (sig_op != SHI_SIGNAL_SET && sig_op != SHI_SIGNAL_ADD) {
        shi_fault(ctx, SHI_FAULT_OPERATOR, (shi_u32)sig_op);
        return;
    }
    int direct = shi_is_direct(signal), pieces = !direct && bytes > SHI_INLINE_SIGNAL && !shi_to_global(source);
    if (direct && bytes)
        shi_copy((SHI_GLOBAL char *)to, source, bytes, shi_rank(g), shi_lanes(g));
    if (pieces) {
        shi_put_in_pieces(ctx, g, shi_far_pe(to), shi_far_offset(ctx, dest), source, bytes);
        bytes = 0;
    }
    if (direct || pieces)
        shi_group_barrier(g);
    if (shi_rank(g))
        return;
    if (!direct)
        shi_put_signal_by_ring(ctx, pieces, shi_far_pe(signal), bytes ? shi_far_offset(ctx, dest) : 0, source, bytes,
                               shi_far_offset(ctx, sig_addr), value, sig_op, nbi);
    else if (sig_op == SHI_SIGNAL_SET)
        shi_store_release((SHI_GLOBAL shi_u64 *)signal, value);
    else if (!shi_updates_directly(ctx, sig_addr, signal, 1))
        shi_signal_add_by_ring(ctx, pe, shi_far_offset(ctx, sig_addr), value);
    else
        shi_add_release((SHI_GLOBAL shi_u64 *)signal, value);
}

SHI_FN void shi_put_signal(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, void *sig_addr,
                           shi_u64 value, int sig_op, int pe, int nbi)
{
    shi_u64 to = bytes ? shi_near(ctx, dest, bytes, 1, pe) : 1, signal = shi_near(ctx, sig_addr, 8, 8, pe);
    int near = to && signal && (sig_op == SHI_SIGNAL_SET || (sig_op == SHI_SIGNAL_ADD && !ctx->ring_updates));
    shi_group_barrier(g);
    if (near) {
        if (bytes)
            shi_copy((SHI_GLOBAL char *)to, source, bytes, shi_rank(g), shi_lanes(g));
        shi_group_barrier(g);
        /* Pairs with the acquire of the wait for the signal: the data is visible before it. */
        if (shi_rank(g) == 0 && sig_op == SHI_SIGNAL_SET)
            shi_store_release((SHI_GLOBAL shi_u64 *)signal, value);
        if (shi_rank(g) == 0 && sig_op == SHI_SIGNAL_ADD)
            shi_add_release((SHI_GLOBAL shi_u64 *)signal, value);
    } else {
        shi_put_signal_far(ctx, g, dest, source, bytes, sig_addr, value, sig_op, pe, nbi);
    }
    shi_group_barrier(g);
}

#endif
