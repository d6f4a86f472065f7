/*
 * gpc.c - global procedure calls of PE 0 while all others wait in a barrier. Fulmar only: needs shmemx.h.
 *
 * The round trip of a plain call; one function at all PEs along a tree, compared with two loops of plain calls: one
 * after the other, and all started before the first wait.
 */
#include <shmemx.h>

#include "pingpong.h"

static int h_add;
static int h_sum;
static int *ids;
static long *replies;
static shmemx_gpc_nbh_t *handles;

/* The smallest useful function: one argument, one result. */
static int add(shmemx_gpc_call_t *c)
{
    *(long *)c->rhdr = *(const long *)c->hdr + 1;
    c->rhsize = sizeof(long);
    return SHMEMX_GPC_DONE;
}

static int sum(shmemx_gpc_call_t *c)
{
    *(long *)c->rhdr += *(const long *)c->chdr;
    return 0;
}

static void check(int err)
{
    if (err) {
        fprintf(stderr, "gpc: a call failed\n");
        shmem_global_exit(1);
    }
}

static void call(int pe, long *reply, shmemx_gpc_nbh_t *nbh)
{
    long one = 1;

    check(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_add, pe, &one, sizeof one, NULL, 0, reply, sizeof *reply, NULL, 0, nbh));
}

static void loop_plain(void *arg, long calls)
{
    (void)arg;
    while (shmem_my_pe() == 0 && calls--)
        call(1, replies, NULL);
}

static void loop_flat(void *arg, long calls)
{
    (void)arg;
    while (shmem_my_pe() == 0 && calls--)
        for (int pe = 1; pe < shmem_n_pes(); pe++)
            call(pe, &replies[pe], NULL);
}

static void loop_flat_nb(void *arg, long calls)
{
    (void)arg;
    while (shmem_my_pe() == 0 && calls--) {
        for (int pe = 1; pe < shmem_n_pes(); pe++)
            call(pe, &replies[pe], &handles[pe]);
        for (int pe = 1; pe < shmem_n_pes(); pe++)
            check(shmemx_gpc_wait(&handles[pe]));
    }
}

static void loop_tree(void *arg, long calls)
{
    long one = 1;

    while (shmem_my_pe() == 0 && calls--) {
        check(shmemx_gpc_chained_exec(SHMEM_TEAM_WORLD, h_add, h_sum, &one, sizeof one, NULL, 0, replies, sizeof one, NULL,
                                      0, shmem_n_pes(), ids, NULL, *(int *)arg));
        check(replies[0] != 2L * shmem_n_pes());
    }
}

int main(void)
{
    bench_init("gpc", 2);

    int n = shmem_n_pes(), binary = SHMEMX_GPC_BINARY, binomial = SHMEMX_GPC_BINOMIAL;
    long *bare = bench_symmetric(sizeof *bare);
    struct pingpong_bare pair = {bare, n == 2 ? shmem_ptr(bare, 1 - shmem_my_pe()) : NULL, 0};
    const char *limit = pair.peers ? "bare_pingpong" : NULL;
    struct bench_case cases[] = {
        {"gpc_chained_binary", "-", NULL, BENCH_US, 8, 1, loop_tree, &binary, 0, {0}},
        {"gpc_chained_binomial", "-", NULL, BENCH_US, 8, 1, loop_tree, &binomial, 0, {0}},
        {"gpc_flat", "-", NULL, BENCH_US, 8, 1, loop_flat, NULL, 0, {0}},
        {"gpc_flat_nb", "-", NULL, BENCH_US, 8, 1, loop_flat_nb, NULL, 0, {0}},
        {"gpc_one_way", "-", limit, BENCH_US, 8, 2, loop_plain, NULL, 0, {0}},
        {"bare_pingpong", "-", NULL, BENCH_US, 8, 2, pingpong_bare_loop, &pair, 0, {0}},
    };

    ids = bench_private((size_t)n * sizeof *ids);
    replies = bench_private((size_t)n * sizeof *replies);
    handles = bench_private((size_t)n * sizeof *handles);
    for (int i = 0; i < n; i++) {
        ids[i] = i;
        shmemx_gpc_nbh_init(&handles[i]);
    }
    h_add = shmemx_gpc_register(add);
    h_sum = shmemx_gpc_register_callback(sum);
    *bare = 0;
    shmem_barrier_all();
    bench_joint(cases, pair.peers ? 6 : 5);
    shmem_free(bare);
    shmem_finalize();
    return 0;
}
