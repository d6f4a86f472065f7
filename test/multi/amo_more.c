/*
 * amo_more.c - additions to float and double, and compare-and-swap of 16 bytes (shmemx_amo.h): all threads of all PEs update words of all
 * PEs at once. All numbers are small multiples of 1/8, which the types hold exactly, so that sums do not depend on the order.
 */
#include "../tap_pes.h"

#include <pthread.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, WORDS = 4, NODE_ADDS = 2000, NET_ADDS = 250, MAX_PES = 16, LIMIT = 1 << 17 };

struct words {
    float f[WORDS];
    double d[WORDS];
};
static struct words in_data, *in_heap;
static float turn_f;
static double turn_d;
static shmemx_uint128_t pair_in_data, *pair_in_heap;
static int n_threads, adds;
static uint64_t *taken[4]; /* of PE 0: how often each turn was taken */

/* What one thread has added to the words of each PE: in the heap and in the data. */
struct worker {
    double f[MAX_PES][2][WORDS], d[MAX_PES][2][WORDS];
    shmem_ctx_t ctx;
    unsigned rnd;
    int bad;
};

static int between(double v)
{
    return v * 8 == (double)(long)(v * 8) && v > -LIMIT && v < LIMIT;
}

static void add(struct worker *w)
{
    unsigned heap = tap_random(&w->rnd) % 2, i = tap_random(&w->rnd) % WORDS, pe = tap_random(&w->rnd) % (unsigned)n_pes;
    double v = ((int)(tap_random(&w->rnd) % 33) - 16) / 8.0, got_d = 0;
    float *f = &(heap ? in_heap : &in_data)->f[i], got_f = 0;
    double *d = &(heap ? in_heap : &in_data)->d[i];
    unsigned how = tap_random(&w->rnd) % 8;
    switch (how) {
    case 0: shmemx_float_atomic_add(f, (float)v, (int)pe); break;
    case 1: got_f = shmemx_ctx_float_atomic_fetch_add(w->ctx, f, (float)v, (int)pe); break;
    case 2: shmemx_atomic_add(w->ctx, f, (float)v, (int)pe); break;
    case 3: shmemx_ctx_float_atomic_fetch_add_nbi(w->ctx, &got_f, f, (float)v, (int)pe); break;
    case 4: shmemx_ctx_double_atomic_add(w->ctx, d, v, (int)pe); break;
    case 5: got_d = shmemx_double_atomic_fetch_add(d, v, (int)pe); break;
    case 6: got_d = shmemx_atomic_fetch_add(d, v, (int)pe); break;
    default: shmemx_atomic_fetch_add_nbi(w->ctx, &got_d, d, v, (int)pe);
    }
    if (how == 3 || how == 7)
        shmem_ctx_quiet(w->ctx);
    *(how < 4 ? &w->f[pe][heap][i] : &w->d[pe][heap][i]) += v;
    w->bad += !between(got_f) || !between(got_d);
}

static void take_turn(struct worker *w, int list, double turn)
{
    if (turn >= 0 && turn < (double)n_pes * n_threads * adds)
        shmem_uint64_atomic_inc(&taken[list][(size_t)turn], 0);
    else
        w->bad++;
}

static uint64_t mix(uint64_t n)
{
    n = (n ^ n >> 31) * 0x9e3779b97f4a7c15;
    return n ^ n >> 29;
}

/* The pair is a count and what follows from it: add 1 to it. */
static void count(struct worker *w, int list, shmemx_uint128_t *pair, int pe)
{
    shmemx_uint128_t seen = {{0, mix(0)}}, next, before;
    for (;; seen = before) {
        next.word[0] = seen.word[0] + 1;
        next.word[1] = mix(next.word[0]);
        before = list % 2 ? shmemx_ctx_uint128_atomic_compare_swap(w->ctx, pair, seen, next, pe)
                          : shmemx_atomic_compare_swap(pair, seen, next, pe);
        if (before.word[1] != mix(before.word[0])) {
            w->bad++;
            return;
        }
        if (before.word[0] == seen.word[0])
            break;
    }
    take_turn(w, list, (double)seen.word[0]);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    shmem_ctx_create(n_threads > 1 ? SHMEM_CTX_SERIALIZED : 0, &w->ctx);
    for (int i = 0; i < adds; i++) {
        add(w);
        take_turn(w, 0, shmemx_float_atomic_fetch_add(&turn_f, 1, 0));
        take_turn(w, 1, shmemx_ctx_double_atomic_fetch_add(w->ctx, &turn_d, 1, 0));
        count(w, 2, pair_in_heap, 0);
        count(w, 3, &pair_in_data, n_pes - 1);
    }
    shmem_ctx_destroy(w->ctx);
    return NULL;
}

static struct worker *all[THREADS];

/* Catches: an addition that is lost, made twice or of another type; a result that another thread has, too; a pair whose words are of two
 * times; an update of 16 bytes that a PE of another node or a thread of this one overwrites. */
static void test_all(void)
{
    pthread_t t[THREADS];
    int bad = 0;
    for (int i = 0; i < n_threads; i++) {
        all[i] = calloc(1, sizeof *all[i]);
        all[i]->rnd = (unsigned)(me * THREADS + i + 11);
    }
    if (me == 0)
        pair_in_heap->word[1] = mix(0);
    if (me == n_pes - 1)
        pair_in_data.word[1] = mix(0);
    shmem_barrier_all();
    for (int i = 1; i < n_threads; i++)
        pthread_create(&t[i], NULL, work, all[i]);
    work(all[0]);
    for (int i = 1; i < n_threads; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < n_threads; i++)
        bad += all[i]->bad;
    CHECKF(bad == 0, "%d results that no order of the updates has", bad);
    shmem_barrier_all();
    size_t turns = (size_t)(n_pes * n_threads * adds);
    for (int list = 0; me == 0 && list < 4; list++)
        for (size_t i = 0; i < turns; i++)
            if (!CHECKF(taken[list][i] == 1, "list %d: turn %zu was taken %lu times", list, i, (unsigned long)taken[list][i]))
                break;
    if (me == 0)
        CHECK(turn_f == (float)turns && turn_d == (double)turns && pair_in_heap->word[0] == turns);
}

/* The words against what all threads have added, which the library's reductions of long add up in units of 1/8. */
static void test_sums(void)
{
    enum { N = MAX_PES * 2 * WORDS };
    static long mine[2 * N], sum[2 * N];
    for (int t = 0; t < n_threads; t++)
        for (int k = 0; k < N; k++) {
            mine[k] += (long)((&all[t]->f[0][0][0])[k] * 8);
            mine[N + k] += (long)((&all[t]->d[0][0][0])[k] * 8);
        }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, mine, 2 * N);
    for (int heap = 0; heap < 2; heap++)
        for (int i = 0; i < WORDS; i++) {
            const struct words *w = heap ? in_heap : &in_data;
            long f = sum[(me * 2 + heap) * WORDS + i], d = sum[N + (me * 2 + heap) * WORDS + i];
            CHECKF(w->f[i] * 8 == (float)f, "float %d: %g, not %g", i, w->f[i], (double)f / 8);
            CHECKF(w->d[i] * 8 == (double)d, "double %d: %g, not %g", i, w->d[i], (double)d / 8);
        }
    for (int t = 0; t < n_threads; t++)
        free(all[t]);
}

static float tight_f;
static double tight_d;
static shmemx_uint128_t tight_pair;
static int tight; /* so many that PEs update at the same time for longer than a time slice */

static void *update_tightly(void *arg)
{
    shmemx_uint128_t seen = {{0, 0}}, before;
    for (int i = 0; i < tight; i++)
        shmemx_float_atomic_add(&tight_f, 1, 0);
    for (int i = 0; i < tight; i++)
        shmemx_double_atomic_add(&tight_d, 1, 0);
    for (int i = 0; i < tight; i++) {
        while (1) {
            before = shmemx_uint128_atomic_compare_swap(&tight_pair, seen, (shmemx_uint128_t){{seen.word[0] + 1, seen.word[1] + 2}}, 0);
            if (before.word[0] == seen.word[0] && before.word[1] == seen.word[1])
                break;
            seen = before;
        }
        seen.word[0]++;
        seen.word[1] += 2;
    }
    return arg;
}

/* Catches: an update that is no single instruction, for which all must update the same word with nothing in between. */
static void test_tight(void)
{
    pthread_t t[THREADS];
    tight = has_remote_pes() ? 500 : 40000;
    for (int i = 1; i < n_threads; i++)
        pthread_create(&t[i], NULL, update_tightly, NULL);
    update_tightly(NULL);
    for (int i = 1; i < n_threads; i++)
        pthread_join(t[i], NULL);
    shmem_barrier_all();
    uint64_t n = (uint64_t)n_pes * (uint64_t)n_threads * (uint64_t)tight;
    if (me == 0) {
        CHECKF(tight_f == (float)n && tight_d == (double)n, "%g and %g, not %g", tight_f, tight_d, (double)n);
        CHECK(tight_pair.word[0] == n && tight_pair.word[1] == 2 * n);
    }
    shmem_barrier_all();
}

/* Catches: an operation that takes only one of the words into account; -0 and NaN that are compared as numbers; wrong rounding. */
static void test_values(void)
{
    shmemx_uint128_t was;
    shmem_barrier_all();
    *pair_in_heap = (shmemx_uint128_t){{5, 6}};
    shmem_barrier_all();
    if (me == 0) {
        int to = next_pe();
        for (uint64_t k = 0; k < 3; k++) {
            was = shmemx_uint128_atomic_compare_swap(pair_in_heap, (shmemx_uint128_t){{k == 1 ? 5 : 4, k == 2 ? 6 : 7}}, (shmemx_uint128_t){{1, 2}}, to);
            CHECK(was.word[0] == 5 && was.word[1] == 6);
        }
        was = shmemx_uint128_atomic_compare_swap(pair_in_heap, was, (shmemx_uint128_t){{UINT64_MAX, 1ull << 63}}, to);
        CHECK(was.word[0] == 5 && was.word[1] == 6);
        was = shmemx_uint128_atomic_compare_swap(pair_in_heap, was, was, to);
        CHECK(was.word[0] == UINT64_MAX && was.word[1] == 1ull << 63);
        shmem_double_atomic_set(&turn_d, -0.0, to);
        shmem_float_atomic_set(&turn_f, 16777216.0f, to);
        shmem_fence();
        CHECK(shmemx_double_atomic_fetch_add(&turn_d, 0.1, to) == 0);
        CHECK(shmemx_double_atomic_fetch_add(&turn_d, 0.2, to) == 0.1);
        CHECK(shmem_double_atomic_fetch(&turn_d, to) == 0.1 + 0.2);
        shmemx_float_atomic_add(&turn_f, 1.0f, to);
        CHECK(shmemx_float_atomic_fetch_add(&turn_f, 3.0f, to) == 16777216.0f);
        CHECK(shmem_float_atomic_fetch(&turn_f, to) == 16777220.0f);
        double zero = 0;
        shmem_double_atomic_set(&turn_d, zero / zero, to);
        shmem_fence();
        double nan = shmemx_double_atomic_fetch_add(&turn_d, 1, to);
        CHECK(nan != nan);
    }
    shmem_barrier_all();
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    tap_pes_begin();
    n_threads = provided == SHMEM_THREAD_MULTIPLE ? THREADS : 1;
    adds = has_remote_pes() ? NET_ADDS : NODE_ADDS;
    in_heap = shmem_calloc(1, sizeof *in_heap);
    pair_in_heap = shmem_align(16, sizeof *pair_in_heap);
    memset(pair_in_heap, 0, sizeof *pair_in_heap);
    for (int i = 0; i < 4; i++)
        taken[i] = shmem_calloc((size_t)(n_pes * n_threads * adds), sizeof *taken[i]);
    if (n_pes <= MAX_PES) {
        RUN(test_all, "updates by all threads of all PEs at once");
        RUN(test_sums, "sums of what each has added");
    }
    RUN(test_tight, "the same words by all");
    RUN(test_values, "words and numbers at their limits");
    int status = tap_end();
    shmem_finalize();
    return status;
}
