/*
 * remote_op.c - remote operations (host/net/remote_op.c) over a stream that records each call, refuses every other one,
 * and completes operations when the test calls call_back.
 */
#include "host/net/remote_op.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

/* ---- a stub of the stream ------------------------------------------------------------------------------------------- */

enum { TARGET_BYTES = 64 << 10, DIRECT_BYTES = 5000 };
static char target[TARGET_BYTES], expected[TARGET_BYTES], mine[TARGET_BYTES], bounce[SHI_REMOTE_BOUNCE_BYTES];
static uint64_t sent_signal;
static char sequence[64]; /* a letter for each accepted call: p put, w write, r read (W, R with a callback),
                           * g get, a amo, s signal, c confirmation */
static int refuse;        /* -EAGAIN for every other call */
static unsigned calls;
static struct shi_net_req *req;
static struct shi_reply *reply;
static struct shi_after *after;
static int n_ready;

static int taken(char what)
{
    if (refuse && calls++ % 2 == 0)
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

int shi_stream_put(struct shi_lane *l, const struct shi_remote_addr *to, const void *from, size_t bytes, int flags)
{
    (void)l, (void)flags;
    if (!taken('p'))
        return -EAGAIN;
    memcpy(target + to->off, from, bytes);
    return 0;
}

int shi_stream_write(struct shi_lane *l, const struct shi_remote_addr *to, const void *from, size_t bytes,
                     struct shi_net_req *r)
{
    (void)l;
    if (!taken(r ? 'W' : 'w'))
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
    if (!taken(r ? 'R' : 'r'))
        return -EAGAIN;
    CHECK(bytes <= DIRECT_BYTES);
    memcpy(to, target + from->off, bytes);
    req = r;
    return -EINPROGRESS;
}

int shi_stream_get_blocks(struct shi_lane *l, const struct shi_remote_addr *from, const struct shi_blocks *b,
                          struct shi_reply *r)
{
    (void)l;
    if (!taken('g'))
        return -EAGAIN;
    for (uint32_t i = 0; i < b->count; i++)
        memcpy(r->to + i * (b->count > 1 ? r->stride : 0), target + from->off + i * b->stride, b->block);
    reply = r->done ? r : NULL;
    return 0;
}

int shi_stream_amo(struct shi_lane *l, const struct shi_remote_addr *at, int width, enum shi_amo op, uint64_t value,
                   uint64_t cond, struct shi_reply *r, int flags)
{
    (void)l, (void)cond;
    if (!taken(flags & SHI_STREAM_AFTER_WRITES ? 's' : 'a'))
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

int shi_stream_after(struct shi_lane *l, int pe, struct shi_after *a)
{
    (void)l, (void)pe;
    if (!taken('c'))
        return -EAGAIN;
    after = a;
    return -EINPROGRESS;
}

/* ---- the caller ----------------------------------------------------------------------------------------------------- */

static int n_copies;

static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    n_copies++;
}

static void ready(struct shi_remote_op *op)
{
    (void)op;
    n_ready++;
}

/* Make the pending callbacks; return their number. */
static int call_back(void)
{
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
    n_copies = n_ready = 0;
    memset(sequence, 0, sizeof sequence);
    op.at.pe = 1;
    op.bounce = bounce;
    op.copy = copy;
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

enum { LONG = 2 * DIRECT_BYTES + 1000, BOUNCED = 2 * SHI_REMOTE_BOUNCE_BYTES + 1000 };

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

/* Catches: a piece sent before it is in the bounce buffer, or copied again for each attempt. */
static void puts_bounced(void)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        struct shi_remote_op op = {.kind = SHI_REMOTE_PUT, .way = SHI_REMOTE_BOUNCED, .local = mine, .bytes = BOUNCED};
        begin();
        CHECK(!strcmp(run(op, refuses), "ppp") && n_copies == 3 && is_put(0, BOUNCED));
    }
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

/* Catches: a get that completes before its last piece has arrived, or whose bounced pieces are not copied out. */
static void gets(void)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        struct shi_remote_op op = {.kind = SHI_REMOTE_GET, .until = SHI_REMOTE_LOCAL, .at.off = 8, .local = mine, .bytes = 40};
        begin();
        CHECK(!strcmp(run(op, refuses), "g") && !memcmp(mine, target + 8, 40) && memcmp(mine + 40, target + 48, 40));
        op.way = SHI_REMOTE_DIRECT;
        op.bytes = LONG;
        CHECK(!strcmp(run(op, refuses), "rrR") && !memcmp(mine, target + 8, LONG));
        begin();
        op.way = SHI_REMOTE_BOUNCED;
        op.bytes = BOUNCED;
        CHECK(!strcmp(run(op, refuses), "ggg") && n_copies == 3 && !memcmp(mine, target + 8, BOUNCED));
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
    RUN(puts_bounced, "puts through a bounce buffer");
    RUN(signals, "signals after data");
    RUN(gets, "gets in pieces");
    RUN(blocks, "gets of blocks");
    RUN(updates, "atomic updates");
    return tap_end();
}
