/*
 * lock.c - distributed locks: set and clear by PE 0 alone, and by all PEs, which contend for one lock.
 *
 * lock_contended is the time from the first acquisition to the last, over the acquisitions of all PEs, so that it does not depend on
 * which PE gets the lock first. lock_longest_wait is the longest shmem_set_lock of any PE in each batch: what fairness bounds.
 */
#include "bench.h"

enum { IN_BATCH = 2000 };

static long lock;
static double longest_us, job_longest_us;

static void loop_lock(void *arg, long calls)
{
    (void)arg;
    while (calls--) {
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
    }
}

/* PE 0's time of it ends with the last PE's last section. */
static void loop_contended(void *arg, long calls)
{
    loop_lock(arg, calls);
    shmem_barrier_all();
}

static void find_longest(void)
{
    longest_us = 0;
    for (int i = 0; i < IN_BATCH; i++) {
        double start = bench_now_us();

        shmem_set_lock(&lock);
        double us = bench_now_us() - start;
        longest_us = us > longest_us ? us : longest_us;
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    job_longest_us = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        double us;

        shmem_getmem(&us, &longest_us, sizeof us, pe);
        job_longest_us = us > job_longest_us ? us : job_longest_us;
    }
    shmem_barrier_all();
}

int main(void)
{
    bench_init("lock", 1);

    struct bench_case alone = {"lock_alone", "static", NULL, BENCH_US, 0, 1, loop_lock, NULL, 0, {0}};
    struct bench_case contended = {"lock_contended", "static", NULL, BENCH_US, 0, shmem_n_pes(), loop_contended, NULL, 0, {0}};
    struct bench_case longest = {"lock_longest_wait", "static", NULL, BENCH_US, 0, 1, NULL, NULL, IN_BATCH, {0}};

    if (shmem_my_pe() == 0)
        bench_local(&alone, 1);
    shmem_barrier_all();
    bench_joint(&contended, 1);
    for (int batch = 0; batch < BENCH_BATCHES; batch++) {
        find_longest();
        longest.us[batch] = job_longest_us;
    }
    if (shmem_my_pe() == 0)
        bench_print(&longest);
    shmem_finalize();
    return 0;
}
