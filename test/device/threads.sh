#!/usr/bin/env bash
# threads.sh - kernels launched and awaited by several threads of a PE at once, mixed with host calls.
. "${top_srcdir:=.}/test/device/run.sh"

cat >"$work/k.cl" <<'END'
#include <shmemg.h>
SHMEMG_KERNEL void add(SHMEMG_GLOBAL int64_t *w, SHMEMG_GLOBAL int64_t *sum, int to)
{
    shmemg_int64_atomic_inc(w, shmemg_my_pe());
    shmemg_int64_atomic_add(sum, 1, to);
}
END
cat >"$work/k.c" <<'END'
#include <pthread.h>
#include <shmemx.h>
#include <stdio.h>
enum { THREADS = 3, LAUNCHES = 60 };
static long *w, *sum;
static int calls;

static void note(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void *work(void *p)
{
    long t = (long)p, *mine = w + 8 * t, got, bad = 0;
    int to = (shmem_my_pe() + 1) % shmem_n_pes();
    void *args[] = {&mine, &sum, &to};
    const size_t one[3] = {1, 1, 1}, items[3] = {4, 1, 1}, bytes[] = {8, 8, 4};
    for (int i = 1; i <= LAUNCHES; i++) {
        bad |= shmemx_launch("add", one, items, args, bytes, 3);
        bad |= i % 8 ? 0 : shmemx_host_on_queue(note, NULL);
        if (i % 4)
            continue;
        bad |= shmemx_device_sync();
        shmem_getmem(&got, mine, sizeof got, shmem_my_pe());
        if (got != 4 * i)
            printf("PE %d, thread %ld: %ld after %d launches\n", shmem_my_pe(), t, got, i);
        bad |= got != 4 * i;
    }
    return (void *)bad;
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    w = shmemg_calloc(64, sizeof *w), sum = shmemg_calloc(1, sizeof *sum);
    pthread_t t[THREADS];
    long bad = 0, got;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *r;
        pthread_join(t[i], &r);
        bad |= (long)r;
    }
    shmem_barrier_all();
    shmem_getmem(&got, sum, sizeof got, shmem_my_pe());
    bad |= got != 4 * THREADS * LAUNCHES || calls != THREADS * (LAUNCHES / 8);
    if (bad)
        printf("PE %d: sum %ld, calls %d\n", shmem_my_pe(), got, calls);
    shmem_finalize();
    return bad != 0;
}
END
$OSHCC -O2 "$work/k.c" "$work/k.cl" -o "$work/k" -lpthread >"$work/log" 2>&1
ok $? "the program compiles" "$work/log"
# Catches: a sync that frees a launch that another thread has just made, modules built twice, calls out of order.
for direct in $directs; do
    for pes in 1 2; do
        run $pes $direct "$work/k"
        ok $? "three threads, $pes PEs, SHMEM_TEST_DEVICE_DIRECT=$direct" "$work/log"
    done
done
plan
