/*
 * sweep.c - puts and gets from PE 0 to PE 1 from 1 B to 64 MiB (or to the argument) in steps of the square root of 2: time of one put
 * with quiet and of one get, GB/s of bursts of nonblocking ones. bare_put and bare_get are memcpy through shmem_ptr.
 */
#include "sweep.h"

enum { BYTES_MAX = 64 << 20 };

static void loop_put(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--) {
        shmem_putmem(s->remote, s->local, s->bytes, 1);
        shmem_quiet();
    }
}

static void loop_get(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--)
        shmem_getmem(s->local, s->remote, s->bytes, 1);
}

static void loop_put_burst(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--) {
        for (long i = 0; i < s->burst; i++)
            shmem_putmem_nbi(s->remote, s->local, s->bytes, 1);
        shmem_quiet();
    }
}

static void loop_get_burst(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--) {
        for (long i = 0; i < s->burst; i++)
            shmem_getmem_nbi(s->local, s->remote, s->bytes, 1);
        shmem_quiet();
    }
}

static void loop_bare_put(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--) {
        memcpy(s->remote, s->local, s->bytes);
        BENCH_BARRIER();
    }
}

static void loop_bare_get(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--) {
        memcpy(s->local, s->remote, s->bytes);
        BENCH_BARRIER();
    }
}

int main(int argc, char **argv)
{
    setenv("SHMEM_SYMMETRIC_SIZE", "128M", 0);
    bench_init("sweep", 2);

    size_t limit = sweep_limit(argc, argv, BYTES_MAX);
    char *heap = bench_symmetric(limit), *local = bench_private(limit);
    char *bare = shmem_my_pe() == 0 ? shmem_ptr(heap, 1) : NULL;

    sweep_run("put", BENCH_US, limit, heap, local, 0, 1, loop_put);
    sweep_run("get", BENCH_US, limit, heap, local, 0, 1, loop_get);
    sweep_run("burst_put", BENCH_GB_PER_S, limit, heap, local, 0, 1, loop_put_burst);
    sweep_run("burst_get", BENCH_GB_PER_S, limit, heap, local, 0, 1, loop_get_burst);
    if (bench_agree(bare != NULL)) {
        sweep_run("bare_put", BENCH_US, limit, bare, local, 0, 1, loop_bare_put);
        sweep_run("bare_get", BENCH_US, limit, bare, local, 0, 1, loop_bare_get);
    }
    free(local);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
