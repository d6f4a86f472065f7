/*
 * tag_gpc.c - tagged messages in functions of GPCs, which run on a thread of the library while the program computes, at
 * every thread level of the program.
 */
#include <sched.h>
#include <shmemx.h>
#include <unistd.h>

#include "../tap_pes.h"

enum { OPEN = 16, FUNCS = 20, ROUNDS = 20000, MOST = 1 << 20 };

static int in_func, funcs;       /* written by the thread that runs the function */
static uint32_t taken[MOST / 8]; /* by a hash of the request: times that it is allocated */
static long errors;

/* Post receives that no message matches and cancel them: each request must be allocated once. */
static void churn(int rounds, uint64_t tag)
{
    char in[OPEN];
    shmemx_tag_request_t r[OPEN];
    shmemx_tag_status_t s;
    for (int k = 0; k < rounds; k++) {
        uint32_t *word[OPEN];
        for (int i = 0; i < OPEN; i++) {
            shmemx_tag_irecv(SHMEM_TEAM_WORLD, &in[i], 1, tag + (uint64_t)i, SHMEMX_TAG_EXACT, 0, &r[i]);
            word[i] = &taken[(uintptr_t)r[i] / 8 % (MOST / 8)]; /* the pool is much smaller, so no two share a word */
            if (__atomic_fetch_add(word[i], 1, __ATOMIC_RELAXED))
                __atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED);
        }
        for (int i = 0; i < OPEN; i++) {
            __atomic_fetch_sub(word[i], 1, __ATOMIC_RELAXED);
            shmemx_tag_cancel(&r[i]);
            if (!shmemx_tag_test(&r[i], &s) || !s.cancelled)
                __atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED);
        }
    }
}

static int func(shmemx_gpc_call_t *call)
{
    (void)call;
    __atomic_store_n(&in_func, 1, __ATOMIC_RELEASE);
    churn(ROUNDS, 1000);
    __atomic_store_n(&in_func, 0, __ATOMIC_RELEASE);
    __atomic_fetch_add(&funcs, 1, __ATOMIC_RELEASE);
    return 0;
}

/* Catches: a request pool without a lock at levels below SHMEM_THREAD_MULTIPLE. The program computes until the function
 * runs beside it, then posts receives, too. */
static void test_pool(void)
{
    int f = shmemx_gpc_register(func);
    shmem_barrier_all();
    if (me == 0)
        for (int i = 0; i < FUNCS; i++) {
            shmemx_gpc_nbh_t h;
            shmemx_gpc_nbh_init(&h);
            shmemx_gpc_exec(SHMEM_TEAM_WORLD, f, next_pe(), NULL, 0, NULL, 0, NULL, 0, NULL, 0, &h);
            while (!shmemx_gpc_test(&h))
                usleep(1000); /* leave the cores to PE 1 */
        }
    if (me == 1)
        while (__atomic_load_n(&funcs, __ATOMIC_ACQUIRE) < FUNCS) {
            if (__atomic_load_n(&in_func, __ATOMIC_ACQUIRE))
                churn(10, 1);
            else
                sched_yield();
        }
    CHECKF(errors == 0, "%ld requests were allocated twice, or matched", errors);
    shmem_barrier_all();
}

int main(void)
{
    unsetenv("SHMEM_GPC_THREAD");
    shmem_init(); /* SHMEM_THREAD_SINGLE */
    tap_pes_begin();
    if (n_pes > 1)
        RUN(test_pool, "receives of the program and of a function at the same time");
    else
        tap_skip("test_pool", "with one PE the function does not run on another thread");
    int status = tap_end();
    shmem_finalize();
    return status;
}
