/*
 * rate.c - millions of 8 B operations per second from PE 0 to PE 1, heap and static data.
 *
 * Each batch ends with one quiet; burst has a quiet every 16 puts, also within a session. bare_rate stores through the
 * address from shmem_ptr.
 */
#include "bench.h"

enum { WORDS = 64, BURST = 16 }; /* consecutive calls write consecutive words */

static long area[WORDS] __attribute__((aligned(4096)));

static void loop_putmem(void *arg, long calls)
{
    long *remote = arg, value = 3;

    for (long i = 0; i < calls; i++)
        shmem_putmem(remote + i % WORDS, &value, sizeof value, 1);
    shmem_quiet();
}

static void loop_put_nbi(void *arg, long calls)
{
    long *remote = arg, value = 3;

    for (long i = 0; i < calls; i++)
        shmem_long_put_nbi(remote + i % WORDS, &value, 1, 1);
    shmem_quiet();
}

static void loop_p(void *arg, long calls)
{
    long *remote = arg;

    for (long i = 0; i < calls; i++)
        shmem_long_p(remote + i % WORDS, i, 1);
    shmem_quiet();
}

static void loop_burst(void *arg, long calls)
{
    long *remote = arg;

    for (long i = 0; i < calls; i++) {
        shmem_long_p(remote + i % WORDS, i, 1);
        if (i % BURST == BURST - 1)
            shmem_quiet();
    }
    shmem_quiet();
}

#ifdef SHMEM_CTX_SESSION_BATCH
static void loop_session(void *arg, long calls)
{
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    loop_burst(arg, calls);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}
#endif

static void loop_g(void *arg, long calls)
{
    long *remote = arg;
    volatile long sink = 0;

    for (long i = 0; i < calls; i++)
        sink = shmem_long_g(remote + i % WORDS, 1);
    (void)sink;
}

static void loop_bare(void *arg, long calls)
{
    long *remote = arg;

    for (long i = 0; i < calls; i++) {
        remote[i % WORDS] = i;
        BENCH_BARRIER();
    }
}

int main(void)
{
    bench_init("rate", 2);

    long *heap = bench_symmetric(sizeof area), *bare = shmem_ptr(heap, 1);
    const char *limit = bare ? "bare_rate" : NULL;
    struct bench_case cases[] = {
        {"rate_put", "heap", limit, BENCH_MILLION_PER_S, 8, 1, loop_putmem, heap, 0, {0}},
        {"rate_put", "static", limit, BENCH_MILLION_PER_S, 8, 1, loop_putmem, area, 0, {0}},
        {"rate_put_nbi", "heap", limit, BENCH_MILLION_PER_S, 8, 1, loop_put_nbi, heap, 0, {0}},
        {"rate_put_nbi", "static", limit, BENCH_MILLION_PER_S, 8, 1, loop_put_nbi, area, 0, {0}},
        {"rate_p", "heap", limit, BENCH_MILLION_PER_S, 8, 1, loop_p, heap, 0, {0}},
        {"rate_p", "static", limit, BENCH_MILLION_PER_S, 8, 1, loop_p, area, 0, {0}},
        {"rate_g", "heap", NULL, BENCH_MILLION_PER_S, 8, 1, loop_g, heap, 0, {0}},
        {"rate_g", "static", NULL, BENCH_MILLION_PER_S, 8, 1, loop_g, area, 0, {0}},
        {"burst_p", "heap", NULL, BENCH_MILLION_PER_S, 8, 1, loop_burst, heap, 0, {0}},
#ifdef SHMEM_CTX_SESSION_BATCH
        {"burst_p_session", "heap", NULL, BENCH_MILLION_PER_S, 8, 1, loop_session, heap, 0, {0}},
#endif
        {"bare_rate", "heap", NULL, BENCH_MILLION_PER_S, 8, 1, loop_bare, bare, 0, {0}},
    };
    int n_cases = sizeof cases / sizeof *cases;

    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        bench_local(cases, bare ? n_cases : n_cases - 1);
    shmem_barrier_all();
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
