#!/usr/bin/env bash
# queue.sh - host calls ordered with kernels (shmemx_*_on_queue): a pipeline around the ring of PEs in which every step
# depends on the previous one, and only the queue orders them.
. "${top_srcdir:=.}/test/device/run.sh"

cat >"$work/k.cl" <<'END'
#include <shmemg.h>
/* Slow, so that a call that did not wait would come too early. */
SHMEMG_KERNEL void step(SHMEMG_GLOBAL int64_t *w, int to, int from, int64_t add)
{
    int64_t v = w[from];
    for (int i = 0; i < 2000; i++)
        v = (v * 3 + 1) ^ (v >> 5);
    w[63] = v; /* keeps the loop */
    w[to] = w[from] + add;
}
END
cat >"$work/k.c" <<'END'
#include <errno.h>
#include <shmemx.h>
#include <stdio.h>
enum { STEPS = 20 };
static long *w;
static int calls, me, n;
static uint64_t arrived;
static long total[2], mine[2], all[64], collected[64], exchanged[64], to_each[64];

static void note(void *p)
{
    calls = calls * 10 + *(int *)p; /* the order tells */
}

static int start(const char *kernel, int to, int from, long add)
{
    void *args[] = {&w, &to, &from, &add};
    const size_t one[3] = {1, 1, 1}, bytes[] = {8, 4, 4, 8};
    return shmemx_launch(kernel, one, one, args, bytes, 4);
}

int main(void)
{
    shmem_init(); /* SHMEM_THREAD_SINGLE: the library's thread may make calls all the same */
    me = shmem_my_pe(), n = shmem_n_pes();
    w = shmemg_calloc(64, sizeof *w);
    int digits[] = {1, 2, 3}, err = 0, to = (me + 1) % n;
    for (int i = 0; i < STEPS && !err; i++) { /* w[0] and w[1] come from the left in turn, w[2] goes to the right */
        err |= start("step", 2, i % 2, 1);
        err |= shmemx_putmem_signal_on_queue(w + (i + 1) % 2, w + 2, sizeof *w, &arrived, 1, SHMEM_SIGNAL_ADD, to);
        err |= shmemx_signal_wait_until_on_queue(&arrived, SHMEM_CMP_GE, (uint64_t)i + 1);
        err |= shmemx_barrier_all_on_queue(); /* the left one does not run ahead */
    }
    err |= shmemx_device_sync();
    long got;
    shmem_getmem(&got, w + STEPS % 2, sizeof got, me);
    if (got != STEPS)
        printf("PE %d: %ld after %d steps\n", me, got, STEPS);
    err |= got != STEPS;

    mine[0] = me + 1;
    for (int i = 0; i < n; i++)
        to_each[i] = 100 * me + i;
    for (int i = 0; i < 3; i++)
        err |= start("step", 3, 3, 1) | shmemx_host_on_queue(note, &digits[i]);
    err |= shmemx_getmem_on_queue(&total[1], w + 3, sizeof *w, me) | shmemx_quiet_on_queue();
    err |= shmemx_long_sum_reduce_on_queue(SHMEM_TEAM_WORLD, total, mine, 1);
    err |= shmemx_fcollectmem_on_queue(SHMEM_TEAM_WORLD, all, mine, sizeof *mine);
    err |= shmemx_collectmem_on_queue(SHMEM_TEAM_WORLD, collected, mine, me % 2 ? 0 : sizeof *mine);
    err |= shmemx_alltoallmem_on_queue(SHMEM_TEAM_WORLD, exchanged, to_each, sizeof *to_each);
    err |= shmemx_team_sync_on_queue(SHMEM_TEAM_WORLD);
    err |= shmemx_broadcastmem_on_queue(SHMEM_TEAM_WORLD, mine + 1, mine, sizeof *mine, n - 1);
    err |= shmemx_device_sync();
    int right = calls == 123 && total[1] == 3 && total[0] == n * (n + 1) / 2 && all[n - 1] == n && mine[1] == n;
    for (int i = 0; i < n; i++)
        right &= exchanged[i] == 100 * i + me && collected[i] == (i < (n + 1) / 2 ? 2 * i + 1 : 0);
    if (!right)
        printf("PE %d: calls %d, %ld kernels, sum %ld, last %ld, root's %ld, exchanged %ld, collected %ld\n", me, calls, total[1], total[0],
               all[n - 1], mine[1], exchanged[n - 1], collected[0]);
    err |= shmemx_host_on_queue(note, &digits[0]); /* finalize waits for it */
    shmem_finalize();
    return err || !right || calls != 1231;
}
END
$OSHCC -O2 "$work/k.c" "$work/k.cl" -o "$work/k" >"$work/log" 2>&1
ok $? "the program compiles" "$work/log"
# Catches: a call that does not wait for the previous kernel, a kernel that does not wait for the call, calls in another
# order, a sync or finalize that ignores them, calls of the library's thread checked as the program's.
for check in ${DEVICE_AGAIN:-0 1}; do
    for pes in 1 2 3; do
        SHMEM_CHECK=$check SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 $OSHRUN -n $pes "$work/k" >"$work/log" 2>&1
        ok $? "a pipeline in the queue, $pes PEs, SHMEM_CHECK=$check" "$work/log"
    done
done
plan
