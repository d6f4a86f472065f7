/* stream_device.c - records on device memory, step by step: see stream_device.h. */
#include "host/net/stream/stream_device.h"

#include <string.h>

#include "host/net/stream/batch.h"
#include "host/net/stream/device_copy.h"
#include "host/util/base.h"
#include "host/util/log.h"

#define DEVICE (shi_stream_net.own[SHI_REGION_DEVICE].device)

enum { BEGIN, REPLY }; /* steps of a record */
enum { UPDATES = 256, SHORT_PUT_BYTES = 512 };

/* A slot: a stashed message, then data that it fetches. */
enum { SLOT_BYTES = sizeof(struct stashed) + SHI_NET_MESSAGE_BYTES + SHI_STREAM_REPLY_BYTES };

/* An update by a record, from when it joins a round until its copies have ended. */
struct device_update {
    struct shi_word_update update;
    struct device_update *next; /* of the free ones, or of those whose words are written */
    struct stashed *of;
    uint64_t cookie, word[2];
};

size_t shi_stream_device_bytes(int n)
{
    return (size_t)n * SLOT_BYTES + UPDATES * sizeof(struct device_update);
}

static char *fetched_of(struct stashed *s)
{
    return (char *)s->data + SHI_NET_MESSAGE_BYTES;
}

/* The copy of its word, and those before, are gathered. */
static void written(struct shi_word_update *u)
{
    struct device_update *d = shi_container_of(u, struct device_update, update);
    d->of->joined--;
    d->of->after = u->after > d->of->after ? u->after : d->of->after;
    d->next = NULL;
    *(shi_stream_net.updated ? &shi_stream_net.last_updated->next : &shi_stream_net.updated) = d;
    shi_stream_net.last_updated = d;
}

void shi_stream_device_up(const struct shi_stream_device *device, int n)
{
    struct device_update *updates = (struct device_update *)(device->memory + (size_t)n * SLOT_BYTES);
    shi_stream_net.free_slot = NULL;
    shi_stream_net.free_update = shi_stream_net.updated = NULL;
    shi_device_copy_up(device);
    shi_stream_net.words = (struct shi_words){.lock = device->word_lock, .copies = &shi_stream_net.copies, .written = written};
    for (int i = 0; i < n; i++) {
        struct stashed *s = (struct stashed *)(device->memory + (size_t)i * SLOT_BYTES);
        *s = (struct stashed){.next = shi_stream_net.free_slot, .in_slot = 1};
        shi_stream_net.free_slot = s;
    }
    for (int i = 0; i < UPDATES; i++) {
        updates[i].next = shi_stream_net.free_update;
        shi_stream_net.free_update = &updates[i];
    }
}

struct stashed *shi_stream_device_take(const struct head *h)
{
    struct stashed *to = shi_stream_net.free_slot;
    if (h->bytes > SHI_NET_MESSAGE_BYTES) /* such a message holds an active message alone */
        shi_die("network", "protocol error: PE %u sends records on device memory in a message of %u bytes", h->pe, h->bytes);
    if (to)
        shi_stream_net.free_slot = to->next;
    return to;
}

void shi_stream_device_release(struct stashed *s)
{
    s->next = shi_stream_net.free_slot;
    shi_stream_net.free_slot = s;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

static char *local_address(const struct record *r)
{
    return shi_stream_net.own[r->region].base + r->off;
}

/* The message's next step follows this copy. */
static void start(struct stashed *s, void *to, const void *from, size_t bytes)
{
    s->after = shi_device_copy(to, from, bytes);
}

static void put_blocks(struct stashed *s, const struct record *r)
{
    const struct shi_blocks *b = (const struct shi_blocks *)(r + 1);
    const char *from = (const char *)(b + 1);
    for (uint32_t i = 0; i < b->count; i++, from += b->block)
        start(s, local_address(r) + (ptrdiff_t)i * b->stride, from, b->block);
}

static int get_blocks(struct stashed *s, const struct record *r)
{
    const struct blocks_payload *p = (const struct blocks_payload *)(r + 1);
    char *fetched = fetched_of(s);
    size_t block = p->blocks.block, count = p->blocks.count;
    if (s->step == BEGIN) {
        for (size_t i = 0; i < count; i++)
            start(s, fetched + i * block, local_address(r) + (ptrdiff_t)i * p->blocks.stride, block);
        s->step = REPLY;
    }
    if (!shi_stream_device_ended(s))
        return 0;
    const struct head *h = (const struct head *)s->data;
    memcpy(shi_batch_begin_reply(h, p->cookie, block * count), fetched, block * count);
    shi_batch_end_reply(h);
    return 1;
}

/* The update takes part in the next round. 0: not now. */
static int update(struct stashed *s, const struct record *r)
{
    const struct amo_payload *p = (const struct amo_payload *)(r + 1);
    struct device_update *d = shi_stream_net.free_update;
    int fetches = r->width & WIDTH_FETCHES;
    if (!d)
        return 0;
    shi_stream_net.free_update = d->next;
    d->of = s;
    d->cookie = fetches ? p->cookie : 0;
    d->update = (struct shi_word_update){.at = local_address(r), .width = r->width & WIDTH_BYTES, .op = r->what, .value = p->value,
                                         .cond = r->bytes > sizeof p->value ? p->cond : 0, .fetches = fetches != 0, .word = d->word};
    s->joined++;
    s->fetching += fetches != 0;
    shi_words_join(&shi_stream_net.words, &d->update);
    return 1;
}

/* Updates whose copies have ended are complete. 1: there are such. */
static int complete(void)
{
    int any = 0;
    for (struct device_update *d; (d = shi_stream_net.updated) && d->update.after <= shi_stream_net.copies.ended; any = 1) {
        const struct head *h = (const struct head *)d->of->data;
        shi_stream_net.updated = d->next;
        if (d->update.fetches) {
            memcpy(shi_batch_begin_reply(h, d->cookie, d->update.width), d->word, d->update.width);
            shi_batch_end_reply(h);
            d->of->fetching--;
        }
        d->next = shi_stream_net.free_update;
        shi_stream_net.free_update = d;
    }
    return any;
}

int shi_stream_device_poll(void)
{
    struct shi_words *w = &shi_stream_net.words;
    if (shi_likely(!w->lock)) /* the host can access this PE's device memory */
        return 0;
    if (shi_words_poll(w)) /* further records of these messages may gather copies first */
        return 1;
    int further = shi_device_copy_poll();
    if (further)
        shi_words_poll(w);
    return further | complete();
}

/* Read or write a piece of the requester's memory. */
static int serve_piece(struct shi_transfer *t, struct shi_chunk *c)
{
    const struct stashed *s = shi_container_of(t, struct stashed, transfer);
    const struct served_payload *p = (const struct served_payload *)(s->served + 1);
    const struct shi_net_memory m = {.base = p->addr, .key = p->key};
    int pe = (int)((const struct head *)s->data)->pe;
    return t->in ? shi_stream_read_memory(pe, &m, c->off, c->memory, c->bytes, shi_chunk_req(c))
                 : shi_stream_write_memory(pe, &m, c->off, c->memory, c->bytes, shi_chunk_req(c));
}

/* PUSH: a write that has ended here precedes the reply, with or without SHI_NET_SAW. */
static int serve(struct stashed *s, const struct record *r)
{
    const struct served_payload *p = (const struct served_payload *)(r + 1);
    if (s->step == BEGIN) {
        s->served = r;
        s->transfer = (struct shi_transfer){.wire = serve_piece, .local = local_address(r), .bytes = p->bytes,
                                            .pool = SHI_POOL_SERVED, .in = r->op == OP_PULL, .hidden = 1};
        shi_pipeline_serve(&s->transfer);
        s->step = REPLY;
    }
    if (s->transfer.ended < p->bytes)
        return 0;
    s->served = NULL;
    if (r->op == OP_PUSH) {
        const struct head *h = (const struct head *)s->data;
        shi_batch_begin_reply(h, p->cookie, 0);
        shi_batch_end_reply(h);
    }
    return 1;
}

/* A short put whose payload can follow that of the last gathered copy, of the same message, in the same copy. */
static int is_continued(const struct stashed *s, const struct record *r)
{
    const struct shi_copies *c = &shi_stream_net.copies;
    const struct shi_device_copy *last = c->n ? &c->gathered[c->n - 1] : NULL;
    return last && c->started + (uint64_t)c->n > s->fenced && r->bytes <= SHORT_PUT_BYTES && (const char *)last->from > (const char *)s->data &&
           (const char *)last->from < (const char *)r && (char *)last->to + last->bytes == local_address(r);
}

static void put(struct stashed *s, struct record *r)
{
    if (!is_continued(s, r)) {
        start(s, local_address(r), r + 1, r->bytes);
        return;
    }
    struct shi_copies *c = &shi_stream_net.copies;
    struct shi_device_copy *last = &c->gathered[c->n - 1];
    size_t bytes = r->bytes;
    memmove((char *)last->from + last->bytes, r + 1, bytes); /* to the left: over r, and updates before it */
    last->bytes += bytes;
    s->after = c->started + (uint64_t)c->n;
}

/* May the record be carried out beside the message's updates that are not written yet? */
static int is_beside(const struct record *r)
{
    return r->width & WIDTH_CONTINUES && (r->op == OP_PUT || r->op == OP_PUT_BLOCKS || r->op == OP_AMO);
}

int shi_stream_device_step(struct stashed *s, struct record *r)
{
    int done = 1;
    if (s->joined && !is_beside(r))
        return 0;
    if (!(r->width & WIDTH_CONTINUES))
        s->fenced = shi_stream_net.copies.started + (uint64_t)shi_stream_net.copies.n;
    switch (r->op) {
    case OP_PUT: put(s, r); return 1;
    case OP_PUT_BLOCKS: put_blocks(s, r); return 1;
    case OP_AMO: return update(s, r);
    case OP_PULL:
    case OP_PUSH: done = serve(s, r); break;
    default: done = get_blocks(s, r);
    }
    s->step = done ? BEGIN : s->step;
    return done;
}
