#!/usr/bin/env bash
# complete.sh - quiet and fence for some PEs, and flush, in kernels, against an oracle: in memory that the host can and cannot access, direct and
# by the ring, over the network, and on two hosts, as OpenCL C, CUDA C++ and SYCL.
. "${top_srcdir:=.}/test/device/run.sh"
command -v mpirun > /dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
need_hosts "$0"
work=$FAKE_HOSTS

cat > "$work/complete.cl" << 'END'
#include <shmemg.h>
/* One work-group of each PE. Words w: ROUNDS rounds of this PE's data on each PE; last: the last value that each PE has written here; bad: what was
 * wrong. The value of round r at word k is a function of PE, r and k. */
SHMEMG_DEVICE uint64_t value(int pe, int r, int k)
{
    return (uint64_t)pe * 1000003 + (uint64_t)r * 1009 + (uint64_t)k;
}
SHMEMG_KERNEL void rounds(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *source, SHMEMG_GLOBAL uint64_t *last, SHMEMG_GLOBAL uint64_t *got,
                          SHMEMG_GLOBAL uint64_t *bad, SHMEMG_GLOBAL void *c, int words, int rounds)
{
    shmem_ctx_t ctx = (shmem_ctx_t)c;
    int me = shmemg_my_pe(), n = shmemg_n_pes(), id = (int)shmemg_global_id(0), items = (int)shmemg_global_size(0);
    for (int r = 0; r < rounds; r++) {
        int to = (me + r) % n, pes[2] = {to, (to + 1) % n};
        for (int part = 0; part < 2; part++) {
            for (int k = id; k < words; k += items)
                source[k] = value(me, r, part * words + k);
            shmemg_ctx_uint64_put_nbi_tg(ctx, w + (me * 2 + part) * words, source, (size_t)words, to);
            if (r % 2)
                shmemxg_ctx_flush_tg(ctx); /* the second half has the same source */
            else
                shmemg_ctx_pe_quiet_tg(ctx, pes, 2);
        }
        shmemg_ctx_pe_quiet_tg(ctx, pes, 1 + r % 2);
        shmemg_ctx_uint64_get_nbi_tg(ctx, got, w + me * 2 * words, 2 * (size_t)words, to);
        shmemxg_ctx_flush_tg(ctx);
        for (int k = id; k < 2 * words; k += items)
            if (got[k] != value(me, r, k))
                *bad = 1;
        shmemg_barrier();
        if (id == 0) {
            shmemg_uint64_p(last + me, (uint64_t)r, to);
            shmemxg_pe_fence(pes, 2);
            shmemg_uint64_p(last + me, (uint64_t)r + 1, to);
            shmemg_pe_quiet(pes, 1);
            if (shmemg_uint64_g(last + me, to) != (uint64_t)r + 1)
                *bad = 2;
        }
    }
}
END
cat > "$work/complete.c" << 'END'
#include <shmemx.h>
#include <stdio.h>
enum { WORDS = 100, ROUNDS = 60, ITEMS = 16 };
static uint64_t value(int pe, int r, int k)
{
    return (uint64_t)pe * 1000003 + (uint64_t)r * 1009 + (uint64_t)k;
}
int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), words = WORDS, rounds = ROUNDS, err;
    uint64_t *w = shmemg_calloc((size_t)n * 2 * WORDS, 8), *source = shmemg_calloc(WORDS, 8), *last = shmemg_calloc((size_t)n, 8);
    uint64_t *got = shmemg_calloc(2 * WORDS, 8), *is_bad = shmemg_calloc(1, 8), is[2 * WORDS], bad, l;
    void *ctx;
    err = shmemx_device_ctx_create(SHMEM_TEAM_WORLD, 0, &ctx) != 0;
    shmem_barrier_all();
    const size_t one[3] = {1, 1, 1}, local[3] = {ITEMS, 1, 1}, bytes[] = {8, 8, 8, 8, 8, 8, 4, 4};
    err += shmemx_launch("rounds", one, local, (void *[]){&w, &source, &last, &got, &is_bad, &ctx, &words, &rounds}, bytes, 8) != 0;
    err += shmemx_device_sync() != 0;
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) {
        int r = ROUNDS - 1;
        while ((pe + r) % n != me)
            r--;
        shmem_getmem(is, w + (size_t)pe * 2 * WORDS, sizeof is, me);
        shmem_getmem(&l, last + pe, 8, me);
        int wrong = l != (uint64_t)r + 1;
        for (int k = 0; k < 2 * WORDS; k++)
            wrong += is[k] != value(pe, r, k);
        if (wrong)
            printf("PE %d: %d words of PE %d are wrong, the last is %lu, not %d\n", me, wrong, pe, (unsigned long)l, r + 1);
        err += wrong;
    }
    shmem_getmem(&bad, is_bad, 8, me);
    if (bad)
        printf("PE %d: error %lu\n", me, (unsigned long)bad);
    err += bad != 0;
    shmemx_device_ctx_destroy(ctx);
    shmem_finalize();
    return err != 0;
}
END

compile_ways complete
compile_way_sycl complete
# Catches: a source that changes before it is read, data that a flush or a quiet of its PE does not wait for, a fence of some PEs without effect.
for way in $ways; do
    use_way "$way"
    for private in $privates; do
        [ "$way" = spirv:auto ] || [ "$private" = 0 ] || continue
        for direct in $directs; do
            for pes in ${FULMAR_TEST_PES:-1 3}; do
                ZE_CPU_PRIVATE=$private run "$pes" "$direct" "$work/complete-${way%:*}"
                ok $? "${way%:*}, $pes PEs, direct $direct, private $private" "$work/log"
            done
        done
    done
done
# Over libfabric; on two hosts; and with requests that the proxy makes late.
for way in $ways; do
    use_way "$way"
    SHMEM_TRANSPORT=ofi run 2 1 "$work/complete-${way%:*}"
    ok $? "${way%:*}, 2 PEs over the network" "$work/log"
    SHMEM_TEST_SPIN=0 timeout 120 "$hosts" in h1 $OSHRUN -n 4 -H h1:2,h2:2 "$work/complete-${way%:*}" > "$work/log" 2>&1
    ok $? "${way%:*}, 4 PEs on two hosts" "$work/log"
    SHMEM_CHECK=1 run 2 1 "$work/complete-${way%:*}"
    ok $? "${way%:*}, 2 PEs, SHMEM_CHECK=1" "$work/log"
done
plan
