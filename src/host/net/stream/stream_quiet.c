/*
 * stream_quiet.c - what a record or write must follow, and what is complete: fence, quiet, waits for buffers. order.h decides; this file
 * asks, flushes and waits as it says. Callbacks run without a lane's lock.
 */
#include "host/net/stream/stream_quiet.h"

#include <errno.h>

#include "host/net/stream/batch.h"
#include "host/net/stream/written.h"

#define NET (shi_stream_net.ops)

static void flushed(struct shi_net_req *req, int err)
{
    struct stream *s = shi_container_of(req, struct stream, flush);
    if (err)
        shi_stream_fail(req->pe, err);
    shi_order_flush_ended(&s->order);
}

/* Have all writes and reads ended? Starts the flush that finds out. */
static int rma_ended(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    if (shi_order_must_flush(&s->order)) {
        s->flush.done = flushed;
        shi_order_flush_started(&s->order, NET->flush(l->net, pe, &s->flush) == -EINPROGRESS);
    }
    return shi_order_rma_ended(&s->order);
}

/* Make sure that an acknowledgement of `seq` is under way. */
static void ask_for(struct shi_lane *l, int pe, uint64_t seq)
{
    if (shi_order_must_ask(&l->to[pe].order, seq))
        shi_batch_send(l, pe, ACK_NOW);
    shi_order_awaited(&l->to[pe].order, seq);
}

/* Let the next message follow the first n writes to pe. 0: not now. */
static int follow_writes(struct shi_lane *l, int pe, uint64_t n)
{
    struct stream *s = &l->to[pe];
    if (shi_stream_net.written.by == SHI_WRITTEN_END) {
        rma_ended(l, pe);
        return shi_order_may_go(&s->order, n, 0);
    }
    if (!shi_written_announce(l, pe))
        return 0;
    s->follows = n > s->follows ? n : s->follows;
    return 1;
}

/* How many writes the call must follow: those before its first try. */
static uint64_t behind(const struct shi_lane *l, int pe, int after_writes, struct shi_stream_wait *w)
{
    const struct shi_order *o = &l->to[pe].order;
    if (w && w->behind)
        return w->behind - 1;
    uint64_t n = shi_order_behind(o, l->fences, after_writes);
    if (w) {
        w->behind = n + 1;
        w->seq = shi_order_write_behind(o, l->fences);
    }
    return n;
}

int shi_stream_behind_writes(struct shi_lane *l, int pe, int after_writes, struct shi_stream_wait *w)
{
    if (shi_likely(shi_stream_net.limits.ordered & SHI_NET_SAW))
        return 1;
    uint64_t n = behind(l, pe, after_writes, w);
    return shi_order_may_go(&l->to[pe].order, n, 0) || follow_writes(l, pe, n);
}

int shi_stream_behind_fence(struct shi_lane *l, int pe, struct shi_stream_wait *w)
{
    const struct shi_order *o = &l->to[pe].order;
    int ordered = shi_stream_net.limits.ordered & SHI_NET_WAW;
    uint64_t n = behind(l, pe, 0, w), seq = w ? w->seq : shi_order_write_behind(o, l->fences);
    ask_for(l, pe, seq);
    if (o->acked_seq < seq)
        return 0;
    if (!shi_order_may_go(o, n, ordered))
        rma_ended(l, pe);
    return shi_order_may_go(o, n, ordered);
}

void shi_stream_fence(struct shi_lane *l)
{
    shi_lane_lock(l);
    l->fences++;
    shi_lane_unlock(l);
}

/* Number the wait, at its first call. The lane is locked. */
static uint64_t number(struct shi_lane *l, uint64_t *wait)
{
    *wait = *wait ? *wait : ++l->waits;
    return *wait;
}

/* Is everything sent to pe before the wait complete there? If not, start its completion. */
static int settled(struct shi_lane *l, int pe, uint64_t wait)
{
    struct shi_order *o = &l->to[pe].order;
    while (o->quiet.served < wait) {
        rma_ended(l, pe);
        shi_order_begin_round(o, &o->quiet, l->waits, shi_order_complete_seq(o), 1);
        int ended = shi_order_round_ended(o, &o->quiet);
        ask_for(l, pe, o->quiet.seq);
        if (!ended)
            return 0;
    }
    return 1;
}

/* Has come what was fetched before the wait? */
static int fetched(struct shi_lane *l, uint64_t wait)
{
    struct fetches *f = &l->fetches;
    while (f->served < wait) {
        if (!f->of) {
            f->of = l->waits;
            f->now ^= 1;
        }
        if (__atomic_load_n(&f->outstanding[f->now ^ 1], __ATOMIC_ACQUIRE)) /* A2 */
            return 0;
        f->served = f->of;
        f->of = 0;
    }
    return 1;
}

int shi_stream_quiet(struct shi_lane *l, int pe, uint64_t *wait)
{
    shi_lane_lock(l);
    uint64_t w = number(l, wait);
    int all = fetched(l, w);
    if (pe >= 0)
        all &= !l->to[pe].dirty || settled(l, pe, w); /* it stays in the list until a quiet of all */
    for (int i = 0; pe < 0 && i < l->n_dirty;) {
        int d = l->dirty[i], is_settled = settled(l, d, w);
        all &= is_settled;
        if (is_settled && shi_order_is_complete(&l->to[d].order)) {
            l->to[d].dirty = 0;
            l->dirty[i] = l->dirty[--l->n_dirty];
        } else {
            i++;
        }
    }
    shi_lane_unlock(l);
    return all;
}

int shi_stream_idle(struct shi_lane *l, int pe)
{
    shi_lane_lock(l);
    int idle = shi_order_is_complete(&l->to[pe].order);
    shi_lane_unlock(l);
    return idle;
}

/* Are the buffers of what was started to pe before the wait free? If not, start what frees them. */
static int freed(struct shi_lane *l, int pe, uint64_t wait)
{
    struct stream *s = &l->to[pe];
    while (s->order.local.served < wait) {
        rma_ended(l, pe);
        shi_order_begin_round(&s->order, &s->order.local, l->waits, s->served_seq, 0);
        ask_for(l, pe, s->order.local.seq);
        if (!shi_order_round_ended(&s->order, &s->order.local))
            return 0;
    }
    return 1;
}

int shi_stream_local(struct shi_lane *l, uint64_t *wait)
{
    shi_lane_lock(l);
    uint64_t w = number(l, wait);
    int all = fetched(l, w);
    for (int i = 0; i < l->n_dirty; i++)
        all &= freed(l, l->dirty[i], w);
    shi_lane_unlock(l);
    return all;
}

void shi_stream_add_after(struct stream *s, struct shi_after *a)
{
    a->next = NULL;
    *(s->last_after ? &s->last_after->next : &s->after) = a;
    s->last_after = a;
}

int shi_stream_after(struct shi_lane *l, int pe, struct shi_after *a, int soon, struct shi_stream_wait *w)
{
    struct stream *s = &l->to[pe];
    shi_lane_lock(l);
    if (!shi_stream_behind_writes(l, pe, 1, w)) {
        shi_lane_unlock(l);
        return -EAGAIN;
    }
    a->seq = s->follows ? s->order.sent_seq + 1 : shi_order_complete_seq(&s->order);
    int done = s->order.acked_seq >= a->seq;
    if (!done) {
        shi_stream_add_after(s, a);
        if (shi_order_must_ask(&s->order, a->seq))
            shi_batch_ask(l, pe, soon ? ACK_SOON : ACK_NOW);
    }
    shi_lane_unlock(l);
    return done ? 0 : -EINPROGRESS;
}
