/*
 * tag.c - tagged messages: which receive matches which message, in which order, with every protocol. tag_limit.c and
 * tag_thread.c test threads, limits and floods.
 *
 * Built three times: EAGER_BYTES makes all but the longest messages eager, in fragments; HEADERS_ONLY allows no
 * unexpected memory and three headers per sender, so that messages are fetched or wait at the sender.
 */
#include "../tap_pes.h"

#include <shmemx.h>

#ifndef EAGER_BYTES
#define EAGER_BYTES "auto"
#endif
#ifndef HEADERS_ONLY
#define HEADERS_ONLY 0
#endif

/* Lengths around every change of protocol: inline, one cache line, bytes of the FIFO, header and fetch; over a network one message
 * of the stream, short or long, and several. */
static const size_t lengths[] = {0, 1, 8, 31, 32, 33, 56, 57, 1000, 1024, 1025, 8151, 8152, 8153, 8192, 16280, 16281, 48840, 48841,
                                 63896, 63897, 65280, 65281, 65536, 65537, 65560, 65561, 131072, 131073, 300001};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST = 300001 };

static unsigned char *heap_a, *heap_b;                   /* symmetric */
static unsigned char static_a[MOST + 8], static_b[MOST + 8];
static unsigned char *private_a, *private_b;
static const shmem_team_t world = SHMEM_TEAM_WORLD;

static void fill(unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(seed * 31 + i * 7 + (i >> 8));
}

static int is_filled(const unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(seed * 31 + i * 7 + (i >> 8)))
            return 0;
    return 1;
}

static int before(void)
{
    return (me + n_pes - 1) % n_pes;
}

/* Return when all messages that each PE has sent around the ring have arrived: messages of one PE arrive in order. */
static void await_arrivals(void)
{
    shmemx_tag_request_t s;
    shmemx_tag_isend(world, NULL, 0, ~0ull, next_pe(), &s);
    shmemx_tag_probe(world, ~0ull, SHMEMX_TAG_EXACT, before(), NULL);
    shmemx_tag_recv(world, NULL, 0, ~0ull, SHMEMX_TAG_EXACT, before(), NULL);
    shmemx_tag_wait(&s, NULL);
}

/* ---- every length, kind of memory, order -------------------------------------------------------------------------------- */

/* Send `a` around the ring into `b`; post the receive before the send, or after the message has arrived. */
static void round_trip(unsigned char *a, unsigned char *b, size_t n, int expected, int sync)
{
    shmemx_tag_request_t r, s;
    shmemx_tag_status_t status;
    fill(a, n, (unsigned)me + 3);
    memset(b, 0xee, n + 8);
    if (expected)
        shmemx_tag_irecv(world, b, n, n, SHMEMX_TAG_EXACT, before(), &r);
    shmem_barrier_all();
    if (sync)
        shmemx_tag_issend(world, a, n, n, next_pe(), &s);
    else
        shmemx_tag_isend(world, a, n, n, next_pe(), &s);
    if (!expected) {
        await_arrivals();
        shmemx_tag_irecv(world, b, n, n, SHMEMX_TAG_EXACT, before(), &r);
    }
    shmemx_tag_wait(&r, &status);
    CHECKF(is_filled(b, n, (unsigned)before() + 3) && b[n] == 0xee, "%zu bytes, %s", n, expected ? "expected" : "not");
    CHECK(r == SHMEMX_TAG_REQUEST_NULL && status.bytes == n && status.tag == n && status.source == before() &&
          !status.truncated && !status.cancelled);
    shmemx_tag_wait(&s, NULL);
    memset(a, 0, n); /* the send is complete, so the buffer is free */
    shmem_barrier_all();
}

/* Catches: a byte lost, doubled or wrong at a change of protocol; memory taken for another kind. */
static void test_lengths(void)
{
    unsigned char *from[] = {heap_a, static_a, private_a}, *to[] = {heap_b, static_b, private_b};
    for (int i = 0; i < LENGTHS; i++)
        for (int k = 0; k < 18; k++)
            round_trip(from[k % 3], to[k / 3 % 3], lengths[i], k / 9, (k + i) % 4 == 0);
}

/* Catches: a send that completes too early. The test overwrites the buffer as soon as the send has completed. */
static void test_scribble(void)
{
    for (int i = 0; i < LENGTHS; i++) {
        size_t n = lengths[i];
        shmemx_tag_request_t r;
        memset(private_b, 0, n);
        shmem_barrier_all();
        shmemx_tag_irecv(world, private_b, n, 5, SHMEMX_TAG_EXACT, before(), &r);
        for (int k = 0; k < 2; k++) { /* the first finds the receive posted, the second does not */
            shmemx_tag_request_t s;
            fill(private_a, n, 70 + (unsigned)k);
            shmemx_tag_isend(world, private_a, n, 5, next_pe(), &s);
            if (k) {
                shmemx_tag_wait(&r, NULL);
                CHECKF(is_filled(private_b, n, 70), "%zu bytes, first", n);
                shmemx_tag_irecv(world, private_b, n, 5, SHMEMX_TAG_EXACT, before(), &r);
            }
            shmemx_tag_wait(&s, NULL);
            memset(private_a, 0xdd, n);
        }
        shmemx_tag_wait(&r, NULL);
        CHECKF(is_filled(private_b, n, 71), "%zu bytes, second", n);
    }
}

/* ---- pieces ----------------------------------------------------------------------------------------------------------- */

/* Cut n bytes of p into k pieces of odd lengths, some of them empty. */
static int cut(shmemx_tag_iov_t *v, unsigned char *p, size_t n, int k)
{
    size_t at = 0;
    for (int i = 0; i < k; i++) {
        size_t some = i + 1 == k ? n - at : i % 3 == 1 ? 0 : (n - at) / 3;
        v[i] = (shmemx_tag_iov_t){p + at, some};
        at += some;
    }
    return k;
}

/* Catches: a piece skipped or used twice where fragments and pieces end at different places. */
static void test_pieces(void)
{
    shmemx_tag_iov_t out[9], in[9];
    for (int i = 0; i < LENGTHS; i++)
        for (int k = 1; k <= 9; k += 4) {
            size_t n = lengths[i];
            shmemx_tag_request_t s;
            shmemx_tag_status_t status;
            fill(private_a, n, 9);
            memset(private_b, 0xee, n + 8);
            cut(out, private_a, n, k), cut(in, private_b, n, 10 - k);
            if (k == 1) {
                shmemx_tag_isendv(world, out, k, 1, next_pe(), &s);
                shmemx_tag_recvv(world, in, 10 - k, 1, SHMEMX_TAG_EXACT, before(), &status);
                shmemx_tag_wait(&s, NULL);
            } else {
                shmemx_tag_irecvv(world, in, 10 - k, 1, SHMEMX_TAG_EXACT, before(), &s);
                (k == 5 ? shmemx_tag_sendv : shmemx_tag_ssendv)(world, out, k, 1, next_pe());
                memset(private_a, 0, n);
                shmemx_tag_wait(&s, &status);
            }
            CHECKF(is_filled(private_b, n, 9) && private_b[n] == 0xee && status.bytes == n, "%zu bytes, %d to %d pieces", n,
                   k, 10 - k);
        }
    shmemx_tag_request_t s, r;
    shmemx_tag_isendv(world, NULL, 0, 1, next_pe(), &s);
    shmemx_tag_irecvv(world, NULL, 0, 1, SHMEMX_TAG_EXACT, before(), &r);
    shmemx_tag_wait(&r, NULL);
    shmemx_tag_wait(&s, NULL);
}

/* ---- order -------------------------------------------------------------------------------------------------------------- */

/* Catches: a short message that overtakes a long one, or the reverse, expected or not. */
static void test_no_overtaking(void)
{
    enum { MESSAGES = 24 };
    static shmemx_tag_request_t s[MESSAGES], r[MESSAGES];
    static unsigned char in[MESSAGES][8];
    unsigned random = 77;
    for (int expected = 0; expected < 3; expected++) { /* none, all, or half of the receives posted before */
        memset(in, 0, sizeof in);
        size_t n[MESSAGES];
        for (int i = 0; i < MESSAGES; i++)
            n[i] = i % 2 ? 1 << 20 : lengths[2 + tap_random(&random) % (LENGTHS - 2)];
        unsigned char *big = malloc((size_t)MESSAGES << 20);
        int posted = expected * MESSAGES / 2;
        for (int i = 0; i < posted; i++)
            shmemx_tag_irecv(world, in[i], 8, 3, SHMEMX_TAG_EXACT, before(), &r[i]);
        shmem_barrier_all();
        for (int i = 0; i < MESSAGES; i++) {
            memset(big + ((size_t)i << 20), i + 1, 8);
            shmemx_tag_isend(world, big + ((size_t)i << 20), n[i], 3, next_pe(), &s[i]);
        }
        for (int i = posted; i < MESSAGES; i++)
            shmemx_tag_irecv(world, in[i], 8, i % 3 ? 3 : 0, i % 3 ? SHMEMX_TAG_EXACT : 0,
                             i % 4 || n_pes > 1 ? before() : SHMEMX_TAG_ANY_SOURCE, &r[i]);
        for (int i = 0; i < MESSAGES; i++) {
            shmemx_tag_status_t status;
            shmemx_tag_wait(&r[i], &status);
            CHECKF(in[i][0] == i + 1 && in[i][7] == i + 1 && status.bytes == n[i] && status.truncated == (n[i] > 8),
                   "receive %d got message %d of %zu bytes", i, in[i][0] - 1, status.bytes);
        }
        shmemx_tag_wait_all(MESSAGES, s, NULL);
        free(big);
        shmem_barrier_all();
    }
}

/* Catches: a message that waits for an earlier one without a receive. */
static void test_later_tag(void)
{
    long x[3] = {10, 20, 30}, y = 0;
    shmemx_tag_request_t s[3];
    for (int i = 0; i < 3; i++)
        shmemx_tag_isend(world, &x[i], sizeof x[i], (uint64_t)i, next_pe(), &s[i]);
    for (int i = 2; i >= 0; i--) {
        shmemx_tag_recv(world, &y, sizeof y, (uint64_t)i, SHMEMX_TAG_EXACT, before(), NULL);
        CHECKF(y == x[i], "tag %d: %ld", i, y);
    }
    shmemx_tag_wait_all(3, s, NULL);
}

/* Catches: a match that is not the earliest of exact, masked, any-source and any-tag receives, in all 24 orders. */
static void test_earliest_posted(void)
{
    for (int code = 0; code < 256; code++) {
        int order[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
        if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) != 15)
            continue;
        shmemx_tag_request_t r[4];
        int got[4];
        for (int i = 0; i < 4; i++) {
            static const uint64_t tag[] = {0x21, 0xff21, 0x21, 0}, mask[] = {~0ull, 0xff, ~0ull, 0};
            int any = order[i] >= 2;
            shmemx_tag_irecv(world, &got[i], sizeof got[i], tag[order[i]], mask[order[i]],
                             any ? SHMEMX_TAG_ANY_SOURCE : before(), &r[i]);
        }
        shmem_barrier_all();
        for (int i = 0; i < 4; i++)
            shmemx_tag_send(world, &i, sizeof i, 0x21, next_pe());
        for (int i = 0; i < 4; i++) {
            shmemx_tag_wait(&r[i], NULL);
            CHECKF(got[i] == i, "order %o: receive %d got message %d", (unsigned)code, i, got[i]);
        }
        shmem_barrier_all();
    }
}

/* Catches: bits outside the mask that are compared, bits inside that are not: all masks and tags of 4 bits. */
static void test_masks(void)
{
    for (uint64_t mask = 0; mask < 16 && !HEADERS_ONLY; mask++) { /* 16 unmatched sends need memory */
        unsigned taken = 0;
        for (uint64_t tag = 0; tag < 16; tag++)
            shmemx_tag_send(world, &tag, sizeof tag, tag, next_pe());
        for (uint64_t i = 0; i < 16; i++) {
            uint64_t got = ~0ull, expect = 0, tag = i ^ 5;
            while (taken >> expect & 1 || ((expect ^ tag) & mask)) /* the earliest remaining match */
                expect++;
            taken |= 1u << expect;
            shmemx_tag_recv(world, &got, sizeof got, tag, mask | ~15ull, before(), NULL);
            CHECKF(got == expect, "mask %x tag %x: message %x", (unsigned)mask, (unsigned)tag, (unsigned)got);
        }
    }
}

/* ---- sources ----------------------------------------------------------------------------------------------------------- */

/* Catches: a message of the wrong PE, a PE number of the wrong team. Every PE sends to every PE, including itself. */
static void test_any_source(void)
{
    int from[16] = {0};
    long x = 1000 + me;
    shmemx_tag_request_t s[16];
    for (int pe = 0; pe < n_pes; pe++)
        shmemx_tag_isend(world, &x, sizeof x, 12, pe, &s[pe]);
    for (int i = 0; i < n_pes; i++) {
        long y = 0;
        shmemx_tag_status_t status;
        shmemx_tag_recv(world, &y, sizeof y, 12, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &status);
        CHECKF(y == 1000 + status.source, "source %d: %ld", status.source, y);
        from[status.source]++;
    }
    for (int pe = 0; pe < n_pes; pe++)
        CHECKF(from[pe] == 1, "%d messages of PE %d", from[pe], pe);
    shmemx_tag_wait_all(n_pes, s, NULL);
    shmem_barrier_all();
}

/* Catches: a message of one team received on another team, also on a new team in the same slot. */
static void test_teams(void)
{
    for (int turn = 0; turn < 6; turn++) {
        shmem_team_t a, b;
        shmemx_tag_request_t s[3];
        int x[3] = {turn, turn + 100, turn + 200}, y = -1;
        shmem_team_split_strided(world, 0, 1, n_pes, NULL, 0, &a);
        shmem_team_split_strided(world, n_pes - 1, -1, n_pes, NULL, 0, &b);
        int next_b = (shmem_team_my_pe(b) + 1) % n_pes;
        shmemx_tag_isend(a, &x[0], sizeof y, 1, shmem_team_my_pe(a), &s[0]); /* no team receives it */
        shmemx_tag_isend(world, &x[1], sizeof y, 1, next_pe(), &s[1]);
        shmemx_tag_isend(b, &x[2], sizeof y, 1, next_b, &s[2]);
        shmemx_tag_status_t status;
        shmemx_tag_recv(b, &y, sizeof y, 0, 0, SHMEMX_TAG_ANY_SOURCE, &status);
        CHECKF(y == turn + 200 && status.source == (shmem_team_my_pe(b) + n_pes - 1) % n_pes, "turn %d: %d of PE %d", turn, y,
               status.source);
        shmemx_tag_recv(world, &y, sizeof y, 0, 0, SHMEMX_TAG_ANY_SOURCE, &status);
        CHECKF(y == turn + 100, "turn %d: %d in the world", turn, y);
        shmem_barrier_all();
        shmem_team_destroy(b);
        shmem_team_destroy(a);
        shmemx_tag_wait_all(3, s, NULL); /* also the send without a receive */
        CHECK(shmemx_tag_iprobe(world, 0, 0, SHMEMX_TAG_ANY_SOURCE, NULL) == 0);
    }
    shmem_barrier_all();
}

/* Catches: a self send that waits for its own receive. */
static void test_self(void)
{
    for (int i = 0; i < LENGTHS; i++) {
        size_t n = lengths[i];
        shmemx_tag_request_t s;
        fill(private_a, n, 21);
        memset(private_b, 0, n);
        shmemx_tag_isend(world, private_a, n, 2, me, &s);
        shmemx_tag_recv(world, private_b, n, 2, SHMEMX_TAG_EXACT, me, NULL);
        shmemx_tag_wait(&s, NULL);
        CHECKF(is_filled(private_b, n, 21), "%zu bytes to the PE itself", n);
    }
    long x = 4, y = 0;
    if (HEADERS_ONLY)
        return;
    shmemx_tag_send(world, &x, sizeof x, 2, me); /* blocking, before the receive */
    shmemx_tag_recv(world, &y, sizeof y, 2, SHMEMX_TAG_EXACT, me, NULL);
    CHECK(y == 4);
}

/* ---- truncation, probes, cancel -------------------------------------------------------------------------------------------- */

/* The kinds of a receive whose buffer is shorter than the message. */
enum way { EXPECTED, UNEXPECTED, BY_MRECV, WAYS };

/* Send n bytes around the ring into a buffer of `room` bytes. */
static void cut_short(enum way way, const unsigned char *a, size_t n, size_t room, shmemx_tag_status_t *status)
{
    shmemx_tag_request_t r = SHMEMX_TAG_REQUEST_NULL, s;
    shmemx_tag_message_t m;
    if (way == EXPECTED)
        shmemx_tag_irecv(world, private_b, room, 8, SHMEMX_TAG_EXACT, before(), &r);
    shmem_barrier_all();
    shmemx_tag_isend(world, a, n, 8, next_pe(), &s);
    if (way == UNEXPECTED) {
        shmemx_tag_probe(world, 8, SHMEMX_TAG_EXACT, before(), NULL);
        shmemx_tag_irecv(world, private_b, room, 8, SHMEMX_TAG_EXACT, before(), &r);
    } else if (way == BY_MRECV) {
        shmemx_tag_mprobe(world, 8, SHMEMX_TAG_EXACT, before(), &m, NULL);
        shmemx_tag_imrecv(&m, private_b, room, &r);
        CHECK(m == SHMEMX_TAG_MESSAGE_NULL);
    }
    shmemx_tag_wait(&r, status);
    shmemx_tag_wait(&s, NULL);
}

/* Catches: a byte written past the buffer, a sender that waits for ever, a damaged next message. */
static void test_truncation(void)
{
    for (int way = 0; way < WAYS; way++)
        for (int i = 1; i < LENGTHS; i++)
            for (int k = 0; k < 3; k++) {
                size_t n = lengths[i], room = k == 0 ? 0 : k == 1 ? n / 2 : n - 1;
                shmemx_tag_status_t status;
                unsigned char *a = k % 2 ? heap_a : static_a;
                fill(a, n, 40 + (unsigned)i);
                memset(private_b, 0xcc, n + 8);
                cut_short(way, a, n, room, &status);
                CHECKF(status.truncated && status.bytes == n && is_filled(private_b, room, 40 + (unsigned)i),
                       "%zu of %zu bytes, way %d", room, n, way);
                for (size_t c = room; c < n + 8; c++)
                    if (!CHECKF(private_b[c] == 0xcc, "byte %zu past the buffer, %zu of %zu, way %d", c, room, n, way))
                        break;
                round_trip(private_a, private_b, n, 1, 0);
            }
}

/* Catches: a probe that removes the message or changes what is received, a probe without progress, a message that two
 * mprobes return. */
static void test_probe(void)
{
    for (int i = 0; i < LENGTHS; i++) {
        size_t n = lengths[i];
        shmemx_tag_request_t s;
        shmemx_tag_status_t status;
        shmemx_tag_message_t m, none;
        fill(private_a, n, 5);
        shmemx_tag_isend(world, private_a, n, 6, next_pe(), &s);
        while (!shmemx_tag_iprobe(world, 6, SHMEMX_TAG_EXACT, before(), &status))
            ;
        CHECK(status.bytes == n && status.source == before() && status.tag == 6);
        CHECK(shmemx_tag_iprobe(world, 6, SHMEMX_TAG_EXACT, before(), NULL));
        CHECK(!shmemx_tag_iprobe(world, 7, SHMEMX_TAG_EXACT, before(), NULL));
        CHECK(shmemx_tag_improbe(world, 6, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &m, &status) && m);
        CHECK(!shmemx_tag_improbe(world, 6, SHMEMX_TAG_EXACT, before(), &none, NULL) && !none);
        CHECK(!shmemx_tag_iprobe(world, 0, 0, before(), NULL));
        memset(private_b, 0, n);
        shmemx_tag_mrecv(&m, private_b, n, &status);
        CHECKF(m == SHMEMX_TAG_MESSAGE_NULL && is_filled(private_b, n, 5) && status.bytes == n, "%zu bytes by mprobe", n);
        shmemx_tag_wait(&s, NULL);
        shmem_barrier_all();
    }
}

/* Catches: a cancelled receive that still matches a message, a matched one that reports cancelled. */
static void test_cancel(void)
{
    long a = 0, b = 0, x = 5;
    shmemx_tag_request_t r[2], null = SHMEMX_TAG_REQUEST_NULL;
    shmemx_tag_status_t status;
    shmemx_tag_irecv(world, &a, sizeof a, 4, SHMEMX_TAG_EXACT, before(), &r[0]);
    shmemx_tag_irecv(world, &b, sizeof b, 4, SHMEMX_TAG_EXACT, before(), &r[1]);
    CHECK(shmemx_tag_test(&r[0], NULL) == 0 && r[0]);
    shmemx_tag_cancel(&r[0]);
    shmemx_tag_wait(&r[0], &status);
    CHECK(status.cancelled && r[0] == SHMEMX_TAG_REQUEST_NULL);
    shmem_barrier_all();
    shmemx_tag_send(world, &x, sizeof x, 4, next_pe());
    while (!shmemx_tag_request_get_status(r[1], &status))
        ;
    shmemx_tag_cancel(&r[1]); /* too late */
    CHECK(shmemx_tag_test(&r[1], &status) == 1 && !status.cancelled && status.source == before());
    CHECK(a == 0 && b == 5);
    shmemx_tag_cancel(&null);
    shmemx_tag_wait(&null, &status);
    CHECK(shmemx_tag_test(&null, &status) == 1 && !status.cancelled && status.bytes == 0);
    shmem_barrier_all();
}

/* Catches: a synchronous send that completes before a receive has matched, by any protocol. */
static void test_sync(void)
{
    static int posted[LENGTHS];
    memset(posted, 0, sizeof posted);
    shmem_barrier_all();
    for (int i = 0; i < LENGTHS; i++) {
        shmemx_tag_request_t s;
        shmemx_tag_issend(world, heap_a, lengths[i], 14, next_pe(), &s);
        if (n_pes > 1) {
            for (int k = 0; k < 300; k++)
                CHECKF(shmemx_tag_test(&s, NULL) == 0, "%zu bytes: complete before the receive", lengths[i]);
        }
        shmem_barrier_all();
        shmemx_tag_recv(world, heap_b, lengths[i], 14, SHMEMX_TAG_EXACT, before(), NULL);
        shmemx_tag_wait(&s, NULL);
        shmem_barrier_all();
    }
    shmemx_tag_request_t r;
    long x = 3, y = 0;
    shmemx_tag_irecv(world, &y, sizeof y, 14, SHMEMX_TAG_EXACT, before(), &r);
    shmemx_tag_ssend(world, &x, sizeof x, 14, next_pe());
    shmemx_tag_wait(&r, NULL);
    CHECK(y == 3);
}

/* ---- several at a time -------------------------------------------------------------------------------------------------- */

/* Catches: an index or status of another request, a null request that counts, fewer completions than reported. */
static void test_several(void)
{
    enum { N = 40 };
    shmemx_tag_request_t r[N + 1], s[N];
    shmemx_tag_status_t status[N];
    long in[N], out[N];
    int index[N], left = N, seen[N] = {0};
    r[N] = SHMEMX_TAG_REQUEST_NULL;
    CHECK(shmemx_tag_wait_any(1, &r[N], NULL) == -1 && shmemx_tag_wait_some(1, &r[N], index, NULL) == 0);
    CHECK(shmemx_tag_wait_any(0, NULL, NULL) == -1 && shmemx_tag_wait_some(0, NULL, NULL, NULL) == 0);
    for (int i = 0; i < N; i++)
        shmemx_tag_irecv(world, &in[i], sizeof in[i], (uint64_t)i, SHMEMX_TAG_EXACT, before(), &r[i]);
    for (int i = 0; i < N; i++) {
        out[i] = i * 3;
        shmemx_tag_isend(world, &out[i], sizeof out[i], (uint64_t)(i * 7 % N), next_pe(), &s[i]);
    }
    while (left > N / 2) {
        int i = shmemx_tag_wait_any(N + 1, r, status);
        CHECK(i >= 0 && i < N && !seen[i]++ && !r[i] && status->tag == (uint64_t)i && in[i] % 3 == 0 &&
              in[i] / 3 * 7 % N == i);
        left--;
    }
    while (left > 0) {
        int n = shmemx_tag_wait_some(N + 1, r, index, status);
        CHECK(n > 0);
        for (int k = 0; k < n; k++)
            CHECKF(!seen[index[k]]++ && !r[index[k]] && status[k].tag == (uint64_t)index[k], "index %d", index[k]);
        left -= n;
    }
    CHECK(left == 0 && shmemx_tag_wait_any(N + 1, r, NULL) == -1);
    shmemx_tag_wait_all(N, s, status);
    shmemx_tag_wait_all(N, s, NULL);
    shmem_barrier_all();
}

/* Catches: deadlock when all PEs send before any receives, in both directions, more than a FIFO holds. */
static void test_both_flood(void)
{
    enum { N = 2000 };
    static shmemx_tag_request_t s[N];
    for (int i = 0; i < N; i++)
        shmemx_tag_isend(world, heap_a, i % 50 ? 64 : 60000, (uint64_t)i, next_pe(), &s[i]);
    for (int i = 0; i < N; i++)
        shmemx_tag_recv(world, private_b, 60000, (uint64_t)i, SHMEMX_TAG_EXACT, before(), NULL);
    shmemx_tag_wait_all(N, s, NULL);
    shmem_barrier_all();
}

/* Catches: a message lost or received twice, when its receive is posted just as it arrives. */
static void test_race(void)
{
    unsigned random = 3 + (unsigned)me;
    long errors = 0;
    for (long i = 0; i < 3000; i++) {
        long y = -1;
        shmemx_tag_request_t s;
        shmemx_tag_isend(world, &i, sizeof i, 0, next_pe(), &s);
        random_delay(&random);
        shmemx_tag_recv(world, &y, sizeof y, 0, SHMEMX_TAG_EXACT, i % 2 ? before() : SHMEMX_TAG_ANY_SOURCE, NULL);
        errors += y != i;
        shmemx_tag_wait(&s, NULL);
    }
    CHECKF(errors == 0, "%ld of 3000 messages were wrong", errors);
}

int main(void)
{
    setenv("SHMEM_TEST_TAG_EAGER_BYTES", EAGER_BYTES, 1);
    if (HEADERS_ONLY) {
        setenv("SHMEM_TEST_TAG_UNEXPECTED_PER_PEER", "0", 1);
        setenv("SHMEM_TEST_TAG_UNEXPECTED_HEADERS_PER_PEER", "3", 1);
    }
    shmem_init();
    tap_pes_begin();
    heap_a = shmem_malloc(MOST + 8);
    heap_b = shmem_malloc(MOST + 8);
    private_a = malloc(MOST + 8);
    private_b = malloc(MOST + 8);
    RUN(test_lengths, "every length, from and to every kind of memory, expected or not");
    RUN(test_scribble, "the sender may reuse its buffer at completion");
    RUN(test_pieces, "vectors of pieces");
    RUN(test_no_overtaking, "8 bytes and 1 MiB alternately with one tag");
    RUN(test_later_tag, "a later message that is received earlier");
    RUN(test_earliest_posted, "the earliest posted receive, in all orders");
    RUN(test_masks, "all masks and tags of 4 bits");
    RUN(test_any_source, "all PEs to all PEs, received from any source");
    RUN(test_teams, "teams, also recreated ones");
    RUN(test_self, "to the PE itself, before the receive");
    RUN(test_truncation, "messages longer than the buffer");
    RUN(test_probe, "probe leaves the message, mprobe takes it");
    RUN(test_cancel, "cancel, and null requests");
    RUN(test_sync, "synchronous sends");
    RUN(test_several, "wait for any, some, all");
    RUN(test_both_flood, "all send before any receives");
    RUN(test_race, "messages that arrive while their receive is posted");
    int status = tap_end();
    shmem_finalize();
    return status;
}
