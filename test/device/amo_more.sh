#!/usr/bin/env bash
# amo_more.sh - additions to float and double, waits for several signals and counted signals by kernels and hosts at once, against an oracle:
# in memory that the host can and cannot access, direct and by the ring, as OpenCL C, CUDA C++ and SYCL.
. "${top_srcdir:=.}/test/device/run.sh"

cat > "$work/more.cl" << 'END'
#include <shmemg.h>
/* Item id of PE me, in its step i: what it adds, in units of 1/8, and where. more.c has the same. */
SHMEMG_DEVICE int eighths(int me, int id, int i)
{
    return (me * 31 + id * 7 + i * 13) % 33 - 16;
}
SHMEMG_KERNEL void adds(SHMEMG_GLOBAL float *f, SHMEMG_GLOBAL double *d, SHMEMG_GLOBAL double *fetched, SHMEMG_GLOBAL uint64_t *taken, SHMEMG_GLOBAL void *c,
                        int steps, int turns)
{
    int id = (int)shmemg_global_id(0), me = shmemg_my_pe(), n = shmemg_n_pes();
    shmem_ctx_t ctx = (shmem_ctx_t)c;
    for (int i = 0; i < steps; i++) {
        int to = (me + id + i) % n, w = (id + i) % 4;
        float v = (float)eighths(me, id, i) / 8;
        if (i % 3 == 0)
            shmemxg_float_atomic_add(f + w, v, to);
        else if (i % 3 == 1)
            shmemxg_ctx_float_atomic_fetch_add(ctx, f + w, v, to);
        else
            shmemxg_float_atomic_fetch_add_nbi((SHMEMG_GLOBAL float *)(fetched + id), f + w, v, to);
        if (i % 2 == 0)
            shmemxg_ctx_double_atomic_add(ctx, d + w, v, to);
        else
            shmemxg_double_atomic_fetch_add_nbi(fetched + id, d + w, v, to);
        double turn = shmemxg_double_atomic_fetch_add(d + 4, 1, 0);
        if (turn >= 0 && turn < turns)
            shmemg_uint64_atomic_add(taken + (size_t)turn, 1, 0);
        shmemg_quiet();
    }
    shmemg_ctx_quiet(ctx);
}
/* One work-item of each PE. sig: one of each PE; value: the same, of this PE's memory; bad: what was wrong. */
SHMEMG_KERNEL void signals(SHMEMG_GLOBAL uint64_t *sig, SHMEMG_GLOBAL uint64_t *data, SHMEMG_GLOBAL uint64_t *value, SHMEMG_GLOBAL uint64_t *count,
                           SHMEMG_GLOBAL uint64_t *bad, int each, int rounds)
{
    int me = shmemg_my_pe(), n = shmemg_n_pes();
    for (int pe = 0; pe < n; pe++) {
        value[n] = 1000 + me;
        shmemg_uint64_put_signal(data + me, value + n, 1, sig + me, 5 + me, SHMEM_SIGNAL_SET, pe);
        for (int k = 0; k < each; k++)
            shmemg_signal_add(count, 1, pe);
    }
    shmemxg_signal_wait_until_all(sig, n, 0, SHMEM_CMP_GE, 5, value);
    for (int pe = 0; pe < n; pe++)
        if (value[pe] != 5 + pe || data[pe] != 1000 + pe)
            *bad = 1;
    size_t i = shmemxg_signal_wait_until_any(sig, n, 0, SHMEM_CMP_EQ, 5 + me, value + n);
    if (i != me || value[n] != 5 + me)
        *bad = 2;
    for (int k = 0; k < rounds; k++)
        if (k % 2 && shmemxg_signal_test_count(count, n))
            continue;
        else if (shmemxg_signal_wait_count(count, n) < n)
            *bad = 3;
    if (shmemxg_signal_test_count(count, 1))
        *bad = 4;
}
END
cat > "$work/more.c" << 'END'
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { ITEMS = 8, STEPS = 12, EACH = 20 };
static int eighths(int me, int id, int i)
{
    return (me * 31 + id * 7 + i * 13) % 33 - 16;
}
/* argv[1] 1: this host updates at the same time; 0: the kernels alone. */
int main(int argc, char **argv)
{
    shmem_init();
    int host = argc > 1 && atoi(argv[1]), me = shmem_my_pe(), n = shmem_n_pes(), items = ITEMS + host, bad = 0;
    int steps = STEPS, each = EACH, rounds = EACH * (1 + host), turns = n * items * STEPS;
    float *f = shmemg_calloc(4, sizeof *f), sum_f[4] = {0}, got_f[4];
    double *d = shmemg_calloc(5, sizeof *d), *fetched = shmemg_calloc(ITEMS, sizeof *fetched), sum_d[4] = {0}, got_d[5];
    uint64_t *taken = shmemg_calloc((size_t)turns, 8), *mark = malloc((size_t)turns * 8), wrong;
    uint64_t *sig = shmemg_calloc((size_t)n, 8), *data = shmemg_calloc((size_t)n, 8), *value = shmemg_calloc((size_t)n + 1, 8);
    uint64_t *count = shmemg_calloc(1, 8), *is_bad = shmemg_calloc(1, 8);
    void *ctx;
    bad += shmemx_device_ctx_create(SHMEM_TEAM_WORLD, 0, &ctx) != 0;
    shmem_barrier_all();
    const size_t one[3] = {1, 1, 1}, local[3] = {ITEMS, 1, 1}, bytes[] = {8, 8, 8, 8, 8, 4, 4};
    bad += shmemx_launch("adds", one, local, (void *[]){&f, &d, &fetched, &taken, &ctx, &steps, &turns}, bytes, 7) != 0;
    for (int i = 0; host && i < STEPS; i++) {
        int to = (me + ITEMS + i) % n, w = (ITEMS + i) % 4;
        float v = (float)eighths(me, ITEMS, i) / 8;
        shmemx_float_atomic_add(f + w, v, to);
        shmemx_double_atomic_add(d + w, v, to);
        shmem_uint64_atomic_inc(&taken[(size_t)shmemx_double_atomic_fetch_add(d + 4, 1, 0)], 0);
    }
    bad += shmemx_device_sync() != 0;
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++)
        for (int id = 0; id < items; id++)
            for (int i = 0; i < STEPS; i++)
                if ((pe + id + i) % n == me) {
                    sum_f[(id + i) % 4] += (float)eighths(pe, id, i) / 8;
                    sum_d[(id + i) % 4] += eighths(pe, id, i) / 8.0;
                }
    shmem_getmem(got_f, f, sizeof got_f, me);
    shmem_getmem(got_d, d, sizeof got_d, me);
    for (int i = 0; i < 4; i++)
        if (got_f[i] != sum_f[i] || got_d[i] != sum_d[i]) {
            printf("PE %d, word %d: %g and %g, not %g and %g\n", me, i, got_f[i], got_d[i], sum_f[i], sum_d[i]);
            bad++;
        }
    shmem_getmem(mark, taken, (size_t)turns * 8, me);
    for (int i = 0; me == 0 && i < turns; i++)
        if (mark[i] != 1) {
            printf("turn %d was taken %lu times\n", i, (unsigned long)mark[i]);
            bad++;
        }
    shmem_barrier_all();
    bad += shmemx_launch("signals", one, one, (void *[]){&sig, &data, &value, &count, &is_bad, &each, &rounds}, bytes, 7) != 0;
    for (int pe = 0; host && pe < n; pe++)
        for (int k = 0; k < EACH; k++)
            shmem_signal_add(count, 1, pe);
    bad += shmemx_device_sync() != 0;
    shmem_getmem(&wrong, is_bad, 8, me);
    if (wrong)
        printf("PE %d: signals: error %lu\n", me, (unsigned long)wrong);
    bad += wrong != 0;
    shmem_barrier_all();
    shmemx_device_ctx_destroy(ctx);
    shmem_finalize();
    return bad != 0;
}
END

compile_ways more
compile_way_sycl more
# Catches: an addition that is lost between a kernel, a proxy and a host, or made twice; a double that is added as a float or as a number of 64
# bits; a result that two have; a value of another signal; arrivals that a wait loses. In memory that the host cannot access, as with CUDA,
# and that PEs map, kernels update with instructions, and hosts do not at the same time: see src/device/lib/amo.h.
for way in $ways; do
    use_way "$way"
    for private in $privates; do
        [ "$way" = spirv:auto ] || [ "$private" = 0 ] || continue
        for direct in $directs; do
            host=1
            [ "$private$direct" != 11 ] && [ "$way$direct" != cuda:cuda-cpu1 ] || host=0
            for pes in ${FULMAR_TEST_PES:-1 3}; do
                ZE_CPU_PRIVATE=$private run "$pes" "$direct" "$work/more-${way%:*}" $host
                ok $? "${way%:*}, $pes PEs, direct $direct, private $private$([ $host = 1 ] || echo ", kernels alone")" "$work/log"
            done
        done
    done
done
plan
