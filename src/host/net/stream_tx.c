/*
 * stream.c - the sending side of the streams: batches, order, what is complete. See stream.h for what holds, stream_wire.h
 * for the words that threads share without a lock. Callbacks run without a lane's lock.
 */
#include "host/net/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/progress.h"
#include "host/net/stream_wire.h"
#include "host/util/log.h"

enum {
    WINDOW = 16,      /* unacknowledged messages after which records are collected */
    ASK_EVERY = 8,    /* messages, so that a stream that nobody waits for is acknowledged too */
    READY_CAP = 4,    /* closed batches of a stream that wait for room */
    BATCHES = 256,    /* of a lane; replies may take more, which the requests in flight bound */
    KEPT = 64
};

struct shi_stream_net shi_stream_net;
#define NET (shi_stream_net.ops)

static void lock(struct shi_lane *l)
{
    pthread_mutex_lock(&l->net->lock);
}

static void unlock(struct shi_lane *l)
{
    pthread_mutex_unlock(&l->net->lock);
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

void shi_stream_fail(int pe, int err)
{
    if (pe < 0)
        shi_die("network", "a message to or from another PE is lost: %s (%s)", NET->error(err), NET->provider());
    shi_die("network", "a transfer with PE %d failed: %s (%s)", pe, NET->error(err), NET->provider());
}

void shi_stream_net_failed(int pe, int err)
{
    if (!shi_stream_closing())
        shi_stream_fail(pe, err);
}

/* What a transfer began with, where an error is the end of the job. */
static int started(int pe, int rc)
{
    if (rc && rc != -EAGAIN && rc != -EINPROGRESS)
        shi_stream_fail(pe, rc);
    return rc;
}

/* ---- batches ---------------------------------------------------------------------------------------------------- */

static void batch_give(struct shi_lane *l, struct batch *b)
{
    if (l->n_batches > KEPT) {
        l->n_batches--;
        free(b);
        return;
    }
    b->next = l->free;
    l->free = b;
}

static void batch_sent(struct shi_net_req *req, int err)
{
    struct batch *b = (struct batch *)req;
    struct shi_lane *l = b->lane;
    if (err)
        shi_stream_net_failed(req->pe, err);
    lock(l);
    batch_give(l, b);
    unlock(l);
}

static struct batch *batch_get(struct shi_lane *l, int forced)
{
    struct batch *b = l->free;
    if (b) {
        l->free = b->next;
    } else if (l->n_batches >= BATCHES && !forced) {
        return NULL;
    } else if (posix_memalign((void **)&b, SHI_LINE_BYTES, sizeof *b)) {
        shi_die("network", "out of memory for a message");
    } else {
        l->n_batches++;
        b->req = (struct shi_net_req){.done = batch_sent};
        b->lane = l;
    }
    b->next = NULL;
    b->bytes = sizeof(struct head);
    return b;
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* Hand a closed batch over. 0, also for one that is dropped as the job ends; or -EAGAIN: it is still ours. */
static int hand_over(struct shi_lane *l, int pe, struct batch *b)
{
    int rc = b->bytes <= shi_stream_net.limits.short_bytes ? NET->send_short(l->net, pe, b->data, b->bytes)
                                                           : NET->send(l->net, pe, b->data, b->bytes, &b->req);
    if (rc == -EAGAIN)
        return rc;
    if (rc && rc != -EINPROGRESS)
        shi_stream_net_failed(pe, rc);
    if (rc != -EINPROGRESS)
        batch_give(l, b);
    return 0;
}

/* The counts are read without the lock by polls, which skip a round in which there is nothing to do. */
static void set_count(int *count, int n)
{
    __atomic_store_n(count, n, __ATOMIC_RELAXED);
}

static void wait_for_room(struct shi_lane *l, int pe, struct batch *b)
{
    struct stream *s = &l->to[pe];
    *(s->last_ready ? &s->last_ready->next : &s->ready) = b;
    s->last_ready = b;
    s->n_ready++;
    if (!s->waiting) {
        l->waiting[l->n_waiting] = pe;
        set_count(&l->n_waiting, l->n_waiting + 1);
    }
    s->waiting = 1;
}

/* The stream of PE pe that the next message to it acknowledges: one that waits for it, if any. */
static int acknowledge(int pe)
{
    uint32_t *owed = &shi_stream_net.heard[pe].owed_lanes, lanes = __atomic_load_n(owed, __ATOMIC_RELAXED);
    int lane = lanes ? __builtin_ctz(lanes) : 0;
    if (lanes)
        __atomic_fetch_and(owed, ~(1U << lane), __ATOMIC_ACQUIRE); /* A3 */
    return lane;
}

/* Close the open batch, empty or not, and send it behind those that wait. */
void shi_stream_send_open(struct shi_lane *l, int pe, uint32_t flags)
{
    struct stream *s = &l->to[pe];
    struct batch *b = s->open ? s->open : batch_get(l, 1);
    int ack_lane = acknowledge(pe);
    s->open = NULL;
    s->made++;
    if (s->ask)
        flags |= ACK_NOW;
    else if (!flags && b->bytes > sizeof(struct head) && s->made - s->asked >= ASK_EVERY)
        flags = ACK_SOON;
    if (flags) {
        s->asked = s->made;
        s->placed = s->wrote ? s->made : s->placed;
        s->ask = s->wrote = 0;
    }
    *(struct head *)b->data = (struct head){.pe = (uint32_t)shi_stream_net.me, .lane = (uint16_t)l->index,
                                            .ack_lane = (uint16_t)ack_lane, .flags = flags, .bytes = (uint32_t)b->bytes,
                                            .seq = s->made,
                                            .ack = __atomic_load_n(&shi_stream_net.heard[pe].seq[ack_lane],
                                                                   __ATOMIC_ACQUIRE)}; /* A2 */
    if (s->ready || hand_over(l, pe, b))
        wait_for_room(l, pe, b);
}

/* One round over the streams that wait for room: each gets a few turns, so that a slow PE delays no other. */
static void retry(struct shi_lane *l)
{
    for (int i = 0, n = l->n_waiting; i < n; i++) {
        unsigned at = l->turn % (unsigned)l->n_waiting;
        int pe = l->waiting[at];
        struct stream *s = &l->to[pe];
        for (int budget = READY_CAP; s->ready && budget > 0; budget--) {
            struct batch *b = s->ready;
            struct batch *next = b->next;
            if (hand_over(l, pe, b))
                break;
            s->ready = next;
            s->n_ready--;
        }
        if (!s->ready) {
            s->last_ready = NULL;
            s->waiting = 0;
            set_count(&l->n_waiting, l->n_waiting - 1);
            l->waiting[at] = l->waiting[l->n_waiting];
            if (l->n_waiting == 0)
                break;
        } else {
            l->turn++;
        }
    }
}

void shi_stream_round(struct shi_lane *l)
{
    if (l->n_waiting)
        retry(l);
    while (l->n_open) {
        set_count(&l->n_open, l->n_open - 1);
        int pe = l->open[l->n_open];
        l->to[pe].listed = 0;
        if (l->to[pe].open && (l->to[pe].open->bytes > sizeof(struct head) || l->to[pe].ask))
            shi_stream_send_open(l, pe, 0);
    }
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static void list_open(struct shi_lane *l, int pe)
{
    if (!l->to[pe].listed) {
        l->open[l->n_open] = pe;
        set_count(&l->n_open, l->n_open + 1);
    }
    l->to[pe].listed = 1;
}

static void list_dirty(struct shi_lane *l, int pe)
{
    if (!l->to[pe].dirty)
        l->dirty[l->n_dirty++] = pe;
    l->to[pe].dirty = 1;
}

/* Room for a record with its payload at the end of the open batch, which does not have it before commit. NULL: no room.
 * forced: replies and acknowledgements, which must not wait for what they answer. */
void *shi_stream_append(struct shi_lane *l, int pe, const struct record *r, int forced)
{
    struct stream *s = &l->to[pe];
    size_t bytes = sizeof *r + shi_round_up(r->bytes, 8);
    if (!forced && s->n_ready >= READY_CAP)
        return NULL;
    if (s->open && s->open->bytes + bytes > SHI_NET_MESSAGE_BYTES)
        shi_stream_send_open(l, pe, 0);
    if (!s->open)
        s->open = batch_get(l, forced);
    if (!s->open)
        return NULL;
    struct record *at = (struct record *)(s->open->data + s->open->bytes);
    *at = *r;
    return at + 1;
}

/* The record is whole: it goes now, or with others. */
void shi_stream_commit(struct shi_lane *l, int pe, int more)
{
    struct stream *s = &l->to[pe];
    const struct record *r = (const struct record *)(s->open->data + s->open->bytes);
    s->open->bytes += sizeof *r + shi_round_up(r->bytes, 8);
    if (r->op < OP_REPLY && r->region != SHI_REGION_SYNC) { /* what quiet, fence and sessions are about */
        more |= l->sessions;
        if (s->epoch != l->fences) {
            s->fenced = s->need;
            s->epoch = l->fences;
        }
        s->need = s->made + 1;
        list_dirty(l, pe);
    }
    if (!more && s->made - s->acked < WINDOW && !s->ready)
        shi_stream_send_open(l, pe, 0);
    else
        list_open(l, pe);
}

void shi_stream_session(struct shi_lane *l, int change)
{
    lock(l);
    l->sessions += change;
    if (change < 0)
        shi_stream_round(l);
    unlock(l);
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

static void flushed(struct shi_net_req *req, int err)
{
    struct stream *s = shi_container_of(req, struct stream, flush);
    if (err)
        shi_stream_fail(req->pe, err);
    __atomic_store_n(&s->flushing, 0, __ATOMIC_RELEASE); /* the lane's lock is taken by whoever looks next */
}

/* Have all writes and reads ended? Starts a flush that tells. */
static int rma_ended(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    if (!__atomic_load_n(&s->flushing, __ATOMIC_ACQUIRE) && s->rma) {
        s->flush.done = flushed;
        s->flushing = NET->flush(l->net, pe, &s->flush) == -EINPROGRESS;
        s->rma = 0;
    }
    return !__atomic_load_n(&s->flushing, __ATOMIC_ACQUIRE) && !s->rma;
}

/* Make sure that an acknowledgement of `seq` is under way. */
static void ask_for(struct shi_lane *l, int pe, uint64_t seq)
{
    struct stream *s = &l->to[pe];
    if (s->acked < seq && s->asked < seq)
        shi_stream_send_open(l, pe, ACK_NOW);
}

/* May a record be sent now, given the writes before it? */
static int behind_writes(struct shi_lane *l, int pe, int after_writes)
{
    struct stream *s = &l->to[pe];
    if (shi_stream_net.limits.ordered & SHI_NET_SAW || (!s->rma && !s->flushing))
        return 1;
    return (!after_writes && s->write_epoch == l->fences) || rma_ended(l, pe);
}

/* May a write be started now, given the records and writes before the last fence? */
static int behind_fence(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    uint64_t seq = s->epoch != l->fences ? s->need : s->fenced;
    if (s->acked < seq) {
        ask_for(l, pe, seq);
        return 0;
    }
    if (shi_stream_net.limits.ordered & SHI_NET_WAW || s->write_epoch == l->fences)
        return 1;
    return rma_ended(l, pe);
}

void shi_stream_fence(struct shi_lane *l)
{
    lock(l);
    l->fences++;
    unlock(l);
}

/* The message whose acknowledgement says that all records and writes so far are complete; the next one while no message
 * that asks follows the last write. */
static uint64_t complete_at(const struct stream *s)
{
    return s->wrote ? s->made + 1 : s->need > s->placed ? s->need : s->placed;
}

/* All that went to pe is complete there; else what is needed for it has been started. */
static int settled(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    int rma = rma_ended(l, pe);
    ask_for(l, pe, complete_at(s));
    return rma && s->acked >= complete_at(s);
}

int shi_stream_quiet(struct shi_lane *l, int pe)
{
    lock(l);
    int all = __atomic_load_n(&l->fetching, __ATOMIC_ACQUIRE) == 0;
    for (int i = 0; i < l->n_dirty;) {
        int d = l->dirty[i];
        if (settled(l, d)) {
            l->to[d].dirty = 0;
            l->dirty[i] = l->dirty[--l->n_dirty];
            continue;
        }
        all &= pe >= 0 && d != pe;
        i++;
    }
    unlock(l);
    return all;
}

int shi_stream_idle(struct shi_lane *l, int pe)
{
    lock(l);
    const struct stream *s = &l->to[pe];
    int idle = s->acked >= complete_at(s) && !s->rma && !__atomic_load_n(&s->flushing, __ATOMIC_ACQUIRE);
    unlock(l);
    return idle;
}

int shi_stream_local(struct shi_lane *l)
{
    lock(l);
    int all = __atomic_load_n(&l->fetching, __ATOMIC_ACQUIRE) == 0;
    for (int i = 0; i < l->n_dirty; i++)
        all &= rma_ended(l, l->dirty[i]);
    unlock(l);
    return all;
}

int shi_stream_after(struct shi_lane *l, int pe, struct shi_after *a)
{
    struct stream *s = &l->to[pe];
    lock(l);
    if (!(shi_stream_net.limits.ordered & SHI_NET_SAW) && !rma_ended(l, pe)) {
        unlock(l);
        return -EAGAIN;
    }
    a->seq = complete_at(s);
    a->next = NULL;
    int done = s->acked >= a->seq;
    if (!done) {
        *(s->last_after ? &s->last_after->next : &s->after) = a;
        s->last_after = a;
        if (s->asked < a->seq) { /* with the next message, at the next poll at the latest */
            s->ask = 1;
            if (!s->open)
                s->open = batch_get(l, 1);
            list_open(l, pe);
        }
    }
    unlock(l);
    return done ? 0 : -EINPROGRESS;
}

/* ---- what callers ask for ----------------------------------------------------------------------------------------- */

/* A record with its payload's place, behind what it must follow; the lane stays locked. NULL: not now, unlocked. */
static void *begin(struct shi_lane *l, const struct shi_spot *to, struct record r, int flags)
{
    r.region = (uint8_t)to->region;
    r.off = to->off;
    shi_progress_post();
    lock(l);
    void *p = behind_writes(l, to->pe, flags & SHI_STREAM_AFTER_WRITES) ? shi_stream_append(l, to->pe, &r, 0) : NULL;
    if (!p)
        unlock(l);
    return p;
}

static int end(struct shi_lane *l, int pe, int flags)
{
    shi_stream_commit(l, pe, flags & SHI_STREAM_MORE);
    unlock(l);
    return 0;
}

int shi_stream_put(struct shi_lane *l, const struct shi_spot *to, const void *from, size_t bytes, int flags)
{
    void *p = begin(l, to, (struct record){.op = OP_PUT, .bytes = (uint32_t)bytes}, flags);
    if (!p)
        return -EAGAIN;
    memcpy(p, from, bytes);
    return end(l, to->pe, flags);
}

int shi_stream_put_blocks(struct shi_lane *l, const struct shi_spot *to, const struct shi_blocks *b, const void *from,
                          ptrdiff_t from_stride)
{
    size_t bytes = (size_t)b->block * b->count;
    struct shi_blocks *p = begin(l, to, (struct record){.op = OP_PUT_BLOCKS, .bytes = (uint32_t)(sizeof *p + bytes)}, 0);
    if (!p)
        return -EAGAIN;
    *p = *b;
    char *out = (char *)(p + 1);
    for (uint32_t i = 0; i < b->count; i++, out += b->block)
        memcpy(out, (const char *)from + (ptrdiff_t)i * from_stride, b->block);
    return end(l, to->pe, 0);
}

/* A number for the reply; the lane is locked. -1: too many are under way. */
static int expect(struct shi_lane *l, const struct shi_reply *reply)
{
    if (l->n_free_replies == 0)
        return -1;
    int cookie = l->free_reply[--l->n_free_replies];
    if (reply->done) {
        l->reply[cookie] = (struct shi_reply *)reply;
    } else {
        l->own[cookie] = *reply;
        l->reply[cookie] = &l->own[cookie];
        __atomic_fetch_add(&l->fetching, 1, __ATOMIC_RELAXED);
    }
    return cookie;
}

/* Send the record that fetches at once: somebody waits for what it brings. */
static int end_fetch(struct shi_lane *l, int pe)
{
    shi_stream_commit(l, pe, 1);
    if (l->to[pe].open)
        shi_stream_send_open(l, pe, 0);
    unlock(l);
    return 0;
}

int shi_stream_amo(struct shi_lane *l, const struct shi_spot *at, int width, enum shi_amo op, uint64_t value,
                   uint64_t cond, struct shi_reply *reply, int flags)
{
    size_t bytes = reply ? sizeof(struct amo_payload) : op == SHI_AMO_CSWAP ? 2 * sizeof value : sizeof value;
    struct amo_payload *p = begin(l, at, (struct record){.op = OP_AMO, .what = (uint8_t)op, .bytes = (uint32_t)bytes,
                                                         .width = (uint8_t)(width | (reply ? 0x80 : 0))}, flags);
    if (!p)
        return -EAGAIN;
    p->value = value;
    if (bytes > sizeof value)
        p->cond = cond;
    if (!reply)
        return end(l, at->pe, 0);
    int cookie = expect(l, reply);
    if (cookie < 0) {
        unlock(l);
        return -EAGAIN;
    }
    p->cookie = (uint64_t)cookie;
    return reply->done ? end_fetch(l, at->pe) : end(l, at->pe, 0);
}

int shi_stream_get_blocks(struct shi_lane *l, const struct shi_spot *from, const struct shi_blocks *b,
                          struct shi_reply *reply)
{
    struct blocks_payload *p = begin(l, from, (struct record){.op = OP_GET_BLOCKS, .bytes = sizeof *p}, 0);
    if (!p)
        return -EAGAIN;
    int cookie = expect(l, reply);
    if (cookie < 0) {
        unlock(l);
        return -EAGAIN;
    }
    *p = (struct blocks_payload){*b, (uint64_t)cookie};
    return reply->done ? end_fetch(l, from->pe) : end(l, from->pe, 0);
}

int shi_stream_write(struct shi_lane *l, const struct shi_spot *to, const void *from, size_t bytes,
                     struct shi_net_req *req)
{
    struct stream *s = &l->to[to->pe];
    int rc = -EAGAIN;
    shi_progress_post();
    lock(l);
    if (behind_fence(l, to->pe))
        rc = started(to->pe, NET->write(l->net, to->pe, &shi_stream_net.memory[to->pe][to->region], to->off, from, bytes,
                                        req));
    if (rc == -EINPROGRESS) {
        if (!s->rma && !__atomic_load_n(&s->flushing, __ATOMIC_ACQUIRE))
            s->write_epoch = l->fences;
        s->wrote = (shi_stream_net.limits.ordered & SHI_NET_SAW) != 0;
        s->rma = 1;
        list_dirty(l, to->pe);
    }
    unlock(l);
    return rc;
}

int shi_stream_read(struct shi_lane *l, const struct shi_spot *from, void *to, size_t bytes, struct shi_net_req *req)
{
    shi_progress_post();
    lock(l);
    int rc = started(from->pe, NET->read(l->net, from->pe, &shi_stream_net.memory[from->pe][from->region], from->off, to,
                                         bytes, req));
    if (rc == -EINPROGRESS && !req) {
        l->to[from->pe].rma = 1;
        list_dirty(l, from->pe);
    }
    unlock(l);
    return rc;
}

/* ---- active messages between nodes -------------------------------------------------------------------------------- */

void *shi_stream_am_begin(int pe, size_t bytes)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    return begin(l, &(struct shi_spot){.pe = pe}, (struct record){.op = OP_AM, .bytes = (uint32_t)bytes}, 0);
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
