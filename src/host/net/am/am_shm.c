/*
 * am_shm.c - active messages between PEs of one node: a FIFO of slots for each ordered pair, in the receiver's part of the file,
 * and cells for longer messages, of which each PE has a pool for all that it sends, in its own part.
 *
 * A message of at most SHI_AM_SHORT_BYTES is in the first cache line of its slot, one that fits into the slot in several of its
 * lines, any other in cells that the slot names. Slots carry their ticket, so that the receiver polls only the line of the
 * next message. Memory is touched by the first message of a pair. A message's cells are the sender's again when its slot is.
 * A cell is a page because processors prefetch lines behind those that they read in order, but not beyond a page: without
 * cells the receiver's prefetches took lines away from the sender while it wrote them (src/DECISIONS.md).
 *
 *   word                  written by           read by     order
 *   inbox.senders[w]      senders, fetch-or    receiver    R3 -> A3; a bit for each sender, never cleared
 *   slot.head             sender               receiver    R1 -> A1; ticket, id and length
 *   slot.body, cell       sender, before R1    receiver    plain, after A1
 *   taken                 receiver; once it    sender      R2 -> A2
 *                         has died, the sender
 *   pool, out.reclaimed,  sender's threads     the same    under pool.lock (spin.h): messages to different PEs
 *   .held, .cells
 *
 * E1 (R1 -> A1)  the message is whole before the handler reads it.
 * E2 (R2 -> A2)  its handler has returned before the sender writes to its slot or cells again.
 * E3 (R3 -> A3)  the FIFO's first message is there when its receiver reads it first (else a later poll would find it).
 * A FIFO's sender is the thread that holds the PE's lock of am.c, its receiver the one that polls.
 * Checked by test/model/am.pml, which must fail when one of R1 A1 R2 A2 is weakened.
 */
#include "host/net/am/am_shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/net/am/am.h"
#include "host/net/am/am_pull.h"
#include "host/net/am/am_sizes.h"
#include "host/net/node/doorbell.h"
#include "host/policy/limits.h"
#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/spin.h"
#include "host/util/table.h"

struct slot {
    uint64_t head;   /* ticket + 1 in the low half, 16 bits of length, 8 of id, in_cells */
    uint64_t body[]; /* the message; in_cells: the first of its cells in the sender's pool */
};
#define CELLS_OF(bytes) (((bytes) + CELL_BYTES - 1) / CELL_BYTES)
_Static_assert(2 * CELLS_OF(SHI_AM_MAX_BYTES) <= PAIR_CELLS, "a message fits into half of a pool");
static const uint64_t in_cells = 1ull << 63;

struct fifo {
    _Alignas(2 * SHI_LINE_BYTES) uint64_t taken; /* slots */
    _Alignas(2 * SHI_LINE_BYTES) char slots[];
};

/* Of a PE: a bit for each PE that has ever written to it; then its pool, and a FIFO for each PE of the node. */
struct inbox {
    uint64_t senders[SHI_PAGE_BYTES / sizeof(uint64_t)];
};
_Static_assert(sizeof(struct inbox) % SHI_LINE_BYTES == 0, "FIFOs follow");

/* The cells of a message that is in a FIFO. */
struct used {
    uint64_t ticket;
    uint16_t at, n; /* n 0: none */
};

/* The sender's side of a FIFO. */
struct out {
    struct fifo *fifo;
    uint64_t ticket, taken;  /* of the next message; as last read */
    uint64_t at;             /* the first cell of the message begun */
    uint64_t *senders;       /* the receiver's word with this PE's bit */
    uint64_t reclaimed;      /* the cells of messages before this ticket are back in the pool */
    struct used *cells;      /* [n_slots] */
    int held;                /* cells */
    uint8_t is_long;         /* the message begun is in cells */
    uint8_t announced;       /* the bit is set */
    uint8_t lost;            /* the receiver has died: the sender takes its messages itself, unread */
} __attribute__((aligned(SHI_LINE_BYTES)));

/* The receiver's. */
struct in {
    struct fifo *fifo;
    const char *cell;        /* the sender's pool */
    uint64_t ticket, released; /* of the next message; slots that the sender may reuse */
    int cells;               /* read since then */
    int pe, rank;
    int idle; /* polls that found nothing, up to SHI_AM_PATIENCE + 1 */
};

static struct shi_am_world world;
static int n, local;      /* PEs of the node; this one's local rank */
static int n_slots, n_cells; /* of a FIFO, a power of two; of a pool */
static size_t slot_bytes; /* with its head */
static struct {
    uint8_t lock;
    uint64_t free[MOST_CELLS / 64]; /* a bit for each cell */
    char *cell;
} pool;
static int *local_of;     /* [n_pes] local rank of a PE, or -1 */
static struct out *outs;  /* [n] */
static struct in *ins;    /* [n], the first n_in are in use: n_hot that every poll polls at, then the others */
static int n_in, n_hot, cold_next;
static unsigned busy;     /* polls that found messages */
static int poll_first;    /* of the hot ones; rotates, so that no sender is always served first */
static uint64_t *seen;    /* of this PE's inbox.senders, those in ins */

static size_t fifo_stride(int n_local)
{
    size_t bytes = sizeof(struct fifo) + (size_t)slots_of(n_local) * slot_bytes_of(n_local);
    return n_local <= 16 ? shi_round_up(bytes, SHI_PAGE_BYTES) : bytes;
}

enum { POOL_OFF = (SHI_AM_PULL_BYTES + sizeof(struct inbox) + SHI_PAGE_BYTES - 1) / SHI_PAGE_BYTES * SHI_PAGE_BYTES };

size_t shi_am_shared_bytes(int n_local)
{
    return POOL_OFF + (size_t)cells_of(n_local) * CELL_BYTES + (size_t)n_local * fifo_stride(n_local);
}

static char *memory_of(int rank)
{
    return world.shm->base + world.shm->region[rank].am_off;
}

static struct inbox *inbox_of(int rank)
{
    return (struct inbox *)(memory_of(rank) + SHI_AM_PULL_BYTES);
}

static struct fifo *fifo_of(int receiver, int sender)
{
    return (struct fifo *)(memory_of(receiver) + POOL_OFF + (size_t)n_cells * CELL_BYTES + (size_t)sender * fifo_stride(n));
}

static struct slot *slot_of(struct fifo *f, uint64_t ticket)
{
    return (struct slot *)(f->slots + (ticket & (uint64_t)(n_slots - 1)) * slot_bytes);
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
    shi_am_shm.lengths = shi_message_lengths_of(&(struct shi_message_facts){.node = 1, .longest = SHI_AM_MAX_BYTES});
    int err = shi_am_pull_up(w);
    if (err || outs)
        return err;
    n = w->shm->n;
    local = w->local;
    if (n > (int)sizeof(struct inbox) * 8) {
        shi_log_error("messages: a node has at most %d PEs, and this one has %d", (int)sizeof(struct inbox) * 8, n);
        return -ENOMEM;
    }
    n_slots = slots_of(n);
    slot_bytes = slot_bytes_of(n);
    n_cells = cells_of(n);
    local_of = malloc((size_t)w->n_pes * sizeof *local_of);
    ins = calloc((size_t)n, sizeof *ins);
    seen = calloc((size_t)(n + 63) / 64, sizeof *seen);
    outs = aligned_alloc(SHI_LINE_BYTES, (size_t)n * sizeof *outs);
    struct used *used = shi_table((size_t)n * (size_t)n_slots, sizeof *used);
    if (!local_of || !ins || !seen || !outs || !used) {
        shi_log_error("no memory for messages between the %d PEs of a node", n);
        return -ENOMEM;
    }
    for (int i = 0; i < w->n_pes; i++)
        local_of[i] = -1;
    for (int i = 0; i < n; i++)
        local_of[w->shm->region[i].pe] = i;
    for (int i = 0; i < n; i++)
        outs[i] = (struct out){.fifo = fifo_of(i, local), .senders = &inbox_of(i)->senders[local / 64],
                               .cells = used + (size_t)i * (size_t)n_slots};
    memset(pool.free, 0xff, (size_t)n_cells / 8);
    pool.cell = memory_of(local) + POOL_OFF;
    return 0;
}

void shi_am_shm_leave(void)
{
    shi_am_pull_leave();
    free(local_of);
    free(ins);
    free(seen);
    if (outs)
        shi_table_free(outs[0].cells, (size_t)n * (size_t)n_slots, sizeof *outs->cells);
    free(outs);
    local_of = NULL;
    ins = NULL;
    seen = NULL;
    outs = NULL;
    n = local = n_slots = n_cells = n_in = n_hot = cold_next = poll_first = 0;
    busy = 0;
    slot_bytes = 0;
    memset(&pool, 0, sizeof pool);
    memset(&world, 0, sizeof world);
    memset(&shi_am_shm.lengths, 0, sizeof shi_am_shm.lengths);
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static uint64_t load_taken(const struct out *o)
{
    if (shi_unlikely(__atomic_load_n(&o->lost, __ATOMIC_RELAXED)))
        __atomic_store_n(&o->fifo->taken, o->ticket, __ATOMIC_RELAXED);
    return __atomic_load_n(&o->fifo->taken, __ATOMIC_ACQUIRE); /* A2 */
}

static int has_slot(struct out *o)
{
    if (shi_likely(o->ticket - o->taken < (uint64_t)n_slots))
        return 1;
    o->taken = load_taken(o);
    return o->ticket - o->taken < (uint64_t)n_slots;
}

/* Put the cells of messages that the receiver has taken back into the pool. The pool is locked. */
static void reclaim(struct out *o)
{
    uint64_t taken = load_taken(o), t = o->reclaimed;
    if (taken - t > (uint64_t)n_slots)
        t = taken - (uint64_t)n_slots;
    for (; t != taken && o->held; t++) {
        struct used *u = &o->cells[t & (uint64_t)(n_slots - 1)];
        if (!u->n || u->ticket >= taken)
            continue;
        pool.free[u->at / 64] |= ((1ull << u->n) - 1) << u->at % 64;
        o->held -= u->n;
        u->n = 0;
    }
    o->reclaimed = taken;
}

/* The first of k contiguous free cells, or -1. The pool is locked. */
static int find_cells(unsigned k)
{
    for (int w = 0; w < n_cells / 64; w++) {
        uint64_t starts = pool.free[w];
        for (unsigned i = 1; i < k; i++)
            starts &= pool.free[w] >> i;
        if (starts)
            return w * 64 + __builtin_ctzll(starts);
    }
    return -1;
}

/* Cells for the next message. One PE of several gets at most half of them, so that it does not keep back messages to others while
 * it receives none. 0: not enough are free. */
static int take_cells(struct out *o, unsigned k)
{
    struct used *u = &o->cells[o->ticket & (uint64_t)(n_slots - 1)];
    int most = n > 2 && n_cells < 2 * PAIR_CELLS ? PAIR_CELLS / 2 : PAIR_CELLS, at = -1;
    shi_spin_lock(&pool.lock);
    if (u->n || o->held + (int)k > most)
        reclaim(o);
    if (o->held + (int)k <= most && (at = find_cells(k)) < 0) {
        for (int i = 0; i < n; i++)
            if (outs[i].held)
                reclaim(&outs[i]);
        at = find_cells(k);
    }
    if (at >= 0) {
        pool.free[at / 64] &= ~(((1ull << k) - 1) << at % 64);
        *u = (struct used){o->ticket, (uint16_t)at, (uint16_t)k};
        o->held += (int)k;
        o->at = (uint64_t)at;
    }
    shi_spin_unlock(&pool.lock);
    return at >= 0;
}

static void *begin(int pe, size_t bytes)
{
    struct out *o = &outs[local_of[pe]];
    if (!has_slot(o))
        return NULL;
    o->is_long = sizeof(struct slot) + bytes > slot_bytes;
    if (!o->is_long)
        return slot_of(o->fifo, o->ticket)->body;
    return take_cells(o, (unsigned)CELLS_OF(bytes)) ? pool.cell + o->at * CELL_BYTES : NULL;
}

static void end(int pe, enum shi_am_id id, size_t bytes)
{
    struct out *o = &outs[local_of[pe]];
    struct slot *s = slot_of(o->fifo, o->ticket++);
    uint64_t head = (uint32_t)o->ticket | (uint64_t)bytes << 32 | (uint64_t)id << 48;
    if (o->is_long) {
        head |= in_cells;
        s->body[0] = o->at;
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
    const struct slot *s = slot_of(f->fifo, f->ticket);
    *head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE); /* A1 */
    return (uint32_t)*head == (uint32_t)(f->ticket + 1) ? s : NULL;
}

/* Let the sender reuse what has been read. */
static void release(struct in *f)
{
    f->released = f->ticket;
    f->cells = 0;
    __atomic_store_n(&f->fifo->taken, f->ticket, __ATOMIC_RELEASE); /* R2 */
    shi_doorbell_ring_pe(&f->rank);
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
            shi_am_deliver(f->pe, id, s->body, bytes);
            if (f->ticket - f->released >= (uint64_t)n_slots / 4)
                release(f);
            continue;
        }
        shi_am_deliver(f->pe, id, f->cell + s->body[0] * CELL_BYTES, bytes);
        f->cells += (int)CELLS_OF(bytes);
        if (f->cells >= SHI_AM_RELEASE_CELLS)
            release(f);
    }
    if (f->ticket != f->released)
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
            uint64_t ticket = __atomic_load_n(&f->taken, __ATOMIC_RELAXED);
            ins[n_hot++] = (struct in){.fifo = f, .cell = memory_of(sender) + POOL_OFF, .pe = world.shm->region[sender].pe,
                                       .rank = sender, .ticket = ticket, .released = ticket};
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
    int count = 0, polls = n_in - n_hot < SHI_AM_COLD ? n_in - n_hot : SHI_AM_COLD;
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
    int count = 0;
    poll_first = poll_first + 1 < n_hot ? poll_first + 1 : 0;
    for (int k = 0, i = poll_first; k < n_hot && count < most; k++, i = i + 1 < n_hot ? i + 1 : 0) {
        int some = drain(&ins[i], most - count < SHI_AM_IN_A_ROW ? most - count : SHI_AM_IN_A_ROW);
        count += some;
        ins[i].idle = some ? 0 : ins[i].idle + (ins[i].idle <= SHI_AM_PATIENCE);
        if (shi_unlikely(ins[i].idle > SHI_AM_PATIENCE) && n_hot > SHI_AM_HOT)
            swap(i, --n_hot);
    }
    return count;
}

static int poll_once(int budget)
{
    int count = poll_hot(budget);
    if ((!count || ++busy % 4 == 0) && scan_new_senders()) /* rarely while messages come */
        count += poll_hot(budget - count);
    count += n_in > n_hot ? poll_cold(budget - count) : 0;
    return count + shi_am_pull_poll();
}

static void lose(int pe)
{
    int rank = local_of[pe];
    __atomic_store_n(&outs[rank].lost, 1, __ATOMIC_RELAXED);
    shi_am_pull_lose(rank);
    scan_new_senders();
    for (int i = 0; i < n_in; i++)
        while (ins[i].rank == rank && drain(&ins[i], n_slots))
            ;
}

/* The PE's memory reads as zeros when its process begins, and this PE's FIFO of it must be as new. */
static void renew(int pe)
{
    int rank = local_of[pe];
    struct out *o = &outs[rank];
    struct fifo *f = fifo_of(local, rank);
    shi_spin_lock(&pool.lock);
    reclaim(o);
    memset(o->cells, 0, (size_t)n_slots * sizeof *o->cells);
    *o = (struct out){.fifo = o->fifo, .senders = o->senders, .cells = o->cells};
    shi_spin_unlock(&pool.lock);
    memset(f, 0, fifo_stride(n));
    for (int i = 0; i < n_in; i++)
        if (ins[i].rank == rank)
            ins[i].ticket = ins[i].released = 0;
    shi_am_pull_renew(rank);
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
        while (next(f, &head))
            f->ticket++;
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

struct shi_am_carrier shi_am_shm = {.up = up, .reaches = reaches, .drop = drop, .begin = begin, .end = end, .poll = poll_once, .lose = lose, .renew = renew,
                                    .expose = expose, .withdraw = withdraw, .fetch_bytes = SIZE_MAX, .fetch = fetch};
