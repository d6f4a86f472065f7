/*
 * complete.c - requests, flush and fences of some PEs (shmemx_complete.h). Long nonblocking operations are under way while a request is
 * tested; whether they are complete is seen by a get through another context, which no order binds to the first.
 */
#include "../tap_pes.h"

#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 1 << 19, ROUNDS = 12, SHORT = 64 };

static uint64_t *remote, *source, *seen;
static uint64_t word, words[SHORT], count;

static void fill(uint64_t *at, uint64_t seed)
{
    for (int i = 0; i < LONG; i++)
        at[i] = seed + (uint64_t)i;
}

static long wrong(const uint64_t *at, uint64_t seed)
{
    for (int i = 0; i < LONG; i++)
        if (at[i] != seed + (uint64_t)i)
            return i;
    return -1;
}

static void finish(shmemx_req_t *r, int by_wait)
{
    if (by_wait)
        shmemx_req_wait(r);
    else
        while (!shmemx_req_test(r))
            ;
    CHECK(shmemx_req_test(r) == 1); /* a request that is complete stays so */
}

/* Catches: a request that is complete while puts or updates are under way, or that never completes; a handle of another PE's
 * operations; a later operation that keeps an earlier request open for ever. */
static void test_requests(void)
{
    shmem_ctx_t ctx[2];
    for (int k = 0; k < 2; k++)
        CHECK(shmem_ctx_create(k ? SHMEM_CTX_SERIALIZED : 0, &ctx[k]) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t seed = (uint64_t)(round * 64 + me + 1) << 32, before = shmem_uint64_atomic_fetch(&count, next_pe());
        shmem_ctx_t c = round % 3 ? ctx[round % 2] : SHMEM_CTX_DEFAULT, other = ctx[round % 3 == 0 || round % 2 == 0];
        shmemx_req_t r = SHMEMX_REQ_NULL, copy;
        fill(source, seed);
        shmem_barrier_all();
        shmem_ctx_put64_nbi(c, remote, source, LONG, next_pe());
        shmem_ctx_uint64_atomic_inc(c, &count, next_pe());
        if (round % 4 == 0)
            shmemx_ctx_quiet_nb(c, &r);
        else
            shmemx_ctx_pe_quiet_nb(c, next_pe(), &r);
        copy = r;
        if (round % 4 == 1)
            for (int i = 0; i < SHORT; i++)
                shmem_ctx_uint64_p(c, &words[i], (uint64_t)i, next_pe());
        finish(&r, round % 2);
        finish(&copy, !(round % 2));
        shmem_ctx_get64(other, seen, remote, LONG, next_pe());
        CHECKF(wrong(seen, seed) < 0, "round %d: word %ld has not arrived", round, wrong(seen, seed));
        uint64_t after = shmem_ctx_uint64_atomic_fetch(other, &count, next_pe());
        CHECKF(after == before + 1, "round %d: count %lu after %lu", round, (unsigned long)after, (unsigned long)before);
        shmem_ctx_quiet(c); /* of the puts after the call */
        shmem_barrier_all();
    }
    for (int k = 0; k < 2; k++)
        shmem_ctx_destroy(ctx[k]);
}

/* Catches: a get whose result is not there when its request is complete, or after a flush. */
static void test_gets(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t seed = (uint64_t)(round * 64 + 7) << 32, fetched = 0;
        shmemx_req_t r;
        fill(remote, seed + ((uint64_t)me << 48));
        word = seed + (uint64_t)me;
        memset(seen, 0xff, LONG * sizeof *seen);
        shmem_barrier_all();
        shmem_get64_nbi(seen, remote, LONG, next_pe());
        shmem_uint64_atomic_fetch_nbi(&fetched, &word, next_pe());
        if (round % 2) {
            shmemx_flush();
        } else {
            shmemx_pe_quiet_nb(next_pe(), &r);
            finish(&r, round % 4 == 0);
        }
        CHECKF(wrong(seen, seed + ((uint64_t)next_pe() << 48)) < 0, "round %d: a get is incomplete", round);
        CHECK(fetched == seed + (uint64_t)next_pe());
        shmem_barrier_all();
    }
}

/* Catches: a source that is still being read after a flush. */
static void test_flush(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t seed = (uint64_t)(round * 64 + me + 9) << 32, came = (uint64_t)(round * 64 + (me + n_pes - 1) % n_pes + 9) << 32;
        fill(source, seed);
        shmem_put64_nbi(remote, source, LONG, next_pe());
        shmemx_flush();
        memset(source, 0, LONG * sizeof *source);
        shmem_barrier_all();
        CHECKF(wrong(remote, came) < 0, "round %d: word %ld is another", round, wrong(remote, came));
        shmem_barrier_all();
    }
}

/* Catches: words that overtake those before the fence. */
static void test_fence(void)
{
    const int to[2] = {next_pe(), me};
    static uint64_t first, second;
    for (uint64_t round = 1; round <= 300; round++) {
        shmem_uint64_p(&first, round, next_pe());
        shmemx_pe_fence(to, 2);
        shmem_uint64_p(&second, round, next_pe());
        shmem_uint64_wait_until(&second, SHMEM_CMP_EQ, round);
        CHECK(first == round);
        shmem_barrier_all();
    }
}

/* Catches: a request on no context that is not complete. */
static void test_none(void)
{
    shmemx_req_t r = {1, 1, 1};
    shmemx_ctx_quiet_nb(SHMEM_CTX_INVALID, &r);
    CHECK(shmemx_req_test(&r) == 1);
    shmemx_ctx_flush(SHMEM_CTX_INVALID);
    shmemx_ctx_pe_fence(SHMEM_CTX_INVALID, NULL, 0);
    shmemx_pe_fence(NULL, 0);
    shmemx_req_wait(&r);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    remote = shmem_malloc(LONG * sizeof *remote);
    source = malloc(LONG * sizeof *source);
    seen = malloc(LONG * sizeof *seen);
    RUN(test_requests, "requests of puts and updates");
    RUN(test_gets, "requests and flushes of gets and fetches");
    RUN(test_flush, "sources after a flush");
    RUN(test_fence, "fences of some PEs");
    RUN(test_none, "no context, no operation");
    int status = tap_end();
    free(seen);
    free(source);
    shmem_finalize();
    return status;
}
