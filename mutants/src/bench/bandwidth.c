/*
 * bandwidth.c - GB/s from PE 0 to PE 1: windows of nonblocking puts or gets; each window ends with one quiet.
 *
 * The calls of a window use consecutive blocks of a 256 KiB area (larger blocks reuse one block). The bare rows copy
 * the same blocks by memcpy through the address from shmem_ptr; without such an address they are absent.
 */
#include "bench.h"

enum { AREA_BYTES = 4 << 20, WALK_BYTES = 256 << 10, WINDOW = 16 };

static char area[AREA_BYTES] __attribute__((aligned(4096)));

struct stream {
    char *remote, *local;
    size_t bytes;
};

static size_t block(const struct stream *s, long i)
{
    return (size_t)i * s->bytes % (s->bytes < WALK_BYTES ? (size_t)WALK_BYTES : s->bytes);
}

static void loop_put(void *arg, long calls)
{
    struct stream s = *(struct stream *)arg;

    while (calls--) {
        for (long i = 0; i < WINDOW; i++)
            shmem_putmem_nbi(s.remote + block(&s, i), s.local + block(&s, i), s.bytes, 1);
        shmem_quiet();
    }
}

static void loop_get(void *arg, long calls)
{
    struct stream s = *(struct stream *)arg;

    while (calls--) {
        for (long i = 0; i < WINDOW; i++)
            shmem_getmem_nbi(s.local + block(&s, i), s.remote + block(&s, i), s.bytes, 1);
        shmem_quiet();
    }
}

static void loop_bare_put(void *arg, long calls)
{
    struct stream s = *(struct stream *)arg;

    while (calls--) {
        for (long i = 0; i < WINDOW; i++)
            memcpy(s.remote + block(&s, i), s.local + block(&s, i), s.bytes);
        BENCH_BARRIER();
    }
}

static void loop_bare_get(void *arg, long calls)
{
    struct stream s = *(struct stream *)arg;

    while (calls--) {
        for (long i = 0; i < WINDOW; i++)
            memcpy(s.local + block(&s, i), s.remote + block(&s, i), s.bytes);
        BENCH_BARRIER();
    }
}

static void time_size(char *heap, char *local, size_t bytes)
{
    char *bare = shmem_ptr(heap, 1);
    struct stream on_heap = {heap, local, bytes}, on_static = {area, local, bytes}, on_bare = {bare, local, bytes};
    const char *put_limit = bare ? "bare_bandwidth_put" : NULL, *get_limit = bare ? "bare_bandwidth_get" : NULL;
    struct bench_case cases[] = {
        {"bandwidth_put", "heap", put_limit, BENCH_GB_PER_S, bytes, WINDOW, loop_put, &on_heap, 0, {0}},
        {"bandwidth_put", "static", put_limit, BENCH_GB_PER_S, bytes, WINDOW, loop_put, &on_static, 0, {0}},
        {"bandwidth_get", "heap", get_limit, BENCH_GB_PER_S, bytes, WINDOW, loop_get, &on_heap, 0, {0}},
        {"bandwidth_get", "static", get_limit, BENCH_GB_PER_S, bytes, WINDOW, loop_get, &on_static, 0, {0}},
        {"bare_bandwidth_put", "heap", NULL, BENCH_GB_PER_S, bytes, WINDOW, loop_bare_put, &on_bare, 0, {0}},
        {"bare_bandwidth_get", "heap", NULL, BENCH_GB_PER_S, bytes, WINDOW, loop_bare_get, &on_bare, 0, {0}},
    };

    bench_local(cases, bare ? 6 : 4);
}

int main(void)
{
    bench_init("bandwidth", 2);

    char *heap = bench_symmetric(AREA_BYTES), *local = bench_private(AREA_BYTES);

    memset(area, 1, sizeof area);
    shmem_barrier_all();
    for (size_t bytes = 1024; shmem_my_pe() == 0 && bytes <= 4 << 20; bytes *= 8)
        time_size(heap, local, bytes);
    shmem_barrier_all();
    free(local);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
