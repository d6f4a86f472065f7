/*
 * progress.c - a PE that computes and never calls the library still serves the other PEs.
 */
#include <time.h>

#include "../tap_pes.h"

enum { ROUNDS = 200, WORDS = 4096, POLLED_MS = 60 }; /* WORDS: more than a message carries */

static long words[WORDS], long_block[4 * WORDS], count, done;
static uint64_t sig;

/* Catches: operations that need the target's program: short and long puts, gets, strides, atomics, fetches, signals,
 * and quiet. The others access the memory of PE 0, whose program only polls a word of its own. */
static void idle_target(void)
{
    static long mine[WORDS];
    count = done = 0;
    sig = 0;
    shmem_barrier_all();
    if (me == 0) {
        while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < n_pes - 1)
            ;
        CHECK(count == (long)ROUNDS * (n_pes - 1) && sig == (uint64_t)ROUNDS * (uint64_t)(n_pes - 1));
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        shmem_long_atomic_inc(&count, 0);
        shmem_long_p(&words[me], i, 0);
        shmem_quiet();
        CHECK(shmem_long_g(&words[me], 0) == i);
        shmem_long_iget(mine, &words[me], 1, 64, 2, 0);
        shmem_long_atomic_fetch_add(&words[0], 1, 0);
        shmem_long_put_signal(&words[1024 + 2 * me], mine, 2, &sig, 1, SHMEM_SIGNAL_ADD, 0);
    }
    long *block = long_block + (me - 1) % 4 * WORDS; /* with more than 5 PEs not its own alone */
    shmem_long_get(mine, block, WORDS, 0);
    shmem_long_put(block, mine, WORDS, 0);
    shmem_quiet();
    shmem_long_atomic_inc(&done, 0);
}

/* Catches: the same, after PE 0 has polled for so long that its thread rarely checks whether the program still
 * polls. */
static void idle_after_polls(void)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        shmem_long_test(&done, SHMEM_CMP_LT, 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (me == 0 && (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < POLLED_MS);
    idle_target();
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(idle_target, "a PE that only computes");
    RUN(idle_after_polls, "a PE that only computes, after it has polled");
    shmem_barrier_all();
    shmem_finalize();
    return tap_end();
}
