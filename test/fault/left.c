/*
 * left.c - the last PE, or all but the first, come to shmem_finalize or leave the program while others still need them, or do not: see
 * left.sh.
 */
#include <pthread.h>
#include <shmem.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_S = 3 }; /* longer than the first looks of a wait at PEs that may have left */
static long word, others_word, lock;
static int me, n, last;
static shmem_team_t all, others; /* all PEs, and all but the last */

static void barriers(int times)
{
    for (int i = 0; i < times; i++)
        shmem_barrier_all();
}

static void sums(int times)
{
    static int to[4], from[4];
    for (int i = 0; i < times; i++)
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, to, from, 4);
}

static void wait_word(void)
{
    shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
}

static void first_waits(void)
{
    if (me == 0)
        wait_word();
}

static void first_waits_any(void)
{
    static long words[8];
    if (me == 0)
        shmem_long_wait_until_any(words, 8, NULL, SHMEM_CMP_EQ, 5);
}

static void *set_own_word(void *arg)
{
    sleep(LONG_S);
    shmem_long_p(&word, 1, me);
    return arg;
}

static void wait_for_own_thread(void)
{
    pthread_t t;
    if (me || pthread_create(&t, NULL, set_own_word, NULL))
        return;
    wait_word();
    pthread_join(t, NULL);
}

static void put_and_leave(void)
{
    sleep(LONG_S);
    shmem_long_put_nbi(&word, &(long){1}, 1, 0);
}

static void again(void)
{
    for (int i = 0; i < 2; i++) {
        shmem_finalize();
        if (last)
            sleep(LONG_S);
        shmem_init();
        barriers(3);
    }
}

static void sync_slowly(void)
{
    if (me == 0)
        sleep(LONG_S);
    shmem_team_sync(others);
}

/* M(mode, what the last PE does, what the others do); then all return from main or, in modes with _f, call shmem_finalize. */
#define MODES(M)                                                                                                     \
    M(exit_barrier_f, exit(0), barriers(1))                                                                          \
    M(finalize_barrier_f, (void)0, barriers(1))                                                                      \
    M(return_barriers, (void)0, barriers(9))                                                                         \
    M(one_barrier_more_f, barriers(1), (void)0)                                                                      \
    M(exit_sums, exit(0), sums(50))                                                                                  \
    M(exit_team, exit(0), shmem_team_sync(all))                                                                      \
    M(finalize_wait_f, (void)0, first_waits())                                                                       \
    M(exit_wait_any, exit(0), first_waits_any())                                                                     \
    M(exit_lock, (shmem_set_lock(&lock), shmem_long_p(&others_word, 1, 0), exit(0)),                                 \
      (me || (shmem_long_wait_until(&others_word, SHMEM_CMP_NE, 0), shmem_set_lock(&lock), 0)))                      \
    M(right_slow, sleep(LONG_S), (void)0)                                                                            \
    M(right_slow_f, sleep(LONG_S), (void)0)                                                                          \
    M(right_word, put_and_leave(), first_waits())                                                                    \
    M(right_thread, (void)0, wait_for_own_thread())                                                                  \
    M(right_again_f, again(), again())                                                                               \
    M(right_team, (void)0, sync_slowly())

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int level;
    shmem_init_thread(strcmp(mode, "right_thread") ? SHMEM_THREAD_SINGLE : SHMEM_THREAD_MULTIPLE, &level);
    me = shmem_my_pe();
    n = shmem_n_pes();
    last = me == n - 1;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n - 1, NULL, 0, &others);
#define M(NAME, LAST, OTHERS)                                                                                        \
    if (strcmp(mode, #NAME) == 0) {                                                                                  \
        if (last)                                                                                                    \
            (void)(LAST);                                                                                            \
        else                                                                                                         \
            (void)(OTHERS);                                                                                          \
    }
    MODES(M)
#undef M
    if (strlen(mode) > 2 && strcmp(mode + strlen(mode) - 2, "_f") == 0)
        shmem_finalize();
    return 0;
}
