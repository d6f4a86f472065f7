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
 *   tail_reader  producers, compare-and-swap     producers   relaxed: 1 while one of those that wait for tail reads it
 *   done         proxy                           producers   R3 -> A3
 *   completed    producers, any value of done    producers   R8 -> A8: a copy of done near the device, extends R3 -> A3
 *   done_reader  producers, compare-and-swap     producers   relaxed: as tail_reader
 *   abort        poller of the rings             producers   relaxed: no data depends on it; producers return
 *   result.value, proxy, before result.tag        owner       plain, after A4
 *   .more
 *   result.tag   proxy sets (R4), owner clears   both        R4 -> A4; R5 (clear) -> A5 (proxy may reuse)
 *
 * R1 -> A1  data that a request points to is complete before the proxy reads it (inline payloads need no R1).
 * R2 -> A2  the proxy has copied the slot before the owner of ticket + N overwrites it. A read of tail is slow for a
 *           device, so a producer that read it stores it in seen, which may be older than tail but never ahead. A7 is the dependency of the
 *           owner's stores on what it read: no processor makes a store visible before the branch that leads to it is decided.
 * R3 -> A3  all requests up to the ticket have completed and their stores are visible before the producer continues. Reads of done are slow,
 *           too, so a producer that read it stores it in completed; where that has reached head, quiet and fence have nothing to do.
 *
 * The line is in host memory, whose loads a GPU makes one after another, about 1 us each, however many threads wait. So one of those that
 * wait for a word, its reader, loads it and stores what it saw in the copy, where the others look. A reader that leaves, also because of an
 * abort, lets another one take its place. Where no two calls overlap there is no election.
 *
 * Checked by test/model/ring.pml, fence.pml, retire.pml, result.pml, reader.pml and lanes.pml.
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
    SHI_OP_GPC_CHAINED, SHI_OP_CLOCK
};

/* The proxy writes these words together, done last. */
struct shi_ring_line {
    shi_u64 tail;  /* the proxy has copied the slots of tickets below it */
    shi_u64 abort_beside_tail; /* as abort, its lower half: one load reads a word and an abort */
    shi_u64 done;  /* tickets below it have completed */
    shi_u64 abort; /* lower half, nonzero: 1 + the exit status of the job that ends. Upper half, nonzero: a PE has failed, and waits for
                    * what PEs do end: those for words, and syncs; requests complete without that */
    shi_u64 pad[4];
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
    shi_u64 completed; /* read with head; at first head, completed, seen, tail and done are equal */
    shi_u64 done_reader;
    shi_u64 pad0[5];
    shi_u64 epoch;
    shi_u64 seen;
    shi_u64 tail_reader;
    shi_u64 pad1[5];
    shi_u64 slots; /* shi_u64 [N][8], in host-visible memory, 16 bytes aligned, zero except the phase bit of the lap
                    * before head's */
    shi_u64 results; /* struct shi_ring_result [N] */
    shi_u64 line;  /* struct shi_ring_line */
    shi_u64 log_n; /* N = 2^log_n slots */
    shi_u64 pad2[4];
};

#ifndef __OPENCL_C_VERSION__
#ifndef __cplusplus
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
#define SHI_REQUEST_LOW (((shi_u64)1 << 56) - 1) /* of an argument that has 8 bits of something else above */

SHI_FN shi_u64 shi_ring_phase(shi_u64 ticket, shi_u64 log_n)
{
    return ~(ticket >> log_n) & 1;
}

SHI_FN SHI_GLOBAL struct shi_ring_line *shi_ring_line(const SHI_GLOBAL struct shi_ring *r)
{
    return (SHI_GLOBAL struct shi_ring_line *)r->line;
}

/* Where a ring's slots are. A producer reads it before it takes a ticket: what else it reads then does not wait for this. */
struct shi_ring_slots {
    SHI_GLOBAL shi_u64 *at;
    shi_u32 log_n;
};
SHI_FN struct shi_ring_slots shi_ring_slots(const SHI_GLOBAL struct shi_ring *r)
{
    struct shi_ring_slots s = {(SHI_GLOBAL shi_u64 *)r->slots, (shi_u32)r->log_n};
    return s;
}

SHI_FN SHI_GLOBAL shi_u64 *shi_ring_slot(struct shi_ring_slots s, shi_u64 ticket)
{
    return s.at + (ticket & (((shi_u64)1 << s.log_n) - 1)) * SHI_RING_WORDS;
}

/* The word `abort` at some looks of a wait: at the 64th, at twice that number and so on, then at each 8,192nd. It is in host memory,
 * which serves the loads of a device one after another: each look delays the others. */
SHI_FN shi_u64 shi_ring_aborted_sometimes(const SHI_GLOBAL struct shi_ring *r, shi_u32 *looks)
{
    ++*looks;
    return *looks % 64 == 0 && ((*looks & (*looks - 1)) == 0 || *looks % 8192 == 0) ? shi_load_relaxed(&shi_ring_line(r)->abort) : 0;
}

/* ---- producers -------------------------------------------------------------------------------------------------- */

/* Is the value at least `least`? Correct when both wrap. */
SHI_FN int shi_ring_reached(shi_u64 value, shi_u64 least)
{
    return !((shi_u64)(value - least) >> 63);
}

/* A wait for a word of the line. */
struct shi_ring_wait {
    shi_u64 value;                 /* what was seen last */
    SHI_GLOBAL shi_u64 *copy;      /* of the word, near the device */
    SHI_GLOBAL shi_u64 *reader;    /* 1 while one that waits reads the line */
    int reads, alone;              /* reads: this one is the reader. alone: no two calls overlap */
};

/* Wait until the word has reached `least`. 0, or the abort word. A fence and shi_ring_leave must follow. */
SHI_FN shi_u64 shi_ring_await(struct shi_ring_wait *w, const SHI_GLOBAL shi_u64 *word, shi_u64 least)
{
    shi_u64 before = 0, aborted;
    for (w->reads = w->alone;; shi_pause()) {
        aborted = 0;
        if (w->reads || shi_load_relaxed(w->reader) == 0) {
            int mine = w->reads || shi_atom64_cswap(w->reader, 0, 1) == 0; /* both loads are in progress at the same time */
            shi_load_pair(word, &w->value, &aborted);
            w->reads = mine;
        } else {
            w->value = shi_load_relaxed(w->copy);
        }
        if (shi_ring_reached(w->value, least))
            return 0;
        if ((shi_u32)aborted)
            return (shi_u32)aborted;
        if (w->reads && !w->alone && w->value != before) {
            shi_fence_acq_rel(); /* A2, R7; A3, R8 */
            shi_store_relaxed(w->copy, w->value);
            before = w->value;
        }
    }
}

/* The end of a wait, behind a fence: A2, R7; A3, R8. */
SHI_FN void shi_ring_leave(const struct shi_ring_wait *w)
{
    if (!w->reads)
        return;
    shi_store_relaxed(w->copy, w->value);
    if (!w->alone)
        shi_store_relaxed(w->reader, 0);
}

/* Wait until tickets below `ticket` have completed. 0, or the abort word. alone: no other call posts to this ring or waits for it at the
 * same time. */
SHI_FN shi_u64 shi_ring_wait_done(SHI_GLOBAL struct shi_ring *r, int alone, shi_u64 ticket)
{
    struct shi_ring_wait w = {0, &r->completed, &r->done_reader, 0, alone};
    shi_u64 aborted = shi_ring_await(&w, &shi_ring_line(r)->done, ticket);
    shi_fence_acq_rel();
    shi_ring_leave(&w);
    return aborted;
}

/* Wait until the slot of `ticket` is free. 0, or the abort word. */
SHI_FN shi_u64 shi_ring_wait_credit(SHI_GLOBAL struct shi_ring *r, int alone, shi_u32 log_n, shi_u64 ticket)
{
    shi_u64 least = ticket + 1 - ((shi_u64)1 << log_n);
    if (shi_ring_reached(shi_load_relaxed(&r->seen), least)) /* A7 */
        return 0;
    struct shi_ring_wait w = {0, &r->seen, &r->tail_reader, 0, alone};
    shi_u64 aborted = shi_ring_await(&w, &shi_ring_line(r)->tail, least);
    shi_fence_acq_rel();
    shi_ring_leave(&w);
    return aborted;
}

/* The current epoch. Read it before taking the ticket. */
SHI_FN shi_u32 shi_ring_epoch(const SHI_GLOBAL struct shi_ring *r)
{
    return (shi_u32)shi_load_relaxed(&r->epoch) & (((shi_u32)1 << SHI_EPOCH_BITS) - 1);
}

/* Data of a request, which is read as its slot is written: that of arguments first to end - 1. */
struct shi_payload {
    const char *at;
    shi_u64 bytes;
    int first, end;
};

/* Argument i: of the payload, or of arg. */
SHI_FN shi_u64 shi_ring_word_(const shi_u64 *arg, const struct shi_payload *p, int i)
{
    if (!p || i < p->first || i >= p->end)
        return arg[i];
    shi_u64 at = 8 * (shi_u64)(i - p->first), left = p->bytes > at ? p->bytes - at : 0, v = 0;
    if (left >= 8 && !((shi_u64)p->at & 7))
        return *(const shi_a64 *)(p->at + at);
    SHI_ROLLED
    for (shi_u32 k = 0; k < 8 && k < left; k++)
        v |= (shi_u64)((const shi_a8 *)p->at)[at + k] << 8 * k;
    return v;
}

/* Fill the slot of a ticket that has credit. Prefetch the line of a later ticket, which is in the consumer's cache:
 * otherwise the next fetch-add, which waits for all stores, waits for this ticket's line. */
SHI_HOT void shi_ring_write(struct shi_ring_slots s, shi_u64 t, shi_u32 epoch, shi_u32 op, shi_u32 pe, const shi_u64 *arg,
                            const struct shi_payload *p)
{
    SHI_GLOBAL shi_u64 *slot = shi_ring_slot(s, t);
    shi_prefetch_write(shi_ring_slot(s, t + SHI_RING_AHEAD));
    shi_u64 phase = shi_ring_phase(t, s.log_n), last = 0;
    shi_u64 header = ((shi_u64)op << (SHI_PE_BITS + SHI_EPOCH_BITS) | (shi_u64)pe << SHI_EPOCH_BITS | epoch) << 8 | phase;
    for (int i = SHI_RING_ARGS - 1; i >= 0; i--) { /* from the end: the header has the bits that the phase displaces */
        shi_u64 word = shi_ring_word_(arg, p, i), marked = (word & ~(shi_u64)1) | phase;
        header |= (word & 1) << (i + 1);
        if (i % 2)
            shi_store_pair(slot + i + 1, marked, last);
        last = marked;
    }
    shi_store_pair(slot, header, last);
}

/* Take the next n tickets; the first of them. */
SHI_FN shi_u64 shi_ring_take(SHI_GLOBAL struct shi_ring *r, int alone, shi_u64 n)
{
    if (!alone)
        return shi_add_relaxed(&r->head, n);
    shi_u64 t = r->head;
    shi_store_relaxed(&r->head, t + n);
    return t;
}

/* Post one request. When it refers to memory written before, the caller first makes R1 (shi_fence_release). alone: no other call posts to
 * this ring or fences it at the same time. p: NULL: there is none. 0 and *ticket, or the abort word, and then nothing was posted. */
SHI_HOT shi_u64 shi_ring_post(SHI_GLOBAL struct shi_ring *r, int alone, shi_u32 op, shi_u32 pe, const shi_u64 *arg,
                              const struct shi_payload *p, shi_u64 *ticket)
{
    struct shi_ring_slots s = shi_ring_slots(r);
    shi_u32 epoch = shi_ring_epoch(r);
    *ticket = shi_ring_take(r, alone, 1);
    shi_u64 aborted = shi_ring_wait_credit(r, alone, s.log_n, *ticket);
    if (!aborted)
        shi_ring_write(s, *ticket, epoch, op, pe, arg, p);
    return aborted;
}

/* 1 if all tickets below *head, the next one, are known to have completed; a fence that acquires (A8) must follow. */
SHI_FN int shi_ring_is_idle(const SHI_GLOBAL struct shi_ring *r, shi_u64 *head)
{
    shi_u64 completed;
    shi_load_pair(&r->head, head, &completed);
    return shi_ring_reached(completed, *head);
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
SHI_FN shi_u64 shi_ring_quiet(SHI_GLOBAL struct shi_ring *r, int alone)
{
    shi_u64 head, aborted = 0;
    struct shi_ring_wait w = {0, &r->completed, &r->done_reader, 0, alone};
    if (!shi_ring_is_idle(r, &head))
        aborted = shi_ring_await(&w, &shi_ring_line(r)->done, head);
    shi_fence_total(); /* A3, A8, R8 */
    shi_ring_leave(&w);
    return aborted;
}

/* Wait for the n words of a request's result, at most SHI_RESULT_WORDS. 0 and the words, or the abort word. */
SHI_FN shi_u64 shi_ring_take_words(const SHI_GLOBAL struct shi_ring *r, shi_u64 ticket, shi_u64 *word, int n)
{
    shi_u64 mask = ((shi_u64)1 << r->log_n) - 1;
    SHI_GLOBAL struct shi_ring_result *result = (SHI_GLOBAL struct shi_ring_result *)r->results + (ticket & mask);
    for (shi_u32 looks = 0; shi_load_relaxed(&result->tag) != ticket + 1; shi_pause()) {
        shi_u64 aborted = (shi_u32)shi_ring_aborted_sometimes(r, &looks);
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
