/*
 * records.h - messages of the streams: a corpus from real operations over the network of fabric.h, and an input, which
 * is a changed message that arrives at PE 0.
 *
 * The regions of PE 0 end at inaccessible pages; constants are read-only; requests that wait for replies have buffers
 * of their exact length.
 */
#ifndef FUZZ_RECORDS_H
#define FUZZ_RECORDS_H

#include <sys/mman.h>

#include "host/net/stream/admit.h"
#include "world.h"

enum { REGION = 16384, READ_ONLY = 4096, SEEDS = 512, WAITING = 64 };

/* The first byte of an input. */
enum {
    FORGED = 1,        /* with an invalid tag: only a counter may change */
    OWN_HEAD = 2,      /* the input's head unchanged; else with a valid sender, lane and number */
    FROM_2 = 4,        /* the sender is PE 2, not PE 1 */
    LANE_1 = 8,
    ASKED = 16,        /* a request waits for the reply */
    ASKED_OTHER = 32,  /* a request of another length, or to another PE */
    PRIVATE = 64,      /* the device region needs a copy function; else it does not exist */
    ACKNOWLEDGES = 128 /* acknowledges what the input says; else what was sent */
};

static struct seed {
    size_t bytes;
    char *data;
} seeds[SEEDS];
static int n_seeds;

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static char *regions[SHI_REGIONS];

/* Memory between two inaccessible pages. */
static char *guarded(size_t bytes)
{
    char *p = mmap(NULL, bytes + 2 * SHI_PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + SHI_PAGE_BYTES, bytes, PROT_READ | PROT_WRITE))
        abort();
    return p + SHI_PAGE_BYTES;
}

static void own_regions(struct shi_stream_region *own, int pe)
{
    for (int r = 0; r < SHI_REGIONS; r++) {
        char *base = pe ? calloc(1, REGION) : (regions[r] = guarded(REGION));
        own[r] = (struct shi_stream_region){.base = base, .bytes = REGION, .read_only = r == SHI_REGION_DATA ? READ_ONLY : 0};
    }
    fabric_hide(pe, &own[SHI_REGION_DEVICE]);
}

/* ---- the corpus --------------------------------------------------------------------------------------------------- */

static void keep_seed(int pe, const void *data, size_t bytes)
{
    if (pe != 0 || n_seeds == SEEDS)
        return;
    seeds[n_seeds].data = memcpy(malloc(bytes), data, bytes);
    seeds[n_seeds++].bytes = bytes;
}

static int send_seed(struct shi_net_lane *l, int pe, const void *msg, size_t bytes)
{
    keep_seed(pe, msg, bytes);
    return fabric_send_short(l, pe, msg, bytes);
}

static int send_seed_zcopy(struct shi_net_lane *l, int pe, const void *msg, size_t bytes, struct shi_net_req *req)
{
    keep_seed(pe, msg, bytes);
    return fabric_send(l, pe, msg, bytes, req);
}

static void fabric_landed(int from, int lane, int to)
{
    (void)from, (void)lane, (void)to;
}

static uint64_t *fabric_word(int pe)
{
    (void)pe;
    return NULL;
}

static int am_is_live;
static void take_am(int pe, unsigned id, const void *msg, size_t bytes);

void shi_am_remote_arrived(int pe, unsigned id, const void *msg, size_t bytes)
{
    if (am_is_live)
        take_am(pe, id, msg, bytes);
}

static void pump(void)
{
    for (int k = 0; k < 200; k++) {
        fabric_tick();
        fabric_be(k % PES);
        fabric_poll();
    }
}

/* Requests of PE 0 that wait for replies, with buffers that end at an inaccessible page. */
static struct waiting {
    struct shi_reply reply;
    char *room;
    struct shi_lane *lane;
    uint64_t cookie;
    int other; /* no reply is for this one */
} waiting[WAITING];
static int n_waiting;

static void came(struct shi_reply *r)
{
    if (((struct waiting *)r)->other)
        abort();
}

/* Operations of PE `from` on PE `to`, one or many per message. */
static void operate(int from, int to, int lane, int many)
{
    static char data[SHI_STREAM_PUT_BYTES], got[SHI_STREAM_REPLY_BYTES];
    static const size_t lengths[] = {1, 4, 8, 13, 100, SHI_STREAM_PUT_BYTES};
    static struct waiting w;
    fabric_be(from);
    struct shi_lane *l = shi_stream_net.lane[lane];
    w.reply = (struct shi_reply){.to = got, .block = sizeof got, .done = many ? NULL : came};
    struct shi_remote_addr at = {to, SHI_REGION_HEAP, 64};
    int more = many ? SHI_STREAM_MORE : 0;
    shi_stream_session(l, many ? 1 : 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        at.region = i % 2 ? SHI_REGION_SYNC : SHI_REGION_HEAP;
        shi_stream_put(l, &at, data, lengths[i], more, NULL);
        at.region = SHI_REGION_HEAP;
        shi_stream_put_blocks(l, &at, &(struct shi_blocks){(uint32_t)(lengths[i] / 100 + 4), 9, 90}, data, 100, NULL);
        pump();
        fabric_be(from);
    }
    for (int op = 0; op < SHI_AMOS; op++) {
        at.region = op % 2 ? SHI_REGION_DATA : SHI_REGION_HEAP;
        at.off = READ_ONLY + 64;
        shi_stream_amo(l, &at, op % 2 ? 8 : 4, (enum shi_amo)op, 1, 2, op % 3 ? &w.reply : NULL, 0, NULL);
        shi_stream_get_blocks(l, &at, &(struct shi_blocks){(uint32_t)(1 + op * 40), 1 + (uint32_t)op, 321}, &w.reply, NULL);
        pump();
        fabric_be(from);
    }
    char *am = shi_stream_am_begin(to, 200);
    if (am) {
        memset(am, 1, 200);
        shi_stream_am_end(to, SHI_AM_GPC, 77);
    }
    shi_stream_session(l, many ? -1 : 0);
    pump();
}

static int send_nothing(struct shi_net_lane *l, int pe, const void *msg, size_t bytes)
{
    (void)l, (void)pe, (void)msg, (void)bytes;
    return 0;
}

static int send_nothing_zcopy(struct shi_net_lane *l, int pe, const void *msg, size_t bytes, struct shi_net_req *req)
{
    (void)req;
    return send_nothing(l, pe, msg, bytes);
}

/* The network of fabric.h, except for messages: those to PE 0 are recorded; later those from PE 0 are discarded. */
static struct shi_net_ops net;

static void make_corpus(void)
{
    static const struct shi_net_limits limits = {.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                                 .ordered = SHI_NET_SAW | SHI_NET_WAW};
    static struct shi_stream_region own[PES][SHI_REGIONS];
    for (int pe = 0; pe < PES; pe++)
        own_regions(own[pe], pe);
    fabric_open(&limits, 1, own);
    fabric.calm = 1;
    net = shi_net_ofi;
    net.send_short = send_seed;
    net.send = send_seed_zcopy;
    for (int pe = 0; pe < PES; pe++)
        fabric.net[pe].ops = &net;
    shi_stream_net.ops = &net;
    for (int lane = 0; lane < LANES; lane++)
        for (int many = 0; many < 2; many++) {
            operate(1, 0, lane, many);
            operate(2, 0, lane, many);
            operate(0, 1, lane, many); /* their replies arrive here */
            operate(0, 2, lane, many);
        }
    fabric_be(0);
    net.send_short = send_nothing;
    net.send = send_nothing_zcopy;
    if (mprotect(regions[SHI_REGION_DATA], READ_ONLY, PROT_READ))
        abort();
}

/* ---- one input ---------------------------------------------------------------------------------------------------- */

/* Let a request of PE 0 wait for this reply; the reply gets its cookie. */
static void ask(struct record *r, int pe, int flags)
{
    struct waiting *w = &waiting[n_waiting];
    int kept = shi_stream_net.peer_rx[1].early || shi_stream_net.peer_rx[2].early; /* one may answer the other request */
    int other = kept ? 0 : flags & ASKED_OTHER, longer = other && r->bytes & 16;
    uint32_t bytes = r->bytes + (other && r->bytes & 8 ? longer ? 8u : -8u : 0);
    if (n_waiting == WAITING || bytes - 1 >= SHI_STREAM_REPLY_BYTES)
        return;
    w->other = other;
    w->room = w->room ? w->room : guarded(SHI_STREAM_REPLY_BYTES);
    w->lane = shi_stream_net.lane[r->what % LANES];
    w->reply = (struct shi_reply){.to = w->room + SHI_STREAM_REPLY_BYTES - bytes, .block = bytes, .done = came};
    struct shi_remote_addr at = {other && !(r->bytes & 8) ? 3 - pe : pe, SHI_REGION_HEAP, 0};
    int next = w->lane->n_free_replies ? w->lane->free_reply[w->lane->n_free_replies - 1] : 0;
    if (shi_stream_get_blocks(w->lane, &at, &(struct shi_blocks){bytes, 1, 0}, &w->reply, NULL))
        return;
    n_waiting++;
    r->off = w->cookie = (uint64_t)next;
    r->what = (uint8_t)w->lane->index;
}

static void forget_requests(void)
{
    for (; n_waiting; n_waiting--) {
        struct waiting *w = &waiting[n_waiting - 1];
        if (w->lane->outstanding[w->cookie].reply == &w->reply) {
            w->lane->outstanding[w->cookie].reply = NULL;
            w->lane->free_reply[w->lane->n_free_replies++] = (int)w->cookie;
        }
    }
}

static struct record *record_at(struct head *h, size_t at, size_t bytes)
{
    struct record *r = (struct record *)((char *)h + at);
    return at + sizeof *r <= bytes && record_bytes(r) <= bytes - at ? r : NULL;
}

static void fill_head(struct head *h, int flags)
{
    h->job = shi_auth_job();
    h->pe = flags & FROM_2 ? 2 : 1;
    h->version = WIRE_VERSION;
    h->lane = flags & LANE_1 ? 1 : 0;
    h->seq = shi_stream_net.peer_rx[h->pe].acks.applied_seq[h->lane] + 1;
    if (flags & ACKNOWLEDGES)
        return;
    h->ack_lane %= LANES;
    if (h->ack > shi_stream_net.lane[h->ack_lane]->to[h->pe].order.sent_seq)
        h->ack = shi_stream_net.lane[h->ack_lane]->to[h->pe].order.sent_seq;
}

/* The state that a message without a valid tag must not change. */
static uint64_t fingerprint(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < LANES; i++) {
        const struct shi_lane *l = shi_stream_net.lane[i];
        for (int pe = 0; pe < PES; pe++)
            sum = sum * 31 + l->to[pe].order.acked_seq + l->to[pe].order.sent_seq + shi_stream_net.peer_rx[pe].acks.applied_seq[i] +
                  shi_stream_net.peer_rx[pe].acks.queued + (uintptr_t)shi_stream_net.peer_rx[pe].early;
        sum = sum * 31 + (uint64_t)l->n_free_replies + (uint64_t)l->n_open;
    }
    for (int r = 0; r < SHI_REGIONS; r++)
        for (size_t i = 0; i < REGION; i += 8)
            sum = sum * 31 + *(const uint64_t *)(regions[r] + i);
    return sum;
}

static void arrive_forged(const void *msg, size_t bytes)
{
    static unsigned n;
    struct head *h = memcpy(malloc(bytes ? bytes : 1), msg, bytes);
    int all = n++ % 16 == 0;
    uint64_t dropped = shi_admit_dropped(), before = all ? fingerprint() : 0;
    if (bytes >= sizeof *h)
        h->tag ^= h->tag + 1;
    shi_stream_arrive(h, bytes);
    if (shi_admit_dropped() != dropped + 1 || (all && fingerprint() != before))
        abort();
    free(h);
}

static int n_applied, n_refused;

static void arrive_now(const void *msg)
{
    const struct head *h = msg;
    shi_stream_arrive(h, h->bytes);
}

static void end_of_poll(const void *arg)
{
    (void)arg;
    shi_stream_arrive(NULL, 0);
}

/* Deliver a message, with a valid tag, in memory of its exact size; 1: it was accepted. */
static int arrive(const struct head *msg)
{
    struct head *h = memcpy(malloc(msg->bytes), msg, msg->bytes);
    h->tag = message_tag(h, 0, 0);
    int good = attempt(arrive_now, h);
    n_applied += good;
    n_refused += !good;
    free(h);
    return good;
}

static void try_records(struct input *in)
{
    static _Alignas(8) char message[SHI_NET_MESSAGE_BYTES];
    int flags = (int)take(in, 1);
    size_t bytes = in->left < sizeof message ? in->left : sizeof message;
    struct head *h = (struct head *)memcpy(message, in->at, bytes);
    shi_stream_net.own[SHI_REGION_DEVICE].base = flags & PRIVATE ? regions[SHI_REGION_DEVICE] : NULL;
    if (bytes < sizeof *h || flags & FORGED) {
        arrive_forged(h, bytes);
        return;
    }
    h->bytes = (uint32_t)(bytes &= ~(size_t)7);
    if (!(flags & OWN_HEAD))
        fill_head(h, flags);
    size_t at = sizeof *h;
    for (struct record *r; flags & ASKED && !(flags & OWN_HEAD) && (r = record_at(h, at, bytes)); at += record_bytes(r))
        if (r->op == OP_REPLY)
            ask(r, (int)h->pe, flags);
    arrive(h);
    attempt(end_of_poll, NULL);
    forget_requests();
}

#endif
