/*
 * litmus_again.c - programs as in litmus.c that do the same again: what the library keeps of the first time must not hold for the second one; and
 * programs with calls of libc that compilers replace by loads and stores, and with the end of the job.
 */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "litmus.h"

static int x;
static long n;
static uint64_t flag;
static int spread[16], rest[16];
static volatile int sink;

static void read_x(void)
{
    sink = x;
}

/* A word is updated a second time, after a quiet of a put to another PE. */
static void o6_again(void)
{
    if (me == 0) {
        shmem_uint64_atomic_inc(&flag, 2);
        shmem_int_p(&x, 1, 1);
        if (mended)
            shmem_quiet();
        shmem_uint64_atomic_inc(&flag, 2);
    }
    if (me == 2) {
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 2);
        sink = shmem_int_g(&x, 1);
    }
}

/* The same after a fence. */
static void o3_again(void)
{
    if (me == 0) {
        shmem_uint64_atomic_inc(&flag, 1);
        shmem_int_p(&x, 1, 1);
        if (mended)
            shmem_fence();
        shmem_uint64_atomic_inc(&flag, 1);
    }
    if (me == 1) {
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 2);
        read_x();
    }
}

/* The same after it has learned of another PE's put. */
static void o8_learned(void)
{
    if (me == 0)
        shmem_uint64_atomic_inc(&flag, 1);
    if (me == 2) {
        shmem_int_p(&x, 1, 1);
        shmem_quiet();
        shmem_long_atomic_inc(&n, 0);
    }
    if (me == 0) {
        while (mended && shmem_long_atomic_fetch(&n, 0) == 0)
            ;
        shmem_uint64_atomic_inc(&flag, 1);
    }
    if (me == 1) {
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 2);
        read_x();
    }
}

/* A word is read a second time, after another PE's update. */
static void o8_again(void)
{
    if (me == 0) {
        shmem_long_atomic_fetch_add(&n, 1, 2);
        shmem_uint64_atomic_set(&flag, 1, 1);
        while (mended && shmem_long_atomic_fetch(&n, 2) != 2)
            ;
        sink = shmem_int_g(&x, 1);
    }
    if (me == 1) {
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 1);
        x = 1;
        shmem_long_atomic_inc(&n, 2);
    }
}

/* A word is stored a second time, after a second get of the same place. Most likely the get is first, which is the harder case. */
static void o5_again(void)
{
    for (int i = 0; i < 2; i++) {
        if (me == 0)
            sink = shmem_int_g(&x, 1);
        if (i == 0 || mended)
            shmem_sync_all();
        else
            usleep(50000);
        if (me == 1)
            x = i;
        shmem_sync_all();
    }
}

/* A mutex is unlocked a second time, after a fence of a put, and another thread puts the same word. The pipe orders the threads by nothing that the
 * library knows. */
static int ready[2];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void take_turn(void)
{
    pthread_mutex_lock(&turn);
    pthread_mutex_unlock(&turn);
}

static void *second_put(void *unused)
{
    char byte;
    (void)unused;
    if (read(ready[0], &byte, 1) != 1)
        shmem_global_exit(3);
    take_turn();
    shmem_int_p(&x, 2, 1);
    return NULL;
}

static void o3_thread(void)
{
    pthread_t thread;
    if (me != 0)
        return;
    if (pipe(ready) != 0 || pthread_create(&thread, NULL, second_put, NULL) != 0)
        shmem_global_exit(3);
    take_turn();
    shmem_int_p(&x, 1, 1);
    if (mended)
        shmem_fence();
    take_turn();
    if (write(ready[1], "", 1) != 1)
        shmem_global_exit(3);
    pthread_join(thread, NULL);
}

/* Memory is removed, and other memory is added, which has the same cells. */
static void *store(void *at)
{
    *(int *)at = 1;
    if (write(ready[1], "", 1) != 1)
        shmem_global_exit(3);
    return NULL;
}

static int *add(size_t bytes)
{
    int *m = aligned_alloc(4096, bytes);
    if (!m || shmemx_symmetric_add(m, bytes, SHMEMX_MEMORY_HOST))
        shmem_global_exit(3);
    return m;
}

static void o14_added(void)
{
    enum { BYTES = 1 << 16 };
    pthread_t thread;
    char byte;
    int *first = add(BYTES), *m = first;
    if (pipe(ready) != 0)
        shmem_global_exit(3);
    if (me == 1 && (pthread_create(&thread, NULL, store, &m[3]) != 0 || read(ready[0], &byte, 1) != 1))
        shmem_global_exit(3);
    shmem_barrier_all();
    if (mended) {
        shmemx_symmetric_remove(m);
        m = add(BYTES);
    }
    if (me == 0)
        shmem_int_p(&m[3], 2, 1);
    shmem_barrier_all();
    if (me == 1)
        pthread_join(thread, NULL);
    shmemx_symmetric_remove(m);
    free(first);
    if (m != first)
        free(m);
}

/* PE 0 puts to a word that PE 1 accesses by a call of a constant number of bytes. */
static void with_put(void)
{
    if (me == 0)
        shmem_int_p(&spread[2], 5, 1);
}

static void c1_memset_spread(void)
{
    if (me == 1)
        memset(mended ? rest : spread, 0, sizeof spread);
    with_put();
}

static void c1_memcpy_spread(void)
{
    if (me == 1)
        memcpy((char *)(mended ? rest : spread), "thirteen byte", 13);
    with_put();
}

static void c1_memcmp_spread(void)
{
    if (me == 1)
        sink = memcmp(mended ? rest : spread, rest, 3 * sizeof *rest) == 0;
    with_put();
}

static void use_the_stack(void)
{
    int room[1 << 12];
    memset(room, me, sizeof room);
    sink = room[sink & 7];
}

static int stores(shmemx_gpc_call_t *call)
{
    (void)call;
    use_the_stack(); /* of the thread that runs the function: no race with what the thread does there */
    x = 4;
    return SHMEMX_GPC_DONE;
}

/* A function that runs while its PE is in shmem_finalize. */
static void o19_finalize(void)
{
    enum { NAP_US = 100000 };
    int func = shmemx_gpc_register(stores);
    use_the_stack();
    if (me == 1)
        x = 1;
    if (mended)
        shmem_barrier_all();
    if (me == 0) {
        usleep(NAP_US);
        shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, 1, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL);
    }
    shmem_finalize();
    exit(0);
}

/* One of two words of a granule is accessed again in a later epoch: the earlier store of the other word remains. PE 0 is late, so that its get
 * has to find the store. */
static _Alignas(8) int half[2];

static void o5_half(void)
{
    volatile int *h = half;
    if (me == 1) {
        h[0] = 1, h[1] = 2;
        shmem_uint64_atomic_inc(&flag, 2);
        sink = h[0];
        h[0] = 3;
    }
    if (mended)
        shmem_sync_all();
    if (me == 0) {
        usleep(20000);
        sink = shmem_int_g(&half[1], 1);
    }
}

const struct litmus litmus_again[] = {
    {"c1_memset_spread", "C1", c1_memset_spread}, {"c1_memcpy_spread", "C1", c1_memcpy_spread}, {"c1_memcmp_spread", "C1", c1_memcmp_spread},
    {"o19_finalize", "O19", o19_finalize},
    {"o6_again", "O6", o6_again},   {"o3_again", "O3", o3_again}, {"o8_learned", "O8", o8_learned}, {"o8_again", "O8", o8_again},
    {"o5_again", "O5", o5_again},   {"o3_thread", "O3", o3_thread}, {"o14_added", "O14", o14_added}, {"o5_half", "O5", o5_half},
    {NULL, NULL, NULL},
};
