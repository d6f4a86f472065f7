/*
 * stream_rx.c - the receiving side of the streams: apply records in order, send replies.
 *
 * Runs inside the transport's poll, on one thread at a time, without a lane's lock. It takes that lock to change the lane
 * (acknowledgements, callbacks, replies).
 */
#include "host/net/stream/stream_rx.h"

#include <errno.h>
#include <string.h>

#include "host/net/stream/admit.h"
#include "host/net/stream/am_remote.h"
#include "host/net/node/amo_word.h"
#include "host/net/stream/batch.h"
#include "host/net/stream/heartbeat.h"
#include "host/net/stream/lost.h"
#include "host/net/stream/settle.h"
#include "host/net/stream/stream_ack.h"
#include "host/net/stream/stream_check.h"
#include "host/net/stream/stream_device.h"
#include "host/net/stream/written.h"
#include "host/policy/limits.h"
#include "host/util/base.h"
#include "host/util/copy_lines.h"
#include "host/util/kept.h"
#include "host/util/log.h"
#include "host/util/table.h"

#define NET (shi_stream_net.ops)

static struct shi_kept kept = {.most = SHI_KEPT_STREAM}; /* memory of messages that wait */

/* ---- memory of this PE -------------------------------------------------------------------------------------------- */

static char *local_address(const struct record *r)
{
    return shi_stream_net.own[r->region].base + r->off;
}

/* Aligned words are stored atomically, and release earlier stores: a PE may wait for them. */
static void store(char *to, const void *from, size_t bytes)
{
    uint64_t word;
    if (bytes == 8 && (uintptr_t)to % 8 == 0) {
        memcpy(&word, from, 8);
        __atomic_store_n((uint64_t *)to, word, __ATOMIC_RELEASE);
    } else if (bytes == 4 && (uintptr_t)to % 4 == 0) {
        memcpy(&word, from, 4);
        __atomic_store_n((uint32_t *)to, (uint32_t)word, __ATOMIC_RELEASE);
    } else {
        __atomic_thread_fence(__ATOMIC_RELEASE);
        shi_copy_lines(to, from, bytes);
    }
}

/* ---- replies ------------------------------------------------------------------------------------------------------ */

/* The request of a reply, whose cookie becomes free, and which half counts it; NULL: no request of this PE waits for it. */
static struct shi_reply *claim(struct shi_lane *l, const struct head *h, const struct record *r, struct shi_reply *copy, int *half)
{
    shi_lane_lock(l);
    struct outstanding *o = &l->outstanding[r->off];
    struct shi_reply *reply = o->pe == h->pe && o->bytes == r->bytes ? o->reply : NULL;
    if (reply) {
        *copy = *reply;
        *half = o->half;
        o->reply = NULL;
        l->free_reply[l->n_free_replies++] = (int)r->off;
    }
    shi_lane_unlock(l);
    return reply;
}

static void scatter(const struct shi_reply *r, const char *from, size_t bytes)
{
    char *to = r->to;
    for (size_t n; bytes; bytes -= n, from += n, to += r->stride) {
        n = r->block < bytes ? r->block : bytes;
        shi_copy_lines(to, from, n);
    }
}

static void take_reply(const struct head *h, const struct record *r, const void *payload)
{
    struct shi_lane *l = r->what < shi_stream_n_lanes() && r->off < MAX_REPLIES ? shi_stream_net.lane[r->what] : NULL;
    int half = 0;
    struct shi_reply copy, *mine = l ? claim(l, h, r, &copy, &half) : NULL;
    if (!mine)
        shi_die("network", "protocol error: PE %u sends a reply of %u bytes that answers no request (lane %u, cookie %#lx)",
                h->pe, r->bytes, r->what, (unsigned long)r->off);
    scatter(&copy, payload, r->bytes);
    if (copy.done)
        copy.done(mine);
    else
        __atomic_fetch_sub(&l->fetches.outstanding[half], 1, __ATOMIC_RELEASE); /* R2 */
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

static void put_blocks(const struct record *r, const struct shi_blocks *b)
{
    const char *from = (const char *)(b + 1);
    char *to = local_address(r);
    for (uint32_t i = 0; i < b->count; i++, from += b->block)
        store(to + (ptrdiff_t)i * b->stride, from, b->block);
}

static void get_blocks(const struct head *h, const struct record *r, const struct blocks_payload *p, int is_last)
{
    const struct shi_blocks *b = &p->blocks;
    const char *from = local_address(r);
    char *out = shi_batch_begin_reply(h, p->cookie, (size_t)b->block * b->count);
    for (uint32_t i = 0; i < b->count; i++, out += b->block)
        shi_copy_lines(out, from + (ptrdiff_t)i * b->stride, b->block);
    if (is_last)
        shi_ack_end_message(h);
    shi_batch_end_reply(h);
}

static void wide(const struct head *h, const struct record *r, const struct wide_payload *p, int is_last)
{
    uint64_t old[2];
    shi_wide_cswap(local_address(r), p->value, p->cond, old);
    if (is_last)
        shi_ack_end_message(h);
    memcpy(shi_batch_begin_reply(h, p->cookie, sizeof old), old, sizeof old);
    shi_batch_end_reply(h);
}

static void amo(const struct head *h, const struct record *r, const struct amo_payload *p, int is_last)
{
    size_t width = r->width & WIDTH_BYTES;
    if (width == SHI_WIDE_BYTES) {
        wide(h, r, (const void *)p, is_last);
        return;
    }
    uint64_t old = shi_amo_word(local_address(r), width, r->what, p->value, r->bytes > sizeof p->value ? p->cond : 0);
    if (r->width & WIDTH_FETCHES) {
        if (is_last)
            shi_ack_end_message(h);
        memcpy(shi_batch_begin_reply(h, p->cookie, width), &old, width);
        shi_batch_end_reply(h);
    }
}

/* is_last: of a message that is applied in order. */
static void apply(const struct head *h, const struct record *r, int is_last)
{
    const void *p = r + 1;
    switch (r->op) {
    case OP_PUT: store(local_address(r), p, r->bytes); break;
    case OP_PUT_BLOCKS: put_blocks(r, p); break;
    case OP_AMO: amo(h, r, p, is_last); break;
    case OP_GET_BLOCKS: get_blocks(h, r, p, is_last); break;
    case OP_REPLY: take_reply(h, r, p); break;
    default: shi_am_remote_arrived((int)h->pe, r->what, r + 1, r->bytes);
    }
}

static void refuse(const struct head *h, const struct record *r, size_t left, const char *what)
{
    static const struct record none;
    if (left < sizeof *r)
        r = &none;
    shi_die("network", "protocol error: PE %u sends %s (record type %u, region %u, offset %#lx, %u bytes)", h->pe, what,
            r->op, r->region, (unsigned long)r->off, r->bytes);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

/* Are the writes in place that the message follows? */
static int writes_are_in_place(const struct head *h)
{
    uint64_t n;
    if (shi_likely(!(h->flags & FOLLOWS_WRITES)))
        return 1;
    if (h->bytes < sizeof *h + FOLLOWS_BYTES)
        shi_die("network", "protocol error: PE %u sends a message of %u bytes that follows writes", h->pe, h->bytes);
    memcpy(&n, (const char *)h + h->bytes - FOLLOWS_BYTES, sizeof n);
    return shi_written_is((int)h->pe, h->lane, n);
}

/* A message that waits for its turn is memory of this PE; one whose turn has come, in a slot as soon as there is one. Senders bound
 * how many wait: SHI_ORDER_MOST of each stream, and active messages by their own windows. */
static void stash(struct peer_rx *x, const struct head *h, size_t at)
{
    struct stashed *s = at ? shi_stream_device_take(h) : NULL;
    int in_slot = s != NULL;
    if (!s && !(s = shi_kept_get(&kept, sizeof *s + h->bytes)))
        shi_die("network", "out of memory for a message that has to wait");
    *s = (struct stashed){.next = x->early, .at = (uint32_t)at, .in_slot = (uint8_t)in_slot};
    memcpy(s->data, h, h->bytes);
    x->early = s;
}

static void free_stashed(struct stashed *s)
{
    if (s->in_slot)
        shi_stream_device_release(s);
    else
        shi_kept_put(&kept, s, sizeof *s + ((const struct head *)s->data)->bytes);
}

/* Move a stashed message to a slot. NULL: none is free. */
static struct stashed *to_slot(struct stashed *s)
{
    const struct head *h = (const struct head *)s->data;
    struct stashed *to = shi_stream_device_take(h);
    if (!to)
        return NULL;
    *to = *s;
    to->in_slot = 1;
    memcpy(to->data, h, h->bytes);
    free_stashed(s);
    return to;
}

static const char *end_of_records(const struct head *h)
{
    return (const char *)h + h->bytes - (h->flags & FOLLOWS_WRITES ? FOLLOWS_BYTES : 0);
}

static int is_last(const struct stashed *s, const struct record *r)
{
    return (const char *)r + record_bytes(r) == end_of_records((const struct head *)s->data);
}

/* Apply the records from the at-th byte on, which becomes that of the first one that has to wait. s: NULL unless the message
 * is stashed. 1: it was the last one. */
static int apply_records(const struct head *h, struct stashed *s, size_t *at)
{
    const char *end = end_of_records(h);
    const struct record *r = (const struct record *)((const char *)h + *at);
    int goes_on = 1;
    for (size_t left, bytes; (left = (size_t)(end - (const char *)r)); r = (const struct record *)((const char *)r + bytes)) {
        bytes = left < sizeof *r ? 0 : record_bytes(r); /* a step may overwrite r */
        if (shi_likely(!s && shi_stream_is_heap_put(r, left))) {
            store(local_address(r), r + 1, r->bytes);
            continue;
        }
        const char *invalid = shi_stream_check(r, left);
        if (shi_unlikely(invalid != NULL))
            refuse(h, r, left, invalid);
        int on_device = r->op < OP_REPLY && shi_stream_net.own[r->region].device;
        goes_on = on_device ? s && s->in_slot && shi_stream_device_step(s, (struct record *)r) : !s || shi_stream_device_ended(s);
        if (!goes_on)
            break;
        if (!on_device)
            apply(h, r, !s && left == bytes);
    }
    *at = (size_t)((const char *)r - (const char *)h);
    return goes_on;
}

/* A message that came in order: a record of it that has to wait makes it a stashed one. */
static void apply_message(const struct head *h)
{
    size_t at = sizeof *h;
    shi_ack_take(h);
    if (shi_likely(apply_records(h, NULL, &at)))
        shi_ack_end_message(h);
    else
        stash(&shi_stream_net.peer_rx[h->pe], h, at);
}

/* Has this message come before? */
static int is_known(const struct peer_rx *x, const struct head *h)
{
    return h->seq <= x->acks.applied_seq[h->lane] || shi_is_stashed(x, h->lane, h->seq);
}

/* Go on with a stashed message. 1: it has ended, and lies no longer at *link. */
static int go_on(struct stashed **link)
{
    struct stashed *s = *link, *in_slot;
    const struct head *h = (const struct head *)s->data;
    size_t at = s->at;
    if (at == 0) {
        at = sizeof *h;
        shi_ack_take(h);
    }
    int all = apply_records(h, s, &at);
    s->at = (uint32_t)at;
    if (!all && !s->in_slot && (in_slot = to_slot(s))) {
        *link = in_slot;
        return go_on(link);
    }
    if (!all || !shi_stream_device_ended(s))
        return 0;
    *link = s->next;
    shi_ack_end_message(h);
    free_stashed(s);
    return 1;
}

/* Is all data visible that came before the message, if it has to be? The writes that it follows are in place. */
static int is_settled(struct stashed *s, const struct head *h)
{
    if (shi_likely(!(h->flags & SETTLES)))
        return 1;
    if (!s->settled)
        s->settled = shi_settle();
    return shi_settle_ended(s->settled);
}

/* Apply the stashed message that is next in this lane. 0: there is none, or it has to wait. */
static int apply_stashed(struct peer_rx *x, int lane)
{
    for (struct stashed **at = &x->early; *at; at = &(*at)->next) {
        const struct head *h = (const struct head *)(*at)->data;
        if (h->lane == lane && shi_acks_is_next(&x->acks, lane, h->seq))
            return writes_are_in_place(h) && is_settled(*at, h) && go_on(at);
    }
    return 0;
}

static struct stashed **find_stashed(struct peer_rx *x, int lane, uint64_t seq)
{
    struct stashed **at = &x->early;
    while (*at && (((const struct head *)(*at)->data)->lane != lane || ((const struct head *)(*at)->data)->seq != seq))
        at = &(*at)->next;
    return at;
}

/* Does the next message's first record move data, without a fence since this message's last record, for which it waits and
 * which moves data in the same direction? */
static int continues(const struct stashed *s, const struct stashed *next)
{
    const struct head *h = (const struct head *)next->data;
    const struct record *r = (const struct record *)(h + 1);
    return s->in_slot && s->served && is_last(s, s->served) && h->bytes >= sizeof *h + sizeof *r && r->op == s->served->op && r->width & WIDTH_CONTINUES;
}

/* While the lane's next message waits for data to be moved, start those behind it that continue it. */
static void start_ahead(struct peer_rx *x, int lane)
{
    uint64_t seq = x->acks.applied_seq[lane] + 1;
    const struct stashed *s = *find_stashed(x, lane, seq);
    for (struct stashed **at; s && *(at = find_stashed(x, lane, ++seq)) && continues(s, *at); s = *at)
        if (!(*at)->in_slot && writes_are_in_place((const struct head *)(*at)->data))
            go_on(at);
}

/* The next message of a lane has to wait: end_of_poll tries it again. */
static void hold(int pe, struct peer_rx *x)
{
    int n = shi_stream_net.n_held;
    if (x->held)
        return;
    x->held = 1;
    shi_stream_net.held[n] = pe;
    __atomic_store_n(&shi_stream_net.n_held, n + 1, __ATOMIC_RELAXED);
}

/* The PE is gone: what its messages wait for may never come. Device steps that have begun end by themselves. */
static void forget_early(struct peer_rx *x)
{
    for (struct stashed **at = &x->early, *s; (s = *at);) {
        if (s->in_slot) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        free_stashed(s);
    }
}

/* The PE is another process. 0: a step of a device for the dead one goes on. */
static int forget(int pe)
{
    struct peer_rx *x = &shi_stream_net.peer_rx[pe];
    forget_early(x);
    if (x->early || x->held)
        return 0;
    shi_ack_forget(pe);
    x->met = x->traced = x->bulk = 0;
    x->gap.seq = x->pinged_ns = x->reads = 0;
    x->alive_ns = shi_stream_net.now_ns;
    return 1;
}

static void apply_once(void)
{
    for (int i = 0; i < shi_stream_net.n_held;) {
        struct peer_rx *x = &shi_stream_net.peer_rx[shi_stream_net.held[i]];
        int waits = 0;
        if (shi_unlikely(shi_stream_is_lost(shi_stream_net.held[i])))
            forget_early(x);
        for (int lane = 0; lane < SHI_NET_LANES && x->early; lane++) {
            while (apply_stashed(x, lane))
                ;
            start_ahead(x, lane);
            waits |= shi_is_stashed(x, lane, x->acks.applied_seq[lane] + 1);
        }
        if (waits) {
            i++;
            continue;
        }
        int n = shi_stream_net.n_held - 1;
        x->held = 0;
        shi_stream_net.held[i] = shi_stream_net.held[n];
        __atomic_store_n(&shi_stream_net.n_held, n, __ATOMIC_RELAXED);
    }
}

/* A device whose copies end at once takes no further poll for them. */
static void apply_held(void)
{
    do
        apply_once();
    while (shi_stream_device_poll());
}

static void end_of_poll(void)
{
    apply_held();
    if (shi_pipeline_poll()) /* messages that wait for it end in this poll, and are acknowledged */
        apply_held();
    shi_stream_net.polls++;
    shi_stream_net.now_ns = shi_coarse_ns();
    shi_heartbeat_poll();
    for (int i = 0, n = shi_stream_n_lanes(); i < n; i++)
        shi_stream_send(shi_stream_net.lane[i]);
    shi_ack_send(); /* those that no message above has carried */
    shi_lost_poll(forget);
}

void shi_stream_arrive(const void *msg, size_t bytes)
{
    const struct head *h = msg;
    if (!msg) {
        end_of_poll();
        return;
    }
    if (!shi_admit(msg, bytes))
        return;
    if (h->pe >= (uint32_t)shi_stream_net.n_pes || h->lane >= SHI_NET_LANES)
        shi_die("network", "protocol error: a message of lane %u of PE %u", h->lane, h->pe);
    struct peer_rx *x = &shi_stream_net.peer_rx[h->pe];
    if (shi_unlikely(shi_stream_is_lost((int)h->pe)))
        return;
    int is_next = shi_acks_is_next(&x->acks, h->lane, h->seq);
    if ((!is_next || x->early) && is_known(x, h)) {
        shi_admit_again(h);
        return;
    }
    x->alive_ns = shi_stream_net.now_ns;
    x->traced = (h->flags & TRACED) != 0;
    x->bulk = h->flags >> BULK_SHIFT;
    if (!x->met) {
        x->met = 1;
        shi_heartbeat_know((int)h->pe);
        NET->met();
    }
    if (!is_next || h->flags & SETTLES || !writes_are_in_place(h)) {
        stash(x, h, 0);
        if (is_next)
            hold((int)h->pe, x);
        if (h->flags & ACK_ANY) /* it may be a ping, behind a lost message */
            shi_ack_queue(h);
        return;
    }
    apply_message(h);
    while (x->early && apply_stashed(x, h->lane))
        ;
    if (x->early && shi_is_stashed(x, h->lane, x->acks.applied_seq[h->lane] + 1))
        hold((int)h->pe, x);
}

int shi_stream_receive(int n_pes)
{
    shi_stream_net.ack_queue = shi_table((size_t)n_pes, sizeof *shi_stream_net.ack_queue);
    shi_stream_net.held = shi_table((size_t)n_pes, sizeof *shi_stream_net.held);
    shi_stream_net.known = shi_table((size_t)n_pes, sizeof *shi_stream_net.known);
    shi_stream_net.polls = 1;
    shi_stream_net.checked_ns = shi_stream_net.now_ns = shi_coarse_ns();
    return shi_stream_net.ack_queue && shi_stream_net.held && shi_stream_net.known ? 0 : -ENOMEM;
}

/* Only PEs that are known have sent messages. */
void shi_stream_rx_leave(void)
{
    size_t n = (size_t)shi_stream_net.n_pes;
    for (int i = 0; i < shi_stream_net.n_known; i++)
        for (struct stashed *s = shi_stream_net.peer_rx[shi_stream_net.known[i]].early, *next; s; s = next) {
            next = s->next;
            if (!s->in_slot)
                free_stashed(s);
        }
    shi_kept_clear(&kept);
    shi_table_free(shi_stream_net.ack_queue, n, sizeof *shi_stream_net.ack_queue);
    shi_table_free(shi_stream_net.held, n, sizeof *shi_stream_net.held);
    shi_table_free(shi_stream_net.known, n, sizeof *shi_stream_net.known);
}
