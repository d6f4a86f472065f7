/*
 * remote.c - requests of kernels on PEs that only the network reaches: each is a trip of a few steps, none of which waits.
 *
 * A put is complete, for the device's quiet, when the target has acknowledged all of it; a get when its data is in place.
 * Memory that the host cannot touch, on either side, goes in pieces through a bounce buffer.
 *
 *   what        written by                         read by        order
 *   ended       callbacks, any thread: push        proxy: take    R1 -> A1 what the callback brought is there
 *   the rest    proxy thread
 */
#include "proxy/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/progress.h"
#include "host/net/stream.h"
#include "host/ops/dheap.h"
#include "host/ops/far.h"
#include "host/ops/state.h"
#include "host/util/log.h"

enum { PIECE_BYTES = 8192, LANE = 1 };
_Static_assert((int)PIECE_BYTES <= (int)SHI_STREAM_PUT_BYTES && (int)PIECE_BYTES <= (int)SHI_STREAM_REPLY_BYTES,
               "a piece is a record");

/* MOVE: send or fetch the data. Then, for puts, SIGNAL where there is one, CONFIRM: ask for completion, CONFIRMED; for results
 * that go to a cell GIVE, once the cell is free; for other fetches FETCHED. */
enum step { MOVE, SIGNAL, CONFIRM, CONFIRMED, GIVE, FETCHED };

struct trip {
    struct shi_net_req req;
    struct shi_reply reply;
    struct shi_after after;
    struct shi_proxy_ring *ring;
    struct shi_engine_op *op;
    struct shi_request_view v;
    struct shi_spot at, signal;
    enum step step;
    int by_hand;       /* in pieces through the bounce buffer */
    size_t moved, piece;
    uint64_t value;    /* fetched */
    char *bounce;
    struct trip *next;
};

static struct trip *ended; /* callbacks have come, in any order: what they brought does not depend on each other */
/* To be tried again, in the order of issue: the network had no room, or the cell of the result is not free. */
static struct trip *stalled, **last_stalled = &stalled;
static struct trip *spare;
static int under_way;

/* ---- callbacks ---------------------------------------------------------------------------------------------------- */

static void push(struct trip *t)
{
    t->next = __atomic_load_n(&ended, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ended, &t->next, t, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) /* R1 */
        ;
}

static void reply_came(struct shi_reply *r)
{
    push(shi_container_of(r, struct trip, reply));
}

static void confirmed(struct shi_after *a)
{
    push(shi_container_of(a, struct trip, after));
}

static void transfer_ended(struct shi_net_req *req, int err)
{
    if (err)
        shi_stream_fail(req->pe, err);
    push((struct trip *)req);
}

/* ---- steps: 0 done, -EINPROGRESS a callback will come, -EAGAIN not now ----------------------------------------------- */

static struct shi_spot part(const struct trip *t)
{
    struct shi_spot s = t->at;
    s.off += t->moved;
    return s;
}

static char *local(const struct trip *t)
{
    return (char *)(t->v.payload ? (uintptr_t)t->v.payload : t->v.local) + t->moved;
}

static int put_piece(struct trip *t, struct shi_lane *l, size_t left)
{
    struct shi_spot s = part(t);
    const void *from = local(t);
    size_t n = left < PIECE_BYTES ? left : PIECE_BYTES;
    if (!t->by_hand && left > PIECE_BYTES) {
        n = left < shi_stream_rma_bytes() ? left : shi_stream_rma_bytes();
        int err = shi_stream_write(l, &s, from, n, NULL);
        t->moved += err == -EINPROGRESS ? n : 0;
        return err == -EINPROGRESS ? 0 : err;
    }
    if (t->by_hand && !t->v.payload) {
        shi_dheap_move(t->bounce, from, n);
        from = t->bounce;
    }
    int err = shi_stream_put(l, &s, from, n, 0);
    t->moved += err ? 0 : n;
    return err;
}

static int get_piece(struct trip *t, struct shi_lane *l, size_t left)
{
    struct shi_spot s = part(t);
    t->piece = left < PIECE_BYTES ? left : PIECE_BYTES;
    if (!t->by_hand && left > PIECE_BYTES) {
        t->piece = left < shi_stream_rma_bytes() ? left : shi_stream_rma_bytes();
        t->req = (struct shi_net_req){.done = transfer_ended};
        return shi_stream_read(l, &s, local(t), t->piece, &t->req);
    }
    int cell = t->op->request.op == SHI_OP_GET_INLINE;
    t->reply = (struct shi_reply){.to = cell ? (char *)&t->value : t->by_hand ? t->bounce : local(t), .block = t->piece,
                                  .done = reply_came};
    int err = shi_stream_get_blocks(l, &s, &(struct shi_blocks){(uint32_t)t->piece, 1, 0}, &t->reply);
    return err ? err : -EINPROGRESS;
}

static int amo(struct trip *t, struct shi_lane *l)
{
    const struct shi_request_view *v = &t->v;
    t->reply = (struct shi_reply){.to = (char *)&t->value, .block = sizeof t->value, .done = reply_came};
    struct shi_reply *r = v->result == SHI_RESULT_NONE ? NULL : &t->reply;
    int err = shi_stream_amo(l, &t->at, (int)v->bytes, (enum shi_amo)v->amo, v->value, v->cond, r, 0);
    t->moved = err ? 0 : v->bytes;
    return err || !r ? err : -EINPROGRESS;
}

static int move(struct trip *t, struct shi_lane *l)
{
    int op = (int)t->op->request.op, get = op == SHI_OP_GET || op == SHI_OP_GET_INLINE, err = 0;
    while (!err && t->moved < t->v.bytes) {
        size_t left = t->v.bytes - t->moved;
        err = op == SHI_OP_AMO ? amo(t, l) : get ? get_piece(t, l, left) : put_piece(t, l, left);
    }
    return err;
}

/* What a callback brought goes where the kernel wants it, unless that is a cell, which may have to wait. */
static void take(struct trip *t)
{
    const struct shi_request_view *v = &t->v;
    int op = (int)t->op->request.op;
    if (op == SHI_OP_GET && t->by_hand)
        shi_dheap_move(local(t), t->bounce, t->piece);
    if (op == SHI_OP_AMO && v->result == SHI_RESULT_ADDRESS)
        shi_dheap_move((void *)v->local, &t->value, v->bytes);
    t->moved += op == SHI_OP_AMO ? 0 : t->piece;
}

static enum step after_move(const struct trip *t)
{
    switch (t->op->request.op) {
    case SHI_OP_GET: return FETCHED;
    case SHI_OP_GET_INLINE: return GIVE;
    case SHI_OP_AMO:
        return t->v.result == SHI_RESULT_CELL ? GIVE : t->v.result == SHI_RESULT_ADDRESS ? FETCHED : CONFIRM;
    case SHI_OP_PUT_SIGNAL:
    case SHI_OP_PUT_SIGNAL_INLINE: return SIGNAL;
    default: return CONFIRM;
    }
}

static int signal(struct trip *t, struct shi_lane *l)
{
    int set = t->v.sig_op == SHMEM_SIGNAL_SET;
    return shi_stream_amo(l, &t->signal, sizeof(uint64_t), set ? SHI_AMO_SET : SHI_AMO_ADD, t->v.signal_value, 0, NULL,
                          SHI_STREAM_AFTER_WRITES);
}

static int confirm(struct trip *t, struct shi_lane *l)
{
    t->after = (struct shi_after){.done = confirmed};
    return shi_stream_after(l, t->at.pe, &t->after);
}

/* Requests of two laps of the ring may be under way at a time and share a cell: the result that comes second waits until
 * the owner of the first has taken it. */
static int give(const struct trip *t)
{
    if (!shi_result_free(t->ring, t->op->ticket))
        return -EAGAIN;
    shi_result_give(t->ring, t->op->ticket, t->value);
    return 0;
}

/* Go on until something has to be waited for. */
static int advance(struct trip *t)
{
    struct shi_lane *l = shi_stream_lane(LANE);
    int err = 0;
    if (t->step == MOVE && !(err = move(t, l)))
        t->step = after_move(t);
    if (t->step == SIGNAL && !(err = signal(t, l)))
        t->step = CONFIRM;
    if (t->step == CONFIRM && (err = confirm(t, l)) != -EAGAIN)
        t->step = CONFIRMED;
    return t->step == GIVE ? give(t) : err;
}

/* ---- trips -------------------------------------------------------------------------------------------------------- */

static void finish(struct trip *t)
{
    free(t->bounce);
    t->next = spare;
    spare = t;
    under_way--;
}

/* 0: complete; else it is waiting, or stalled. */
static int go_on(struct trip *t)
{
    int err = advance(t);
    if (err == -EAGAIN) {
        t->next = NULL;
        *last_stalled = t;
        last_stalled = &t->next;
    } else if (err && err != -EINPROGRESS) {
        shi_die("proxy", "a request of a kernel on PE %d failed: %s", t->at.pe, strerror(-err));
    }
    return err;
}

/* Does an earlier request to this PE wait for room? A later one that found some would overtake it. */
static int has_stalled(int pe)
{
    for (const struct trip *t = stalled; t; t = t->next)
        if (t->at.pe == pe && t->step < CONFIRM)
            return 1;
    return 0;
}

static int where(uint32_t pe, uint64_t off, size_t bytes, struct shi_spot *out)
{
    return shi_far_spot(&shi_world.peer[pe], SHI_WRITE, (const char *)shi_world.dev_lo + off, bytes, out);
}

int shi_remote_issue(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    const struct shi_request *q = &op->request;
    int signals = q->op == SHI_OP_PUT_SIGNAL || q->op == SHI_OP_PUT_SIGNAL_INLINE;
    struct shi_spot at = {.pe = (int)q->pe}, signal = at;
    if ((v->bytes && where(q->pe, v->target, v->bytes, &at)) || (signals && where(q->pe, v->signal, 8, &signal)))
        return -EFAULT;
    if (signal.off % 8 || (q->op == SHI_OP_AMO && at.off % v->bytes) ||
        (signals && v->sig_op != SHMEM_SIGNAL_SET && v->sig_op != SHMEM_SIGNAL_ADD))
        return -EINVAL;
    if (has_stalled(at.pe))
        return -EAGAIN;
    struct trip *t = spare;
    if (t)
        spare = t->next;
    else if (!(t = aligned_alloc(SHI_LINE_BYTES, shi_round_up(sizeof *t, SHI_LINE_BYTES))))
        return -ENOMEM;
    *t = (struct trip){.ring = p, .op = op, .v = *v, .at = at, .signal = signal, .by_hand = shi_world.dev_private};
    if (t->by_hand && !v->payload && q->op != SHI_OP_AMO && q->op != SHI_OP_GET_INLINE && !(t->bounce = malloc(PIECE_BYTES)))
        return -ENOMEM;
    under_way++;
    if (go_on(t))
        return -EINPROGRESS;
    finish(t);
    return 0;
}

static void complete(struct trip *t)
{
    shi_engine_complete(t->ring->engine, t->op, 0);
    finish(t);
}

void shi_remote_poll(void)
{
    if (!under_way)
        return;
    shi_progress();
    struct trip *t = __atomic_exchange_n(&ended, NULL, __ATOMIC_ACQUIRE), *again = stalled; /* A1 */
    stalled = NULL;
    last_stalled = &stalled;
    for (struct trip *next; again; again = next) {
        next = again->next;
        if (go_on(again) == 0)
            complete(again);
    }
    for (struct trip *next; t; t = next) {
        next = t->next;
        if (t->step == MOVE)
            take(t);
        if (go_on(t) == 0)
            complete(t);
    }
}
