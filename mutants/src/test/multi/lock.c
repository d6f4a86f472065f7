/* lock.c - distributed locks: one holder at a time, no starvation, no lost release. */
#include "../tap_pes.h"

#include <sched.h>

static unsigned rnd;
static long locks[4];

/* Catches: two holders, a wake-up lost between swap and link, stores of a critical section not visible in the next. */
static void test_exclusion(void)
{
    enum { ROUNDS = 2000 };
    static long count[4], check[4];
    rnd = 7u + (unsigned)me;
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        int k = (int)(tap_random(&rnd) % 4), home = k % n_pes;
        if (i % 3 == 0)
            while (shmem_test_lock(&locks[k]))
                sched_yield();
        else
            shmem_set_lock(&locks[k]);
        long n = shmem_long_g(&count[k], home);
        shmem_long_p(&count[k], n + 1, home);
        if (i % 16 == 0)
            random_delay(&rnd);
        shmem_long_p(&check[k], n + 1, home);
        shmem_clear_lock(&locks[k]);
    }
    shmem_barrier_all();
    long all = 0;
    for (int k = 0; k < 4; k++) {
        all += shmem_long_g(&count[k], k % n_pes);
        CHECK(shmem_long_g(&check[k], k % n_pes) == shmem_long_g(&count[k], k % n_pes));
        CHECKF(locks[k] == 0, "lock %d is %#lx after its last release", k, (unsigned long)locks[k]);
    }
    CHECKF(all == (long)ROUNDS * n_pes, "%ld sections of %d", all, ROUNDS * n_pes);
}

/* Catches: test_lock that waits, or that takes a held lock. */
static void test_test_lock(void)
{
    static long lock;
    shmem_barrier_all();
    if (me == 0)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me != 0)
        CHECK(shmem_test_lock(&lock) == 1);
    shmem_barrier_all();
    if (me == 0)
        shmem_clear_lock(&lock);
    shmem_barrier_all();
    if (me == n_pes - 1) {
        CHECK(shmem_test_lock(&lock) == 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
}

/* Catches: an unfair lock, also for the PE that clears it and takes it again, and a PE that polls and never queues. PEs that queue
 * while the lock is held get it in the order of queueing. */
static void test_order(void)
{
    static long lock, turn, asked;
    turn = asked = 0;
    shmem_barrier_all();
    if (me == 0)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me > 0) { /* queue one after the other: a queued PE is recorded at its predecessor (ops/lock.c) */
        shmem_long_wait_until(&asked, SHMEM_CMP_EQ, me);
        shmem_set_lock(&lock);
        long t = shmem_long_atomic_fetch_inc(&turn, 0);
        CHECKF(t == me - 1, "turn %ld", t);
        shmem_clear_lock(&lock);
    } else {
        for (int p = 1; p < n_pes; p++) {
            shmem_long_p(&asked, p, p);
            while ((shmem_long_atomic_fetch(&lock, p - 1) & 0x3fffffff) != p + 1)
                sched_yield();
        }
        shmem_clear_lock(&lock);
        shmem_set_lock(&lock);
        CHECKF(turn == n_pes - 1, "taken again after %ld of %d PEs that waited", turn, n_pes - 1);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(test_exclusion, "one holder at a time, with set_lock and test_lock");
    RUN(test_test_lock, "test_lock does not wait");
    RUN(test_order, "locks are granted in the order of queueing");
    int status = tap_end();
    shmem_finalize();
    return status;
}
