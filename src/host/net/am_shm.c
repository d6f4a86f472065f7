/*
 * am_shm.c - active messages between PEs of one node: a FIFO for each ordered pair, in the receiver's part of the file.
 *
 * A message of at most SHI_AM_SHORT_BYTES is in the first cache line of its slot, one that is a little longer in both
 * lines, any other in cells that the slot names. Slots carry their ticket, so that the receiver polls only the line of the
 * next message. Memory is touched by the first message of a pair.
 * A cell is a page because processors prefetch lines behind those that they read in order, but not beyond a page: without
 * cells the receiver's prefetches took lines away from the sender while it wrote them (src/DECISIONS.md).
 *
 *   word                  written by           read by     order
 *   inbox.senders[w]      senders, fetch-or    receiver    R3 -> A3; a bit for each sender, never cleared
 *   slot.head             sender               receiver    R1 -> A1; ticket, id and length
 *   slot.body, cell       sender, before R1    receiver    plain, after A1
 *   taken.slots, .cells   receiver             sender      R2 -> A2
 *
 * E1 (R1 -> A1)  the message is whole before the handler reads it.
 * E2 (R2 -> A2)  its handler has returned before the sender writes there again.
 * E3 (R3 -> A3)  the FIFO's first message is there when its receiver reads it first (else a later poll would find it).
 * A FIFO's sender is the thread that holds the PE's lock of am.c, its receiver the one that polls.
 * Checked by test/model/am.pml, which must fail when one of R1 A1 R2 A2 is weakened.
 */
#include "host/net/am_shm.h"

#include <errno.h>
#include <stdlib.h>

#include "host/net/am.h"
#include "host/net/am_pull.h"
#include "host/net/doorbell.h"
#include "host/util/base.h"
#include "host/util/log.h"

enum {
    SLOTS = 128,        /* few: the lines of a FIFO that is emptied as it fills stay in the caches */
    SLOT_BYTES = 2 * SHI_LINE_BYTES,
    CELLS = 64,
    CELL_BYTES = 4096,  /* a page, beyond which no processor prefetches */
    PREFETCH = 1536,    /* bytes of a message, at most */
    DRAIN = 32,         /* messages of one FIFO in a row, at most */
    HOT = 8,            /* every poll reads at least so many FIFOs, idle or not */
    PATIENCE = 1000,    /* idle polls until a FIFO beyond those is read less often */
    EAGER_BYTES = SHI_AM_MAX_BYTES - 40, /* with a header one message; see bench/tag.c */
    SYMMETRIC_BYTES = 8152, /* the receiver reads longer data there itself, in one copy */
    COLD_POLLS = 4      /* FIFOs that a poll reads of those that are read less often */
};

struct slot {
    uint64_t head; /* ticket + 1 in the low half, 16 bits of length, 8 of id, in_data */
    union {
        char body[SLOT_BYTES - sizeof(uint64_t)];
        uint64_t at; /* in_cells: the first of the message's cells, counted from the first ever used */
    };
};
_Static_assert(sizeof(struct slot) == SLOT_BYTES, "slots are lines");
#define CELLS_OF(bytes) (((bytes) + CELL_BYTES - 1) / CELL_BYTES)
_Static_assert(2 * CELLS_OF(SHI_AM_MAX_BYTES) <= CELLS, "a message fits into an empty FIFO wherever the last one ended");
static const uint64_t in_cells = 1ull << 63;

struct fifo {
    _Alignas(SHI_LINE_BYTES) struct {
        uint64_t slots, cells;
    } taken;
    _Alignas(SLOT_BYTES) struct slot slot[SLOTS];
    _Alignas(CELL_BYTES) char cell[CELLS][CELL_BYTES];
};

/* Of a PE: a bit for each PE that has ever written to it; then a FIFO for each PE of the node. */
struct inbox {
    uint64_t senders[SHI_PAGE_BYTES / sizeof(uint64_t)];
};
_Static_assert(sizeof(struct inbox) % SHI_LINE_BYTES == 0, "FIFOs follow");

/* The sender's side of a FIFO. */
struct out {
    struct fifo *fifo;
    uint64_t ticket, sent;             /* of the next message; cells used so far */
    uint64_t taken_slots, taken_cells; /* as last read */
    uint64_t at;                       /* the first cell of the message begun */
    uint64_t *senders;                 /* the receiver's word with this PE's bit */
    uint8_t is_long;                   /* the message begun is in cells */
    uint8_t announced;                 /* the bit is set */
} __attribute__((aligned(SHI_LINE_BYTES)));

/* The receiver's. */
struct in {
    struct fifo *fifo;
    uint64_t ticket, cells; /* of the next message; cells read so far */
    uint64_t released;      /* cells that the sender may reuse */
    int pe, rank;
    int idle; /* polls that found nothing, up to PATIENCE + 1 */
};

static struct shi_am_world world;
static int n, local;      /* PEs of the node; this one's local rank */
static int *local_of;     /* [n_pes] local rank of a PE, or -1 */
static struct out *outs;  /* [n] */
static struct in *ins;    /* [n], the first n_in are in use: n_hot that every poll polls at, then the others */
static int n_in, n_hot, cold_next;
static uint64_t *seen;    /* of this PE's inbox.senders, those in ins */

static size_t fifo_stride(void)
{
    return shi_round_up(sizeof(struct fifo), SHI_PAGE_BYTES);
}

size_t shi_am_shared_bytes(int n_local)
{
    return SHI_AM_PULL_BYTES + sizeof(struct inbox) + (size_t)n_local * fifo_stride();
}

static struct inbox *inbox_of(int rank)
{
    return (struct inbox *)(world.shm->base + world.shm->region[rank].am_off + SHI_AM_PULL_BYTES);
}

static struct fifo *fifo_of(int receiver, int sender)
{
    return (struct fifo *)((char *)(inbox_of(receiver) + 1) + (size_t)sender * fifo_stride());
}

static int reaches(int pe)
{
    return local_of[pe] >= 0;
}

/* ---- up and down -------------------------------------------------------------------------------------------------- */

/* Tickets and FIFOs continue from one shmem_init to the next. */
static int up(const struct shi_am_world *w)
{
    world = *w;
    int err = shi_am_pull_up(w);
    if (err || outs)
        return err;
    n = w->shm->n;
    local = w->local;
    local_of = malloc((size_t)w->n_pes * sizeof *local_of);
    ins = calloc((size_t)n, sizeof *ins);
    seen = calloc((size_t)(n + 63) / 64, sizeof *seen);
    outs = aligned_alloc(SHI_LINE_BYTES, (size_t)n * sizeof *outs);
    if (!local_of || !ins || !seen || !outs || n > (int)sizeof(struct inbox) * 8) {
        shi_log_error("no memory for messages between the %d PEs of a node", n);
        return -ENOMEM;
    }
    for (int i = 0; i < w->n_pes; i++)
        local_of[i] = -1;
    for (int i = 0; i < n; i++)
        local_of[w->shm->region[i].pe] = i;
    for (int i = 0; i < n; i++)
        outs[i] = (struct out){.fifo = fifo_of(i, local), .senders = &inbox_of(i)->senders[local / 64]};
    return 0;
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static int has_slot(struct out *o)
{
    if (shi_likely(o->ticket - o->taken_slots < SLOTS))
        return 1;
    o->taken_slots = __atomic_load_n(&o->fifo->taken.slots, __ATOMIC_ACQUIRE); /* A2 */
    return o->ticket - o->taken_slots < SLOTS;
}

/* Find contiguous cells for a message. 0: not enough are free. */
static int has_cells(struct out *o, size_t cells)
{
    size_t to_edge = CELLS - o->sent % CELLS;
    o->at = o->sent + (cells <= to_edge ? 0 : to_edge);
    if (o->at + cells - o->taken_cells <= CELLS)
        return 1;
    o->taken_cells = __atomic_load_n(&o->fifo->taken.cells, __ATOMIC_ACQUIRE); /* A2 */
    return o->at + cells - o->taken_cells <= CELLS;
}

static void *begin(int pe, size_t bytes)
{
    struct out *o = &outs[local_of[pe]];
    struct slot *s = &o->fifo->slot[o->ticket % SLOTS];
    if (!has_slot(o))
        return NULL;
    o->is_long = bytes > sizeof s->body;
    if (!o->is_long)
        return s->body;
    return has_cells(o, CELLS_OF(bytes)) ? o->fifo->cell[o->at % CELLS] : NULL;
}

static void end(int pe, enum shi_am_id id, size_t bytes)
{
    struct out *o = &outs[local_of[pe]];
    struct slot *s = &o->fifo->slot[o->ticket++ % SLOTS];
    uint64_t head = (uint32_t)o->ticket | (uint64_t)bytes << 32 | (uint64_t)id << 48;
    if (o->is_long) {
        head |= in_cells;
        s->at = o->at;
        o->sent = o->at + CELLS_OF(bytes);
    }
    __atomic_store_n(&s->head, head, __ATOMIC_RELEASE); /* R1 */
    if (shi_unlikely(!o->announced)) {
        __atomic_fetch_or(o->senders, 1ull << local % 64, __ATOMIC_RELEASE); /* R3 */
        o->announced = 1;
    }
    shi_doorbell_ring_pe(&local_of[pe]);
}

/* ---- receiving ---------------------------------------------------------------------------------------------------- */

/* The next message of a FIFO, or NULL. */
static const struct slot *next(const struct in *f, uint64_t *head)
{
    const struct slot *s = &f->fifo->slot[f->ticket % SLOTS];
    *head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE); /* A1 */
    return (uint32_t)*head == (uint32_t)(f->ticket + 1) ? s : NULL;
}

/* Let the sender reuse what has been read. */
static void release(struct in *f)
{
    f->released = f->cells;
    __atomic_store_n(&f->fifo->taken.cells, f->cells, __ATOMIC_RELEASE); /* R2 */
    __atomic_store_n(&f->fifo->taken.slots, f->ticket, __ATOMIC_RELEASE); /* R2 */
    shi_doorbell_ring_pe(&f->rank);
}

/* The lines arrive while the handler polls up what to do with them. */
static const void *prefetch(const char *msg, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < PREFETCH; i += SHI_LINE_BYTES)
        __builtin_prefetch(msg + i);
    return msg;
}

/* Deliver arrived messages, at most `most`. Slots and cells are released many at a time. */
static int drain(struct in *f, int most)
{
    const struct slot *s;
    uint64_t head;
    int count = 0;
    for (; count < most && (s = next(f, &head)); count++) {
        size_t bytes = head >> 32 & 0xffff;
        enum shi_am_id id = head >> 48 & 0xff;
        f->ticket++;
        if (!(head & in_cells)) {
            shi_am_deliver(f->pe, id, prefetch(s->body, bytes), bytes);
            continue;
        }
        uint64_t at = s->at;
        shi_am_deliver(f->pe, id, prefetch(f->fifo->cell[at % CELLS], bytes), bytes);
        f->cells = at + CELLS_OF(bytes);
        if (f->cells - f->released >= CELLS / 4)
            release(f);
    }
    if (count)
        release(f);
    return count;
}

/* Start to read the FIFOs of PEs that have written for the first time. How many. */
static int scan_new_senders(void)
{
    struct inbox *mine = inbox_of(local);
    int met = 0;
    for (int w = 0; w < (n + 63) / 64; w++) {
        uint64_t fresh = __atomic_load_n(&mine->senders[w], __ATOMIC_ACQUIRE) & ~seen[w]; /* A3 */
        seen[w] |= fresh;
        for (; fresh; fresh &= fresh - 1, met++) {
            int sender = w * 64 + __builtin_ctzll(fresh);
            ins[n_in] = ins[n_hot];
            struct fifo *f = fifo_of(local, sender);
            uint64_t ticket = __atomic_load_n(&f->taken.slots, __ATOMIC_RELAXED);
            uint64_t cells = __atomic_load_n(&f->taken.cells, __ATOMIC_RELAXED);
            ins[n_hot++] = (struct in){.fifo = f, .pe = world.shm->region[sender].pe, .rank = sender, .ticket = ticket, .cells = cells,
                                       .released = cells};
            n_in++;
        }
    }
    return met;
}

static void swap(int a, int b)
{
    struct in x = ins[a];
    ins[a] = ins[b];
    ins[b] = x;
}

/* Read some of the FIFOs that have long been idle; those with messages move to the hot ones. */
static int poll_cold(int most)
{
    int count = 0, polls = n_in - n_hot < COLD_POLLS ? n_in - n_hot : COLD_POLLS;
    for (; polls > 0 && count < most; polls--) {
        cold_next = cold_next + 1 < n_in && cold_next >= n_hot ? cold_next + 1 : n_hot;
        int some = drain(&ins[cold_next], most - count);
        count += some;
        if (some) {
            ins[cold_next].idle = 0;
            swap(cold_next, n_hot++);
        }
    }
    return count;
}

static int poll_hot(int most)
{
    static int first; /* rotates, so that no sender is always served first */
    int count = 0;
    first = first + 1 < n_hot ? first + 1 : 0;
    for (int k = 0, i = first; k < n_hot && count < most; k++, i = i + 1 < n_hot ? i + 1 : 0) {
        int some = drain(&ins[i], most - count < DRAIN ? most - count : DRAIN);
        count += some;
        ins[i].idle = some ? 0 : ins[i].idle + (ins[i].idle <= PATIENCE);
        if (shi_unlikely(ins[i].idle > PATIENCE) && n_hot > HOT)
            swap(i, --n_hot);
    }
    return count;
}

static int poll_once(int budget)
{
    static unsigned busy;
    int count = poll_hot(budget);
    if ((!count || ++busy % 4 == 0) && scan_new_senders()) /* rarely while messages come */
        count += poll_hot(budget - count);
    count += n_in > n_hot ? poll_cold(budget - count) : 0;
    return count + shi_am_pull_poll();
}

static void drop(const struct shi_am_world *w)
{
    uint64_t any = 0, head;
    world = *w; /* up may not have been called */
    const struct inbox *mine = inbox_of(w->local);
    shi_am_pull_drop();
    for (int i = 0; i < (w->shm->n + 63) / 64; i++)
        any |= __atomic_load_n(&mine->senders[i], __ATOMIC_RELAXED);
    if (!any || up(w))
        return;
    scan_new_senders();
    for (int i = 0; i < n_in; i++) {
        struct in *f = &ins[i];
        for (const struct slot *s; (s = next(f, &head)); f->ticket++)
            if (head & in_cells)
                f->cells = s->at + CELLS_OF(head >> 32 & 0xffff);
        release(f); /* a barrier follows */
    }
}

/* ---- rendezvous -------------------------------------------------------------------------------------------- */

static int expose(int pe, const void *addr, size_t bytes, struct shi_am_src *out)
{
    return shi_am_pull_expose(local_of[pe], addr, bytes, out);
}

static void withdraw(int pe, const struct shi_am_src *src)
{
    (void)pe;
    (void)src;
}

static int fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f)
{
    return shi_am_pull_fetch(local_of[pe], src, off, to, bytes, f);
}

const struct shi_am_carrier shi_am_shm = {.up = up, .reaches = reaches, .drop = drop, .begin = begin, .end = end,
                                          .poll = poll_once, .eager_bytes = EAGER_BYTES,
                                          .symmetric_bytes = SYMMETRIC_BYTES, .expose = expose, .withdraw = withdraw,
                                          .fetch_bytes = SIZE_MAX, .fetch = fetch};
