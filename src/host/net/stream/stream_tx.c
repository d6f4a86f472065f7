/* stream_tx.c - records out: puts, atomics, fetches, active messages; writes and reads; each behind what it must follow (stream_quiet.h). */
#include <errno.h>
#include <string.h>

#include "host/net/stream/batch.h"
#include "host/net/stream/stream_quiet.h"
#include "host/net/stream/written.h"
#include "host/policy/limits.h"
#include "host/util/copy_lines.h"

#define NET (shi_stream_net.ops)

/* What a transfer began with. An error ends the job; or its PE is suspected, and the caller tries again until it is lost. */
static int started(int pe, int rc)
{
    if (!rc || rc == -EAGAIN || rc == -EINPROGRESS)
        return rc;
    shi_stream_fail(pe, rc);
    return -EAGAIN;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static enum shi_batch_room room_of(const struct stream *s, const struct shi_stream_wait *w)
{
    return shi_unlikely(w && w->since) && shi_order_is_overtaken(&s->order, w->since - 1, s->n_ready) ? SHI_ROOM_OVERTAKEN
                                                                                                     : SHI_ROOM;
}

/* Has nothing been fenced since the last record to pe? */
static int continues(const struct shi_lane *l, int pe)
{
    const struct shi_order *o = &l->to[pe].order;
    return o->flush_seq && o->record_epoch == l->fences;
}

/* Room for a record's payload, when the record may be sent; the lane stays locked. NULL: not now, unlocked. */
static void *begin(struct shi_lane *l, const struct shi_remote_addr *to, struct record r, int flags, struct shi_stream_wait *w)
{
    r.region = (uint8_t)to->region;
    r.off = to->off;
    shi_lane_lock(l);
    if (shi_unlikely(to->region == SHI_REGION_DEVICE) && continues(l, to->pe))
        r.width |= WIDTH_CONTINUES;
    int may_go = shi_stream_behind_writes(l, to->pe, flags & SHI_STREAM_AFTER_WRITES, w);
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
                                                         .width = (uint8_t)(width | (reply ? WIDTH_FETCHES : 0))}, flags, w);
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

int shi_stream_wide(struct shi_lane *l, const struct shi_remote_addr *at, const uint64_t value[2], const uint64_t cond[2],
                    struct shi_reply *reply, struct shi_stream_wait *w)
{
    struct wide_payload *p = begin(l, at, (struct record){.op = OP_AMO, .what = SHI_AMO_CSWAP, .bytes = sizeof *p,
                                                          .width = SHI_WIDE_BYTES | WIDTH_FETCHES}, 0, w);
    if (!p)
        return -EAGAIN;
    memcpy(p->value, value, sizeof p->value);
    memcpy(p->cond, cond, sizeof p->cond);
    int cookie = expect(l, reply, at->pe, SHI_WIDE_BYTES);
    if (cookie < 0) {
        shi_lane_unlock(l);
        return -EAGAIN;
    }
    p->cookie = (uint64_t)cookie;
    return end_fetch(l, at->pe);
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

static struct served_payload *begin_served(struct shi_lane *l, const struct shi_remote_addr *at, int op,
                                           const struct shi_am_src *memory, size_t bytes, struct shi_stream_wait *w)
{
    struct served_payload *p = begin(l, at, (struct record){.op = (uint8_t)op, .bytes = sizeof *p}, 0, w);
    if (!p)
        return NULL;
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
        shi_stream_add_after(s, a);
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

/* A write or read that is dropped counts as complete. */
static int drop(struct shi_lane *l)
{
    shi_lane_count_drop(l);
    return 0;
}

/* The lane is locked. */
static int write_memory(struct shi_lane *l, int pe, const struct shi_net_memory *to, uint64_t off, const void *from,
                        size_t bytes, struct shi_net_req *req)
{
    if (shi_unlikely(shi_stream_is_lost(pe)))
        return drop(l);
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
    shi_lane_lock(l);
    if (shi_stream_behind_fence(l, to->pe, w))
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
    if (shi_stream_net.limits.pins || now - s->awake_ns < SHI_AWAKE_NS)
        return;
    if (s->awake_seq == s->order.sent_seq && !s->ready)
        shi_batch_send(l, pe, 0);
    s->awake_ns = now;
    s->awake_seq = s->order.sent_seq;
}

int shi_stream_read(struct shi_lane *l, const struct shi_remote_addr *from, void *to, size_t bytes,
                    struct shi_net_req *req)
{
    if (shi_unlikely(shi_stream_is_lost(from->pe)))
        return drop(l);
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
    if (shi_unlikely(shi_stream_is_lost(pe)))
        return 0;
    shi_lane_lock(l);
    int rc = started(pe, NET->read(l->net, pe, from, off, to, bytes, req));
    shi_lane_unlock(l);
    return rc;
}

/* ---- active messages between nodes -------------------------------------------------------------------------------- */

struct shi_message_facts shi_stream_am_facts(void)
{
    return (struct shi_message_facts){.longest = shi_stream_net.limits.message_bytes - sizeof(struct head) - sizeof(struct record) - FOLLOWS_BYTES};
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
