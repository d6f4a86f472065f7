/*
 * collective.c - active-set collectives over all PEs, back to back: sum reduction, broadcast, fcollect,
 * collect, alltoall. bytes is one PE's contribution (alltoall: to one peer).
 *
 * There is no barrier between the calls of a batch. The broadcast's root rotates over all PEs, so in all five
 * collectives no PE starts call i + n_pes before all PEs have left call i: n_pes + 1 pSync and pWrk arrays, used
 * cyclically, suffice.
 */
#include "bench.h"

enum { BYTES_MAX = 1 << 20, SYNC_LONGS = 128 };

static long *source, *dest, *sync_area, *work_area;
static size_t work_longs;
static int n_pes, next_set;

/* Return this call's pSync; *work its pWrk. */
static long *take_set(long **work)
{
    next_set = (next_set + 1) % (n_pes + 1);
    *work = work_area + (size_t)next_set * work_longs;
    return sync_area + (size_t)next_set * SYNC_LONGS;
}

static void loop_reduce(void *arg, long calls)
{
    int nelems = (int)(*(size_t *)arg / sizeof(long));
    long *work;

    while (calls--) {
        long *sync = take_set(&work);

        shmem_long_sum_to_all(dest, source, nelems, 0, 0, n_pes, work, sync);
    }
}

static void loop_broadcast(void *arg, long calls)
{
    size_t nelems = *(size_t *)arg / 8;
    long *work;

    while (calls--) {
        long *sync = take_set(&work);

        shmem_broadcast64(dest, source, nelems, (int)(calls % n_pes), 0, 0, n_pes, sync);
    }
}

static void loop_fcollect(void *arg, long calls)
{
    size_t nelems = *(size_t *)arg / 8;
    long *work;

    while (calls--) {
        long *sync = take_set(&work);

        shmem_fcollect64(dest, source, nelems, 0, 0, n_pes, sync);
    }
}

static void loop_collect(void *arg, long calls)
{
    size_t nelems = *(size_t *)arg / 8;
    long *work;

    while (calls--) {
        long *sync = take_set(&work);

        shmem_collect64(dest, source, nelems, 0, 0, n_pes, sync);
    }
}

static void loop_alltoall(void *arg, long calls)
{
    size_t nelems = *(size_t *)arg / 8;
    long *work;

    while (calls--) {
        long *sync = take_set(&work);

        shmem_alltoall64(dest, source, nelems, 0, 0, n_pes, sync);
    }
}

static void time_size(size_t bytes)
{
    struct bench_case cases[] = {
        {"reduce_sum", "heap", NULL, BENCH_US, bytes, 1, loop_reduce, &bytes, 0, {0}},
        {"broadcast", "heap", NULL, BENCH_US, bytes, 1, loop_broadcast, &bytes, 0, {0}},
        {"fcollect", "heap", NULL, BENCH_US, bytes, 1, loop_fcollect, &bytes, 0, {0}},
        {"collect", "heap", NULL, BENCH_US, bytes, 1, loop_collect, &bytes, 0, {0}},
        {"alltoall", "heap", NULL, BENCH_US, bytes, 1, loop_alltoall, &bytes, 0, {0}},
    };

    bench_joint(cases, 5);
}

int main(void)
{
    static const size_t sizes[] = {8, 1024, 64 << 10, BYTES_MAX};

    bench_init("collective", 1);
    n_pes = shmem_n_pes();
    if (SHMEM_SYNC_SIZE > SYNC_LONGS) {
        fprintf(stderr, "collective: pSync is longer than %d\n", SYNC_LONGS);
        shmem_global_exit(2);
    }
    work_longs = BYTES_MAX / sizeof(long) / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE;
    source = bench_symmetric((size_t)BYTES_MAX * (size_t)n_pes);
    dest = bench_symmetric((size_t)BYTES_MAX * (size_t)n_pes);
    work_area = bench_symmetric((size_t)(n_pes + 1) * work_longs * sizeof(long));
    sync_area = bench_symmetric((size_t)(n_pes + 1) * SYNC_LONGS * sizeof(long));
    for (int i = 0; i < (n_pes + 1) * SYNC_LONGS; i++)
        sync_area[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    for (int i = 0; i < 4; i++)
        time_size(sizes[i]);
    shmem_finalize();
    return 0;
}
