/*
 * stream_tx.c - records out: puts, atomics, fetches, writes and reads behind what they must follow; fence and quiet. What
 * may be sent when, and what is complete, is decided by order.h. Callbacks run without a lane's lock.
 */
#include <errno.h>
#include <string.h>

#include "host/net/batch.h"
#include "host/net/progress.h"
#include "host/net/written.h"
#include "host/util/copy_lines.h"

#define NET (shi_stream_net.ops)

/* What a transfer began with; an error ends the job. */
static int started(int pe, int rc)
{
    if (rc && rc != -EAGAIN && rc != -EINPROGRESS)
        shi_stream_fail(pe, rc);
    return rc;
}

/* ---- order and completion --------------------------------------------------------------------------------------- */

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

/* May a record be sent now, given the writes before it? */
static int behind_writes(struct shi_lane *l, int pe, int after_writes, struct shi_stream_wait *w)
{
    if (shi_likely(shi_stream_net.limits.ordered & SHI_NET_SAW))
        return 1;
    uint64_t n = behind(l, pe, after_writes, w);
    return shi_order_may_go(&l->to[pe].order, n, 0) || follow_writes(l, pe, n);
}

/* May a write be posted now, given the records and writes before the last fence? */
static int behind_fence(struct shi_lane *l, int pe, struct shi_stream_wait *w)
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

/* Have a called back when the message that it names is acknowledged, which none of the list precedes. */
static void add_after(struct stream *s, struct shi_after *a)
{
    a->next = NULL;
    *(s->last_after ? &s->last_after->next : &s->after) = a;
    s->last_after = a;
}

int shi_stream_after(struct shi_lane *l, int pe, struct shi_after *a, int soon, struct shi_stream_wait *w)
{
    struct stream *s = &l->to[pe];
    shi_lane_lock(l);
    if (!behind_writes(l, pe, 1, w)) {
        shi_lane_unlock(l);
        return -EAGAIN;
    }
    a->seq = s->follows ? s->order.sent_seq + 1 : shi_order_complete_seq(&s->order);
    int done = s->order.acked_seq >= a->seq;
    if (!done) {
        add_after(s, a);
        if (shi_order_must_ask(&s->order, a->seq))
            shi_batch_ask(l, pe, soon ? ACK_SOON : ACK_NOW);
    }
    shi_lane_unlock(l);
    return done ? 0 : -EINPROGRESS;
}

void shi_stream_session(struct shi_lane *l, int change)
{
    shi_lane_lock(l);
    l->sessions += change;
    if (change < 0)
        shi_batch_poll(l);
    shi_lane_unlock(l);
}

void shi_stream_send(struct shi_lane *l)
{
    if (!__atomic_load_n(&l->n_open, __ATOMIC_RELAXED) && !__atomic_load_n(&l->n_waiting, __ATOMIC_RELAXED))
        return;
    shi_lane_lock(l);
    shi_batch_poll(l);
    shi_lane_unlock(l);
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static enum shi_batch_room room_of(const struct stream *s, const struct shi_stream_wait *w)
{
    return shi_unlikely(w && w->since) && shi_order_is_overtaken(&s->order, w->since - 1, s->n_ready) ? SHI_ROOM_OVERTAKEN
                                                                                                     : SHI_ROOM;
}

/* Room for a record's payload, when the record may be sent; the lane stays locked. NULL: not now, unlocked. */
static void *begin(struct shi_lane *l, const struct shi_remote_addr *to, struct record r, int flags, struct shi_stream_wait *w)
{
    r.region = (uint8_t)to->region;
    r.off = to->off;
    shi_progress_post();
    shi_lane_lock(l);
    int may_go = behind_writes(l, to->pe, flags & SHI_STREAM_AFTER_WRITES, w);
    void *p = may_go ? shi_batch_append(l, to->pe, &r, room_of(&l->to[to->pe], w)) : NULL;
    if (shi_unlikely(may_go && !p && w && !w->since))
        w->since = l->to[to->pe].order.sent_seq + 1;
    if (!p)
        shi_lane_unlock(l);
    return p;
}

static int end(struct shi_lane *l, int pe, int flags)
{
    shi_batch_commit(l, pe, flags & SHI_STREAM_MORE);
    shi_lane_unlock(l);
    return 0;
}

int shi_stream_put(struct shi_lane *l, const struct shi_remote_addr *to, const void *from, size_t bytes, int flags,
                   struct shi_stream_wait *w)
{
    void *p = begin(l, to, (struct record){.op = OP_PUT, .bytes = (uint32_t)bytes}, flags, w);
    if (!p)
        return -EAGAIN;
    shi_copy_lines(p, from, bytes);
    return end(l, to->pe, flags);
}

int shi_stream_put_blocks(struct shi_lane *l, const struct shi_remote_addr *to, const struct shi_blocks *b,
                          const void *from, ptrdiff_t from_stride, struct shi_stream_wait *w)
{
    size_t bytes = (size_t)b->block * b->count;
    struct shi_blocks *p = begin(l, to, (struct record){.op = OP_PUT_BLOCKS, .bytes = (uint32_t)(sizeof *p + bytes)}, 0, w);
    if (!p)
        return -EAGAIN;
    *p = *b;
    char *out = (char *)(p + 1);
    for (uint32_t i = 0; i < b->count; i++, out += b->block)
        memcpy(out, (const char *)from + (ptrdiff_t)i * from_stride, b->block);
    return end(l, to->pe, 0);
}

/* A cookie for the reply of `bytes` from PE pe; the lane is locked. -1: too many replies are outstanding. */
static int expect(struct shi_lane *l, const struct shi_reply *reply, int pe, size_t bytes)
{
    if (l->n_free_replies == 0)
        return -1;
    int cookie = l->free_reply[--l->n_free_replies];
    struct outstanding *o = &l->outstanding[cookie];
    *o = (struct outstanding){(struct shi_reply *)reply, (uint32_t)pe, (uint32_t)bytes, l->fetches.now};
    if (!reply->done) {
        l->own[cookie] = *reply;
        o->reply = &l->own[cookie];
        __atomic_fetch_add(&l->fetches.outstanding[l->fetches.now], 1, __ATOMIC_RELAXED);
    }
    return cookie;
}

/* Send a fetching record at once: the caller waits for the reply. */
static int end_fetch(struct shi_lane *l, int pe)
{
    shi_batch_commit(l, pe, 1);
    if (l->to[pe].open)
        shi_batch_send(l, pe, 0);
    shi_lane_unlock(l);
    return 0;
}

int shi_stream_amo(struct shi_lane *l, const struct shi_remote_addr *at, int width, enum shi_amo op, uint64_t value,
                   uint64_t cond, struct shi_reply *reply, int flags, struct shi_stream_wait *w)
{
    size_t bytes = reply ? sizeof(struct amo_payload) : op == SHI_AMO_CSWAP ? 2 * sizeof value : sizeof value;
    struct amo_payload *p = begin(l, at, (struct record){.op = OP_AMO, .what = (uint8_t)op, .bytes = (uint32_t)bytes,
                                                         .width = (uint8_t)(width | (reply ? 0x80 : 0))}, flags, w);
    if (!p)
        return -EAGAIN;
    p->value = value;
    if (bytes > sizeof value)
        p->cond = cond;
    if (!reply)
        return end(l, at->pe, flags);
    int cookie = expect(l, reply, at->pe, (size_t)width);
    if (cookie < 0) {
        shi_lane_unlock(l);
        return -EAGAIN;
    }
    p->cookie = (uint64_t)cookie;
    return reply->done ? end_fetch(l, at->pe) : end(l, at->pe, 0);
}

int shi_stream_get_blocks(struct shi_lane *l, const struct shi_remote_addr *from, const struct shi_blocks *b,
                          struct shi_reply *reply, struct shi_stream_wait *w)
{
    struct blocks_payload *p = begin(l, from, (struct record){.op = OP_GET_BLOCKS, .bytes = sizeof *p}, 0, w);
    if (!p)
        return -EAGAIN;
    int cookie = expect(l, reply, from->pe, (size_t)b->block * b->count);
    if (cookie < 0) {
        shi_lane_unlock(l);
        return -EAGAIN;
    }
    *p = (struct blocks_payload){*b, (uint64_t)cookie};
    return reply->done ? end_fetch(l, from->pe) : end(l, from->pe, 0);
}

/* Has nothing been fenced since the last record to pe? */
static uint8_t continues(const struct shi_lane *l, int pe)
{
    const struct shi_order *o = &l->to[pe].order;
    return o->flush_seq && o->record_epoch == l->fences;
}

static struct served_payload *begin_served(struct shi_lane *l, const struct shi_remote_addr *at, int op,
                                           const struct shi_am_src *memory, size_t bytes, struct shi_stream_wait *w)
{
    struct served_payload *p = begin(l, at, (struct record){.op = (uint8_t)op, .bytes = sizeof *p}, 0, w);
    if (!p)
        return NULL;
    ((struct record *)p - 1)->what = continues(l, at->pe);
    *p = (struct served_payload){.addr = memory->addr, .key = memory->key, .bytes = bytes};
    return p;
}

int shi_stream_pull(struct shi_lane *l, const struct shi_remote_addr *to, const struct shi_am_src *source, size_t bytes,
                    struct shi_after *a, struct shi_stream_wait *w)
{
    struct stream *s = &l->to[to->pe];
    if (!begin_served(l, to, OP_PULL, source, bytes, w))
        return -EAGAIN;
    s->served_seq = s->order.sent_seq + 1;
    if (a) {
        s->order.ack_wanted = ACK_NOW;
        a->seq = s->served_seq;
        add_after(s, a);
    }
    return end(l, to->pe, 0);
}

int shi_stream_push(struct shi_lane *l, const struct shi_remote_addr *from, const struct shi_am_src *dest, size_t bytes,
                    struct shi_reply *reply, struct shi_stream_wait *w)
{
    struct served_payload *p = begin_served(l, from, OP_PUSH, dest, bytes, w);
    if (!p)
        return -EAGAIN;
    int cookie = expect(l, reply, from->pe, 0);
    if (cookie < 0) {
        shi_lane_unlock(l);
        return -EAGAIN;
    }
    p->cookie = (uint64_t)cookie;
    return reply->done ? end_fetch(l, from->pe) : end(l, from->pe, 0);
}

/* ---- writes and reads --------------------------------------------------------------------------------------------- */

enum { AWAKE_NS = 20000000 };
enum { LONG_WRITE_BYTES = 1 << 18 }; /* shorter ones cannot fill a level: at most peer_cap are in flight */

/* Messages of lane 0, which are those that answer pings, may arrive behind this write. */
static void announce_bulk(struct shi_lane *l, int pe, size_t bytes)
{
    unsigned level = l->index ? 0 : bulk_level(bytes + NET->in_flight(l->net, pe, SHI_NET_WRITES));
    if (level <= l->to[pe].bulk)
        return;
    l->to[pe].bulk = (unsigned char)level;
    shi_batch_send(l, pe, ACK_NOW);
}

/* The lane is locked. */
static int write_memory(struct shi_lane *l, int pe, const struct shi_net_memory *to, uint64_t off, const void *from,
                        size_t bytes, struct shi_net_req *req)
{
    if (shi_unlikely(bytes >= LONG_WRITE_BYTES))
        announce_bulk(l, pe, bytes);
    int rc = started(pe, NET->write(l->net, pe, to, off, from, bytes,
                                    shi_written_immediate(l->index, l->to[pe].order.writes + 1), req));
    if (rc == -EINPROGRESS) {
        shi_order_write(&l->to[pe].order, l->fences, shi_stream_net.limits.ordered);
        if (shi_unlikely(to->handle & SHI_NET_LATE))
            shi_order_write_late(&l->to[pe].order);
        shi_lane_dirty(l, pe);
    }
    return rc;
}

int shi_stream_write(struct shi_lane *l, const struct shi_remote_addr *to, const void *from, size_t bytes,
                     struct shi_net_req *req, struct shi_stream_wait *w)
{
    int rc = -EAGAIN;
    shi_progress_post();
    shi_lane_lock(l);
    if (behind_fence(l, to->pe, w))
        rc = write_memory(l, to->pe, shi_stream_memory(to->pe, to->region), to->off, from, bytes, req);
    shi_lane_unlock(l);
    return rc;
}

/* A target whose library, not NIC, serves reads learns nothing of them: a wait there would sleep, and each read would have to wake it.
 * So it gets a message every 20 ms while only reads go to it. */
static void keep_awake(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    uint64_t now = shi_coarse_ns();
    if (shi_stream_net.limits.pins || now - s->awake_ns < AWAKE_NS)
        return;
    if (s->awake_seq == s->order.sent_seq && !s->ready)
        shi_batch_send(l, pe, 0);
    s->awake_ns = now;
    s->awake_seq = s->order.sent_seq;
}

int shi_stream_read(struct shi_lane *l, const struct shi_remote_addr *from, void *to, size_t bytes,
                    struct shi_net_req *req)
{
    shi_progress_post();
    shi_lane_lock(l);
    int rc = started(from->pe, NET->read(l->net, from->pe, shi_stream_memory(from->pe, from->region), from->off, to,
                                         bytes, req));
    if (rc == -EINPROGRESS && !req) {
        shi_order_read(&l->to[from->pe].order);
        shi_lane_dirty(l, from->pe);
    }
    if (rc == -EINPROGRESS)
        keep_awake(l, from->pe);
    shi_lane_unlock(l);
    return rc;
}

int shi_stream_write_memory(int pe, const struct shi_net_memory *to, uint64_t off, const void *from, size_t bytes,
                            struct shi_net_req *req)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    shi_lane_lock(l);
    int rc = write_memory(l, pe, to, off, from, bytes, req);
    shi_lane_unlock(l);
    return rc;
}

int shi_stream_read_memory(int pe, const struct shi_net_memory *from, uint64_t off, void *to, size_t bytes,
                           struct shi_net_req *req)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    shi_lane_lock(l);
    int rc = started(pe, NET->read(l->net, pe, from, off, to, bytes, req));
    shi_lane_unlock(l);
    return rc;
}

/* ---- active messages between nodes -------------------------------------------------------------------------------- */

struct shi_message_facts shi_stream_am_facts(void)
{
    return (struct shi_message_facts){.longest = shi_stream_net.limits.message_bytes - sizeof(struct head) - sizeof(struct record) - FOLLOWS_BYTES,
                                      .eager = shi_stream_net.limits.eager_bytes};
}

void *shi_stream_am_begin(int pe, size_t bytes)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    struct stream *s = &l->to[pe];
    void *p = begin(l, &(struct shi_remote_addr){.pe = pe}, (struct record){.op = OP_AM, .bytes = (uint32_t)bytes}, 0, &s->am);
    if (p)
        s->am = (struct shi_stream_wait){0};
    return p;
}

void shi_stream_am_end(int pe, enum shi_am_id id, size_t bytes)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    const struct stream *s = &l->to[pe];
    struct record *r = (struct record *)(s->open->data + s->open->bytes);
    r->what = (uint8_t)id;
    r->bytes = (uint32_t)bytes;
    end(l, pe, 0);
}
