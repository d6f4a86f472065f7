/* pipeline.c - chunks, and the transfers that go through them: see pipeline.h. */
#include "host/net/stream/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/stream/device_copy.h"
#include "host/util/log.h"

#define NET (shi_stream_net.ops)

enum { OWN = SHI_PIPELINE_OWN, SERVED = SHI_PIPELINE_SERVED, SHORT = 16, CHUNKS = OWN + SERVED + SHORT };
enum { FREE, COPY, WIRE };

struct shi_pipeline {
    struct {
        struct shi_chunk *free;
        size_t bytes; /* of a chunk */
        struct shi_transfer *first, *last; /* that need a further chunk, in the order of waiting */
    } pool[SHI_POOLS];
    struct shi_chunk chunk[CHUNKS];
    int turn;      /* the chunk that is advanced first: the one after the last that was copied */
    int copied_in; /* that copy was to local memory: one from local memory comes first */
    int copied;    /* this poll has made a long copy */
    int n_ended;   /* transfers that ended in this poll */
    struct shi_transfer *submitted;
    const char *base; /* of the chunks; NULL: down */
    struct shi_net_memory memory;
};

static void count_active(int change)
{
    __atomic_fetch_add(&shi_stream_net.n_active, change, __ATOMIC_RELAXED);
}

/* ---- up and down -------------------------------------------------------------------------------------------------- */

size_t shi_pipeline_bytes(size_t chunk_bytes)
{
    return (2 * OWN + SERVED) * chunk_bytes + SHORT * (size_t)SHI_STREAM_PUT_BYTES;
}

/* Make n chunks of `bytes`, of which a piece takes at most `most`. Returns the next ones. */
static struct shi_chunk *add_chunks(struct shi_pipeline *p, struct shi_chunk *c, enum shi_pool pool, int n, char **memory, size_t bytes,
                                    size_t most)
{
    p->pool[pool].bytes = bytes < most ? bytes : most;
    for (const struct shi_chunk *end = c + n; c < end; c++) {
        *c = (struct shi_chunk){.memory = *memory, .pool = (unsigned char)pool, .next = p->pool[pool].free};
        p->pool[pool].free = c;
        *memory += bytes;
    }
    return c;
}

int shi_pipeline_up(char *memory, size_t chunk_bytes)
{
    struct shi_net_memory m;
    size_t most = shi_stream_rma_bytes(), bytes = shi_pipeline_bytes(chunk_bytes);
    struct shi_pipeline *p = shi_stream_net.pipeline;
    if (!p && !(p = shi_stream_net.pipeline = calloc(1, sizeof *p)))
        return -ENOMEM;
    int err = NET->expose(memory, bytes, SHI_NET_READ | SHI_NET_WRITE, &m);
    if (err) {
        shi_log_error("network: %s cannot register %zu bytes (SHMEM_TEST_DEVICE_STAGING): %s", NET->provider(), bytes, NET->error(err));
        return -EIO;
    }
    *p = (struct shi_pipeline){.base = memory, .memory = m};
    struct shi_chunk *c = add_chunks(p, p->chunk, SHI_POOL_OWN, OWN, &memory, 2 * chunk_bytes, most);
    c = add_chunks(p, c, SHI_POOL_SERVED, SERVED, &memory, chunk_bytes, most);
    add_chunks(p, c, SHI_POOL_SHORT, SHORT, &memory, SHI_STREAM_PUT_BYTES, SHI_STREAM_PUT_BYTES);
    return 0;
}

void shi_pipeline_down(void)
{
    struct shi_pipeline *p = shi_stream_net.pipeline;
    if (!shi_pipeline_is_up())
        return;
    NET->withdraw(&p->memory);
    p->base = NULL;
}

int shi_pipeline_is_up(void)
{
    return shi_stream_net.pipeline && shi_stream_net.pipeline->base;
}

struct shi_am_src shi_chunk_src(const struct shi_chunk *c)
{
    const struct shi_pipeline *p = shi_stream_net.pipeline;
    return (struct shi_am_src){.addr = p->memory.base + (uint64_t)(c->memory - p->base), .key = p->memory.key, .bytes = c->bytes};
}

/* ---- pieces ------------------------------------------------------------------------------------------------------- */

/* So many bytes of the transfer have ended, or need it no more. */
static void count(struct shi_pipeline *p, struct shi_transfer *t, size_t bytes)
{
    t->ended += bytes;
    if (t->ended < t->bytes)
        return;
    for (int i = 0; i < CHUNKS; i++)
        if (p->chunk[i].of == t)
            p->chunk[i].of = NULL;
    p->n_ended++;
    if (t->done)
        t->done(t);
}

static void put_back(struct shi_pipeline *p, struct shi_chunk *c)
{
    struct shi_transfer *t = c->of;
    c->of = NULL;
    c->state = FREE;
    shi_stream_step();
    c->next = p->pool[c->pool].free;
    p->pool[c->pool].free = c;
    count_active(-1);
    if (!t)
        return;
    t->held--;
    if (!t->detached)
        count(p, t, c->bytes);
}

/* Where copies end at once, the device's driver or this thread makes them: a poll makes one long one, and the network comes next. */
static int may_copy(const struct shi_pipeline *p, int pool)
{
    return !p->copied || pool == SHI_POOL_SHORT;
}

static void copy(struct shi_pipeline *p, struct shi_chunk *c)
{
    const struct shi_transfer *t = c->of;
    char *local = t->local + c->off, *to = t->in ? local : c->memory, *from = t->in ? c->memory : local;
    c->state = COPY;
    c->after = 0;
    if (t->hidden) {
        c->after = shi_device_copy(to, from, c->bytes);
        if (c->pool != SHI_POOL_SHORT) /* short ones are submitted together */
            shi_device_copy_poll();
    } else {
        memcpy(to, from, c->bytes);
    }
    p->turn = (int)(c - p->chunk) + 1;
    p->copied_in = t->in;
    p->copied |= c->pool != SHI_POOL_SHORT && shi_device_copy_ended(c->after);
}

static void wire(struct shi_pipeline *p, struct shi_chunk *c)
{
    struct shi_transfer *t = c->of;
    c->state = WIRE;
    int rc = t->wire(t, c);
    c->posted = rc != -EAGAIN;
    if (c->posted)
        shi_stream_step();
    c->arrived |= rc == 0;
    if (c->posted && t->detached)
        count(p, t, c->bytes);
}

/* As far as possible. */
static void advance(struct shi_pipeline *p, struct shi_chunk *c, int in)
{
    if (c->state == COPY && shi_device_copy_ended(c->after)) {
        if (in)
            put_back(p, c);
        else
            wire(p, c);
    } else if (c->state == WIRE && !c->posted) {
        wire(p, c);
    }
    if (c->state != WIRE || !c->arrived)
        return;
    if (!in || !c->of) {
        put_back(p, c);
        return;
    }
    if (!may_copy(p, c->pool))
        return;
    copy(p, c);
    if (shi_device_copy_ended(c->after))
        put_back(p, c);
}

static void begin(struct shi_pipeline *p, struct shi_transfer *t, struct shi_chunk *c)
{
    size_t left = t->bytes - t->begun, most = p->pool[c->pool].bytes;
    c->of = t;
    c->off = t->begun;
    c->bytes = left < most ? left : most;
    c->posted = c->arrived = 0;
    t->begun += c->bytes;
    shi_stream_step();
    t->held++;
    count_active(1);
    if (t->in)
        wire(p, c);
    else
        copy(p, c);
    advance(p, c, t->in);
}

/* ---- transfers ---------------------------------------------------------------------------------------------------- */

static void append(struct shi_pipeline *p, struct shi_transfer *t)
{
    t->next = NULL;
    *(p->pool[t->pool].first ? &p->pool[t->pool].last->next : &p->pool[t->pool].first) = t;
    p->pool[t->pool].last = t;
}

static void submitted(struct shi_pipeline *p)
{
    struct shi_transfer *in_order = NULL;
    if (!__atomic_load_n(&p->submitted, __ATOMIC_RELAXED))
        return;
    for (struct shi_transfer *t = __atomic_exchange_n(&p->submitted, NULL, __ATOMIC_ACQUIRE), *next; t; t = next) { /* A1 */
        next = t->next;
        t->next = in_order;
        in_order = t;
    }
    for (struct shi_transfer *t = in_order, *next; t; t = next) {
        next = t->next;
        append(p, t);
    }
}

/* The transfer that the next free chunk of the pool is for, removed from those that wait. NULL: none, or not in this poll. */
static struct shi_transfer *take_next(struct shi_pipeline *p, int pool)
{
    struct shi_transfer **best = &p->pool[pool].first, *t, *before = NULL;
    for (struct shi_transfer **at = best; *at; at = &(*at)->next)
        best = (*at)->held < (*best)->held ? at : best;
    t = *best;
    if (!t || (!t->in && !may_copy(p, pool)))
        return NULL;
    *best = t->next;
    if (p->pool[pool].last == t) {
        for (struct shi_transfer *w = p->pool[pool].first; w; w = w->next)
            before = w;
        p->pool[pool].last = before;
    }
    return t;
}

static void assign_chunks(struct shi_pipeline *p, int pool)
{
    struct shi_transfer *t;
    for (struct shi_chunk *c; (c = p->pool[pool].free) && (t = take_next(p, pool));) {
        p->pool[pool].free = c->next;
        if (t->bytes - t->begun > p->pool[pool].bytes)
            append(p, t); /* it waits again, behind the others */
        else
            count_active(-1);
        begin(p, t, c);
    }
}

static void assign_all(struct shi_pipeline *p)
{
    for (int pool = 0; pool < SHI_POOLS; pool++)
        assign_chunks(p, pool);
}

static void advance_all(struct shi_pipeline *p)
{
    for (int i = 0, first = p->turn; i < CHUNKS; i++) {
        struct shi_chunk *c = &p->chunk[(first + i) % CHUNKS];
        if (c->state != FREE)
            advance(p, c, c->of && c->of->in);
    }
}

int shi_pipeline_poll(void)
{
    struct shi_pipeline *p = shi_stream_net.pipeline;
    if (!__atomic_load_n(&shi_stream_net.n_active, __ATOMIC_RELAXED))
        return 0;
    p->copied = p->n_ended = 0;
    submitted(p);
    shi_device_copy_poll();
    if (p->copied_in)
        assign_all(p);
    advance_all(p);
    assign_all(p);
    if (shi_device_copy_poll())
        advance_all(p);
    return p->n_ended;
}

void shi_pipeline_serve(struct shi_transfer *t)
{
    count_active(1);
    append(shi_stream_net.pipeline, t);
}

void shi_pipeline_start(struct shi_transfer *t)
{
    struct shi_pipeline *p = shi_stream_net.pipeline;
    count_active(1);
    t->next = __atomic_load_n(&p->submitted, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&p->submitted, &t->next, t, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) /* R1 */
        ;
}
