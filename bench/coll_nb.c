/*
 * coll_nb.c - nonblocking collectives over all PEs: begun and waited for, beside the blocking form; and what part of their time computing
 * hides. Needs shmemx_coll.h; with bench/mpi the same on MPI.
 *
 * Overlap: a call begins, the PE computes for as long as a call takes, then waits. Row "hidden" is 100 (call + computing - both) / call, of
 * the medians, once with a PE that only computes, once with a test of the request each 64th part.
 *
 * Progress: the others begin the call and compute for 20 ms without another call. Row "others_compute" is the time that PE 0's begin and wait
 * take, which it calls at once, or 10 ms later.
 */
#include "bench.h"

#include <shmemx.h>

enum { BYTES_MAX = 1 << 20, TESTS = 64, SAMPLES = 11, COMPUTES_US = 20000, LATER_US = 10000 };

static long *source, *dest;
static int n_pes;
static long work; /* iterations for one call */

struct arg {
    size_t bytes;
    int tests;
};

static void compute(long iterations)
{
    static volatile double sink;
    double x = 1;

    for (long i = 0; i < iterations; i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
    (void)sink;
}

static void begin(int kind, size_t bytes, shmemx_req_t *req)
{
    if (kind == 0)
        shmemx_sync_nb(SHMEM_TEAM_WORLD, req);
    else if (kind == 1)
        shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, dest, source, bytes / sizeof(long), req);
    else if (kind == 2)
        shmemx_broadcastmem_nb(SHMEM_TEAM_WORLD, dest, source, bytes, 0, req);
    else if (kind == 3)
        shmemx_fcollectmem_nb(SHMEM_TEAM_WORLD, dest, source, bytes, req);
    else
        shmemx_alltoallmem_nb(SHMEM_TEAM_WORLD, dest, source, bytes, req);
}

static void block(int kind, size_t bytes)
{
    if (kind == 0)
        shmem_team_sync(SHMEM_TEAM_WORLD);
    else if (kind == 1)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, bytes / sizeof(long));
    else if (kind == 2)
        shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, bytes, 0);
    else if (kind == 3)
        shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, bytes);
    else
        shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, bytes);
}

#define LOOPS(K)                                                                                                     \
    static void loop_blocking_##K(void *arg, long calls)                                                             \
    {                                                                                                                \
        while (calls--)                                                                                              \
            block(K, ((struct arg *)arg)->bytes);                                                                    \
    }                                                                                                                \
    static void loop_##K(void *arg, long calls)                                                                      \
    {                                                                                                                \
        shmemx_req_t req;                                                                                            \
                                                                                                                     \
        while (calls--) {                                                                                            \
            begin(K, ((struct arg *)arg)->bytes, &req);                                                              \
            shmemx_req_wait(&req);                                                                                   \
        }                                                                                                            \
    }                                                                                                                \
    static void loop_both_##K(void *arg, long calls)                                                                 \
    {                                                                                                                \
        const struct arg *a = arg;                                                                                   \
        shmemx_req_t req;                                                                                            \
                                                                                                                     \
        while (calls--) {                                                                                            \
            begin(K, a->bytes, &req);                                                                                \
            for (int i = 0; i < TESTS; i++) {                                                                        \
                compute(work / TESTS);                                                                               \
                if (a->tests)                                                                                        \
                    shmemx_req_test(&req);                                                                           \
            }                                                                                                        \
            shmemx_req_wait(&req);                                                                                   \
        }                                                                                                            \
    }
LOOPS(0) LOOPS(1) LOOPS(2) LOOPS(3) LOOPS(4)

static void loop_compute(void *arg, long calls)
{
    (void)arg;
    while (calls--)
        for (int i = 0; i < TESTS; i++)
            compute(work / TESTS);
}

static const struct kind {
    const char *name;
    void (*blocking)(void *, long), (*nb)(void *, long), (*both)(void *, long);
} kinds[] = {{"sync", loop_blocking_0, loop_0, loop_both_0}, {"sum", loop_blocking_1, loop_1, loop_both_1},
             {"broadcast", loop_blocking_2, loop_2, loop_both_2}, {"fcollect", loop_blocking_3, loop_3, loop_both_3},
             {"alltoall", loop_blocking_4, loop_4, loop_both_4}};

static double median(const struct bench_case *c)
{
    double us[BENCH_BATCHES];

    memcpy(us, c->us, sizeof us);
    qsort(us, BENCH_BATCHES, sizeof *us, bench_compare_double);
    return us[BENCH_BATCHES / 2];
}

/* Iterations of compute that take as long; PE 0's for all. */
static long iterations_of(double us)
{
    double start = bench_now_us();

    compute(4000000);
    return bench_agree((long)(4000000 * us / (bench_now_us() - start)) + 1);
}

static void print_hidden(const char *name, const char *how, size_t bytes, double call, double computing, double both)
{
    if (shmem_my_pe() == 0)
        printf("{\"bench\":\"%s_hidden\",\"place\":\"%s\",\"bytes\":%zu,\"pes\":%d,\"unit\":\"%%\",\"median\":%.1f}\n", name, how, bytes, n_pes,
               100 * (call + computing - both) / call);
}

static void time_kind(const struct kind *k, size_t bytes)
{
    struct arg plain = {bytes, 0}, tests = {bytes, 1};
    char names[4][40];
    struct bench_case first[] = {{names[0], "heap", NULL, BENCH_US, bytes, 1, k->blocking, &plain, 0, {0}},
                                 {names[1], "heap", NULL, BENCH_US, bytes, 1, k->nb, &plain, 0, {0}}};
    struct bench_case then[] = {{names[1], "heap", NULL, BENCH_US, bytes, 1, k->nb, &plain, 0, {0}},
                                {"compute", "-", NULL, BENCH_US, bytes, 1, loop_compute, &plain, 0, {0}},
                                {names[2], "heap", NULL, BENCH_US, bytes, 1, k->both, &plain, 0, {0}},
                                {names[3], "heap", NULL, BENCH_US, bytes, 1, k->both, &tests, 0, {0}}};

    snprintf(names[0], sizeof names[0], "%s_blocking", k->name);
    snprintf(names[1], sizeof names[1], "%s_nb", k->name);
    snprintf(names[2], sizeof names[2], "%s_nb_computing", k->name);
    snprintf(names[3], sizeof names[3], "%s_nb_computing_tests", k->name);
    bench_joint(first, 2);
    work = iterations_of(median(&first[1]));
    bench_joint(then, 4);
    print_hidden(k->name, "computes", bytes, median(&then[0]), median(&then[1]), median(&then[2]));
    print_hidden(k->name, "tests", bytes, median(&then[0]), median(&then[1]), median(&then[3]));
}

static void compute_for(double us)
{
    for (double end = bench_now_us() + us; bench_now_us() < end;)
        compute(1000);
}

/* PE 0's time for a call of which the others make no progress themselves. */
static void time_others_compute(int kind, size_t bytes, int later)
{
    double us[SAMPLES];
    shmemx_req_t req;

    for (int i = 0; i < SAMPLES; i++) {
        shmem_barrier_all();
        if (shmem_my_pe() == 0 && later)
            compute_for(LATER_US);
        us[i] = bench_now_us();
        begin(kind, bytes, &req);
        if (shmem_my_pe() != 0)
            compute_for(COMPUTES_US);
        shmemx_req_wait(&req);
        us[i] = bench_now_us() - us[i];
    }
    qsort(us, SAMPLES, sizeof *us, bench_compare_double);
    if (shmem_my_pe() == 0)
        printf("{\"bench\":\"%s_nb_others_compute\",\"place\":\"%s\",\"bytes\":%zu,\"pes\":%d,\"unit\":\"us\",\"median\":%.1f,\"min\":%.1f,"
               "\"max\":%.1f,\"n\":%d,\"calls\":1}\n",
               kinds[kind].name, later ? "later" : "at once", bytes, n_pes, us[SAMPLES / 2], us[0], us[SAMPLES - 1], SAMPLES);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 8 << 10, BYTES_MAX};

    bench_init("coll_nb", 2);
    n_pes = shmem_n_pes();
    source = bench_symmetric((size_t)BYTES_MAX * (size_t)n_pes);
    dest = bench_symmetric((size_t)BYTES_MAX * (size_t)n_pes);
    shmem_barrier_all();
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < (k ? 3 : 1); i++)
            if (argc < 2 || strcmp(argv[1], kinds[k].name) == 0)
                time_kind(&kinds[k], k ? sizes[i] : 0);
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < (k ? 3 : 1); i++)
            for (int later = 0; later < 2; later++)
                if (k != 2 && (argc < 2 || strcmp(argv[1], "others") == 0)) /* a broadcast of PE 0 waits for none */
                    time_others_compute(k, k ? sizes[i] : 0, later);
    shmem_finalize();
    return 0;
}
