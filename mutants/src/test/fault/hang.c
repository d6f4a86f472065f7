/* hang.c - programs that hang: each kind of wait without the update that ends it. PE 0 prints "ready" after the last
 * common barrier. */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t sig;
static long lock, words[8], from[8], to[64];

static void compute(void)
{
    for (;;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void *second_thread(void *arg)
{
    shmem_long_wait_until(&words[7], SHMEM_CMP_EQ, 70);
    return arg;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int level;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    int me = shmem_my_pe(), n = shmem_n_pes();
    pthread_t thread;
    sig = 41;
    words[3] = -5;
    shmem_barrier_all();
    if (strcmp(mode, "lock") == 0 && me == 0)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 0) {
        puts("ready");
        fflush(stdout);
    }
    if (strcmp(mode, "signal") == 0 && me == n - 1)
        shmem_signal_wait_until(&sig, SHMEM_CMP_GE, 42);
    else if (strcmp(mode, "until") == 0)
        shmem_long_wait_until(&words[3], SHMEM_CMP_GT, -1);
    else if (strcmp(mode, "any") == 0)
        shmem_long_wait_until_any(words, 3, NULL, SHMEM_CMP_NE, 0);
    else if (strcmp(mode, "all") == 0)
        shmem_long_wait_until_all(words, 4, (int[]){0, 1, 1, 0}, SHMEM_CMP_EQ, 0);
    else if (strcmp(mode, "barrier") == 0 && me != n - 1)
        shmem_barrier_all();
    else if (strcmp(mode, "collect") == 0 && me != 0)
        shmem_long_fcollect(SHMEM_TEAM_WORLD, to, from, 8);
    else if (strcmp(mode, "lock") == 0 && me != 0)
        shmem_set_lock(&lock);
    else if (strcmp(mode, "malloc") == 0 && me != 1)
        shmem_malloc(8);
    else if (strcmp(mode, "threads") == 0) {
        pthread_create(&thread, NULL, second_thread, NULL);
        shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 1);
    }
    compute();
}
