/*
 * pingpong.c - one-way time of an 8 B flag between PE 0 and PE 1: shmem_long_p answered by shmem_long_wait_until.
 */
#include "pingpong.h"

static long flag[PINGPONG_STRIDE] __attribute__((aligned(4096)));

struct flag_pair {
    long *word;
    long turn;
};

static void loop_flag(void *arg, long calls)
{
    struct flag_pair *f = arg;
    int me = shmem_my_pe();

    for (; me < 2 && calls > 0; calls--) {
        f->turn++;
        if (me == 1)
            shmem_long_wait_until(f->word, SHMEM_CMP_GE, f->turn);
        shmem_long_p(f->word, f->turn, 1 - me);
        if (me == 0)
            shmem_long_wait_until(f->word, SHMEM_CMP_GE, f->turn);
    }
}

int main(void)
{
    bench_init("pingpong", 2);

    long *heap = bench_symmetric(2 * PINGPONG_STRIDE * sizeof *heap), *bare = heap + PINGPONG_STRIDE;
    int peer = shmem_my_pe() < 2 ? 1 - shmem_my_pe() : 0;
    struct flag_pair on_heap = {heap, 0}, on_static = {flag, 0};
    struct pingpong_bare pair = {bare, shmem_ptr(bare, peer), 0};
    const char *limit = pair.peers ? "bare_pingpong" : NULL;
    struct bench_case cases[] = {
        {"pingpong_p", "heap", limit, BENCH_US, 8, 2, loop_flag, &on_heap, 0, {0}},
        {"pingpong_p", "static", limit, BENCH_US, 8, 2, loop_flag, &on_static, 0, {0}},
        {"bare_pingpong", "heap", NULL, BENCH_US, 8, 2, pingpong_bare_loop, &pair, 0, {0}},
    };

    *heap = *bare = *flag = 0;
    shmem_barrier_all();
    bench_joint(cases, pair.peers ? 3 : 2);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
