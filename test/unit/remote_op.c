/*
 * remote_op.c - remote operations (host/net/stream/remote_op.c) over a stream that records each call, refuses every other one,
 * and completes operations when the test calls call_back. Transfers have one chunk.
 */
#include "host/net/stream/remote_op.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

/* ---- a stub of the stream ------------------------------------------------------------------------------------------- */

enum { TARGET_BYTES = 64 << 10, DIRECT_BYTES = 5000, RECORD_BYTES = 8192, CHUNK_BYTES = 5000 };
static char target[TARGET_BYTES], expected[TARGET_BYTES], mine[TARGET_BYTES];
static uint64_t sent_signal;
static char sequence[64]; /* a letter for each accepted call: p put, w write, r read (W, R with a callback),
                           * g get, l pull, h push, a amo, s signal, c confirmation */
static int refuse;        /* -EAGAIN for every other call */
static unsigned calls;
static struct shi_net_req *req;
static struct shi_reply *reply;
static struct shi_after *after;
static int n_ready;
static int reaches = 1, sends = 1, is_registered = 1, pipeline_is_up = 1;
static struct shi_transfer *transfer;
static char chunk_memory[CHUNK_BYTES];

/* Catches: a wait whose state is lost between its tries, or kept for the next call. */
static void tried(struct shi_stream_wait *w, int accepted)
{
    static uint64_t last;
    if (w)
        CHECKF(w->since == last, "the wait is number %lu, not %lu", w->since, last);
    last = accepted ? 0 : last + 1;
    if (w)
        w->since = last;
}

static int taken(char what, struct shi_stream_wait *w)
{
    int accepted = !(refuse && calls++ % 2 == 0);
    tried(w, accepted);
    if (!accepted)
        return 0;
    size_t n = strlen(sequence);
    if (n + 1 < sizeof sequence)
        sequence[n] = what;
    return 1;
}

size_t shi_stream_rma_bytes(void)
{
    return DIRECT_BYTES;
}

void shi_stream_fail(int pe, int err)
{
    printf("Bail out! PE %d: %d\n", pe, err);
    exit(1);
}

void shi_stream_end_later(struct shi_net_req *req, struct shi_lane *l)
{
    (void)l;
    printf("Bail out! PE %d\n", req->pe);
    exit(1);
}

int shi_stream_put(struct shi_lane *l, const struct shi_remote_addr *to, const void *from, size_t bytes, int flags,
                   struct shi_stream_wait *w)
{
    (void)l, (void)flags;
    if (!taken('p', w))
        return -EAGAIN;
    memcpy(target + to->off, from, bytes);
    return 0;
}

int shi_stream_write(struct shi_lane *l, const struct shi_remote_addr *to, const void *from, size_t bytes,
                     struct shi_net_req *r, struct shi_stream_wait *w)
{
    (void)l;
    if (!taken(r ? 'W' : 'w', w))
        return -EAGAIN;
    CHECK(bytes <= DIRECT_BYTES);
    memcpy(target + to->off, from, bytes);
    req = r;
    return -EINPROGRESS;
}

int shi_stream_read(struct shi_lane *l, const struct shi_remote_addr *from, void *to, size_t bytes,
                    struct shi_net_req *r)
{
    (void)l;
    if (!taken(r ? 'R' : 'r', NULL))
        return -EAGAIN;
    CHECK(bytes <= DIRECT_BYTES);
    memcpy(to, target + from->off, bytes);
    req = r;
    return -EINPROGRESS;
}

int shi_stream_get_blocks(struct shi_lane *l, const struct shi_remote_addr *from, const struct shi_blocks *b,
                          struct shi_reply *r, struct shi_stream_wait *w)
{
    (void)l;
    if (!taken('g', w))
        return -EAGAIN;
    for (uint32_t i = 0; i < b->count; i++)
        memcpy(r->to + i * (b->count > 1 ? r->stride : 0), target + from->off + i * b->stride, b->block);
    reply = r->done ? r : NULL;
    return 0;
}

int shi_stream_amo(struct shi_lane *l, const struct shi_remote_addr *at, int width, enum shi_amo op, uint64_t value,
                   uint64_t cond, struct shi_reply *r, int flags, struct shi_stream_wait *w)
{
    (void)l, (void)cond;
    if (!taken(flags & SHI_STREAM_AFTER_WRITES ? 's' : 'a', w))
        return -EAGAIN;
    if (r)
        memcpy(r->to, target + at->off, (size_t)width);
    if (flags & SHI_STREAM_AFTER_WRITES)
        sent_signal = value;
    else if (op != SHI_AMO_FETCH)
        memcpy(target + at->off, &value, (size_t)width);
    reply = r && r->done ? r : NULL;
    return 0;
}

int shi_stream_after(struct shi_lane *l, int pe, struct shi_after *a, int soon, struct shi_stream_wait *w)
{
    (void)l, (void)pe, (void)soon;
    if (!taken('c', w))
        return -EAGAIN;
    after = a;
    return -EINPROGRESS;
}

int shi_stream_pull(struct shi_lane *l, const struct shi_remote_addr *to, const struct shi_am_src *source, size_t bytes,
                    struct shi_after *a, struct shi_stream_wait *w)
{
    (void)l;
    if (!taken('l', w))
        return -EAGAIN;
    memcpy(target + to->off, (const char *)source->addr, bytes);
    after = a;
    return 0;
}

int shi_stream_push(struct shi_lane *l, const struct shi_remote_addr *from, const struct shi_am_src *dest, size_t bytes,
                    struct shi_reply *r, struct shi_stream_wait *w)
{
    (void)l;
    if (!taken('h', w))
        return -EAGAIN;
    memcpy((char *)dest->addr, target + from->off, bytes);
    reply = r->done ? r : NULL;
    return 0;
}

int shi_stream_reaches(int pe, enum shi_region region)
{
    (void)pe, (void)region;
    return reaches;
}

int shi_stream_sends(const void *local, size_t bytes)
{
    (void)local, (void)bytes;
    return sends;
}

int shi_stream_registered(const void *addr, size_t bytes, struct shi_am_src *out)
{
    *out = (struct shi_am_src){.addr = (uint64_t)addr, .bytes = bytes};
    return is_registered;
}

size_t shi_stream_bcopy_bytes(void)
{
    return RECORD_BYTES;
}

int shi_pipeline_is_up(void)
{
    return pipeline_is_up;
}

void shi_pipeline_start(struct shi_transfer *t)
{
    CHECK(!transfer);
    transfer = t;
}

struct shi_am_src shi_chunk_src(const struct shi_chunk *c)
{
    return (struct shi_am_src){.addr = (uint64_t)c->memory, .bytes = c->bytes};
}

/* ---- the caller ----------------------------------------------------------------------------------------------------- */

static void ready(struct shi_remote_op *op)
{
    (void)op;
    n_ready++;
}

static int call_back(void);

static void run_transfer(struct shi_transfer *t)
{
    for (size_t off = 0, n; off < t->bytes; off += n) {
        n = t->bytes - off < CHUNK_BYTES ? t->bytes - off : CHUNK_BYTES;
        struct shi_chunk c = {.memory = chunk_memory, .off = off, .bytes = n};
        if (!t->in)
            memcpy(chunk_memory, t->local + off, n);
        int err;
        while ((err = t->wire(t, &c)) == -EAGAIN)
            ;
        CHECK((err == -EINPROGRESS && call_back() == 1 && c.arrived) || (err == 0 && call_back() == 0));
        if (t->in)
            memcpy(t->local + off, chunk_memory, n);
    }
    t->done(t);
}

/* Make the pending callbacks; return their number. */
static int call_back(void)
{
    struct shi_transfer *t = transfer;
    transfer = NULL;
    if (t) {
        run_transfer(t);
        return 1;
    }
    struct shi_net_req *q = req;
    struct shi_reply *r = reply;
    struct shi_after *a = after;
    req = NULL;
    reply = NULL;
    after = NULL;
    if (q)
        q->done(q, 0);
    if (r)
        r->done(r);
    if (a)
        a->done(a);
    return (q != NULL) + (r != NULL) + (a != NULL);
}

/* Run the operation; return the sequence of its calls. */
static const char *run(struct shi_remote_op op, int refuses)
{
    int err;
    refuse = refuses;
    calls = 0;
    n_ready = 0;
    memset(sequence, 0, sizeof sequence);
    op.at.pe = 1;
    op.ready = ready;
    while ((err = shi_remote_op_advance(&op))) {
        CHECKF(err == -EAGAIN || err == -EINPROGRESS, "error %d", err);
        CHECK(refuses || err != -EAGAIN);
        CHECK(shi_remote_op_posted(&op) || err != -EAGAIN || !strpbrk(sequence, "s"));
        if (err == -EINPROGRESS)
            CHECK(call_back() == 1 && n_ready == 1);
        n_ready = 0;
    }
    CHECK(call_back() == 0 && shi_remote_op_posted(&op) && shi_remote_op_advance(&op) == 0);
    return sequence;
}

static void begin(void)
{
    unsigned seed = 7;
    for (int i = 0; i < TARGET_BYTES; i++) {
        mine[i] = (char)tap_random(&seed);
        target[i] = expected[i] = (char)tap_random(&seed);
    }
    sent_signal = 0;
}

/* After a put, target (after a get, mine) holds `bytes` of the other from `off` on, and has not changed elsewhere. */
static int is_put(size_t off, size_t bytes)
{
    memcpy(expected + off, mine, bytes);
    return memcmp(target, expected, sizeof target) == 0;
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

enum { LONG = 2 * DIRECT_BYTES + 1000, STAGED = 2 * CHUNK_BYTES + 1000 };

/* Catches: a piece longer than the provider's limit, a piece lost or sent twice after a refusal, a put that releases
 * its source before the last piece has ended, a callback for a complete operation. */
static void puts_direct(void)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        struct shi_remote_op op = {.kind = SHI_REMOTE_PUT, .way = SHI_REMOTE_DIRECT, .at.off = 24, .local = mine, .bytes = LONG};
        begin();
        CHECK(!strcmp(run(op, refuses), "www") && is_put(24, LONG));
        begin();
        op.until = SHI_REMOTE_LOCAL;
        CHECK(!strcmp(run(op, refuses), "wwW") && is_put(24, LONG));
        begin();
        op.until = SHI_REMOTE_TARGET;
        CHECK(!strcmp(run(op, refuses), "wwwc") && is_put(24, LONG));
    }
}

/* Catches: a chunk of a short transfer that waits for a callback, a pull of memory that can be written. */
static void puts_staged(void)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        struct shi_remote_op op = {.kind = SHI_REMOTE_PUT, .way = SHI_REMOTE_STAGED, .until = SHI_REMOTE_TARGET, .at.off = 5,
                                   .local = mine, .bytes = 40, .signal = {.op = SHI_AMO_ADD, .value = 5}};
        for (reaches = 0; reaches < 2; reaches++) {
            begin();
            op.bytes = 40;
            CHECK(!strcmp(run(op, refuses), "psc") && is_put(5, 40));
            begin();
            op.bytes = STAGED;
            CHECK(!strcmp(run(op, refuses), reaches ? "WWWsc" : "lllsc") && is_put(5, STAGED));
        }
        reaches = 1;
    }
}

/* Catches: a put whose source is released before the target has read it. */
static void rendezvous(void)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        struct shi_remote_op op = {.kind = SHI_REMOTE_PUT, .way = SHI_REMOTE_RENDEZVOUS, .at.off = 3, .local = mine, .bytes = LONG};
        begin();
        CHECK(!strcmp(run(op, refuses), "l") && is_put(3, LONG));
        op.until = SHI_REMOTE_LOCAL;
        CHECK(!strcmp(run(op, refuses), "lc"));
        op.until = SHI_REMOTE_TARGET;
        CHECK(!strcmp(run(op, refuses), "lc"));
        op.kind = SHI_REMOTE_GET;
        op.until = SHI_REMOTE_LOCAL;
        begin();
        CHECK(!strcmp(run(op, refuses), "h") && !memcmp(mine, target + 3, LONG));
        op.until = SHI_REMOTE_POSTED;
        CHECK(!strcmp(run(op, refuses), "h"));
    }
}

/* Catches: memory that is named to the network though it cannot access it; long data in records though it need not be. */
static void ways(void)
{
    static const struct shi_remote_addr at;
    static const struct {
        int reaches, sends, registered, up, hidden;
        size_t bytes;
        enum shi_remote_way way;
    } rows[] = {
        {1, 1, 1, 0, 0, 8, SHI_REMOTE_RECORDS},        {1, 1, 0, 0, 0, LONG, SHI_REMOTE_DIRECT},
        {1, 1, 1, 1, 1, LONG, SHI_REMOTE_DIRECT},      {1, 1, 1, 1, 1, 8, SHI_REMOTE_STAGED},
        {1, 0, 0, 1, 1, LONG, SHI_REMOTE_STAGED},      {0, 1, 1, 1, 0, RECORD_BYTES, SHI_REMOTE_RECORDS},
        {0, 1, 1, 1, 0, LONG, SHI_REMOTE_RENDEZVOUS},  {0, 1, 0, 1, 0, LONG, SHI_REMOTE_STAGED},
        {0, 1, 0, 0, 0, LONG, SHI_REMOTE_RECORDS},     {0, 0, 0, 1, 1, LONG, SHI_REMOTE_STAGED},
        {0, 1, 1, 1, 1, LONG, SHI_REMOTE_STAGED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reaches = rows[i].reaches;
        sends = rows[i].sends;
        is_registered = rows[i].registered;
        pipeline_is_up = rows[i].up;
        CHECKF(shi_remote_way(&at, mine, rows[i].bytes, rows[i].hidden) == rows[i].way, "row %zu", i);
    }
    reaches = sends = is_registered = pipeline_is_up = 1;
}

/* Catches: a signal before its data or without order after it; a confirmation requested before the signal is posted; a
 * signal for an operation without one. */
static void signals(void)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        struct shi_remote_op op = {.kind = SHI_REMOTE_PUT, .way = SHI_REMOTE_DIRECT, .until = SHI_REMOTE_TARGET, .local = mine,
                                   .bytes = LONG, .signal = {.op = SHI_AMO_ADD, .value = 5}};
        begin();
        CHECK(!strcmp(run(op, refuses), "wwwsc") && sent_signal == 5);
        op.way = SHI_REMOTE_RECORDS;
        op.bytes = 40;
        CHECK(!strcmp(run(op, refuses), "psc"));
        op.bytes = 0;
        CHECK(!strcmp(run(op, refuses), "sc"));
    }
}

/* Catches: a get that completes before its last piece has arrived, or before its last chunk is copied out. */
static void gets(void)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        struct shi_remote_op op = {.kind = SHI_REMOTE_GET, .until = SHI_REMOTE_LOCAL, .at.off = 8, .local = mine, .bytes = 40};
        begin();
        CHECK(!strcmp(run(op, refuses), "g") && !memcmp(mine, target + 8, 40) && memcmp(mine + 40, target + 48, 40));
        op.way = SHI_REMOTE_DIRECT;
        op.bytes = LONG;
        CHECK(!strcmp(run(op, refuses), "rrR") && !memcmp(mine, target + 8, LONG));
        op.way = SHI_REMOTE_STAGED;
        for (reaches = 0; reaches < 2; reaches++) {
            begin();
            op.bytes = STAGED;
            CHECK(!strcmp(run(op, refuses), reaches ? "RRR" : "hhh") && !memcmp(mine, target + 8, STAGED));
            op.bytes = 40;
            CHECK(!strcmp(run(op, refuses), "g"));
        }
        reaches = 1;
        op.way = SHI_REMOTE_RECORDS;
        op.until = SHI_REMOTE_POSTED;
        op.bytes = 40;
        CHECK(!strcmp(run(op, refuses), "g"));
    }
}

/* Catches: strided blocks fetched as one contiguous block. */
static void blocks(void)
{
    struct shi_blocks b = {8, 3, 100};
    struct shi_remote_op op = {.kind = SHI_REMOTE_GET, .until = SHI_REMOTE_LOCAL, .local = mine, .bytes = 24, .blocks = &b,
                               .stride = 16};
    begin();
    CHECK(!strcmp(run(op, 0), "g"));
    for (int i = 0; i < 3; i++)
        CHECK(!memcmp(mine + 16 * i, target + 100 * i, 8));
}

/* Catches: an update made twice after a refusal, an old value of the wrong width, an update that is not confirmed. */
static void updates(void)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        uint32_t old[2] = {1, 2}, was;
        struct shi_remote_op op = {.kind = SHI_REMOTE_AMO, .until = SHI_REMOTE_LOCAL, .at.off = 16, .local = (char *)old,
                                   .bytes = 4, .amo = {SHI_AMO_SWAP, 77, 0}};
        begin();
        memcpy(&was, target + 16, 4);
        CHECK(!strcmp(run(op, refuses), "a") && old[0] == was && old[1] == 2);
        op.local = NULL;
        op.until = SHI_REMOTE_TARGET;
        CHECK(!strcmp(run(op, refuses), "ac"));
    }
}

int main(void)
{
    RUN(puts_direct, "puts in pieces of the provider's length");
    RUN(puts_staged, "puts through chunks");
    RUN(rendezvous, "puts that the target reads, gets that it writes");
    RUN(ways, "ways");
    RUN(signals, "signals after data");
    RUN(gets, "gets in pieces");
    RUN(blocks, "gets of blocks");
    RUN(updates, "atomic updates");
    return tap_end();
}
