/*
 * stream_rx.c - the receiving side of the streams: records applied in order, acknowledgements, replies, silence.
 *
 * Runs inside the transport's poll, on one thread at a time, without a lane's lock. What it changes of a lane (acked,
 * callbacks, replies) it changes under that lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/net/am_far.h"
#include "host/net/amo_word.h"
#include "host/net/stream_wire.h"
#include "host/util/log.h"

#define NET (shi_stream_net.ops)

/* A message that overtook others of its stream. */
struct stashed {
    struct stashed *next;
    uint64_t data[];
};

/* ---- memory of this PE ---------------------------------------------------------------------------------------------- */

static char *place(const struct head *h, int region, uint64_t off, size_t bytes)
{
    const struct shi_stream_region *r = &shi_stream_net.own[region < SHI_REGIONS ? region : 0];
    if (region >= SHI_REGIONS || off > r->bytes || bytes > r->bytes - off)
        shi_die("network", "PE %u asks for memory that is not there: region %d, offset %#lx, %zu bytes", h->pe, region,
                (unsigned long)off, bytes);
    return r->base + off;
}

/* Words that somebody may wait for are stored whole, and release what was stored before. */
static void store(int region, char *to, const void *from, size_t bytes)
{
    uint64_t word;
    if (shi_stream_net.own[region].copy) {
        if (shi_stream_net.own[region].copy(to, from, bytes))
            shi_die("network", "the device cannot store %zu bytes at %p", bytes, (void *)to);
    } else if (bytes == 8 && (uintptr_t)to % 8 == 0) {
        memcpy(&word, from, 8);
        __atomic_store_n((uint64_t *)to, word, __ATOMIC_RELEASE);
    } else if (bytes == 4 && (uintptr_t)to % 4 == 0) {
        memcpy(&word, from, 4);
        __atomic_store_n((uint32_t *)to, (uint32_t)word, __ATOMIC_RELEASE);
    } else {
        __atomic_thread_fence(__ATOMIC_RELEASE);
        memcpy(to, from, bytes);
    }
}

static void load(int region, void *to, const char *from, size_t bytes)
{
    if (!shi_stream_net.own[region].copy)
        memcpy(to, from, bytes);
    else if (shi_stream_net.own[region].copy(to, from, bytes))
        shi_die("network", "the device cannot load %zu bytes at %p", bytes, (const void *)from);
}

/* ---- replies ---------------------------------------------------------------------------------------------------------- */

/* A reply of `bytes` to fill in, on the first stream to pe; end with send_reply. */
static void *begin_reply(const struct head *h, uint64_t cookie, size_t bytes)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    pthread_mutex_lock(&l->net->lock);
    struct record r = {.op = OP_REPLY, .what = (uint8_t)h->lane, .bytes = (uint32_t)bytes, .off = cookie};
    return shi_stream_append(l, (int)h->pe, &r, 1);
}

static void send_reply(const struct head *h)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    shi_stream_commit(l, (int)h->pe, 0);
    pthread_mutex_unlock(&l->net->lock);
}

/* Whose reply it is, NULL: nobody's; the number is free again. */
static struct shi_reply *claim(struct shi_lane *l, uint64_t cookie, struct shi_reply *copy)
{
    pthread_mutex_lock(&l->net->lock);
    struct shi_reply *r = l->reply[cookie];
    if (r) {
        *copy = *r;
        l->reply[cookie] = NULL;
        l->free_reply[l->n_free_replies++] = (int)cookie;
    }
    pthread_mutex_unlock(&l->net->lock);
    return r;
}

static void scatter(const struct shi_reply *r, const char *from, size_t bytes)
{
    char *to = r->to;
    for (size_t n; bytes; bytes -= n, from += n, to += r->stride) {
        n = r->block < bytes ? r->block : bytes;
        memcpy(to, from, n);
    }
}

static void take_reply(const struct record *r, const void *payload)
{
    struct shi_lane *l = r->what < shi_stream_n_lanes() && r->off < MAX_REPLIES ? shi_stream_net.lane[r->what] : NULL;
    struct shi_reply copy, *mine = l ? claim(l, r->off, &copy) : NULL;
    if (!mine)
        shi_die("network", "protocol error: unexpected reply");
    scatter(&copy, payload, r->bytes);
    if (copy.done)
        copy.done(mine);
    else
        __atomic_fetch_sub(&l->fetching, 1, __ATOMIC_RELEASE);
}

/* ---- records ------------------------------------------------------------------------------------------------------------ */

static void put_blocks(const struct head *h, const struct record *r, const struct shi_blocks *b)
{
    const char *from = (const char *)(b + 1);
    size_t span = b->count ? (size_t)b->stride * (b->count - 1) + b->block : 0;
    char *to = place(h, r->region, r->off, span);
    for (uint32_t i = 0; i < b->count; i++, from += b->block)
        store(r->region, to + (ptrdiff_t)i * b->stride, from, b->block);
}

static void get_blocks(const struct head *h, const struct record *r, const struct blocks_payload *p)
{
    const struct shi_blocks *b = &p->blocks;
    size_t span = b->count ? (size_t)b->stride * (b->count - 1) + b->block : 0;
    const char *from = place(h, r->region, r->off, span);
    char *out = begin_reply(h, p->cookie, (size_t)b->block * b->count);
    for (uint32_t i = 0; i < b->count; i++, out += b->block)
        load(r->region, out, from + (ptrdiff_t)i * b->stride, b->block);
    send_reply(h);
}

static void amo(const struct head *h, const struct record *r, const struct amo_payload *p)
{
    size_t width = r->width & 0x7f;
    char *at = place(h, r->region, r->off, width);
    if (shi_stream_net.own[r->region].copy)
        shi_die("network", "PE %u asks for an atomic update of device memory that the host cannot load and store", h->pe);
    uint64_t old = shi_amo_word(at, width, r->what, p->value, r->bytes > sizeof p->value ? p->cond : 0);
    if (r->width & 0x80) {
        memcpy(begin_reply(h, p->cookie, width), &old, width);
        send_reply(h);
    }
}

static void apply(const struct head *h, const struct record *r)
{
    const void *p = r + 1;
    switch (r->op) {
    case OP_PUT: store(r->region, place(h, r->region, r->off, r->bytes), p, r->bytes); break;
    case OP_PUT_BLOCKS: put_blocks(h, r, p); break;
    case OP_AMO: amo(h, r, p); break;
    case OP_GET_BLOCKS: get_blocks(h, r, p); break;
    case OP_REPLY: take_reply(r, p); break;
    case OP_AM: shi_am_far_arrived((int)h->pe, r->what, p, r->bytes); break;
    default: shi_die("network", "PE %u sends what this version does not know: %u", h->pe, r->op);
    }
}

/* ---- acknowledgements --------------------------------------------------------------------------------------------------- */

static void owe(const struct head *h)
{
    struct heard *x = &shi_stream_net.heard[h->pe];
    if (!x->owed_at)
        shi_stream_net.owed[shi_stream_net.n_owed++] = (int)h->pe;
    x->owed_at = shi_stream_net.looks;
    x->now |= (h->flags & ACK_NOW) != 0;
    __atomic_fetch_or(&x->owed_lanes, 1U << h->lane, __ATOMIC_RELEASE); /* R3 */
}

/* What our stream to that PE has seen applied; those who waited for it are told. */
static void take_ack(const struct head *h)
{
    if (h->ack_lane >= shi_stream_n_lanes())
        return;
    struct shi_lane *l = shi_stream_net.lane[h->ack_lane];
    struct stream *s = &l->to[h->pe];
    struct shi_after *told = NULL, **end = &told;
    if (h->ack <= __atomic_load_n(&s->acked, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&l->net->lock);
    __atomic_store_n(&s->acked, h->ack, __ATOMIC_RELAXED);
    while (s->after && s->after->seq <= s->acked) {
        *end = s->after;
        end = &s->after->next;
        s->after = s->after->next;
    }
    *end = NULL;
    if (!s->after)
        s->last_after = NULL;
    pthread_mutex_unlock(&l->net->lock);
    while (told) {
        struct shi_after *a = told;
        told = a->next;
        a->done(a);
    }
}

/* Acknowledge what is asked for now, and what was asked for before the last look: the program had time to send messages
 * of its own, which would have carried it. */
static void pay(void)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    int *owed = shi_stream_net.owed;
    for (int i = 0; i < shi_stream_net.n_owed;) {
        struct heard *x = &shi_stream_net.heard[owed[i]];
        uint32_t lanes = __atomic_load_n(&x->owed_lanes, __ATOMIC_RELAXED);
        if (lanes && !x->now && x->owed_at + 1 >= shi_stream_net.looks) {
            i++;
            continue;
        }
        pthread_mutex_lock(&l->net->lock);
        for (; lanes; lanes &= lanes - 1)
            shi_stream_send_open(l, owed[i], 0);
        pthread_mutex_unlock(&l->net->lock);
        x->owed_at = x->now = 0;
        owed[i] = owed[--shi_stream_net.n_owed];
    }
}

/* ---- silence ------------------------------------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A PE that we have met and that says nothing for a third of the time is asked; for all of it, is lost. */
static void listen(void)
{
    uint64_t now = now_ns(), limit = shi_stream_net.silence_ns;
    if (!limit || now - shi_stream_net.looked_ns < limit / 16)
        return;
    int overslept = now - shi_stream_net.looked_ns > limit / 3; /* this PE was stopped itself: nobody else is to blame */
    shi_stream_net.looked_ns = now;
    for (int pe = 0; pe < shi_stream_net.n_pes; pe++) {
        struct heard *x = &shi_stream_net.heard[pe];
        if (!x->met && !__atomic_load_n(&shi_stream_net.lane[0]->to[pe].made, __ATOMIC_RELAXED))
            continue;
        if (overslept || x->alive_ns == 0)
            x->alive_ns = now;
        uint64_t silent = now - x->alive_ns;
        if (silent > limit && !shi_stream_closing())
            shi_die("network", "PE %d has not answered for %lu s (SHMEM_HEARTBEAT): its host or the link to it is down", pe,
                    (unsigned long)(limit / 1000000000));
        if (silent > limit / 3 && now - x->pinged_ns > limit / 3) {
            struct shi_lane *l = shi_stream_net.lane[0];
            x->pinged_ns = now;
            pthread_mutex_lock(&l->net->lock);
            shi_stream_send_open(l, pe, ACK_NOW);
            pthread_mutex_unlock(&l->net->lock);
        }
    }
}

/* ---- messages ----------------------------------------------------------------------------------------------------------- */

static void apply_message(const struct head *h)
{
    struct heard *x = &shi_stream_net.heard[h->pe];
    take_ack(h);
    for (size_t at = sizeof *h; at < h->bytes;) {
        const struct record *r = (const struct record *)((const char *)h + at);
        apply(h, r);
        at += sizeof *r + shi_round_up(r->bytes, 8);
    }
    __atomic_store_n(&x->seq[h->lane], h->seq, __ATOMIC_RELEASE); /* R2 */
    if (h->flags)
        owe(h);
}

static void stash(struct heard *x, const struct head *h)
{
    struct stashed *s = malloc(sizeof *s + h->bytes);
    if (!s)
        shi_die("network", "out of memory for a message that came early");
    memcpy(s->data, h, h->bytes);
    s->next = x->early;
    x->early = s;
}

/* Apply the stashed message of this lane whose turn it is. 0: there is none. */
static int apply_stashed(struct heard *x, int lane)
{
    for (struct stashed **at = &x->early; *at; at = &(*at)->next) {
        struct stashed *s = *at;
        const struct head *h = (const struct head *)s->data;
        if (h->lane != lane || h->seq != x->seq[lane] + 1)
            continue;
        *at = s->next;
        apply_message(h);
        free(s);
        return 1;
    }
    return 0;
}

static void end_of_look(void)
{
    shi_stream_net.looks++;
    pay();
    listen();
    for (int i = 0, n = shi_stream_n_lanes(); i < n; i++) {
        struct shi_lane *l = shi_stream_net.lane[i];
        if (!__atomic_load_n(&l->n_open, __ATOMIC_RELAXED) && !__atomic_load_n(&l->n_waiting, __ATOMIC_RELAXED))
            continue;
        pthread_mutex_lock(&l->net->lock);
        shi_stream_round(l);
        pthread_mutex_unlock(&l->net->lock);
    }
}

void shi_stream_arrive(const void *msg, size_t bytes)
{
    const struct head *h = msg;
    if (!msg) {
        end_of_look();
        return;
    }
    if (bytes < sizeof *h || h->bytes != bytes || h->pe >= (uint32_t)shi_stream_net.n_pes || h->lane >= MAX_LANES)
        shi_die("network", "a message of %zu bytes came that is none of Fulmar's", bytes);
    struct heard *x = &shi_stream_net.heard[h->pe];
    x->alive_ns = now_ns();
    if (!x->met) {
        x->met = 1;
        NET->met();
    }
    if (h->seq != x->seq[h->lane] + 1) {
        stash(x, h);
        return;
    }
    apply_message(h);
    while (x->early && apply_stashed(x, h->lane))
        ;
}

int shi_stream_receive(int n_pes)
{
    shi_stream_net.owed = calloc((size_t)n_pes, sizeof *shi_stream_net.owed);
    shi_stream_net.looks = 1;
    shi_stream_net.looked_ns = now_ns();
    return shi_stream_net.owed ? 0 : -ENOMEM;
}
