#!/usr/bin/env bash
# gpc.sh - global procedure calls from kernels, with and without waiting, to host functions of every PE.
. "${top_srcdir:=.}/test/device/run.sh"

# Every work-item calls every PE and waits for some of the calls; the host functions count and reply.
cat > "$work/calls.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void calls(SHMEMG_GLOBAL uint64_t *reply, SHMEMG_GLOBAL shi_u64 *bad, int add, int fails)
{
    uint64_t item = shmemg_global_id(0);
    for (int pe = 0; pe < shmemg_n_pes(); pe++) {
        uint64_t hdr[5] = {item, 1, 2, 3, 1000 * (uint64_t)shmemg_my_pe() + (uint64_t)pe};
        if (item % 2) {
            shmemxg_gpc_exec_nbi(add, pe, hdr, sizeof hdr);
            continue;
        }
        reply[item] = 0;
        if (shmemxg_gpc_exec(add, pe, hdr, sizeof hdr, &reply[item], 8) != 0 || reply[item] != 7 * item + hdr[4])
            shi_atom64_add(bad, 1);
        if (shmemxg_gpc_exec(fails, pe, hdr, 8, 0, 0) >= 0)
            shi_atom64_add(bad, 1);
    }
    shmemg_quiet();
}
/* Sums along a tree over all PEs or a list, with and without a PE that fails. */
SHMEMG_KERNEL void trees(SHMEMG_GLOBAL uint64_t *reply, SHMEMG_GLOBAL shi_u64 *bad, SHMEMG_GLOBAL int *list, int visit, int sum)
{
    uint64_t item = shmemg_global_id(0);
    int n = shmemg_n_pes(), me = shmemg_my_pe(), tree = item % 2 ? SHMEMX_GPC_BINARY : SHMEMX_GPC_BINOMIAL, failed = 7;
    uint64_t hdr[3] = {(uint64_t)n, 1, 100 * item};
    if (shmemxg_gpc_chained_exec(visit, sum, hdr, 24, &reply[item], 8, 0, 0, tree, &failed) != 0 || failed != -1 ||
        reply[item] != 100 * item * (uint64_t)n + (uint64_t)(n * (n - 1) / 2))
        shi_atom64_add(bad, 1);
    list[item] = (me + 1) % n;
    int ids = n > 1; /* the root is called anyway */
    if (shmemxg_gpc_chained_exec(visit, sum, hdr, 24, &reply[item], 8, ids, &list[item], tree, &failed) != 0 || failed != -1 ||
        reply[item] != 100 * item * (uint64_t)(1 + ids) + (uint64_t)(me + (ids ? list[item] : 0)))
        shi_atom64_add(bad, 1);
    hdr[0] = item % (uint64_t)n; /* fails */
    if (shmemxg_gpc_chained_exec(visit, sum, hdr, 24, &reply[item], 8, n, 0, tree, &failed) != -5 || failed != (int)hdr[0])
        shi_atom64_add(bad, 1);
    hdr[0] = (uint64_t)n;
    shmemxg_gpc_chained_exec_nbi(visit, SHMEMX_GPC_NONE, hdr, 16, 0, 0, tree);
    shmemg_quiet();
}
SHMEMG_KERNEL void wrong(int add) { shmemxg_gpc_exec_nbi(add, 1000, 0, 0); }
END
cat > "$work/calls.c" << 'END'
#include <shmemx.h>
#include <stdio.h>
static long came, sum;
static int add(shmemx_gpc_call_t *c)
{
    const uint64_t *h = c->hdr;
    __atomic_fetch_add(&came, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum, (long)h[0], __ATOMIC_RELAXED);
    if (c->hlen != 40 || h[1] != 1 || h[2] != 2 || h[3] != 3 || h[4] != 1000u * (unsigned)c->from + (unsigned)shmem_my_pe())
        return -1;
    if (c->rhlen) {
        *(uint64_t *)c->rhdr = 7 * h[0] + h[4];
        c->rhsize = 8;
    }
    return 0;
}
static long nbi;
static int visit(shmemx_gpc_call_t *c)
{
    const uint64_t *h = c->hdr;
    if (c->stage != SHMEMX_GPC_INIT)
        return 0;
    if (h[0] == (uint64_t)shmem_my_pe())
        return -1;
    if (c->hlen == 16)
        __atomic_fetch_add(&nbi, (long)h[1], __ATOMIC_RELAXED);
    if (c->rhlen)
        *(uint64_t *)c->rhdr = h[2] + (uint64_t)shmem_my_pe();
    c->rhsize = c->rhlen;
    return 0;
}
static int sum_up(shmemx_gpc_call_t *c)
{
    *(uint64_t *)c->rhdr += *(const uint64_t *)c->chdr;
    return 0;
}
static int fails(shmemx_gpc_call_t *c) { return c->rhlen ? 0 : -7; }
int main(int argc, char **argv)
{
    (void)argv;
    enum { ITEMS = 32 };
    shmem_init();
    int n = shmem_n_pes(), h[2] = {shmemx_gpc_register(add), shmemx_gpc_register(fails)};
    int h_visit = shmemx_gpc_register(visit), h_sum = shmemx_gpc_register_callback(sum_up), *list = shmemg_calloc(ITEMS, 4);
    uint64_t *reply = shmemg_calloc(ITEMS, 8), *bad = shmemg_calloc(1, 8);
    void *args[] = {&reply, &bad, &h[0], &h[1]}, *wrong[] = {&h[0]};
    void *tree_args[] = {&reply, &bad, &list, &h_visit, &h_sum};
    const size_t groups[3] = {4, 1, 1}, items[3] = {ITEMS / 4, 1, 1}, one[3] = {1, 1, 1}, bytes[] = {8, 8, 4, 4}, four[] = {4}, tree_bytes[] = {8, 8, 8, 4, 4};
    if (argc > 1)
        return shmemx_launch("wrong", one, one, wrong, four, 1) || shmemx_device_sync();
    int err = shmemx_launch("calls", groups, items, args, bytes, 4) || shmemx_device_sync();
    err |= shmemx_launch("trees", groups, items, tree_args, tree_bytes, 5) || shmemx_device_sync();
    shmem_barrier_all();
    long all = (long)n * ITEMS, items_sum = (long)n * ITEMS * (ITEMS - 1) / 2;
    uint64_t bads = 1;
    shmem_getmem(&bads, bad, sizeof bads, shmem_my_pe());
    err |= bads != 0 || came != all || sum != items_sum || nbi != all;
    if (err)
        printf("PE %d: %ld bad, %ld calls of %ld, sum %ld of %ld, %ld visits\n", shmem_my_pe(), (long)bads, came, all, sum, items_sum,
               nbi);
    shmem_finalize();
    return err;
}
END
$OSHCC -O2 "$work/calls.c" "$work/calls.cl" -o "$work/calls" > "$work/log" 2>&1
ok $? "oshcc compiles the program" "$work/log"
# Catches: a lost call, a truncated or wrong header or reply, a quiet that does not wait for replies, a lost status; another PE
# than the one that failed; a list or a tree that is not the kernel's.
for private in 0 1; do
    for pes in 1 2 3; do
        ZE_CPU_PRIVATE=$private SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 "$OSHRUN" -n $pes "$work/calls" > "$work/log" 2>&1 &&
            ! grep -q fulmar "$work/log"
        ok $? "kernels call functions of $pes PEs, private memory: $private" "$work/log"
    done
done
for pes in 2 4; do
    SHMEM_TRANSPORT=ofi ZE_CPU_PRIVATE=1 SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 "$OSHRUN" -n $pes "$work/calls" > "$work/log" 2>&1 &&
        ! grep -q fulmar "$work/log"
    ok $? "kernels call functions of $pes PEs over the network, private memory" "$work/log"
done
# Catches: a PE number out of range that is not refused.
SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 "$OSHRUN" -n 2 "$work/calls" wrong > "$work/log" 2>&1
[ $? != 0 ] && grep -q 'PE 1000 does not exist' "$work/log"
ok $? "an invalid PE ends the job with one line" "$work/log"
plan
