/*
 * amo.c - latency of one uncontended atomic of PE 0 on a word of PE 1, heap and static data.
 *
 * PE 1 waits in a barrier meanwhile, for implementations that need the target's progress. The bare rows are CPU atomics
 * on the address from shmem_ptr. A batch of routines without a result ends with one quiet.
 */
#include "bench.h"

static long word __attribute__((aligned(4096)));

static void loop_fetch_add(void *arg, long calls)
{
    while (calls--)
        shmem_long_atomic_fetch_add(arg, 1, 1);
}

static void loop_add(void *arg, long calls)
{
    while (calls--)
        shmem_long_atomic_add(arg, 1, 1);
    shmem_quiet();
}

static void loop_cswap(void *arg, long calls)
{
    while (calls--)
        shmem_long_atomic_compare_swap(arg, calls + 1, calls, 1);
}

static void loop_swap(void *arg, long calls)
{
    while (calls--)
        shmem_long_atomic_swap(arg, calls, 1);
}

static void loop_fetch(void *arg, long calls)
{
    while (calls--)
        shmem_long_atomic_fetch(arg, 1);
}

static void loop_set(void *arg, long calls)
{
    while (calls--)
        shmem_long_atomic_set(arg, calls, 1);
    shmem_quiet();
}

static void loop_bare_fetch_add(void *arg, long calls)
{
    while (calls--)
        __atomic_fetch_add((long *)arg, 1, __ATOMIC_SEQ_CST);
}

static void loop_bare_cswap(void *arg, long calls)
{
    while (calls--) {
        long expected = calls + 1;

        __atomic_compare_exchange_n((long *)arg, &expected, calls, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
}

static void loop_bare_swap(void *arg, long calls)
{
    while (calls--)
        __atomic_exchange_n((long *)arg, calls, __ATOMIC_SEQ_CST);
}

static void time_place(const char *place, long *target)
{
    long *bare = shmem_ptr(target, 1);
    const char *add = bare ? "bare_fetch_add" : NULL, *cswap = bare ? "bare_cswap" : NULL;
    const char *swap = bare ? "bare_swap" : NULL;
    struct bench_case cases[] = {
        {"fetch_add", place, add, BENCH_US, 8, 1, loop_fetch_add, target, 0, {0}},
        {"add", place, add, BENCH_US, 8, 1, loop_add, target, 0, {0}},
        {"cswap", place, cswap, BENCH_US, 8, 1, loop_cswap, target, 0, {0}},
        {"swap", place, swap, BENCH_US, 8, 1, loop_swap, target, 0, {0}},
        {"fetch", place, NULL, BENCH_US, 8, 1, loop_fetch, target, 0, {0}},
        {"set", place, NULL, BENCH_US, 8, 1, loop_set, target, 0, {0}},
        {"bare_fetch_add", place, NULL, BENCH_US, 8, 1, loop_bare_fetch_add, bare, 0, {0}},
        {"bare_cswap", place, NULL, BENCH_US, 8, 1, loop_bare_cswap, bare, 0, {0}},
        {"bare_swap", place, NULL, BENCH_US, 8, 1, loop_bare_swap, bare, 0, {0}},
    };

    bench_local(cases, bare ? 9 : 6);
}

int main(void)
{
    bench_init("amo", 2);

    long *heap = bench_symmetric(sizeof *heap);

    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        time_place("heap", heap);
        time_place("static", &word);
    }
    shmem_barrier_all();
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
