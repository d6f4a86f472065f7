/*
 * gpc_wire.c - messages of GPCs in and out: one active message where it fits, else pieces and a fetch.
 *
 *   word               written by                     read by           order
 *   out, after send    progress (retries)             progress          one retry at a time; `sent` ends it
 *   in, until whole    progress (handlers)            progress          handlers run one at a time
 *   in_pieces          progress                       progress          the same
 *   fetches            progress, dispatcher           the same          limit.h
 *   sent, received     all senders; progress          shi_gpc_settle    relaxed: compared when nothing moves
 *
 * At most SHI_GPC_FETCHES messages are being fetched, or fetched and not yet used, so that large calls do not fill this PE's memory.
 * They cannot deadlock: a message's fetch ends before its function begins.
 */
#include "host/gpc/gpc_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/team.h"
#include "host/net/node/progress.h"
#include "host/net/stream/stream.h"
#include "host/ops/dheap.h"
#include "host/policy/limits.h"
#include "host/util/base.h"
#include "host/util/tsan.h"

int (*shi_gpc_agree)(const char *routine, int mine);
static struct shi_gpc_in *in_pieces;
static uint64_t sent, received;
struct shi_kept shi_gpc_kept = {.most = SHI_KEPT_GPC};
static struct shi_limit fetches = SHI_LIMIT_INIT(fetches, SHI_GPC_FETCHES);

void shi_gpc_count_received(void)
{
    __atomic_store_n(&received, received + 1, __ATOMIC_RELAXED);
}

/* ---- scattered bytes --------------------------------------------------------------------------------------------- */

void shi_gpc_iov_add(struct shi_gpc_iov *r, const void *at, size_t bytes)
{
    if (!bytes)
        return;
    assert(r->n < 4);
    r->part[r->n].at = (char *)at;
    r->part[r->n++].bytes = bytes;
    r->left += bytes;
}

static void move(struct shi_gpc_iov *r, char *msg, size_t bytes, int out)
{
    SHI_TSAN_WRITES_IGNORED; /* messages are handed over by atomics */
    r->left -= bytes;
    while (bytes > 0) {
        size_t part = r->part[r->now].bytes, now = part < bytes ? part : bytes;
        char *at = r->part[r->now].at;
        if (out)
            shi_dheap_memcpy(msg, at, now);
        else if (at)
            shi_dheap_memcpy(at, msg, now);
        r->part[r->now].at = at ? at + now : NULL;
        r->part[r->now].bytes -= now;
        r->now += now == part;
        msg += now;
        bytes -= now;
    }
}

static void copy_in(struct shi_gpc_iov *r, const void *msg, size_t bytes)
{
    assert(bytes <= r->left);
    move(r, (char *)msg, bytes, 0);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static size_t head_bytes(const union shi_gpc_head *head)
{
    static const uint8_t bytes[] = {[SHI_GPC_START] = sizeof head->start, [SHI_GPC_REPLY] = sizeof head->reply,
                                    [SHI_GPC_PIECE] = sizeof head->piece, [SHI_GPC_FIN] = sizeof head->fin};
    return head->kind < sizeof bytes ? bytes[head->kind] : 0;
}

static int has_src(const struct shi_gpc_out *o)
{
    return (o->head.kind == SHI_GPC_START || o->head.kind == SHI_GPC_REPLY) && o->head.start.flags & SHI_GPC_FETCH;
}

int shi_gpc_out_data(struct shi_gpc_out *o, const void *data, size_t bytes)
{
    size_t others = head_bytes(&o->head) + o->iov.left;
    const struct shi_message_lengths *l = shi_am_lengths(o->pe);
    if (others + bytes > l->longest && bytes > l->eager && shi_am_expose(o->pe, data, bytes, &o->src) == 0) {
        o->head.start.flags |= SHI_GPC_FETCH;
        return 1;
    }
    shi_gpc_iov_add(&o->iov, data, bytes);
    return 0;
}

void shi_gpc_withdraw(struct shi_gpc_out *o)
{
    shi_am_withdraw(o->pe, &o->src);
}

/* Make the head that of a further piece. */
static void become_piece(struct shi_gpc_out *o)
{
    uint64_t token = o->head.kind == SHI_GPC_START ? o->head.start.token : o->head.reply.token;
    if (o->head.kind != SHI_GPC_PIECE)
        o->head.piece = (struct shi_gpc_piece){.kind = SHI_GPC_PIECE, .of = o->head.kind, .token = token};
}

/* Send until no message slot is free. 0 when all is sent, else -EAGAIN. */
static int push(struct shi_gpc_out *o)
{
    do {
        size_t head = head_bytes(&o->head), src = has_src(o) ? sizeof o->src : 0;
        size_t most = shi_am_lengths(o->pe)->longest - head - src, now = o->iov.left < most ? o->iov.left : most;
        char *room = shi_am_begin(o->pe, SHI_AM_GPC, head + src + now);
        if (!room)
            return -EAGAIN;
        memcpy(room, &o->head, head);
        memcpy(room + head, &o->src, src);
        move(&o->iov, room + head + src, now, 1);
        int more = o->iov.left > 0;
        __atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
        if (more)
            become_piece(o);
        shi_am_end(o->pe, head + src + now); /* the answer may arrive at once, on another thread, which frees `o` */
        if (!more)
            return 0;
    } while (1);
}

static int retry(struct shi_am_pending_send *pending_send)
{
    struct shi_gpc_out *o = shi_container_of(pending_send, struct shi_gpc_out, pending_send);
    void (*done)(struct shi_gpc_out *) = o->sent;
    int err = push(o);
    if (!err && done)
        done(o);
    return err;
}

void shi_gpc_send(struct shi_gpc_out *o)
{
    int pe = o->pe;
    void (*done)(struct shi_gpc_out *) = o->sent;
    o->pending_send.retry = retry;
    if (push(o))
        shi_am_queue(pe, &o->pending_send);
    else if (done)
        done(o);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

static void end_fetch(struct shi_gpc_in *in, int err)
{
    in->err = in->err ? in->err : err;
    if (in->bounce && !err)
        shi_dheap_move(in->data, in->bounce, in->src.bytes);
    shi_gpc_free(in->bounce, in->src.bytes);
    in->whole(in);
}

/* Fetch the rest, piece by piece. 0, or -EAGAIN: try again later. */
static int try_fetch(struct shi_gpc_in *in)
{
    size_t most = shi_am_fetch_bytes(in->pe);
    char *to = in->data;
    if (to && !shi_stream_sends(to, in->src.bytes))
        to = in->bounce = in->bounce ? in->bounce : shi_gpc_malloc(in->src.bytes);
    int err = to ? 0 : -ENOMEM;
    while (!err && in->got < in->src.bytes) {
        in->piece = in->src.bytes - in->got < most ? in->src.bytes - in->got : most;
        err = shi_am_fetch(in->pe, &in->src, in->got, to + in->got, in->piece, &in->fetch);
        if (!err) /* else in belongs to the callback */
            in->got += in->piece;
    }
    if (err != -EINPROGRESS && err != -EAGAIN)
        end_fetch(in, err);
    return err == -EAGAIN ? err : 0;
}

static int retry_fetch(struct shi_am_pending_send *pending_send)
{
    return try_fetch(shi_container_of(pending_send, struct shi_gpc_in, pending_send));
}

static void fetch(struct shi_gpc_in *in)
{
    if (try_fetch(in))
        shi_am_queue(in->pe, &in->pending_send);
}

static void fetched(struct shi_am_fetch *f, int err)
{
    struct shi_gpc_in *in = shi_container_of(f, struct shi_gpc_in, fetch);
    in->got += in->piece;
    if (err)
        end_fetch(in, err);
    else
        fetch(in);
}

static void start_fetch(struct shi_gpc_in *in)
{
    in->pending_send.retry = retry_fetch;
    in->fetch.done = fetched;
    in->got = 0;
    fetch(in);
}

void shi_gpc_fetched(struct shi_gpc_in *in)
{
    struct shi_limited *next = shi_limit_end(&fetches, &in->fetching);
    if (next)
        start_fetch(shi_container_of(next, struct shi_gpc_in, fetching));
}

/* All parts but the data are complete: fetch the data, if any. */
static void go_on(struct shi_gpc_in *in)
{
    if (!in->src.bytes)
        in->whole(in);
    else if (shi_limit_begin(&fetches, &in->fetching))
        start_fetch(in);
}

void shi_gpc_receive(struct shi_gpc_in *in, uint8_t flags, const void *msg, size_t bytes)
{
    const char *rest = msg;
    size_t src = flags & SHI_GPC_FETCH ? sizeof in->src : 0;
    memcpy(&in->src, rest, src);
    copy_in(&in->iov, rest + src, bytes - src);
    if (in->iov.left == 0) {
        go_on(in);
        return;
    }
    in->next = in_pieces;
    in_pieces = in;
}

void shi_gpc_receive_piece(int pe, const struct shi_gpc_piece *p, size_t bytes)
{
    struct shi_gpc_in **at = &in_pieces;
    while (bytes >= sizeof *p && *at && !((*at)->pe == pe && (*at)->of == p->of && (*at)->token == p->token))
        at = &(*at)->next;
    struct shi_gpc_in *in = *at;
    if (bytes <= sizeof *p || !in || bytes - sizeof *p > in->iov.left)
        shi_am_refuse(pe, "a piece of no GPC of this PE");
    copy_in(&in->iov, p + 1, bytes - sizeof *p);
    if (in->iov.left == 0) {
        *at = in->next;
        go_on(in);
    }
}

void shi_gpc_forget_pieces(int pe)
{
    for (struct shi_gpc_in **at = &in_pieces, *in; (in = *at);) {
        if (in->pe != pe) {
            at = &in->next;
            continue;
        }
        *at = in->next;
        in->err = -EIO;
        in->whole(in);
    }
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The record that each PE sends to the others: its messages so far. */
struct census {
    uint64_t sent, received;
};

/*
 * Parts of a failed GPC may still run after its root has completed it, and a message may arrive at a PE that has no GPC. No
 * message is left when, in two consecutive censuses between which every PE had no GPC, the sums of sent and received
 * messages are equal and did not grow.
 */
static void settle_all(void (*own)(void))
{
    uint64_t before, now = UINT64_MAX;
    struct census sum;
    do {
        own();
        const struct census mine = {__atomic_load_n(&sent, __ATOMIC_RELAXED), __atomic_load_n(&received, __ATOMIC_RELAXED)};
        shi_team_exchange(&shi_team_world, &mine, sizeof mine);
        sum = (struct census){0, 0};
        for (int i = 0; i < shi_world.n_pes; i++) {
            const struct census *other = shi_team_buffer(&shi_team_world, shi_world.pe, i);
            sum.sent += other->sent;
            sum.received += other->received;
        }
        before = now;
        now = sum.sent;
    } while (sum.sent != sum.received || now != before);
}

/*
 * The sums have no meaning where some PEs have died. So: from one agreement to the next, no PE that lives has sent or received a message. Each has
 * polled all that was sent before the first one.
 */
static void settle_living(void (*own)(void))
{
    uint64_t before, now = UINT64_MAX;
    do {
        for (int i = 0; i < shi_world.n_pes; i++)
            shi_progress_poll();
        own();
        before = now;
        now = __atomic_load_n(&sent, __ATOMIC_RELAXED) + __atomic_load_n(&received, __ATOMIC_RELAXED);
    } while (!shi_gpc_agree("shmem_finalize", now == before));
}

void shi_gpc_settle(void (*own)(void))
{
    if (shi_gpc_agree)
        settle_living(own);
    else
        settle_all(own);
}

void shi_gpc_wire_stop(void)
{
    shi_kept_clear(&shi_gpc_kept);
    sent = received = 0;
}
