/*
 * idle.c - a PE that waits for long uses little CPU time. Catches: a wait, or a pause of a function, that never sleeps, or that a timer
 * wakes often.
 */
#include <shmemx.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
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

static int h_look, h_late;

/* Pending for WAIT_S to WAIT_S + 1. */
static int late(shmemx_gpc_call_t *c)
{
    if (c->stage == SHMEMX_GPC_INIT)
        c->state = (void *)(intptr_t)(time(NULL) + WAIT_S + 1);
    return time(NULL) < (time_t)(intptr_t)c->state ? SHMEMX_GPC_PENDING : 0;
}

/* Tests another GPC, of PE 0, until it has ended. */
static int look(shmemx_gpc_call_t *c)
{
    shmemx_gpc_nbh_t nbh;
    (void)c;
    shmemx_gpc_nbh_init(&nbh);
    int status = shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_late, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, &nbh);
    while (!status && !shmemx_gpc_test(&nbh))
        ;
    return status ? status : nbh.status;
}

static void gpc_tests(void)
{
    shmem_barrier_all();
    double before_s = cpu_s();
    int last = n_pes - 1; /* PE 0 runs the late function, again and again */
    if (me == 0)
        CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_look, last, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) == 0);
    shmem_barrier_all();
    double used_s = cpu_s() - before_s;
    CHECKF(me != last || last == 0 || used_s < 0.5 * (WAIT_S + 1), "%.2f s of CPU time in %d s", used_s, WAIT_S + 1);
}

int main(void)
{
    if (getenv("SHMEM_CHECK") && atoi(getenv("SHMEM_CHECK")))
        setenv("SHMEM_TEST_SPIN", "40000", 0); /* polls take longer than a pause between tests, as the usual number does on a slow processor */
    shmem_init();
    tap_pes_begin();
    h_look = shmemx_gpc_register(look);
    h_late = shmemx_gpc_register(late);
    RUN(words, "a wait for a word");
    RUN(barrier, "a barrier");
    RUN(gpc_tests, "a function that tests another GPC");
    int status = tap_end();
    shmem_finalize();
    return status;
}
