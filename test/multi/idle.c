/* idle.c - a PE that waits for long uses little CPU time. Catches: a wait that never sleeps, or that a timer wakes often. */
#include <sys/resource.h>
#include <unistd.h>

#include "../tap_pes.h"

enum { WAIT_S = 1 };

static double cpu_s(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

/* About 0.1 s is usual, in the first 60 ms a PE keeps a core of its own. */
static void words(void)
{
    static long word;
    shmem_barrier_all();
    double before_s = cpu_s();
    if (me == 0)
        sleep(WAIT_S);
    for (int pe = 0; me == 0 && pe < n_pes; pe++)
        shmem_long_p(&word, 1, pe);
    shmem_quiet();
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    double used_s = cpu_s() - before_s;
    CHECKF(used_s < 0.5 * WAIT_S, "%.2f s of CPU time in %d s", used_s, WAIT_S);
}

static void barrier(void)
{
    shmem_barrier_all();
    double before_s = cpu_s();
    if (me == 0)
        sleep(WAIT_S);
    shmem_barrier_all();
    double used_s = cpu_s() - before_s;
    CHECKF(used_s < 0.5 * WAIT_S, "%.2f s of CPU time in %d s", used_s, WAIT_S);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(words, "a wait for a word");
    RUN(barrier, "a barrier");
    int status = tap_end();
    shmem_finalize();
    return status;
}
