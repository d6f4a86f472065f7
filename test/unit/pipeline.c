/*
 * pipeline.c - transfers through chunks (host/net/stream/pipeline.c) at random: a network that refuses pieces and ends them in any
 * order, a device that copies late.
 *
 * It asserts: every byte goes where it belongs; `done` comes once, after the last piece; a chunk goes to the transfer that holds
 * the fewest, and one that holds none waits at most for one chunk of each other transfer.
 */
#include "host/net/stream/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "host/net/stream/device_copy.h"
#include "host/util/copying.h"
#include "host/util/log.h"

enum { CHUNK = 64, TRANSFERS = 12, MOST = 40 * CHUNK, STEPS = 400000, COPIES = 256, ON_WIRE = 64 };

struct shi_stream_net shi_stream_net;
static unsigned random_state = 1;
static int calm;

static unsigned below(unsigned n)
{
    return tap_random(&random_state) % n;
}

/* ---- stubs --------------------------------------------------------------------------------------------------------- */

void shi_log_error(const char *fmt, ...)
{
    (void)fmt;
}

void shi_die(const char *routine, const char *fmt, ...)
{
    printf("Bail out! %s: %s\n", routine, fmt);
    exit(1);
}

void shi_stream_fail(int pe, int err)
{
    printf("Bail out! PE %d: %d\n", pe, err);
    exit(1);
}

size_t shi_stream_rma_bytes(void)
{
    return 1 << 20;
}

static int n_exposed;

static int expose(const void *base, size_t bytes, int rights, struct shi_net_memory *out)
{
    (void)bytes;
    n_exposed++;
    *out = (struct shi_net_memory){.base = (uint64_t)base, .key = 5};
    return rights == (SHI_NET_READ | SHI_NET_WRITE) ? 0 : -EINVAL;
}

static void withdraw(const struct shi_net_memory *m)
{
    (void)m;
    n_exposed--;
}

static struct shi_device_copy copies[COPIES];
static uint64_t started, ended, submissions, may_end = UINT64_MAX; /* may_end: the device is held before further ones */
static int at_once, n_long; /* copies end when they start; how many of a chunk's length there were */

static int copies_ended(uint64_t *n)
{
    for (; ended < started && ended < may_end && (calm || at_once || below(3)); ended++)
        memcpy(copies[ended % COPIES].to, copies[ended % COPIES].from, copies[ended % COPIES].bytes);
    *n = ended;
    return 0;
}

/* ---- transfers ----------------------------------------------------------------------------------------------------- */

static struct moved {
    struct shi_transfer t;
    char here[MOST], there[MOST];
    int used, done;
    size_t next; /* where its next piece begins, at least */
    unsigned others; /* chunks that others took while this one waited with none */
} moves[TRANSFERS];

static struct {
    struct shi_chunk *chunk;
    struct moved *of;
} wire[ON_WIRE];
static int n_wire;
static unsigned n_done;

static int waits(const struct moved *m)
{
    return m->used && m->t.begun < m->t.bytes;
}

/* m has just taken a chunk. */
static void check_turn(struct moved *m)
{
    for (struct moved *o = moves; o < moves + TRANSFERS; o++) {
        if (o == m || !waits(o) || o->t.pool != m->t.pool)
            continue;
        CHECKF(o->t.held >= m->t.held - 1, "a transfer with %d chunks takes one before one with %d", m->t.held - 1, o->t.held);
        o->others = o->t.held ? 0 : o->others + 1;
        CHECKF(o->others < TRANSFERS, "a transfer waits for its first chunk while others take %u", o->others);
    }
    m->others = 0;
}

/* A chunk of m holds the piece that begins at `off`. */
static void took(struct moved *m, size_t off)
{
    if (off < m->next)
        return;
    m->next = off + 1;
    check_turn(m);
}

/* Another thread checks while the polling one is in start_copies. */
static int beside, n_beside;

static void check_beside(void)
{
    size_t bytes;
    for (int i = 0; i < beside; i++)
        CHECKF(!shi_copying_overdue(3, &bytes) == (i < 3), "copy %d, check %d", n_beside, i);
    n_beside += beside > 0;
}

static int start_copies(const struct shi_device_copy *c, int n)
{
    for (int i = 0; i < n; i++, started++) {
        size_t at = (size_t)((const char *)c[i].from - (const char *)moves);
        if (at < sizeof moves) /* from local memory: the first step of its piece */
            took(&moves[at / sizeof *moves], (size_t)((const char *)c[i].from - moves[at / sizeof *moves].here));
        n_long += c[i].bytes >= CHUNK;
        copies[started % COPIES] = c[i];
    }
    submissions++;
    check_beside();
    return 0;
}

static int lose; /* the next piece on the wire never ends */
static struct shi_chunk *lost;

static int start_piece(struct shi_transfer *t, struct shi_chunk *c)
{
    struct moved *m = (struct moved *)t;
    struct shi_am_src src = shi_chunk_src(c);
    CHECK(src.addr == (uint64_t)c->memory && src.key == 5 && src.bytes == c->bytes);
    if (t->in)
        took(m, c->off);
    if (!calm && below(3) == 0)
        return -EAGAIN;
    shi_chunk_req(c)->pe = 7;
    if (lose) {
        lose = 0;
        lost = c;
        return -EINPROGRESS;
    }
    if (below(4) == 0) { /* it ends at once */
        memcpy(t->in ? c->memory : m->there + c->off, t->in ? m->there + c->off : c->memory, c->bytes);
        return 0;
    }
    wire[n_wire].chunk = c;
    wire[n_wire++].of = m;
    return -EINPROGRESS;
}

static void end_piece(void)
{
    int i = (int)below((unsigned)n_wire);
    struct shi_chunk *c = wire[i].chunk;
    struct moved *m = wire[i].of;
    wire[i] = wire[--n_wire];
    memcpy(m->t.in ? c->memory : m->there + c->off, m->t.in ? m->there + c->off : c->memory, c->bytes);
    shi_chunk_arrived(c);
}

static void ends(struct shi_transfer *t)
{
    struct moved *m = (struct moved *)t;
    CHECK(m->used && !m->done);
    m->done = 1;
    n_done++;
}

static void begin(struct moved *m)
{
    for (int i = 0; i < MOST; i++) {
        m->here[i] = (char)below(256);
        m->there[i] = (char)below(256);
    }
    int is_short = below(4) == 0;
    m->t = (struct shi_transfer){.wire = start_piece, .done = ends, .local = m->here,
                                 .bytes = 1 + below(is_short ? CHUNK : MOST), .in = (unsigned char)below(2),
                                 .hidden = (unsigned char)below(2), .pool = is_short ? SHI_POOL_SHORT : (enum shi_pool)below(2)};
    m->t.detached = !m->t.in && below(2);
    m->t.hidden |= !m->t.in; /* so that start_copy sees each piece */
    m->used = 1;
    m->next = 0;
    m->done = 0;
    m->others = 0;
    (below(2) ? shi_pipeline_start : shi_pipeline_serve)(&m->t);
}

/* Pieces of a transfer that is done may be on the wire only when it is detached. */
static void finish(struct moved *m)
{
    for (int i = 0; i < n_wire; i++)
        if (wire[i].of == m) {
            CHECK(m->t.detached);
            return;
        }
    CHECKF(!memcmp(m->here, m->there, m->t.bytes), "a transfer of %zu bytes has lost some", m->t.bytes);
    m->used = 0;
}

static void poll_once(void)
{
    unsigned before = n_done;
    int ended = shi_pipeline_poll();
    CHECKF((unsigned)ended == n_done - before, "a poll returns %d for %u transfers", ended, n_done - before);
}

static void step(void)
{
    struct moved *m = &moves[below(TRANSFERS)];
    switch (below(6)) {
    case 0:
        if (!m->used && !calm)
            begin(m);
        break;
    case 1:
    case 2:
        if (n_wire)
            end_piece();
        break;
    case 3:
        if (m->used && m->done)
            finish(m);
        break;
    default: poll_once();
    }
}

static char *memory;

static void random_transfers(void)
{
    for (long i = 0; i < STEPS; i++) {
        calm = i % 10000 >= 9000; /* all end from time to time */
        step();
        if (i % 10000 == 9999) {
            for (int k = 0; k < TRANSFERS; k++)
                CHECKF(!moves[k].used, "a transfer of %zu bytes never ends", moves[k].t.bytes);
            CHECK(shi_stream_net.n_active == 0);
        }
    }
    CHECKF(n_done > 1000, "only %u transfers", n_done);
}

/* Catches: a chunk that does not come back stops the transfers that need others of its pool. Each transfer that is not the lost one has as many pieces as the pool has chunks, so all go round. */
static void lost_chunk(void)
{
    calm = 1;
    for (int i = 0; i < 3; i++) {
        struct moved *m = &moves[i];
        m->t = (struct shi_transfer){.wire = start_piece, .done = ends, .local = m->here, .in = 1, .hidden = 1, .pool = SHI_POOL_OWN,
                                     .bytes = i ? 16 * CHUNK : CHUNK};
        m->used = 1;
        m->next = m->others = 0;
        m->done = 0;
        lose = i == 0;
        shi_pipeline_serve(&m->t);
        shi_pipeline_poll();
    }
    CHECK(lost && lost->of == &moves[0].t);
    int rounds = 0;
    for (; rounds < 1000 && !(moves[1].done && moves[2].done); rounds++) {
        while (n_wire)
            end_piece();
        shi_pipeline_poll();
    }
    CHECKF(rounds > 10 && rounds < 1000 && !moves[0].done, "%d rounds", rounds);
    shi_chunk_arrived(lost);
    memcpy(lost->memory, moves[0].there, CHUNK);
    while (!moves[0].done)
        shi_pipeline_poll();
    CHECK(shi_stream_net.n_active == 0);
    for (int i = 0; i < 3; i++)
        finish(&moves[i]);
    calm = 0;
}

/* The device holds its copies, and ends one when the test says so. Catches: a piece that waits for the copy of another one before it goes
 * to the network; a chunk that the network has ended with and that gets no further piece meanwhile; one that does before its copy has
 * ended. */
static void copies_overlap_the_wire(void)
{
    enum { CHUNKS = SHI_PIPELINE_SERVED };
    for (int in = 0; in < 2; in++) {
        struct moved *m = &moves[0];
        m->t = (struct shi_transfer){.wire = start_piece, .done = ends, .local = m->here, .in = (unsigned char)in, .hidden = 1,
                                     .pool = SHI_POOL_SERVED, .bytes = 2 * CHUNKS * CHUNK};
        memset(in ? m->there : m->here, 3, MOST);
        memset(in ? m->here : m->there, 0, MOST);
        m->used = calm = 1;
        m->next = m->others = 0;
        m->done = 0;
        may_end = ended;
        uint64_t before = started;
        shi_pipeline_serve(&m->t);
        shi_pipeline_poll();
        if (in) /* the network has brought all pieces that chunks were free for, and only the device is late */
            for (int i = 0; i < 10; i++) {
                while (n_wire)
                    end_piece();
                shi_pipeline_poll();
            }
        CHECKF(started - before == CHUNKS && m->t.begun == CHUNKS * CHUNK && !m->t.ended && !n_wire, "in %d: %lu copies are held, %zu bytes begun", in,
               started - before, m->t.begun);
        may_end = ended + 1;
        for (int i = 0; i < 10; i++) {
            shi_pipeline_poll();
            while (n_wire && !in)
                end_piece();
        }
        CHECKF(m->t.ended == CHUNK && m->t.begun == (CHUNKS + 1) * CHUNK, "in %d: one copy has ended, and %zu bytes, %zu begun", in, m->t.ended,
               m->t.begun);
        CHECKF(started - before == CHUNKS + 1u - (unsigned)n_wire * (unsigned)in, "in %d: %lu copies", in, started - before);
        may_end = UINT64_MAX;
        for (int i = 0; i < 100 && !m->done; i++) {
            shi_pipeline_poll();
            while (n_wire)
                end_piece();
        }
        CHECK(m->done && shi_stream_net.n_active == 0);
        finish(m);
    }
    calm = 0;
}

/* Catches: a device that copies in the calling thread makes several long copies while the network waits; short copies wait behind
 * long ones; a pool or a direction gets no copies while another has some. */
static void copies_at_once(int second_in)
{
    enum { POLLS = 16 };
    calm = at_once = 1;
    for (int i = 0; i < 3; i++) {
        struct moved *m = &moves[i];
        m->t = (struct shi_transfer){.wire = start_piece, .done = ends, .local = m->here, .in = i == 0 || (i == 1 && second_in), .hidden = 1,
                                     .pool = i == 0 ? SHI_POOL_OWN : i == 1 ? SHI_POOL_SERVED : SHI_POOL_SHORT,
                                     .bytes = i < 2 ? MOST : CHUNK - 1};
        m->used = 1;
        m->next = m->others = 0;
        m->done = 0;
        if (i < 2)
            shi_pipeline_serve(&m->t);
    }
    n_long = 0;
    for (int polls = 1; polls <= POLLS; polls++) {
        if (polls == POLLS)
            shi_pipeline_serve(&moves[2].t);
        shi_pipeline_poll();
        while (n_wire)
            end_piece();
        CHECKF(n_long <= polls, "%d long copies in %d polls", n_long, polls);
    }
    for (int i = 0; i < 2; i++)
        CHECKF(moves[i].t.ended >= POLLS / 3 * CHUNK, "%zu bytes of transfer %d in %d polls", moves[i].t.ended, i, POLLS);
    CHECK(moves[2].t.begun == CHUNK - 1);
    for (int polls = 0; !(moves[0].done && moves[1].done && moves[2].done) && polls < 1000; polls++) {
        shi_pipeline_poll();
        while (n_wire)
            end_piece();
    }
    CHECK(moves[0].done && moves[1].done && moves[2].done && shi_stream_net.n_active == 0);
    for (int i = 0; i < 3; i++)
        finish(&moves[i]);
    calm = at_once = 0;
}

static void each_direction(void)
{
    copies_at_once(0);
    copies_at_once(1);
}

/* Catches: short pieces whose copies are submitted one by one. */
static void short_pieces(void)
{
    enum { MANY = 8 };
    uint64_t before = submissions, copies_before = started;
    calm = 1;
    for (int i = 0; i < MANY; i++) {
        struct moved *m = &moves[i];
        *m = (struct moved){.used = 1, .t = {.wire = start_piece, .done = ends, .local = m->here, .hidden = 1, .pool = SHI_POOL_SHORT, .bytes = CHUNK}};
        shi_pipeline_serve(&m->t);
    }
    shi_pipeline_poll();
    CHECKF(submissions - before == 1 && started - copies_before == MANY, "%lu copies, %lu submissions", started - copies_before, submissions - before);
    for (int i = 0; i < 100 && shi_stream_net.n_active; i++) {
        shi_pipeline_poll();
        while (n_wire)
            end_piece();
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(moves[i].done);
        finish(&moves[i]);
    }
    calm = 0;
}

static void copy(char to[8], const char from[8])
{
    shi_device_copy(to, from, 8);
    CHECK(shi_copies_submit(&shi_stream_net.copies) == 0);
}

/* Catches: a copy that never ends and is not found, or that is found early; copies that go on and are taken for late. */
static void late_copies(void)
{
    static char from[8], to[8];
    copy(to, from);
    for (int i = 0; i < 10; i++) { /* at each check one is under way, another one each time */
        CHECKF(shi_device_copies_overdue(3) == 0, "check %d", i);
        copy(to, from);
        shi_stream_net.copies.ended++;
    }
    shi_stream_net.copies.ended++;
    CHECK(shi_device_copies_overdue(3) == 0);
    copy(to, from);
    copy(to, from);
    for (int i = 0; i < 3; i++)
        CHECKF(shi_device_copies_overdue(3) == 0, "check %d", i);
    CHECK(shi_device_copies_overdue(3) == 2);
    calm = 1;
    CHECK(shi_device_copy_poll() && shi_device_copies_overdue(0) == 0);
    calm = 0;
}

/* Catches: a copy made by the polling thread that never ends and is not found, or is found early; further copies taken for one, a copy
 * that has ended taken for one that lasts. */
static void blocking_copies(void)
{
    static char from[8], to[8];
    size_t bytes;
    for (beside = 1; beside <= 8; beside++) {
        copy(to, from);
        CHECK(!shi_copying_overdue(0, &bytes));
        copy(to, from);
    }
    CHECK(n_beside == 16);
    beside = 0;
    calm = 1;
    CHECK(shi_device_copy_poll());
    calm = 0;
}

static void up_and_down(void)
{
    CHECK(shi_pipeline_is_up() && n_exposed == 1);
    shi_pipeline_down();
    CHECK(!shi_pipeline_is_up() && n_exposed == 0);
    shi_pipeline_down();
    CHECK(n_exposed == 0 && shi_pipeline_up(memory, CHUNK) == 0 && shi_pipeline_is_up());
}

int main(void)
{
    static const struct shi_net_ops ops = {.expose = expose, .withdraw = withdraw};
    static const struct shi_stream_device device = {.start = start_copies, .ended = copies_ended};
    shi_stream_net.ops = &ops;
    shi_stream_net.own[SHI_REGION_DEVICE].device = &device;
    shi_device_copy_up(&device);
    memory = malloc(shi_pipeline_bytes(CHUNK));
    CHECK(memory && !shi_pipeline_is_up() && shi_pipeline_up(memory, CHUNK) == 0);
    RUN(up_and_down, "chunks are registered while they are in use");
    RUN(lost_chunk, "others go on beside a chunk that never comes back");
    RUN(each_direction, "one long copy a poll where the caller makes it, for each in its turn");
    RUN(copies_overlap_the_wire, "copies of the device overlap the network's transfers");
    RUN(short_pieces, "short pieces are submitted together");
    RUN(late_copies, "a copy that never ends is found after several checks");
    RUN(blocking_copies, "a copy that blocks the polling thread is found after several checks");
    RUN(random_transfers, "random transfers");
    return tap_end();
}
