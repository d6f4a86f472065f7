#!/usr/bin/env bash
# survive_kernels.sh - a PE dies while kernels of the others wait for it: the kernels end, and those that are launched after the agreement use a team
# of the PEs that live.
# Catches: a kernel's wait that does not end; a kernel's quiet that returns before its puts to PEs that live are complete; waits of later kernels that end
# because of a failure that is acknowledged; shmemx_grow with a device heap that begins what it cannot end.
#
# Inside two fake hosts it runs one job: survive_kernels.sh PROGRAM KERNEL.
if [ $# = 2 ]; then
    cp "$1" "$FAKE_HOSTS/program" # hosts do not share /tmp
    UIDRUN_HOSTS="h1 h2" SHMEM_FAULTS=continue SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 "$top_srcdir/test/lib/uidrun" -n 4 "$FAKE_HOSTS/program" "$2"
    exit
fi
. "${top_srcdir:=.}/test/device/run.sh"

cat >"$work/k.cl" <<'END_OF_FILE'
#include <shmemg.h>
#include "device/lib/coll.h"
/* result: what the wait returned. Each wait is for what the dead PE would do. */
SHMEMG_KERNEL void wait_word(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *result)
{
    shmemg_uint64_wait_until(w, SHMEM_CMP_EQ, 7);
    result[0] = 1 + *w;
}
SHMEMG_KERNEL void wait_any(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *result)
{
    result[0] = 2 + shmemxg_signal_wait_until_any(w, 2, 0, SHMEM_CMP_EQ, 7, 0);
}
SHMEMG_KERNEL void wait_sync(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *result)
{
    result[0] = shmemg_sync_all() ? 1 : 2;
}
SHMEMG_KERNEL void wait_collect(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *result)
{
    result[0] = shi_collect(SHMEM_DEVICE_CTX_DEFAULT, SHI_THREAD, SHMEM_DEVICE_TEAM_WORLD, w + 8, w, 8) ? 1 : 2;
}
/* Fetches, updates and puts go on until the failure is seen; a put that quiet has completed is there. */
SHMEMG_KERNEL void go_on(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *result, int victim, int next)
{
    uint64_t n = 0;
    while (!shmemg_sync_all() && n < 1000000000) /* the first one fails */
        n++;
    for (n = 0; n < 100; n++) {
        shmemg_uint64_atomic_fetch_add(w + 1, 1, victim);
        shmemg_uint64_p(w + 2, n, victim);
        shmemg_uint64_g(w + 3, victim);
        shmemg_uint64_p(w + 4, n + 1, next);
        shmemg_quiet();
        if (shmemg_uint64_g(w + 4, next) != n + 1)
            break;
    }
    result[0] = n == 100 ? 1 : 2;
}
/* The team of those that live. */
SHMEMG_KERNEL void again(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *result, SHMEMG_GLOBAL void *t)
{
    shmem_team_t team = (shmem_team_t)t;
    int n = shmemg_team_n_pes(team), me = shmemg_team_my_pe(team);
    int next = shmemg_team_translate_pe(team, (me + 1) % n, SHMEM_DEVICE_TEAM_WORLD);
    uint64_t bad = shmemg_team_sync(team) != 0;
    shmemg_uint64_p(w + 5, 100, next);
    shmemg_quiet();
    bad |= shmemg_team_sync(team) != 0;
    shmemg_uint64_wait_until(w + 5, SHMEM_CMP_EQ, 100);
    bad |= w[5] != 100;
    w[6] = 3 + (uint64_t)me;
    bad |= shi_collect(SHMEM_DEVICE_CTX_DEFAULT, SHI_THREAD, team, w + 8, w + 6, 8) != 0;
    for (int i = 0; i < n; i++)
        bad |= w[8 + i] != 3 + (uint64_t)i;
    result[0] = 1 + bad;
}
END_OF_FILE
cat >"$work/k.c" <<'END_OF_FILE'
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t one[3] = {1, 1, 1};

static int launch(const char *kernel, uint64_t *w, uint64_t *result, void **more, const size_t *bytes, int n)
{
    void *args[4] = {&w, &result};
    size_t lengths[4] = {8, 8};
    for (int i = 0; i < n; i++) {
        args[2 + i] = more[i];
        lengths[2 + i] = bytes[i];
    }
    return shmemx_launch(kernel, one, one, args, lengths, (size_t)(2 + n));
}

/* k KERNEL: PE 1 dies while the others run the kernel. */
int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), victim = 1 % n;
    uint64_t *w = shmemg_calloc(64, 8), *result = shmemg_calloc(1, 8), got = 0;
    if (argc != 2 || !w || !result)
        return 2;
    shmem_barrier_all();
    if (me == victim) {
        usleep(200000);
        kill(getpid(), SIGKILL);
    }
    int next = (me + 1) % n == victim ? (me + 2) % n : (me + 1) % n;
    void *pes[] = {&victim, &next};
    const size_t ints[] = {4, 4};
    if (launch(argv[1], w, result, pes, ints, strcmp(argv[1], "go_on") == 0 ? 2 : 0))
        return 3;
    int err = shmemx_device_sync(), status = shmemx_status();
    shmem_getmem(&got, result, 8, me);
    if (err || got != 1 || status != SHMEMX_ERR_PE_FAILED) {
        printf("wrong: PE %d: sync %d, result %lu, status %d\n", me, err, (unsigned long)got, status);
        return 4;
    }
    uint64_t well = 1;
    int dead[4], n_dead = shmemx_agree(SHMEM_TEAM_WORLD, &well, dead, 4);
    shmem_team_t team;
    if (shmemx_grow(0, &team) != -1 || team != SHMEM_TEAM_INVALID)
        return 8;
    if (n_dead != 1 || dead[0] != victim || shmemx_team_shrink(SHMEM_TEAM_WORLD, &team) || shmemx_ack_failed() != 1)
        return 5;
    void *t = shmemx_device_team(team), *teams[] = {&t};
    const size_t pointers[] = {8};
    for (int i = 0; i < 3; i++) {
        if (launch("again", w, result, teams, pointers, 1) || shmemx_device_sync())
            return 6;
        status = shmemx_status();
        shmem_getmem(&got, result, 8, me);
        if (got != 1 || status) {
            printf("wrong: PE %d, after the failure: result %lu, status %d\n", me, (unsigned long)got, status);
            return 7;
        }
        uint64_t zero[3] = {0};
        shmem_team_sync(team);
        shmem_putmem(w + 5, zero, sizeof zero, me);
        shmem_quiet();
        shmem_team_sync(team);
    }
    shmem_team_destroy(team);
    shmem_finalize();
    printf("right\n");
    return 0;
}
END_OF_FILE
OSHCC="$OSHCC -I$top_srcdir/src" compile_ways k

is_right() { # DESCRIPTION, how many PEs are left
    [ "$(grep -c '^right' "$work/log")" = "$2" ] && ! grep -q '^wrong' "$work/log" && [ "$(grep -c 'shmemx_grow: new PEs cannot join' "$work/log")" = "$2" ]
    ok $? "$1" "$work/log"
}

for way in $ways; do
    use_way "$way"
    for direct in $directs; do
        for kernel in wait_word wait_any wait_sync wait_collect go_on; do
            SHMEM_TEST_DEVICE_DIRECT=$direct SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 $OSHRUN --survive -n 3 "$work/k-${way%:*}" $kernel >"$work/log" 2>&1
            is_right "${way%:*}, direct=$direct: $kernel" 2
        done
    done
    for kernel in wait_word wait_sync go_on; do
        SHMEM_TRANSPORT=ofi SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 $OSHRUN --survive -n 3 "$work/k-${way%:*}" $kernel >"$work/log" 2>&1
        is_right "${way%:*}, over the network: $kernel" 2
        ! "$hosts" can >/dev/null || {
            "$hosts" run "$0" "$work/k-${way%:*}" $kernel >"$work/log" 2>&1
            is_right "${way%:*}, two hosts: $kernel" 3
        }
    done
done
plan
