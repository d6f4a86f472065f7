/*
 * put_get.c - latency of one blocking put or get from PE 0 to PE 1, heap and static data, 8 B to 4 MiB.
 *
 * put is the time until the call returns (the source may be reused), put_quiet until shmem_quiet has also returned.
 * bare_put and bare_get are memcpy through the address from shmem_ptr for the same heap block; without such an address
 * these rows are absent.
 *
 * Every batch uses another local block: some pairs of addresses collide in the processor's way prediction and copy 4
 * KiB at a third of the speed, also by bare memcpy; the median must not depend on one such pair.
 */
#include "bench.h"

enum { BYTES_MAX = 4 << 20, BLOCKS = 7, BLOCK_STEP = 5 * 4096 };

static char area[BYTES_MAX] __attribute__((aligned(4096)));

struct transfer {
    char *remote; /* symmetric address, or for a bare loop the peer's mapping */
    char *local;
    size_t bytes;
    long batch;
};

static struct transfer next_batch(void *arg)
{
    struct transfer *t = arg, now = *t;

    now.local += t->batch++ % BLOCKS * BLOCK_STEP;
    return now;
}

static void loop_put(void *arg, long calls)
{
    struct transfer t = next_batch(arg);

    while (calls--)
        shmem_putmem(t.remote, t.local, t.bytes, 1);
}

static void loop_put_quiet(void *arg, long calls)
{
    struct transfer t = next_batch(arg);

    while (calls--) {
        shmem_putmem(t.remote, t.local, t.bytes, 1);
        shmem_quiet();
    }
}

static void loop_get(void *arg, long calls)
{
    struct transfer t = next_batch(arg);

    while (calls--)
        shmem_getmem(t.local, t.remote, t.bytes, 1);
}

static void loop_bare_put(void *arg, long calls)
{
    struct transfer t = next_batch(arg);

    while (calls--) {
        memcpy(t.remote, t.local, t.bytes);
        BENCH_BARRIER();
    }
}

static void loop_bare_get(void *arg, long calls)
{
    struct transfer t = next_batch(arg);

    while (calls--) {
        memcpy(t.local, t.remote, t.bytes);
        BENCH_BARRIER();
    }
}

static void time_size(char *heap, char *local, size_t bytes)
{
    char *bare = shmem_ptr(heap, 1);
    struct transfer on_heap = {heap, local, bytes, 0}, on_static = {area, local, bytes, 0};
    struct transfer on_bare = {bare, local, bytes, 0};
    const char *put_limit = bare ? "bare_put" : NULL, *get_limit = bare ? "bare_get" : NULL;
    struct bench_case cases[] = {
        {"put", "heap", put_limit, BENCH_US, bytes, 1, loop_put, &on_heap, 0, {0}},
        {"put", "static", put_limit, BENCH_US, bytes, 1, loop_put, &on_static, 0, {0}},
        {"put_quiet", "heap", put_limit, BENCH_US, bytes, 1, loop_put_quiet, &on_heap, 0, {0}},
        {"put_quiet", "static", put_limit, BENCH_US, bytes, 1, loop_put_quiet, &on_static, 0, {0}},
        {"get", "heap", get_limit, BENCH_US, bytes, 1, loop_get, &on_heap, 0, {0}},
        {"get", "static", get_limit, BENCH_US, bytes, 1, loop_get, &on_static, 0, {0}},
        {"bare_put", "heap", NULL, BENCH_US, bytes, 1, loop_bare_put, &on_bare, 0, {0}},
        {"bare_get", "heap", NULL, BENCH_US, bytes, 1, loop_bare_get, &on_bare, 0, {0}},
    };

    bench_local(cases, bare ? 8 : 6);
}

int main(void)
{
    bench_init("put_get", 2);

    char *heap = bench_symmetric(BYTES_MAX), *local = bench_private(BYTES_MAX + BLOCKS * BLOCK_STEP);

    memset(area, 1, sizeof area);
    shmem_barrier_all();
    for (size_t bytes = 8; shmem_my_pe() == 0 && bytes <= BYTES_MAX; bytes *= bytes < 64 ? 8 : 4)
        time_size(heap, local, bytes);
    shmem_barrier_all();
    free(local);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
