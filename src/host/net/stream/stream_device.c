/* stream_device.c - records on device memory, step by step: see stream_device.h. */
#include "host/net/stream/stream_device.h"

#include <string.h>

#include "host/net/node/amo_word.h"
#include "host/net/stream/batch.h"
#include "host/net/stream/device_copy.h"
#include "host/util/base.h"
#include "host/util/log.h"

#define DEVICE (shi_stream_net.own[SHI_REGION_DEVICE].device)

enum { BEGIN, UPDATE, REPLY }; /* steps of a record */
enum { MOST_ASSIGNED = 64 };

/* A slot: a stashed message, then data that it fetches. */
enum { SLOT_BYTES = sizeof(struct stashed) + SHI_NET_MESSAGE_BYTES + SHI_STREAM_REPLY_BYTES };

size_t shi_stream_device_bytes(int n)
{
    return (size_t)n * SLOT_BYTES;
}

static char *fetched_of(struct stashed *s)
{
    return (char *)s->data + SHI_NET_MESSAGE_BYTES;
}

void shi_stream_device_up(const struct shi_stream_device *device, int n)
{
    shi_stream_net.free_slot = NULL;
    shi_stream_net.copies_started = shi_stream_net.copies_ended = shi_stream_net.assigned = 0;
    for (int i = 0; i < n; i++) {
        struct stashed *s = (struct stashed *)(device->memory + (size_t)i * SLOT_BYTES);
        *s = (struct stashed){.next = shi_stream_net.free_slot, .in_slot = 1};
        shi_stream_net.free_slot = s;
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
    return shi_stream_net.own[SHI_REGION_DEVICE].base + r->off;
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

/* Assign a word. The copy is from the message, which lasts until it has ended. */
static int assign(struct stashed *s, const struct record *r, const uint64_t *value, size_t width)
{
    if (shi_stream_net.assigned ? shi_stream_net.n_assigned >= MOST_ASSIGNED : !shi_amo_try_lock(DEVICE->word_lock)) /* A8 */
        return 0;
    shi_stream_net.n_assigned = shi_stream_net.assigned ? shi_stream_net.n_assigned + 1 : 1;
    start(s, local_address(r), value, width);
    shi_stream_net.assigned = s->after;
    return 1;
}

static int update(struct stashed *s, const struct record *r)
{
    const struct amo_payload *p = (const struct amo_payload *)(r + 1);
    size_t width = r->width & 0x7f;
    int fetches = r->width & 0x80, stores = r->what != SHI_AMO_FETCH;
    if (!fetches && r->what == SHI_AMO_SET)
        return assign(s, r, &p->value, width);
    if (s->step == BEGIN) {
        if (stores && !shi_amo_try_lock(DEVICE->word_lock)) /* A8 */
            return 0;
        s->word[0] = 0;
        start(s, &s->word[0], local_address(r), width);
        s->step = UPDATE;
    }
    if (s->step == UPDATE) {
        if (!shi_stream_device_ended(s)) /* the old value comes */
            return 0;
        s->word[1] = s->word[0];
        shi_amo_word(&s->word[1], width, r->what, p->value, r->bytes > sizeof p->value ? p->cond : 0);
        if (stores)
            start(s, local_address(r), &s->word[1], width);
        s->step = REPLY;
    }
    if (!shi_stream_device_ended(s)) /* the new value goes */
        return 0;
    if (stores)
        shi_amo_unlock(DEVICE->word_lock); /* R8 */
    if (fetches) {
        const struct head *h = (const struct head *)s->data;
        memcpy(shi_batch_begin_reply(h, p->cookie, width), &s->word[0], width);
        shi_batch_end_reply(h);
    }
    return 1;
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

int shi_stream_device_step(struct stashed *s, const struct record *r)
{
    int done = 1;
    switch (r->op) {
    case OP_PUT: start(s, local_address(r), r + 1, r->bytes); break;
    case OP_PUT_BLOCKS: put_blocks(s, r); break;
    case OP_AMO: done = update(s, r); break;
    case OP_PULL:
    case OP_PUSH: done = serve(s, r); break;
    default: done = get_blocks(s, r);
    }
    s->step = done ? BEGIN : s->step;
    return done;
}
