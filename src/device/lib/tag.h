/*
 * tag.h - tagged messages of kernels: the proxy sends and receives them as messages of this PE in SHMEM_TEAM_WORLD.
 *
 * The request carries a short message, from any memory. The proxy reads a longer one in the device heap. It receives into
 * the device heap, before it sets the result slot (R4 -> A4).
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
        struct shi_payload p = {(const char *)source, bytes, 2, SHI_RING_ARGS};
        shi_request_tag_inline(&q, tag, bytes);
        shi_post_and_wait(ctx, &q, pe, &p, 0);
    } else if (shi_offset(ctx, source, bytes, 1, &offset)) {
        shi_request_tag(&q, tag, ctx->heap + offset, bytes);
        shi_fence_release(); /* R1 */
        shi_post_and_wait(ctx, &q, pe, 0, !nbi);
    }
}

/* ---- receive ---------------------------------------------------------------------------------------------------- */

struct shi_tag_status {
    shi_u64 tag, bytes;
    int source, truncated;
};
/* A receive in progress; ticket1: 0: none, else its ticket + 1. */
struct shi_tag_receive {
    shi_u64 ticket1, room;
};

/* The sender as in a request; pe -1: any. 0 and a fault when there is none. */
SHI_FN int shi_tag_sender(shmem_ctx_t ctx, int pe, shi_u64 *sender)
{
    *sender = SHI_TAG_ANY;
    if (!shi_ctx_good(ctx))
        return 0;
    if (pe == -1)
        return 1;
    if (pe < 0 || pe >= ctx->n_pes) {
        shi_fault(ctx, SHI_FAULT_PE, (shi_u32)pe);
        return 0;
    }
    *sender = (shi_u64)shi_ctx_member(ctx, pe);
    return 1;
}

/* Number of a world PE in the context's team, or -1. */
SHI_FN int shi_ctx_number(shmem_ctx_t ctx, int world_pe)
{
    int i = 0;
    if (ctx->stride)
        i = (world_pe - ctx->start) / ctx->stride;
    else
        while (i < ctx->n_pes && shi_ctx_member(ctx, i) != world_pe)
            i++;
    return i >= 0 && i < ctx->n_pes && shi_ctx_member(ctx, i) == world_pe ? i : -1;
}

/* Wait for a result. 1 and *status, which may be NULL, 0 when there is no message, -5 (EIO) after an abort. */
SHI_NOINLINE int shi_tag_take(shmem_ctx_t ctx, shi_u64 ticket, shi_u64 room, struct shi_tag_status *status)
{
    shi_u64 word[SHI_RESULT_WORDS];
    if (shi_ring_take_words(shi_ctx_ring(ctx), ticket, word, SHI_RESULT_WORDS))
        return -5;
    if (word[2] == SHI_TAG_ANY)
        return 0;
    if (status) {
        status->bytes = word[0];
        status->tag = word[1];
        status->source = shi_ctx_number(ctx, (int)word[2]);
        status->truncated = word[0] > room;
    }
    return 1;
}

SHI_FN int shi_tag_post(shmem_ctx_t ctx, const struct shi_request *q, shi_u64 *ticket)
{
    return shi_post(ctx, q, shi_team_world(ctx)->me, 0, ticket) ? -5 : 0;
}

/* Post a receive. 0 and *ticket, or a negative number, after an abort or a fault. */
SHI_NOINLINE int shi_tag_receive(shmem_ctx_t ctx, void *dest, shi_u64 bytes, shi_u64 tag, shi_u64 mask, int pe, int result,
                                 shi_u64 *ticket)
{
    struct shi_request q;
    shi_u64 offset, sender;
    if (!shi_tag_sender(ctx, pe, &sender) || !shi_offset(ctx, dest, bytes, 1, &offset))
        return -22;
    shi_request_tag_recv(&q, tag, mask, bytes ? ctx->heap + offset : 0, bytes, sender, result);
    shi_fence_release(); /* R1: earlier stores to dest must not overwrite the message */
    return shi_tag_post(ctx, &q, ticket);
}

SHI_FN void shi_tag_recv(shmem_ctx_t ctx, void *dest, shi_u64 bytes, shi_u64 tag, shi_u64 mask, int pe,
                         struct shi_tag_status *status)
{
    shi_u64 ticket;
    if (!shi_tag_receive(ctx, dest, bytes, tag, mask, pe, SHI_RESULT_SLOT, &ticket))
        shi_tag_take(ctx, ticket, bytes, status);
}

SHI_FN void shi_tag_irecv(shmem_ctx_t ctx, void *dest, shi_u64 bytes, shi_u64 tag, shi_u64 mask, int pe,
                          struct shi_tag_receive *request)
{
    shi_u64 ticket;
    int err = shi_tag_receive(ctx, dest, bytes, tag, mask, pe, SHI_RESULT_NONE, &ticket);
    request->ticket1 = err ? 0 : ticket + 1;
    request->room = bytes;
}

/* 1: it is complete, or there was none. */
SHI_NOINLINE int shi_tag_test(shmem_ctx_t ctx, struct shi_tag_receive *request, struct shi_tag_status *status, int wait)
{
    struct shi_request q;
    shi_u64 ticket;
    if (!request->ticket1 || !shi_ctx_good(ctx))
        return 1;
    shi_request_tag_test(&q, request->ticket1 - 1, wait);
    if (shi_tag_post(ctx, &q, &ticket) == 0 && shi_tag_take(ctx, ticket, request->room, status) == 0)
        return 0;
    request->ticket1 = 0;
    return 1;
}

/* 1: there is a message, and *status; 0: none; negative: abort or fault. wait: look until there is one. */
SHI_NOINLINE int shi_tag_probe(shmem_ctx_t ctx, shi_u64 tag, shi_u64 mask, int pe, struct shi_tag_status *status, int wait)
{
    struct shi_request q;
    shi_u64 sender, ticket;
    int found = 0;
    if (!shi_tag_sender(ctx, pe, &sender))
        return -22;
    do {
        shi_request_tag_probe(&q, tag, mask, sender);
        found = shi_tag_post(ctx, &q, &ticket);
        if (!found)
            found = shi_tag_take(ctx, ticket, ~(shi_u64)0, status);
    } while (wait && !found);
    return found;
}

#endif
