/* batch.c - fill, send, retry: see batch.h. Callbacks run without a lane's lock. */
#include "host/net/stream/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/util/log.h"

#define NET (shi_stream_net.ops)

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static size_t data_bytes(int is_long)
{
    return is_long ? shi_stream_net.limits.message_bytes : SHI_NET_MESSAGE_BYTES;
}

static void put_back(struct shi_lane *l, struct batch *b)
{
    struct batch_pool *p = &l->pool[b->is_long];
    if (p->n > SHI_BATCHES) {
        p->n--;
        free(b);
        return;
    }
    b->next = p->free;
    p->free = b;
    p->n_free++;
}

/* The system may take the whole pages of a free message. */
static void give_back(struct batch *b)
{
    static uintptr_t page;
    page = page ? page : (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)b->data + page - 1) / page * page;
    uintptr_t to = (uintptr_t)(b->data + data_bytes(b->is_long)) / page * page;
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
    b->trimmed = 1;
}

/* The list is a stack: its last least_free batches have not been in use. Some providers keep what they have sent pinned. */
void shi_batch_trim(struct shi_lane *l)
{
    for (struct batch_pool *p = l->pool; p < l->pool + 2; p++) {
        struct batch *b = p->free;
        for (int used = p->n_free - p->least_free; used > 0; used--)
            b = b->next;
        for (; b && !b->trimmed && !shi_stream_net.limits.pins; b = b->next)
            give_back(b);
        p->least_free = p->n_free;
    }
}

static void free_list(struct batch *b)
{
    for (struct batch *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

void shi_batch_leave(struct shi_lane *l)
{
    for (int i = 0; i < l->n_used; i++) {
        free(l->to[l->used[i]].open);
        free_list(l->to[l->used[i]].ready);
    }
    free_list(l->pool[0].free);
    free_list(l->pool[1].free);
}

static void sent(struct shi_net_req *req, int err)
{
    struct batch *b = (struct batch *)req;
    struct shi_lane *l = b->lane;
    if (err)
        shi_stream_net_failed(req->pe, err);
    shi_lane_lock(l);
    put_back(l, b);
    shi_lane_unlock(l);
}

static struct batch *get(struct shi_lane *l, int is_long, int forced)
{
    struct batch_pool *p = &l->pool[is_long];
    struct batch *b = p->free;
    if (b) {
        p->free = b->next;
        p->n_free--;
        p->least_free = p->n_free < p->least_free ? p->n_free : p->least_free;
    } else if (p->n >= (is_long ? SHI_BATCHES_LONG : SHI_BATCHES) && !forced) {
        return NULL;
    } else if (posix_memalign((void **)&b, SHI_LINE_BYTES, sizeof *b + data_bytes(is_long))) {
        shi_die("network", "out of memory for a message");
    } else {
        p->n++;
        b->req = (struct shi_net_req){.done = sent};
        b->lane = l;
        b->is_long = (unsigned char)is_long;
    }
    b->next = NULL;
    b->trimmed = 0;
    b->bytes = sizeof(struct head);
    return b;
}

/* What was sent to the PE, which is gone, counts as acknowledged. */
static void take_acked(struct shi_lane *l, int pe)
{
    struct shi_order *o = &l->to[pe].order;
    if (!shi_order_is_complete(o))
        shi_lane_count_drop(l);
    shi_order_acked(o, o->sent_seq);
}

/* The PE is gone: the message counts as acknowledged. lost.c calls back what waits for that. */
static void drop(struct shi_lane *l, int pe, struct batch *b)
{
    put_back(l, b);
    take_acked(l, pe);
    __atomic_store_n(&shi_stream_net.lost_work, 1, __ATOMIC_RELEASE); /* R5 */
}

void shi_batch_drop(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    for (struct batch *b; (b = s->ready);) {
        s->ready = b->next;
        put_back(l, b);
    }
    s->last_ready = NULL;
    s->n_ready = 0;
    if (s->open)
        shi_batch_send(l, pe, 0);
    take_acked(l, pe);
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* Post a closed batch. 0, also for one that is dropped as the job ends; or -EAGAIN: the caller keeps it. */
static int post(struct shi_lane *l, int pe, struct batch *b)
{
    int rc = b->bytes <= shi_stream_net.limits.short_bytes ? NET->send_short(l->net, pe, b->data, b->bytes)
                                                           : NET->send(l->net, pe, b->data, b->bytes, &b->req);
    if (rc == -EAGAIN)
        return rc;
    if (rc && rc != -EINPROGRESS)
        shi_stream_net_failed(pe, rc);
    if (rc != -EINPROGRESS)
        put_back(l, b);
    return 0;
}

/* Polls read the counts without the lock, and skip a lane that has nothing to send. */
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

/* The first message to a PE: heartbeats are checked from now on. */
static void list_used(struct shi_lane *l, int pe)
{
    l->to[pe].used = 1;
    l->used[l->n_used] = pe;
    __atomic_store_n(&l->n_used, l->n_used + 1, __ATOMIC_RELEASE); /* R3 */
}

/* The level goes down as data arrives; up before a long write only. */
static uint32_t bulk_now(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    unsigned now = bulk_level(shi_stream_net.ops->in_flight(l->net, pe, SHI_NET_WRITES));
    s->bulk = now < s->bulk ? (unsigned char)now : s->bulk;
    return s->bulk;
}

void shi_batch_send(struct shi_lane *l, int pe, uint32_t flags)
{
    struct stream *s = &l->to[pe];
    struct batch *b = s->open ? s->open : get(l, 0, 1);
    struct head *h = (struct head *)b->data;
    s->open = NULL;
    flags = shi_order_close(&s->order, flags, b->bytes > sizeof *h);
    if (shi_unlikely(!s->used))
        list_used(l, pe);
    if (shi_unlikely(s->order.late_write != 0) && shi_order_settles(&s->order, shi_stream_net.limits.ordered, s->follows))
        flags |= SETTLES;
    if (shi_unlikely(s->follows != 0)) {
        memcpy(b->data + b->bytes, &s->follows, FOLLOWS_BYTES);
        b->bytes += FOLLOWS_BYTES;
        flags |= FOLLOWS_WRITES;
        s->follows = 0;
    }
    flags |= __atomic_load_n(&shi_stream_net.traced, __ATOMIC_RELAXED);
    if (shi_unlikely(s->bulk != 0))
        flags |= bulk_now(l, pe) << BULK_SHIFT;
    if (shi_unlikely(shi_stream_is_lost(pe))) {
        drop(l, pe, b);
        return;
    }
    uint64_t ack;
    int ack_lane = shi_acks_take(&shi_stream_net.peer_rx[pe].acks, &ack);
    write_head(h, (uint32_t)shi_stream_net.me, b->bytes, flags, l->index, ack_lane, s->order.sent_seq, ack);
    h->tag = message_tag(h, shi_stream_net.peer_rx[shi_stream_net.me].life, pe);
    if (s->ready || post(l, pe, b))
        wait_for_room(l, pe, b);
}

/* One pass over the streams that wait for room: each sends a few batches, so that a slow PE delays no other. */
static void retry(struct shi_lane *l)
{
    for (int i = 0, n = l->n_waiting; i < n; i++) {
        int at = shi_order_first(l->failed_retries, l->n_waiting), pe = l->waiting[at];
        struct stream *s = &l->to[pe];
        for (int budget = SHI_BATCH_READY; s->ready && budget > 0; budget--) {
            struct batch *b = s->ready;
            struct batch *next = b->next;
            if (post(l, pe, b))
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
            l->failed_retries++;
        }
    }
}

/* Send all that waits for room or for more records, as far as the transport has room. */
static void send_waiting(struct shi_lane *l)
{
    if (l->n_waiting)
        retry(l);
    while (l->n_open) {
        set_count(&l->n_open, l->n_open - 1);
        int pe = l->open[l->n_open];
        struct stream *s = &l->to[pe];
        s->listed = 0;
        if (s->open && (s->open->bytes > sizeof(struct head) || s->order.ack_wanted))
            shi_batch_send(l, pe, 0);
    }
}

/* ---- filling ---------------------------------------------------------------------------------------------------- */

static void list_open(struct shi_lane *l, int pe)
{
    if (!l->to[pe].listed) {
        l->open[l->n_open] = pe;
        set_count(&l->n_open, l->n_open + 1);
    }
    l->to[pe].listed = 1;
}

void shi_batch_ask(struct shi_lane *l, int pe, uint32_t flags)
{
    struct stream *s = &l->to[pe];
    s->order.ack_wanted |= (uint8_t)flags;
    if (!s->open)
        s->open = get(l, 0, 1);
    list_open(l, pe);
}

void *shi_batch_append(struct shi_lane *l, int pe, const struct record *r, enum shi_batch_room room)
{
    struct stream *s = &l->to[pe];
    size_t bytes = record_bytes(r);
    if (room == SHI_ROOM && s->n_ready >= SHI_BATCH_READY)
        return NULL;
    if (s->open && s->open->bytes + bytes > MESSAGE_RECORD_BYTES)
        shi_batch_send(l, pe, 0);
    if (!s->open && room == SHI_ROOM && r->op < OP_REPLY && shi_order_is_far(&s->order))
        return NULL;
    if (!s->open)
        s->open = get(l, sizeof(struct head) + bytes > MESSAGE_RECORD_BYTES, room == SHI_ROOM_REPLY);
    if (!s->open)
        return NULL;
    struct record *at = (struct record *)(s->open->data + s->open->bytes);
    *at = *r;
    return at + 1;
}

void shi_batch_commit(struct shi_lane *l, int pe, int more)
{
    struct stream *s = &l->to[pe];
    const struct record *r = (const struct record *)(s->open->data + s->open->bytes);
    s->open->bytes += record_bytes(r);
    if (r->op < OP_REPLY && r->region != SHI_REGION_SYNC) { /* what quiet, fence and sessions are about */
        more |= l->sessions;
        shi_order_record(&s->order, l->fences);
        shi_lane_dirty(l, pe);
    }
    if (s->open->bytes > MESSAGE_RECORD_BYTES || (!more && shi_order_in_window(&s->order) && !s->ready))
        shi_batch_send(l, pe, 0);
    else
        list_open(l, pe);
}

void shi_stream_session(struct shi_lane *l, int change)
{
    shi_lane_lock(l);
    l->sessions += change;
    if (change < 0)
        send_waiting(l);
    shi_lane_unlock(l);
}

void shi_stream_send(struct shi_lane *l)
{
    if (!__atomic_load_n(&l->n_open, __ATOMIC_RELAXED) && !__atomic_load_n(&l->n_waiting, __ATOMIC_RELAXED))
        return;
    shi_lane_lock(l);
    send_waiting(l);
    shi_lane_unlock(l);
}

/* ---- replies ------------------------------------------------------------------------------------------------------ */

void *shi_batch_begin_reply(const struct head *h, uint64_t cookie, size_t bytes)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    shi_lane_lock(l);
    struct record r = {.op = OP_REPLY, .what = (uint8_t)h->lane, .bytes = (uint32_t)bytes, .off = cookie};
    return shi_batch_append(l, (int)h->pe, &r, SHI_ROOM_REPLY);
}

void shi_batch_end_reply(const struct head *h)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    shi_batch_commit(l, (int)h->pe, 0);
    shi_lane_unlock(l);
}
