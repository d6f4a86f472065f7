/*
 * tag_request.c - requests of tagged messages: persistent ones, test and wait for any, some and all, cancelled sends,
 * synchronous sends of pieces, receives of a probed message into pieces.
 *
 * Built twice: with HEADERS_ONLY there is no unexpected memory and one header per sender, so that sends wait at the sender.
 */
#include "../tap_pes.h"

#include <shmemx.h>

#ifndef HEADERS_ONLY
#define HEADERS_ONLY 0
#endif

static const shmem_team_t world = SHMEM_TEAM_WORLD;
static const size_t lengths[] = {0, 8, 1000, 9000, 100000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST = 100000, N = 6 };
static unsigned char out[MOST], in[MOST];

static int before(void)
{
    return (me + n_pes - 1) % n_pes;
}

static int is_empty(const shmemx_tag_status_t *s)
{
    return s->source == SHMEMX_TAG_ANY_SOURCE && s->tag == 0 && s->bytes == 0 && !s->cancelled && !s->truncated;
}

/* Wait by one of the calls. */
static void complete(unsigned way, shmemx_tag_request_t *r, shmemx_tag_status_t *s)
{
    int index = -1;
    switch (way % 7) {
    case 0: shmemx_tag_wait(r, s); break;
    case 1: CHECK(shmemx_tag_wait_any(1, r, s) == 0); break;
    case 2: CHECK(shmemx_tag_wait_some(1, r, &index, s) == 1 && index == 0); break;
    case 3: shmemx_tag_wait_all(1, r, s); break;
    case 4:
        while (!shmemx_tag_test_any(1, r, &index, s))
            ;
        CHECK(index == 0);
        break;
    case 5:
        while (shmemx_tag_test_some(1, r, &index, s) == 0)
            ;
        CHECK(index == 0);
        break;
    default:
        while (!shmemx_tag_test_all(1, r, s))
            ;
    }
}

/* Catches: a restarted request that sends old contents, keeps an old result, or becomes null. */
static void test_persistent(void)
{
    for (int i = 0; i < LENGTHS; i++)
        for (int sync = 0; sync < 2; sync++) {
            size_t n = lengths[i];
            shmemx_tag_request_t s, r;
            shmemx_tag_status_t status;
            (sync ? shmemx_tag_ssend_init : shmemx_tag_send_init)(world, out, n, 40 + n, next_pe(), &s);
            shmemx_tag_recv_init(world, in, n, 40 + n, SHMEMX_TAG_EXACT, before(), &r);
            shmemx_tag_request_t both[] = {s, r};
            for (unsigned turn = 0; turn < 7; turn++) {
                memset(out, (int)(turn + 3 * (unsigned)me), n);
                memset(in, 0xff, n);
                if (turn % 2) {
                    shmemx_tag_start_all(2, both);
                } else {
                    shmemx_tag_start(&s);
                    shmemx_tag_start(&r);
                }
                complete(turn, &r, &status);
                CHECK(r == both[1] && status.bytes == n && status.source == before() && status.tag == 40 + n);
                int expect = (unsigned char)(turn + 3 * (unsigned)before());
                CHECKF(n == 0 || (in[0] == expect && in[n - 1] == expect), "%zu bytes, turn %u: %d", n, turn, in[0]);
                complete(turn + 3, &s, &status);
                CHECK(s == both[0] && is_empty(&status));
            }
            shmemx_tag_request_free(&s);
            shmemx_tag_request_free(&r);
            CHECK(s == SHMEMX_TAG_REQUEST_NULL && r == SHMEMX_TAG_REQUEST_NULL);
        }
}

/* Catches: a restarted request that takes its pieces in another order, or only the first of them. */
static void test_persistent_pieces(void)
{
    for (int i = 1; i < LENGTHS; i++) {
        size_t n = lengths[i], third = n / 3;
        shmemx_tag_request_t s, r;
        shmemx_tag_status_t status;
        shmemx_tag_sendv_init(world, (shmemx_tag_iov_t[]){{out + third, n - third}, {out, third}}, 2, 50, next_pe(), &s);
        shmemx_tag_recvv_init(world, (shmemx_tag_iov_t[]){{in, third}, {NULL, 0}, {in + third, n - third}}, 3, 50, SHMEMX_TAG_EXACT,
                              before(), &r);
        for (unsigned turn = 0; turn < 3; turn++) {
            for (size_t k = 0; k < n; k++)
                out[k] = (unsigned char)(k * 3 + turn + n);
            memset(in, 0xff, n);
            shmemx_tag_start_all(2, (shmemx_tag_request_t[]){s, r});
            shmemx_tag_wait(&r, &status);
            shmemx_tag_wait(&s, NULL);
            CHECKF(status.bytes == n && memcmp(in, out + third, n - third) == 0 && memcmp(in + n - third, out, third) == 0,
                   "%zu bytes, turn %u", n, turn);
        }
        shmemx_tag_request_free(&s);
        shmemx_tag_request_free(&r);
    }
}

/* Catches: a wait for an inactive request that hangs or returns the last result again. */
static void test_inactive(void)
{
    long x = 0, y = 0;
    int index = 7, indices[3];
    shmemx_tag_status_t s[3];
    shmemx_tag_request_t r[3] = {SHMEMX_TAG_REQUEST_NULL};
    shmemx_tag_recv_init(world, &x, sizeof x, 1, SHMEMX_TAG_EXACT, before(), &r[1]);
    shmemx_tag_send_init(world, &y, sizeof y, 1, next_pe(), &r[2]);
    for (int turn = 0; turn < 2; turn++) {
        memset(s, 0x55, sizeof s);
        CHECK(shmemx_tag_test(&r[1], &s[0]) && is_empty(&s[0]) && r[1]);
        CHECK(shmemx_tag_request_get_status(r[2], &s[1]) && is_empty(&s[1]));
        CHECK(shmemx_tag_test_any(3, r, &index, &s[2]) && index == -1 && is_empty(&s[2]));
        CHECK(shmemx_tag_test_some(3, r, indices, NULL) == -1);
        CHECK(shmemx_tag_wait_any(3, r, NULL) == -1 && shmemx_tag_wait_some(3, r, indices, NULL) == 0);
        memset(s, 0x55, sizeof s);
        CHECK(shmemx_tag_test_all(3, r, s) && is_empty(&s[0]) && is_empty(&s[1]) && is_empty(&s[2]));
        shmemx_tag_wait_all(3, r, s);
        shmemx_tag_cancel(&r[1]);
        CHECK(!r[0] && r[1] && r[2]);
        if (turn == 0) { /* and after one use */
            shmemx_tag_start_all(2, &r[1]);
            shmemx_tag_wait_all(3, r, s);
            CHECK(is_empty(&s[0]) && s[1].bytes == sizeof x && s[1].source == before() && is_empty(&s[2]));
        }
    }
    shmemx_tag_request_free(&r[0]);
    shmemx_tag_request_free(&r[1]);
    shmemx_tag_request_free(&r[2]);
    shmem_barrier_all();
}

/* Catches: a status at the wrong place, a request completed twice or too early, in lists with null and inactive ones. */
static void test_lists(void)
{
    unsigned random = 5;
    for (int turn = 0; turn < 40; turn++) {
        long x[N] = {0}, y[N];
        int open[N], left = 0, indices[N];
        shmemx_tag_request_t r[N], s[N];
        shmemx_tag_status_t status[N];
        shmem_barrier_all();
        for (int i = 0; i < N; i++) { /* one of each three is null */
            open[i] = (i + turn) % 3 != 0;
            r[i] = s[i] = SHMEMX_TAG_REQUEST_NULL;
            left += open[i];
            y[i] = 100 * turn + i;
            if (open[i])
                shmemx_tag_irecv(world, &x[i], sizeof *x, (uint64_t)i, SHMEMX_TAG_EXACT, before(), &r[i]);
        }
        CHECK(!shmemx_tag_test_all(N, r, status) && shmemx_tag_test_some(N, r, indices, status) == 0);
        CHECK(!shmemx_tag_test_any(N, r, indices, status));
        shmem_barrier_all();
        for (int k = 0, first = (int)(tap_random(&random) % N); k < N; k++) {
            int i = (first + k * 5) % N;
            if (open[i])
                shmemx_tag_isend(world, &y[i], sizeof *y, (uint64_t)i, next_pe(), &s[i]);
        }
        while (left) {
            int n = turn % 2 ? shmemx_tag_test_some(N, r, indices, status) : shmemx_tag_wait_some(N, r, indices, status);
            for (int k = 0; k < n; k++, left--) {
                int i = indices[k];
                CHECKF(open[i] && !r[i] && x[i] == y[i] && status[k].tag == (uint64_t)i && status[k].source == before(),
                       "turn %d: %d completed, tag %d", turn, i, (int)status[k].tag);
                CHECK(k == 0 || indices[k - 1] < i);
                open[i] = 0;
            }
            CHECK(n >= 0);
        }
        CHECK(shmemx_tag_test_some(N, r, indices, status) == -1);
        shmemx_tag_wait_all(N, s, status);
        CHECK(is_empty(&status[0]) && is_empty(&status[N - 1]));
    }
}

/* Catches: a test that completes a request which only get_status may look at. */
static void test_get_status(void)
{
    long x = 4, y = 0;
    shmemx_tag_request_t r, s;
    shmemx_tag_status_t status;
    shmemx_tag_irecv(world, &y, sizeof y, 2, SHMEMX_TAG_EXACT, before(), &r);
    CHECK(!shmemx_tag_request_get_status(r, &status));
    shmem_barrier_all();
    shmemx_tag_isend(world, &x, sizeof x, 2, next_pe(), &s);
    while (!shmemx_tag_request_get_status(r, &status))
        ;
    CHECK(status.bytes == sizeof x && y == 4 && r);
    memset(&status, 0, sizeof status);
    CHECK(shmemx_tag_test(&r, &status) && !r && status.bytes == sizeof x);
    shmemx_tag_wait(&s, NULL);
    CHECK(shmemx_tag_request_get_status(r, NULL));
}

/* Catches: pieces of a synchronous send or of a probed message at wrong places; a synchronous send that does not wait. */
static void test_pieces(void)
{
    for (int i = 1; i < LENGTHS; i++) {
        size_t n = lengths[i], third = n / 3;
        shmemx_tag_iov_t from[] = {{out, third}, {NULL, 0}, {out + third, n - third}};
        shmemx_tag_iov_t to[] = {{in, n - third}, {in + n - third, third}};
        shmemx_tag_request_t s, r;
        shmemx_tag_message_t m;
        shmemx_tag_status_t status;
        for (size_t k = 0; k < n; k++)
            out[k] = (unsigned char)(k * 3 + n);
        memset(in, 0, n);
        shmem_barrier_all();
        if (i % 2)
            shmemx_tag_issendv(world, from, 3, 3, next_pe(), &s);
        else
            shmemx_tag_ssendv_init(world, from, 3, 3, next_pe(), &s), shmemx_tag_start(&s);
        for (int k = 0; k < 200; k++)
            CHECK(!shmemx_tag_test(&s, NULL)); /* nothing matches it before the barrier */
        shmem_barrier_all();
        shmemx_tag_mprobe(world, 3, SHMEMX_TAG_EXACT, before(), &m, &status);
        CHECK(status.bytes == n);
        if (i % 2)
            shmemx_tag_mrecvv(&m, to, 2, &status);
        else
            shmemx_tag_imrecvv(&m, to, 2, &r), shmemx_tag_wait(&r, &status);
        CHECKF(m == SHMEMX_TAG_MESSAGE_NULL && status.bytes == n && memcmp(in, out, n) == 0, "%zu bytes", n);
        shmemx_tag_wait(&s, NULL);
        shmemx_tag_request_free(&s);
    }
}

/* Catches: a cancelled send whose message still matches or blocks later ones, a cancel that waits for a receive (the
 * receiver is in a barrier), a synchronous or long send that cannot be cancelled, a restart that stays cancelled. */
static void test_cancel_sends(void)
{
    for (int i = 0; i < LENGTHS; i++)
        for (int persistent = 0; persistent < 2; persistent++) {
            size_t n = lengths[i];
            shmemx_tag_request_t s[3];
            shmemx_tag_status_t status[3];
            memset(out, 1, n);
            for (int k = 0; k < 3; k++) {
                if (persistent)
                    shmemx_tag_ssend_init(world, out, n, (uint64_t)k, next_pe(), &s[k]), shmemx_tag_start(&s[k]);
                else
                    shmemx_tag_issend(world, out, n, (uint64_t)k, next_pe(), &s[k]);
            }
            shmemx_tag_cancel(&s[2]); /* with HEADERS_ONLY it is kept */
            shmemx_tag_cancel(&s[0]); /* its header has been sent */
            shmemx_tag_cancel(&s[0]); /* no effect */
            shmemx_tag_wait(&s[0], &status[0]);
            shmemx_tag_wait(&s[2], &status[2]);
            CHECKF(status[0].cancelled && status[2].cancelled, "%zu bytes: cancelled %d, %d", n, status[0].cancelled,
                   status[2].cancelled);
            shmem_barrier_all();
            shmemx_tag_recv(world, in, n, 0, 0, before(), &status[1]);
            CHECKF(status[1].tag == 1, "%zu bytes: tag %d received, though cancelled", n, (int)status[1].tag);
            shmemx_tag_wait(&s[1], &status[1]);
            CHECK(is_empty(&status[1]));
            CHECK(!shmemx_tag_iprobe(world, 0, 0, SHMEMX_TAG_ANY_SOURCE, NULL));
            shmem_barrier_all();
            if (persistent) {
                shmemx_tag_start_all(3, s);
                for (uint64_t k = 0; k < 3; k++)
                    shmemx_tag_recv(world, in, n, k, SHMEMX_TAG_EXACT, before(), NULL);
                shmemx_tag_wait_all(3, s, status);
                CHECK(is_empty(&status[0]) && is_empty(&status[2]));
            }
            for (int k = 0; k < 3; k++)
                shmemx_tag_request_free(&s[k]);
        }
}

/* Catches: a freed request that loses its message, or whose memory serves another message before it is complete. */
static void test_free_active(void)
{
    enum { MANY = 100 };
    static long x[MANY], y[MANY];
    shmemx_tag_request_t r;
    for (int i = 0; i < MANY; i++) {
        x[i] = 1000 * me + i;
        if (i % 2)
            shmemx_tag_issend(world, &x[i], sizeof *x, (uint64_t)i, next_pe(), &r);
        else
            shmemx_tag_ssend_init(world, &x[i], sizeof *x, (uint64_t)i, next_pe(), &r), shmemx_tag_start(&r);
        shmemx_tag_request_free(&r);
        CHECK(r == SHMEMX_TAG_REQUEST_NULL);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        shmemx_tag_recv(world, &y[i], sizeof *y, (uint64_t)i, SHMEMX_TAG_EXACT, before(), NULL);
        CHECKF(y[i] == 1000 * before() + i, "message %d: %ld", i, y[i]);
    }
    shmem_barrier_all();
}

int main(void)
{
    if (HEADERS_ONLY) {
        setenv("SHMEM_TEST_TAG_UNEXPECTED_BYTES", "0", 1);
        setenv("SHMEM_TEST_TAG_UNEXPECTED_HEADERS_PER_PEER", "1", 1);
    }
    shmem_init();
    tap_pes_begin();
    RUN(test_persistent, "persistent requests");
    RUN(test_persistent_pieces, "persistent requests of pieces");
    RUN(test_inactive, "inactive requests count as null");
    RUN(test_lists, "lists with null requests");
    RUN(test_get_status, "request_get_status leaves the request");
    RUN(test_pieces, "synchronous sends of pieces, probed messages into pieces");
    RUN(test_cancel_sends, "cancelled sends");
    RUN(test_free_active, "active requests that are freed");
    int status = tap_end();
    shmem_finalize();
    return status;
}
