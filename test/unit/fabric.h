/*
 * fabric.h - a network of a few PEs inside one process: a second struct shi_net_ops, random, as adverse as net.h
 * allows.
 *
 * The seed decides everything that net.h leaves open: the duration of an operation, the order in which operations land
 * and complete, when a buffer is read (at any time before its completion), how long posts return -EAGAIN. The promises
 * of net.h hold: callbacks for one PE come in the order of posting; messages (with SAW) and writes (with WAW) land
 * after earlier writes; without SAW a write completes once it is in place. Immediate data comes in the order of landing.
 *
 * One thread runs all PEs: fabric_be(pe) makes the streams' state of that PE the current one.
 */
#ifndef FABRIC_H
#define FABRIC_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "host/boot/boot.h"
#include "host/net/stream/admit.h"
#include "host/net/stream/batch.h"
#include "host/net/stream/stream_device.h"
#include "host/net/stream/stream_rx.h"
#include "host/net/stream/written.h"

enum { PES = 3, LANES = 2, WIRE = 96, SLOTS_OF_DEVICE = 3, COPIES = 8192 };
enum fabric_kind { MESSAGE, WRITE, READ, FLUSH };

struct fabric_op {
    struct fabric_op *next; /* of the queue, in the order of posting */
    enum fabric_kind kind;
    struct shi_net_req *req; /* NULL: no callback */
    const char *from;        /* MESSAGE, WRITE: the caller's buffer, until the operation ends */
    char *kept;              /* a copy of it, made when the operation ends */
    char *to;
    size_t bytes;
    uint32_t immediate;
    int err, landed, ended, reported; /* in place; the caller may reuse the buffer; called back */
};

/* From one PE's lane to another PE. */
struct fabric_queue {
    struct fabric_op *head, *tail;
    int n;
    struct fabric_op *wire[WIRE]; /* not landed yet, in the order of posting */
    int n_wire;
    long refuses_until, stalls_until;
};

struct fabric_message {
    struct fabric_message *next;
    size_t bytes;
    uint64_t data[];
};

struct fabric_immediate {
    struct fabric_immediate *next;
    uint32_t data;
};

/* A device: its copies are made in order, at any time after their start. */
struct fabric_device {
    struct shi_stream_device pub;
    struct shi_device_copy copy[COPIES];
    uint64_t started, ended, submissions;
    uint64_t word_lock;
    uint64_t *updated, old; /* a word that a proxy updates, under the lock; NULL: none */
};

struct fabric_lane {
    struct shi_net_lane pub;
    int pe, in_flight;
    struct fabric_queue queue[PES];
};

static struct {
    struct fabric_lane lane[PES][LANES];
    struct fabric_message *inbox[PES], **last[PES];
    struct fabric_immediate *immediate[PES], **last_immediate[PES];
    struct shi_stream_net net[PES]; /* the streams of the PEs that do not run */
    struct shi_net_limits limits;
    unsigned random;
    int pe;                 /* the PE that runs */
    int calm;               /* no post is refused, no operation stalls */
    int pace;               /* operations land in one of `pace` ticks */
    int strangers;          /* one of so many messages is followed by a forged one; 0: none */
    unsigned long attacks;  /* number of forged messages */
    int refusals, patience; /* one of `refusals` posts is refused, then all for up to `patience` ticks */
    long now;
    long posts, failing; /* the post with this number fails: */
    int late;            /* at once, or when it completes */
    long losing;         /* the message that lands with this number is lost */
    shi_net_failed *failed;
    const uint64_t *applied; /* the message that a PE is applying */
    const void *last_exposed; /* the memory registered last, and its rights */
    int last_rights, n_exposed;
} fabric;

static struct fabric_device fabric_devices[PES];
static long fabric_copies_until_failure; /* 0: none fails */
static int fabric_fails_late;            /* when asked for its end, not when started */
static long fabric_heartbeat; /* for fabric_open */

/* Tells the oracle that operations have landed. */
static void fabric_landed(int from, int lane, int to);

/* A word of PE pe's device memory that a proxy of its node may update; NULL: none. */
static uint64_t *fabric_word(int pe);

static unsigned fabric_below(unsigned n)
{
    return tap_random(&fabric.random) % n;
}

static void fabric_be(int pe)
{
    if (fabric.pe == pe)
        return;
    fabric.net[fabric.pe] = shi_stream_net;
    shi_stream_net = fabric.net[pe];
    fabric.pe = pe;
}

/* ---- posting ------------------------------------------------------------------------------------------------------ */

static struct fabric_op *fabric_new(int pe, enum fabric_kind kind, struct shi_net_req *req)
{
    struct fabric_op *op = calloc(1, sizeof *op);
    if (!op)
        abort();
    op->kind = kind;
    op->req = req;
    if (req)
        req->pe = pe;
    return op;
}

/* Append after earlier posts to this PE. */
static void fabric_append(struct fabric_lane *l, int pe, struct fabric_op *op)
{
    struct fabric_queue *q = &l->queue[pe];
    *(q->tail ? &q->tail->next : &q->head) = op;
    q->tail = op;
    q->n++;
    l->in_flight++;
}

static void fabric_free(struct fabric_op *op)
{
    free(op->kept);
    free(op);
}

/* 0, or -errno if posts are refused now. */
static int fabric_full(struct fabric_lane *l, int pe)
{
    struct fabric_queue *q = &l->queue[pe];
    if (!fabric.calm && fabric_below((unsigned)fabric.refusals) == 0)
        q->refuses_until = fabric.now + fabric_below((unsigned)fabric.patience);
    if (!fabric.calm && fabric_below((unsigned)fabric.refusals) == 0)
        q->stalls_until = fabric.now + fabric_below((unsigned)fabric.patience);
    if (++fabric.posts == fabric.failing && !fabric.late)
        return -EHOSTUNREACH;
    int refuses = !fabric.calm && (fabric.now < q->refuses_until || fabric_below(16) == 0);
    return refuses || q->n_wire == WIRE || q->n >= fabric.limits.peer_cap || l->in_flight >= fabric.limits.lane_cap
               ? -EAGAIN
               : 0;
}

static char *fabric_copy(const void *from, size_t bytes)
{
    char *copy = malloc(bytes + 1);
    if (!copy)
        abort();
    return memcpy(copy, from, bytes);
}

static int fabric_post(struct shi_net_lane *pub, int pe, enum fabric_kind kind, const void *from, void *to, size_t bytes,
                       uint32_t immediate, struct shi_net_req *req)
{
    struct fabric_lane *l = (struct fabric_lane *)pub;
    struct fabric_queue *q = &l->queue[pe];
    int err = fabric_full(l, pe);
    if (err)
        return err;
    struct fabric_op *op = q->wire[q->n_wire++] = fabric_new(pe, kind, req);
    op->from = from;
    op->immediate = immediate;
    op->to = to;
    op->bytes = bytes;
    op->err = fabric.posts >= fabric.failing && fabric.late ? -EHOSTUNREACH : 0;
    fabric.late &= !op->err;
    fabric_append(l, pe, op);
    return -EINPROGRESS;
}

/* A message that acknowledges the one that is being applied: the last record of that one has to be in place. Messages that came early
 * may have changed the memory again. */
static void fabric_check_ack(int pe, const void *msg)
{
    const struct head *h = msg, *m = (const struct head *)fabric.applied;
    if (!m || (int)m->pe != pe || shi_stream_net.peer_rx[pe].early || h->ack_lane != m->lane || h->ack < m->seq)
        return;
    const char *end = (const char *)m + m->bytes - (m->flags & FOLLOWS_WRITES ? FOLLOWS_BYTES : 0);
    const struct record *r = (const struct record *)(m + 1), *last = NULL;
    for (; (const char *)r < end; r = (const struct record *)((const char *)r + record_bytes(r)))
        last = r;
    if (!last || last->op != OP_PUT || last->region == SHI_REGION_DEVICE)
        return;
    CHECKF(memcmp(shi_stream_net.own[last->region].base + last->off, last + 1, last->bytes) == 0,
           "message %lu of PE %d is acknowledged before its last put is in place", m->seq, pe);
}

static int fabric_send_short(struct shi_net_lane *pub, int pe, const void *msg, size_t bytes)
{
    fabric_check_ack(pe, msg);
    struct fabric_lane *l = (struct fabric_lane *)pub;
    struct fabric_queue *q = &l->queue[pe];
    int err = fabric_full(l, pe);
    if (err)
        return err;
    struct fabric_op *op = q->wire[q->n_wire++] = fabric_new(pe, MESSAGE, NULL);
    op->kept = fabric_copy(msg, bytes);
    op->bytes = bytes;
    op->ended = op->reported = 1;
    return 0;
}

static int fabric_send(struct shi_net_lane *l, int pe, const void *msg, size_t bytes, struct shi_net_req *req)
{
    fabric_check_ack(pe, msg);
    return fabric_post(l, pe, MESSAGE, msg, NULL, bytes, 0, req);
}

static int fabric_write(struct shi_net_lane *l, int pe, const struct shi_net_memory *to, uint64_t off, const void *from,
                        size_t bytes, uint32_t immediate, struct shi_net_req *req)
{
    return fabric_post(l, pe, WRITE, from, (char *)to->base + off, bytes, immediate, req);
}

static int fabric_read(struct shi_net_lane *l, int pe, const struct shi_net_memory *from, uint64_t off, void *to,
                       size_t bytes, struct shi_net_req *req)
{
    return fabric_post(l, pe, READ, (char *)from->base + off, to, bytes, 0, req);
}

static int fabric_flush(struct shi_net_lane *pub, int pe, struct shi_net_req *req)
{
    struct fabric_lane *l = (struct fabric_lane *)pub;
    if (!l->queue[pe].head)
        return 0;
    struct fabric_op *op = fabric_new(pe, FLUSH, req);
    op->ended = op->landed = 1;
    fabric_append(l, pe, op);
    return -EINPROGRESS;
}

/* ---- the hardware ------------------------------------------------------------------------------------------------ */

/* May the i-th operation on the wire land before the earlier ones? */
static int fabric_may_land(const struct fabric_queue *q, int i)
{
    int kept = q->wire[i]->kind == MESSAGE ? SHI_NET_SAW : q->wire[i]->kind == WRITE ? SHI_NET_WAW : 0;
    for (int k = 0; k < i && kept & fabric.limits.ordered; k++)
        if (q->wire[k]->kind == WRITE)
            return 0;
    return 1;
}

static void fabric_deliver(int pe, const void *data, size_t bytes)
{
    if (--fabric.losing == 0)
        return;
    struct fabric_message *m = malloc(sizeof *m + bytes);
    if (!m)
        abort();
    *m = (struct fabric_message){.bytes = bytes};
    memcpy(m->data, data, bytes);
    *fabric.last[pe] = m;
    fabric.last[pe] = &m->next;
}

static void fabric_report(int pe, uint32_t immediate)
{
    struct fabric_immediate *i = malloc(sizeof *i);
    if (!i)
        abort();
    *i = (struct fabric_immediate){.data = immediate};
    *fabric.last_immediate[pe] = i;
    fabric.last_immediate[pe] = &i->next;
}

static void fabric_land(int from, int lane, int to, int i)
{
    struct fabric_queue *q = &fabric.lane[from][lane].queue[to];
    struct fabric_op *op = q->wire[i];
    memmove(&q->wire[i], &q->wire[i + 1], (size_t)(--q->n_wire - i) * sizeof *q->wire);
    const char *data = op->kept ? op->kept : op->from;
    if (op->kind == MESSAGE)
        fabric_deliver(to, data, op->bytes);
    else
        memcpy(op->to, data, op->bytes);
    op->landed = 1;
    if (op->kind == WRITE) {
        if (fabric.limits.ordered & SHI_NET_IMMEDIATE)
            fabric_report(to, op->immediate);
        fabric_landed(from, lane, to);
    }
    if (op->reported)
        fabric_free(op);
}

/* ---- devices ------------------------------------------------------------------------------------------------------ */

static int fabric_start_copies(const struct shi_device_copy *c, int n)
{
    struct fabric_device *d = &fabric_devices[fabric.pe];
    d->submissions++;
    for (int i = 0; i < n; i++) {
        CHECK(d->started - d->ended < COPIES);
        if (!fabric_fails_late && fabric_copies_until_failure && --fabric_copies_until_failure == 0)
            return -EIO;
        d->copy[d->started++ % COPIES] = c[i];
    }
    return 0;
}

static void fabric_copy_next(int pe)
{
    struct fabric_device *d = &fabric_devices[pe];
    if (d->ended == d->started)
        return;
    const struct shi_device_copy *c = &d->copy[d->ended++ % COPIES];
    size_t half = fabric_below(2) ? c->bytes / 16 * 8 : 0; /* a copy has no order within it */
    memcpy((char *)c->to + half, (const char *)c->from + half, c->bytes - half);
    for (int i = 0; i < PES * LANES && half; i++)
        fabric_landed(i / LANES, i % LANES, pe);
    memcpy(c->to, c->from, half);
    for (int i = 0; i < PES * LANES; i++)
        fabric_landed(i / LANES, i % LANES, pe);
}

static int fabric_copies_ended(uint64_t *n)
{
    while (fabric.calm && fabric_devices[fabric.pe].ended < fabric_devices[fabric.pe].started)
        fabric_copy_next(fabric.pe);
    *n = fabric_devices[fabric.pe].ended;
    if (fabric_fails_late && fabric_copies_until_failure && --fabric_copies_until_failure == 0)
        return -EIO;
    return 0;
}

/* A copy may end; a proxy of the node may load a word, or store what it loaded, so that updates in between are lost. */
static void fabric_device_tick(int pe)
{
    struct fabric_device *d = &fabric_devices[pe];
    if (fabric_below(4) == 0)
        fabric_copy_next(pe);
    if (d->updated && (fabric.calm || fabric_below(8) == 0)) {
        *d->updated = d->old;
        d->updated = NULL;
        d->word_lock = 0;
    } else if (!d->updated && !d->word_lock && !fabric.calm && fabric_below(8) == 0 && (d->updated = fabric_word(pe))) {
        d->old = *d->updated;
        d->word_lock = 1;
    }
}

/* Let the host of PE pe not access this region. Before fabric_open. */
static void fabric_hide(int pe, struct shi_stream_region *region)
{
    struct fabric_device *d = &fabric_devices[pe];
    size_t bytes = shi_round_up(shi_stream_device_bytes(SLOTS_OF_DEVICE), SHI_LINE_BYTES);
    char *memory = d->pub.memory ? d->pub.memory : aligned_alloc(SHI_LINE_BYTES, bytes);
    if (!memory)
        abort();
    *d = (struct fabric_device){.pub = {.start = fabric_start_copies, .ended = fabric_copies_ended, .memory = memory}};
    d->pub.word_lock = &d->word_lock;
    region->device = &d->pub;
}

/* One tick: an operation under way may land. */
static void fabric_tick(void)
{
    fabric_device_tick((int)fabric_below(PES));
    int from = (int)fabric_below(PES), lane = (int)fabric_below(LANES), to = (int)fabric_below(PES);
    struct fabric_queue *q = &fabric.lane[from][lane].queue[to];
    fabric.now++;
    if (q->n_wire == 0 || fabric_below((unsigned)fabric.pace) || (!fabric.calm && fabric.now < q->stalls_until))
        return;
    int i = (int)fabric_below((unsigned)q->n_wire);
    while (!fabric_may_land(q, i))
        i--;
    fabric_land(from, lane, to, i);
}

/* The operation ends: the caller may reuse its buffer. */
static void fabric_end(struct fabric_op *op)
{
    int in_place = op->kind == READ || (op->kind == WRITE && !(fabric.limits.ordered & SHI_NET_SAW));
    if (op->ended || (in_place && !op->landed) || fabric_below(2))
        return;
    if (!op->landed)
        op->kept = fabric_copy(op->from, op->bytes);
    op->from = NULL;
    op->ended = 1;
}

/* Some operations of a queue end; callbacks for those at its head. */
static void fabric_complete(struct fabric_lane *l, int pe)
{
    struct fabric_queue *q = &l->queue[pe];
    for (struct fabric_op *op = q->head; op; op = op->next)
        fabric_end(op);
    for (struct fabric_op *op; (op = q->head) && op->ended;) {
        q->head = op->next;
        if (!q->head)
            q->tail = NULL;
        q->n--;
        l->in_flight--;
        op->reported = 1;
        struct shi_net_req *req = op->req;
        int err = op->err;
        if (op->landed)
            fabric_free(op);
        if (req)
            req->done(req, err);
        else if (err)
            fabric.failed(pe, err);
    }
}

/* Deliver a forged message, made from one that this PE has received; early: or is about to receive. */
static void fabric_attack(const struct fabric_message *m, int early)
{
    enum { CHANGED, CUT, LONGER, AGAIN, OF_ANOTHER, ATTACKS };
    int how = (int)fabric_below(early ? AGAIN : ATTACKS), other = (fabric.pe + 1) % PES;
    const struct fabric_message *from = how == OF_ANOTHER && fabric.inbox[other] ? fabric.inbox[other] : m;
    size_t bytes = how == CUT ? fabric_below((unsigned)m->bytes) : how == LONGER ? m->bytes + 8 : from->bytes;
    char *copy = calloc(1, from->bytes + 8);
    if (!copy)
        abort();
    memcpy(copy, from->data, from->bytes);
    if (how == CHANGED)
        copy[fabric_below((unsigned)bytes)] ^= (char)(1 << fabric_below(8));
    shi_stream_arrive(copy, bytes);
    free(copy);
    fabric.attacks++;
}

/* Some of the writes that are in place are reported to the PE that runs. */
static void fabric_written(void)
{
    int pe = fabric.pe;
    for (unsigned n = fabric.calm ? 64 : fabric_below(6); n > 0 && fabric.immediate[pe]; n--) {
        struct fabric_immediate *i = fabric.immediate[pe];
        fabric.immediate[pe] = i->next;
        if (!i->next)
            fabric.last_immediate[pe] = &fabric.immediate[pe];
        shi_written_arrived(i->data);
        free(i);
    }
}

/* A poll of the PE that runs. */
static void fabric_poll(void)
{
    int pe = fabric.pe;
    for (int lane = 0; lane < LANES; lane++)
        for (int to = 0; to < PES; to++)
            fabric_complete(&fabric.lane[pe][lane], to);
    fabric_written();
    for (unsigned n = fabric_below(6); n > 0 && fabric.inbox[pe]; n--) {
        struct fabric_message *m = fabric.inbox[pe];
        const struct head *h = (const struct head *)m->data;
        int from = (int)h->pe, lane = h->lane;
        fabric.inbox[pe] = m->next;
        if (!m->next)
            fabric.last[pe] = &fabric.inbox[pe];
        if (fabric.strangers && fabric_below((unsigned)fabric.strangers) == 0)
            fabric_attack(m, 1);
        fabric.applied = m->data;
        shi_stream_arrive(m->data, m->bytes);
        fabric.applied = NULL;
        if (fabric.strangers && fabric_below((unsigned)fabric.strangers) == 0)
            fabric_attack(m, 0);
        free(m);
        fabric_landed(from, lane, pe);
    }
    int held = shi_stream_net.n_held;
    if (fabric.calm)
        fabric_device_tick(pe);
    shi_stream_arrive(NULL, 0);
    for (int i = 0; held && i < PES * LANES; i++)
        fabric_landed(i / LANES, i % LANES, pe);
}

/* Is this a write to a counter of written.h? Its buffer is not the caller's. */
static int fabric_announces(const struct fabric_op *op, int to)
{
    const char *counters = (const char *)(to == fabric.pe ? &shi_stream_net : &fabric.net[to])->written.counters;
    return counters && op->to >= counters && op->to < counters + PES * SHI_NET_LANES * sizeof(uint64_t);
}

/* Are there writes or reads of this lane, without a request, whose buffers are still in use? */
__attribute__((unused)) static int fabric_busy(int pe, int lane)
{
    for (int to = 0; to < PES; to++)
        for (const struct fabric_op *op = fabric.lane[pe][lane].queue[to].head; op; op = op->next)
            if ((op->kind == WRITE || op->kind == READ) && !op->req && !op->ended && !fabric_announces(op, to))
                return 1;
    return 0;
}

/* ---- other calls -------------------------------------------------------------------------------------------------- */

static const char *fabric_provider(void)
{
    return "fabric";
}

static const char *fabric_error(int err)
{
    return strerror(-err);
}

static int fabric_up(const struct shi_boot *boot, const struct shi_config *config, shi_net_arrive *arrive,
                     shi_net_written *written, shi_net_failed *failed, struct shi_net_limits *out)
{
    (void)boot, (void)config, (void)arrive, (void)written;
    fabric.failed = failed;
    *out = fabric.limits;
    return 0;
}

static int fabric_address(struct shi_net_address *out)
{
    memset(out, 0, sizeof *out);
    return 0;
}

static int fabric_connect(const struct shi_net_address *first, size_t stride)
{
    (void)first, (void)stride;
    return 0;
}

static int fabric_expose(const void *base, size_t bytes, int rights, struct shi_net_memory *out)
{
    (void)bytes;
    fabric.last_exposed = base;
    fabric.last_rights = rights;
    fabric.n_exposed++;
    *out = (struct shi_net_memory){.base = (uint64_t)base, .handle = 1};
    return 0;
}

static void fabric_withdraw(const struct shi_net_memory *m)
{
    (void)m;
}

static struct shi_net_lane *fabric_lane(int i)
{
    return &fabric.lane[fabric.pe][i % LANES].pub;
}

static int fabric_no_poll(void)
{
    return 0;
}

static int fabric_idle_wait(int timeout_ms)
{
    (void)timeout_ms;
    return 0;
}

static void fabric_nothing(void)
{
}

static int fabric_overdue(unsigned checks, struct shi_net_overdue *out)
{
    (void)checks, (void)out;
    return 0;
}

static void fabric_renew(int pe)
{
    (void)pe;
}

static size_t fabric_reads; /* bytes that are being read from each PE */

static size_t fabric_in_flight(const struct shi_net_lane *l, int pe, unsigned what)
{
    (void)l, (void)pe;
    return what == SHI_NET_READS ? fabric_reads : 0;
}

const struct shi_net_ops shi_net_ofi = {
    .provider = fabric_provider, .error = fabric_error, .up = fabric_up, .address = fabric_address,
    .connect = fabric_connect, .renew = fabric_renew,
    .expose = fabric_expose, .withdraw = fabric_withdraw, .lane = fabric_lane, .send_short = fabric_send_short,
    .send = fabric_send, .write = fabric_write, .read = fabric_read, .flush = fabric_flush,
    .in_flight = fabric_in_flight, .overdue = fabric_overdue, .refused = fabric_overdue, .poll = fabric_no_poll,
    .idle_wait = fabric_idle_wait, .wake = fabric_nothing, .met = fabric_nothing, .down = fabric_nothing,
};

#include "fabric_up.h" /* over the functions above */

#endif
