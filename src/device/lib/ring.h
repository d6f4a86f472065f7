/*
 * ring.h - the ring through which a device requests operations of the host that it cannot do by load and store.
 *
 * Many producers (work-items), one consumer (the proxy thread). Where no two calls overlap, a load and a store advance head
 * and epoch instead of a fetch-add. A request is a header and seven words. Each of the slot's eight words carries the phase
 * bit of its lap, by which the consumer validates each word by itself. So inline data needs no release, no fence and no
 * order among the words. All eight words are always written and checked.
 *
 *   word         written by                      read by     order
 *   head         producers, fetch-add or alone   producers   relaxed: hands out tickets, publishes nothing
 *   epoch        the same, by fence              producers   relaxed: read before the ticket is taken
 *   slot word    owner of the ticket             proxy       A1 by the phase bit; R1 -> A1 for memory it points to
 *   tail         proxy                           producers   R2 -> A2
 *   seen         producers, any value of tail    producers   R7 -> A7: a copy of tail near the device, extends R2 -> A2
 *   done         proxy                           producers   R3 -> A3
 *   completed    producers, any value of done    producers   R8 -> A8: a copy of done near the device, extends R3 -> A3
 *   abort        proxy                           producers   relaxed: no data depends on it; producers return
 *   result.value, proxy, before result.tag        owner       plain, after A4
 *   .more
 *   result.tag   proxy sets (R4), owner clears   both        R4 -> A4; R5 (clear) -> A5 (proxy may reuse)
 *
 * R1 -> A1  data that a request points to is complete before the proxy reads it (inline payloads need no R1).
 * R2 -> A2  the proxy has copied the slot before the owner of ticket + N overwrites it. A read of tail is slow for a
 *           device, so a producer that read it stores it in seen, which may be older than tail but never ahead.
 * R3 -> A3  all requests up to the ticket have completed and their stores are visible before the producer continues. Reads of done are slow,
 *           too, so a producer that read it stores it in completed; where that has reached head, quiet and fence have nothing to do.
 *
 * Checked by test/model/ring.pml, fence.pml, retire.pml, result.pml and lanes.pml.
 */
#ifndef SHI_RING_H
#define SHI_RING_H

#include "device/lib/dialect.h"

enum { SHI_RING_WORDS = 8, SHI_RING_ARGS = 7, SHI_RING_AHEAD = 8, SHI_INLINE_PUT = 48, SHI_INLINE_SIGNAL = 32,
       SHI_RESULT_WORDS = 3 };

/* Operations. Arguments: see request.h. */
enum shi_op {
    SHI_OP_PUT, SHI_OP_PUT_INLINE, SHI_OP_PUT_SIGNAL, SHI_OP_PUT_SIGNAL_INLINE, SHI_OP_GET, SHI_OP_AMO,
    SHI_OP_GET_INLINE, SHI_OP_GPC, SHI_OP_TAG, SHI_OP_TAG_INLINE, SHI_OP_TAG_RECV, SHI_OP_TAG_TEST, SHI_OP_TAG_PROBE,
    SHI_OP_GPC_CHAINED
};

/* The proxy writes these words together, done last. */
struct shi_ring_line {
    shi_u64 tail;  /* the proxy has copied the slots of tickets below it */
    shi_u64 pad;
    shi_u64 done;  /* tickets below it have completed; 16 bytes aligned: read with abort */
    shi_u64 abort; /* nonzero: 1 + the exit status of the job that ends */
    shi_u64 pad1[4];
};

/* A result slot: the one of ticket T is number T % N. */
struct shi_ring_result {
    shi_u64 value;
    shi_u64 tag; /* ticket + 1 while it has an unread result, else 0 */
    shi_u64 more[SHI_RESULT_WORDS - 1]; /* the rest of a result of several words; written and read as value is */
};

/* One ring. Addresses, not pointers, so that host and device agree on the layout. */
struct shi_ring {
    shi_u64 head;
    shi_u64 completed; /* read with head; the host sets both to the same value */
    shi_u64 pad0[6];
    shi_u64 epoch;
    shi_u64 seen;
    shi_u64 pad1[6];
    shi_u64 slots; /* shi_u64 [N][8], in host-visible memory, 16 bytes aligned, zero except the phase bit of the lap
                    * before head's */
    shi_u64 results; /* struct shi_ring_result [N] */
    shi_u64 line;  /* struct shi_ring_line */
    shi_u64 log_n; /* N = 2^log_n slots */
    shi_u64 pad2[4];
};

#ifndef __OPENCL_C_VERSION__
#ifndef __CUDACC__
_Static_assert(sizeof(struct shi_ring_line) == 64, "the line is published as one");
_Static_assert(sizeof(struct shi_ring_result) == 32, "host and device agree");
_Static_assert(sizeof(struct shi_ring) == 192, "host and device agree");
#endif
#endif

/* A request outside the ring. The header has 56 bits: op, pe, epoch. */
struct shi_request {
    shi_u32 op, pe, epoch;
    shi_u64 arg[SHI_RING_ARGS];
};

enum { SHI_EPOCH_BITS = 24, SHI_PE_BITS = 24 };

SHI_FN shi_u64 shi_ring_phase(shi_u64 ticket, shi_u64 log_n)
{
    return ~(ticket >> log_n) & 1;
}

SHI_FN SHI_GLOBAL struct shi_ring_line *shi_ring_line(const SHI_GLOBAL struct shi_ring *r)
{
    return (SHI_GLOBAL struct shi_ring_line *)r->line;
}

SHI_FN SHI_GLOBAL shi_u64 *shi_ring_slot(const SHI_GLOBAL struct shi_ring *r, shi_u64 ticket)
{
    shi_u64 mask = ((shi_u64)1 << r->log_n) - 1;
    return (SHI_GLOBAL shi_u64 *)r->slots + (ticket & mask) * SHI_RING_WORDS;
}

/* The abort word at each 64th look of a wait: it is in host memory, to which each look of a device is a trip. */
SHI_FN shi_u64 shi_ring_aborted_sometimes(const SHI_GLOBAL struct shi_ring *r, shi_u32 *looks)
{
    return ++*looks % 64 == 0 ? shi_load_relaxed(&shi_ring_line(r)->abort) : 0;
}

/* ---- producers -------------------------------------------------------------------------------------------------- */

/* Poll until tickets below `ticket` have completed. 0 and *done, or the abort word. A fence (A3) must follow. The line is in host memory,
 * so that a device needs a trip for each look: one for both words. */
SHI_FN shi_u64 shi_ring_poll_done(const SHI_GLOBAL struct shi_ring *r, shi_u64 ticket, shi_u64 *done)
{
    SHI_GLOBAL struct shi_ring_line *line = shi_ring_line(r);
    shi_u64 aborted;
    for (;;) {
        shi_load_pair(&line->done, done, &aborted);
        if (!((shi_u64)(*done - ticket) >> 63)) /* right across a wrap, too */
            return 0;
        if (aborted)
            return aborted;
        shi_pause();
    }
}

/* Wait until tickets below `ticket` have completed. 0, or the abort word. */
SHI_FN shi_u64 shi_ring_wait_done(SHI_GLOBAL struct shi_ring *r, shi_u64 ticket)
{
    shi_u64 done, aborted = shi_ring_poll_done(r, ticket, &done);
    if (!aborted) {
        shi_fence_acq_rel(); /* A3, R8 */
        shi_store_relaxed(&r->completed, done);
    }
    return aborted;
}

/* Wait until the slot of `ticket` is free. 0, or the abort word. */
SHI_FN shi_u64 shi_ring_wait_credit(SHI_GLOBAL struct shi_ring *r, shi_u64 ticket)
{
    SHI_GLOBAL struct shi_ring_line *line = shi_ring_line(r);
    shi_u64 tail = shi_load_acquire(&r->seen); /* A7 */
    if (!((ticket - tail) >> r->log_n))
        return 0;
    for (shi_u32 looks = 0; (ticket - (tail = shi_load_relaxed(&line->tail))) >> r->log_n; shi_pause()) {
        shi_u64 aborted = shi_ring_aborted_sometimes(r, &looks);
        if (aborted)
            return aborted;
    }
    shi_fence_acquire(); /* A2 */
    shi_store_release(&r->seen, tail); /* R7 */
    return 0;
}

/* The current epoch. Read it before taking the ticket. */
SHI_FN shi_u64 shi_ring_epoch(const SHI_GLOBAL struct shi_ring *r)
{
    return shi_load_relaxed(&r->epoch) & (((shi_u64)1 << SHI_EPOCH_BITS) - 1);
}

/* Fill the slot of a ticket that has credit. Prefetch the line of a later ticket, which is in the consumer's cache:
 * otherwise the next fetch-add, which waits for all stores, waits for this ticket's line. */
SHI_HOT void shi_ring_write(const SHI_GLOBAL struct shi_ring *r, shi_u64 t, shi_u64 epoch, shi_u32 op, shi_u32 pe,
                            const shi_u64 *arg)
{
    SHI_GLOBAL shi_u64 *slot = shi_ring_slot(r, t);
    shi_prefetch_write(shi_ring_slot(r, t + SHI_RING_AHEAD));
    shi_u64 word[SHI_RING_WORDS], phase = shi_ring_phase(t, r->log_n);
    word[0] = ((shi_u64)op << (SHI_PE_BITS + SHI_EPOCH_BITS) | (shi_u64)pe << SHI_EPOCH_BITS | epoch) << 8 | phase;
    for (int i = 0; i < SHI_RING_ARGS; i++) {
        word[i + 1] = (arg[i] & ~(shi_u64)1) | phase;
        word[0] |= (arg[i] & 1) << (i + 1); /* the bit that the phase displaced */
    }
    for (int i = 0; i < SHI_RING_WORDS; i += 2)
        shi_store_pair(slot + i, word[i], word[i + 1]);
}

/* Post one request. When it refers to memory written before, the caller first makes R1 (shi_fence_release). 0 and *ticket,
 * or the abort word, and then nothing was posted. */
SHI_HOT shi_u64 shi_ring_post(SHI_GLOBAL struct shi_ring *r, shi_u32 op, shi_u32 pe, const shi_u64 *arg, shi_u64 *ticket)
{
    shi_u64 epoch = shi_ring_epoch(r);
    shi_u64 t = shi_add_relaxed(&r->head, 1);
    *ticket = t;
    shi_u64 aborted = shi_ring_wait_credit(r, t);
    if (!aborted)
        shi_ring_write(r, t, epoch, op, pe, arg);
    return aborted;
}

/* The same when no other call posts to this ring or fences it at the same time. */
SHI_HOT shi_u64 shi_ring_post_alone(SHI_GLOBAL struct shi_ring *r, shi_u32 op, shi_u32 pe, const shi_u64 *arg,
                                    shi_u64 *ticket)
{
    shi_u64 epoch = shi_ring_epoch(r), t = shi_load_relaxed(&r->head);
    shi_store_relaxed(&r->head, t + 1);
    *ticket = t;
    shi_u64 aborted = shi_ring_wait_credit(r, t);
    if (!aborted)
        shi_ring_write(r, t, epoch, op, pe, arg);
    return aborted;
}

/* 1 if all tickets below *head, the next one, are known to have completed; a fence that acquires (A8) must follow. */
SHI_FN int shi_ring_is_idle(const SHI_GLOBAL struct shi_ring *r, shi_u64 *head)
{
    shi_u64 completed;
    shi_load_pair(&r->head, head, &completed);
    return !((shi_u64)(completed - *head) >> 63);
}

/* Fence: later requests of this work-item to a PE are ordered after its earlier ones. No request is posted. alone: no other call posts to
 * this ring or fences it at the same time. */
SHI_FN void shi_ring_fence(SHI_GLOBAL struct shi_ring *r, int alone)
{
    shi_u64 head;
    int idle = shi_ring_is_idle(r, &head);
    shi_fence_acq_rel(); /* A8 */
    if (idle)
        return;
    if (alone)
        shi_store_relaxed(&r->epoch, shi_load_relaxed(&r->epoch) + 1);
    else
        shi_add_relaxed(&r->epoch, 1);
}

/* Quiet: complete the stores before it, and wait for all requests posted before. No request is posted. 0, or the abort word. */
SHI_FN shi_u64 shi_ring_quiet(SHI_GLOBAL struct shi_ring *r)
{
    shi_u64 head, done;
    int idle = shi_ring_is_idle(r, &head);
    shi_u64 aborted = idle ? 0 : shi_ring_poll_done(r, head, &done);
    shi_fence_total(); /* A3, A8, R8 */
    if (!idle && !aborted)
        shi_store_relaxed(&r->completed, done);
    return aborted;
}

/* Wait for the n words of a request's result, at most SHI_RESULT_WORDS. 0 and the words, or the abort word. */
SHI_FN shi_u64 shi_ring_take_words(const SHI_GLOBAL struct shi_ring *r, shi_u64 ticket, shi_u64 *word, int n)
{
    shi_u64 mask = ((shi_u64)1 << r->log_n) - 1;
    SHI_GLOBAL struct shi_ring_result *result = (SHI_GLOBAL struct shi_ring_result *)r->results + (ticket & mask);
    for (shi_u32 looks = 0; shi_load_relaxed(&result->tag) != ticket + 1; shi_pause()) {
        shi_u64 aborted = shi_ring_aborted_sometimes(r, &looks);
        if (aborted)
            return aborted;
    }
    shi_fence_acquire(); /* A4 */
    word[0] = result->value;
    for (int i = 1; i < n; i++)
        word[i] = result->more[i - 1];
    shi_store_release(&result->tag, 0); /* R5 */
    return 0;
}

/* The same for a result of one word. */
SHI_FN shi_u64 shi_ring_take_result(const SHI_GLOBAL struct shi_ring *r, shi_u64 ticket, shi_u64 *value)
{
    return shi_ring_take_words(r, ticket, value, 1);
}

#endif
