/*
 * team.c - teams over all PEs, back to back: sync, split and destroy, and the team collectives. Needs OpenSHMEM 1.5.
 *
 * The roots of the broadcasts rotate, as in collective.c.
 */
#include "bench.h"

#if SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION < 5
#error "needs OpenSHMEM 1.5"
#endif

enum { BYTES_MAX = 1 << 20 };

static long *source, *dest;
static int n_pes;

static void loop_sync(void *arg, long calls)
{
    (void)arg;
    while (calls--)
        shmem_team_sync(SHMEM_TEAM_WORLD);
}

static void loop_split(void *arg, long calls)
{
    (void)arg;
    while (calls--) {
        shmem_team_t team = SHMEM_TEAM_INVALID;

        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team);
        shmem_team_destroy(team);
    }
}

static void loop_reduce(void *arg, long calls)
{
    while (calls--)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, *(size_t *)arg / sizeof(long));
}

static void loop_broadcast(void *arg, long calls)
{
    while (calls--)
        shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, *(size_t *)arg, (int)(calls % n_pes));
}

static void loop_fcollect(void *arg, long calls)
{
    while (calls--)
        shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, *(size_t *)arg);
}

static void loop_collect(void *arg, long calls)
{
    while (calls--)
        shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, *(size_t *)arg);
}

static void loop_alltoall(void *arg, long calls)
{
    while (calls--)
        shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, *(size_t *)arg);
}

static void time_size(size_t bytes)
{
    struct bench_case cases[] = {
        {"team_reduce_sum", "heap", NULL, BENCH_US, bytes, 1, loop_reduce, &bytes, 0, {0}},
        {"team_broadcast", "heap", NULL, BENCH_US, bytes, 1, loop_broadcast, &bytes, 0, {0}},
        {"team_fcollect", "heap", NULL, BENCH_US, bytes, 1, loop_fcollect, &bytes, 0, {0}},
        {"team_collect", "heap", NULL, BENCH_US, bytes, 1, loop_collect, &bytes, 0, {0}},
        {"team_alltoall", "heap", NULL, BENCH_US, bytes, 1, loop_alltoall, &bytes, 0, {0}},
    };

    bench_joint(cases, 5);
}

int main(void)
{
    static const size_t sizes[] = {8, 1024, 64 << 10, BYTES_MAX};
    struct bench_case cases[] = {
        {"team_sync", "-", NULL, BENCH_US, 0, 1, loop_sync, NULL, 0, {0}},
        {"team_split_destroy", "-", NULL, BENCH_US, 0, 1, loop_split, NULL, 0, {0}},
    };

    bench_init("team", 1);
    n_pes = shmem_n_pes();
    source = bench_symmetric((size_t)BYTES_MAX * (size_t)n_pes);
    dest = bench_symmetric((size_t)BYTES_MAX * (size_t)n_pes);
    shmem_barrier_all();
    bench_joint(cases, 2);
    for (int i = 0; i < 4; i++)
        time_size(sizes[i]);
    shmem_finalize();
    return 0;
}
