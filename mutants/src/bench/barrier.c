/*
 * barrier.c - shmem_barrier_all and shmem_sync_all, back to back, all PEs.
 *
 * With 2 PEs it also times a bare cache-line ping-pong, one way: no barrier of 2 PEs can be much faster.
 */
#include "pingpong.h"

static void loop_barrier(void *arg, long calls)
{
    (void)arg;
    while (calls--)
        shmem_barrier_all();
}

static void loop_sync(void *arg, long calls)
{
    (void)arg;
    while (calls--)
        shmem_sync_all();
}

int main(void)
{
    bench_init("barrier", 1);

    long *bare = bench_symmetric(sizeof *bare);
    struct pingpong_bare pair = {bare, shmem_n_pes() == 2 ? shmem_ptr(bare, 1 - shmem_my_pe()) : NULL, 0};
    const char *limit = pair.peers ? "bare_pingpong" : NULL;
    struct bench_case cases[] = {
        {"barrier_all", "-", limit, BENCH_US, 0, 1, loop_barrier, NULL, 0, {0}},
        {"sync_all", "-", limit, BENCH_US, 0, 1, loop_sync, NULL, 0, {0}},
        {"bare_pingpong", "-", NULL, BENCH_US, 0, 2, pingpong_bare_loop, &pair, 0, {0}},
    };

    *bare = 0;
    bench_joint(cases, pair.peers ? 3 : 2);
    shmem_free(bare);
    shmem_finalize();
    return 0;
}
