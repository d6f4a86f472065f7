#!/usr/bin/env bash
# ishmem.sh - Intel SHMEM's names in kernels: strided transfers, waits for several words, teams and collectives, by one
# work-item and by groups, through loads and stores and through ring and proxy. Tests of shmemg.h cover the routines
# that both have.
. "${top_srcdir:=.}/test/device/run.sh"

cat >"$work/k.cl" <<'END'
#include <ishmemx.h>
/* The first failed check stores its line number for the host. */
#define EXPECT(x) do { if (!(x) && *bad == 0) *bad = __LINE__; } while (0)
#define N 20 /* elements: more than one chunk of a reduction by one work-item */

SHMEMG_DEVICE static void by_group(SHMEMG_GLOBAL int *d, SHMEMG_GLOBAL int *s, SHMEMG_GLOBAL int *bad, int rank, int step, int group)
{
    int me = ishmem_my_pe(), n = ishmem_n_pes();
    int on_node = ishmem_team_translate_pe(ISHMEM_TEAM_SHARED, 0, ISHMEM_TEAM_WORLD);
    for (int i = rank; i < 4 * N; i += step)
        s[i] = me * 1000 + i, d[i] = -1;
    ishmemx_sync_all_work_group(group);
    EXPECT(ishmemx_int_broadcast_work_group(d, s, N, n - 1, group) == 0);
    EXPECT(ishmemx_int_fcollect_work_group(ISHMEM_TEAM_WORLD, d + N, s, 3, group) == 0);
    EXPECT(ishmemx_int_collect_work_group(d + 2 * N, s, me + 1, group) == 0);
    EXPECT(ishmemx_int_alltoall_work_group(d + 3 * N, s, 2, group) == 0);
    if (rank == 0) {
        for (int i = 0; i < N; i++)
            EXPECT(d[i] == (n - 1) * 1000 + i);
        for (int p = 0, at = 0; p < n; at += ++p) {
            EXPECT(d[N + 3 * p] == p * 1000 && d[N + 3 * p + 2] == p * 1000 + 2);
            EXPECT(d[2 * N + at] == p * 1000 && d[2 * N + at + p] == p * 1000 + p);
            EXPECT(d[3 * N + 2 * p] == p * 1000 + 2 * me && d[3 * N + 2 * p + 1] == p * 1000 + 2 * me + 1);
        }
    }
    ishmemx_sync_all_work_group(group);
    EXPECT(ishmemx_int_sum_reduce_work_group(d, s, N, group) == 0);
    EXPECT(ishmemx_int_max_reduce_work_group(d + N, s, N, group) == 0);
    EXPECT(ishmemx_uint_or_reduce_work_group((SHMEMG_GLOBAL unsigned *)d + 2 * N, (SHMEMG_GLOBAL unsigned *)s, N, group) == 0);
    EXPECT(ishmemx_int_sum_exscan_work_group(d + 3 * N, s, N, group) == 0);
    EXPECT(ishmemx_int_min_reduce_work_group(ISHMEM_TEAM_SHARED, s, s, N, group) == 0); /* in place */
    for (int i = 0; rank == 0 && i < N; i++) {
        int any = 0;
        for (int p = 0; p < n; p++)
            any |= p * 1000 + i;
        EXPECT(d[i] == 1000 * n * (n - 1) / 2 + n * i && d[N + i] == (n - 1) * 1000 + i && d[2 * N + i] == any);
        EXPECT(d[3 * N + i] == 1000 * me * (me - 1) / 2 + me * i && s[i] == on_node * 1000 + i);
    }
}

SHMEMG_DEVICE static void alone(SHMEMG_GLOBAL int *d, SHMEMG_GLOBAL int *s, SHMEMG_GLOBAL int *bad)
{
    int me = ishmem_my_pe(), n = ishmem_n_pes();
    for (int i = 0; i < N; i++)
        s[i] = me + i, d[i] = -1;
    ishmem_barrier_all();
    EXPECT(ishmem_int_prod_reduce(d, s + 1, 1) == 0);
    EXPECT(ishmem_sum_inscan(d + 1, s, 2) == 0);
    EXPECT(ishmem_float_max_reduce((SHMEMG_GLOBAL float *)d + 4, (SHMEMG_GLOBAL float *)d + 5, 0) == 0);
    EXPECT(ishmem_collectmem(d + 8, s, 4 * (me == 0)) == 0 && d[8] == 0);
    int product = 1;
    for (int p = 0; p < n; p++)
        product *= p + 1;
    EXPECT(d[0] == product && d[1] == me * (me + 1) / 2 && d[2] == (me + 1) * (me + 2) / 2);
    EXPECT(ishmem_broadcast(d, s, 1, n) == -1); /* a root that is no member: refused, and told to the host */
}

SHMEMG_DEVICE static void strided(SHMEMG_GLOBAL int *d, SHMEMG_GLOBAL int *s, SHMEMG_GLOBAL int *bad, int rank, int group)
{
    int to = (ishmem_my_pe() + 1) % ishmem_n_pes();
    for (int i = rank; i < 4 * N; i += (int)shmemg_local_size(0))
        s[i] = i, d[i] = -1;
    ishmemx_barrier_all_work_group(group);
    ishmemx_int_iput_work_group(d, s, 2, 3, 4, to, group);
    ishmemx_ibput_work_group(d + 10, s, 3, 4, (size_t)2, (size_t)3, to, group);
    ishmemx_barrier_all_work_group(group);
    if (rank == 0) {
        for (int i = 0; i < 4; i++)
            EXPECT(d[2 * i] == 3 * i && d[2 * i + 1] == -1);
        for (int b = 0; b < 3; b++)
            EXPECT(d[10 + 3 * b] == 4 * b && d[11 + 3 * b] == 4 * b + 1 && d[12 + 3 * b] == -1);
        ishmem_iget(s + N, d, 1, 2, 4, to);
        ishmemx_ibget32(s + 2 * N, d + 10, 2, 3, 2, 3, to);
        EXPECT(s[N + 3] == 9 && s[2 * N + 5] == 9 && s[2 * N + 2] == 4);
        ishmem_iput64((SHMEMG_GLOBAL uint64_t *)d + 10, (SHMEMG_GLOBAL uint64_t *)s, 1, 2, 2, to);
        ishmem_quiet();
    }
    ishmemx_barrier_all_work_group(group);
    EXPECT(rank || (d[20] == 0 && d[21] == 1 && d[22] == 4 && d[23] == 5));
}

SHMEMG_DEVICE static void waits(SHMEMG_GLOBAL int *d, SHMEMG_GLOBAL int *s, SHMEMG_GLOBAL int *bad, int rank, int group)
{
    int to = (ishmem_my_pe() + 1) % ishmem_n_pes();
    SHMEMG_GLOBAL size_t *where = (SHMEMG_GLOBAL size_t *)s;
    for (int i = rank; i < N; i += (int)shmemg_local_size(0))
        d[i] = 0;
    if (rank == 0)
        d[N] = 0, d[N + 1] = 1, d[N + 2] = 0, d[N + 3] = 7, d[N + 4] = 8, d[N + 5] = -9;
    ishmemx_barrier_all_work_group(group);
    if (rank == 0)
        EXPECT(ishmem_test_all(d, 3, d + N, ISHMEM_CMP_EQ, 0) == 1 && ishmem_test_any(d, 3, 0, ISHMEM_CMP_NE, 0) == ~0ul);
    ishmemx_barrier_all_work_group(group);
    if (rank == 0) {
        ishmem_int_p(d + 1, 5, to); /* left out by the status array */
        ishmem_int_p(d + 2, -8, to);
        ishmem_quiet();
    }
    EXPECT(ishmemx_int_wait_until_any_work_group(d, 3, d + N, ISHMEM_CMP_LT, -7, group) == 2);
    EXPECT(ishmemx_int_wait_until_some_work_group(d, 3, where, 0, ISHMEM_CMP_LT, 0, group) == 1 && where[0] == 2);
    if (rank == 0)
        ishmem_int_p(d, 7, to);
    ishmemx_int_wait_until_all_work_group(d, 3, d + N, ISHMEM_CMP_NE, 0, group);
    if (rank == 0) {
        ishmem_wait_until_all_vector(d, 3, d + N, ISHMEM_CMP_GE, d + N + 3); /* 7 >= 7, -8 >= -9 */
        EXPECT(ishmem_test_some_vector(d, 3, where, 0, ISHMEM_CMP_EQ, d + N + 3) == 1 && where[0] == 0);
        EXPECT(ishmem_int_test_any_vector(d, 3, 0, ISHMEM_CMP_NE, d + N + 3) == 1);
    }
    int found = 0, alone = 0; /* fair: each of three words that hold is found */
    for (int i = 0; i < 3; i++)
        found |= 1 << ishmemx_int_wait_until_any_work_group(d, 3, 0, ISHMEM_CMP_NE, 0, group);
    for (int i = 0; i < 3 && rank == 0; i++)
        alone |= 1 << ishmem_test_any(d, 3, 0, ISHMEM_CMP_NE, 0);
    EXPECT(found == 7 && (alone == 7 || rank));
}

SHMEMG_DEVICE static void teams(SHMEMG_GLOBAL int *bad)
{
    ishmem_team_config_t config = {3};
    char name[ISHMEM_MAX_NAME_LEN];
    int major = 0, minor = 0, me = ishmem_my_pe();
    EXPECT(ishmem_team_my_pe(ISHMEM_TEAM_WORLD) == me && ishmem_team_n_pes(ISHMEM_TEAM_WORLD) == ishmem_n_pes());
    EXPECT(ishmem_team_my_pe(ISHMEM_TEAM_INVALID) == -1 && ishmem_team_n_pes(ISHMEM_TEAM_INVALID) == -1);
    EXPECT(ishmem_team_translate_pe(ISHMEM_TEAM_WORLD, me, ISHMEM_TEAM_SHARED) >= 0);
    EXPECT(ishmem_team_translate_pe(ISHMEM_TEAM_WORLD, 1000, ISHMEM_TEAM_SHARED) == -1);
    EXPECT(ishmem_team_get_config(ISHMEM_TEAM_WORLD, ISHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 0);
    ishmem_info_get_name(name);
    ishmem_info_get_version(&major, &minor);
    EXPECT(name[0] == 'F' && major == ISHMEM_MAJOR_VERSION && minor == ISHMEM_MINOR_VERSION);
}

SHMEMG_KERNEL void everything(SHMEMG_GLOBAL int *d, SHMEMG_GLOBAL int *s, SHMEMG_GLOBAL int *bad)
{
    int rank = (int)shmemg_local_id(0), width = (int)shmemg_local_size(0);
    by_group(d, s, bad, rank, width, ISHMEMX_WORK_GROUP);
    ishmemx_barrier_all_work_group(ISHMEMX_WORK_GROUP);
    if (shi_lanes(SHI_HTG) == (shi_u32)width) {
        by_group(d, s, bad, rank, width, ISHMEMX_SUB_GROUP);
        ishmemx_barrier_all_work_group(ISHMEMX_SUB_GROUP);
    }
    strided(d, s, bad, rank, ISHMEMX_WORK_GROUP);
    ishmemx_barrier_all_work_group(ISHMEMX_WORK_GROUP);
    waits(d, s, bad, rank, ISHMEMX_WORK_GROUP);
    ishmemx_barrier_all_work_group(ISHMEMX_WORK_GROUP);
    if (rank == 0)
        teams(bad);
}
SHMEMG_KERNEL void refused(SHMEMG_GLOBAL int *d, SHMEMG_GLOBAL int *s, SHMEMG_GLOBAL int *bad) { alone(d, s, bad); }
END
cat >"$work/k.c" <<'END'
#include <ishmem.h>
#include <shmemx.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    (void)argv;
    ishmem_init();
    int *d = ishmem_calloc(100, sizeof *d), *s = ishmem_calloc(100, sizeof *s), *bad = ishmem_calloc(1, sizeof *bad);
    void *args[] = {&d, &s, &bad};
    const size_t one[3] = {1, 1, 1}, items[3] = {8, 1, 1}, bytes[] = {8, 8, 8};
    int err = shmemx_launch(argc > 1 ? "refused" : "everything", one, argc > 1 ? one : items, args, bytes, 3), line = 0;
    err = err || shmemx_device_sync();
    ishmem_get(&line, bad, 1, ishmem_my_pe());
    if (line)
        printf("PE %d: line %d of the kernels\n", ishmem_my_pe(), line);
    ishmem_finalize();
    return err || line;
}
END
$OSHCC -O2 "$work/k.c" "$work/k.cl" -o "$work/k" >"$work/log" 2>&1
ok $? "a program with only Intel SHMEM's names compiles" "$work/log"
run() { # PEs, direct, argument
    SHMEM_TEST_DEVICE_DIRECT=$2 SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 $OSHRUN -n "$1" "$work/k" $3 >"$work/log" 2>&1
}
# Catches: blocks in wrong places, a collective that ends before its data has arrived or that the next one overtakes,
# the index of an excluded word, signed words compared as unsigned.
for direct in $directs; do
    for pes in 1 2 3; do
        run $pes $direct
        ok $? "collectives, strides and waits, $pes PEs, direct=$direct" "$work/log"
        # Catches: a wrong reduction by one work-item, a refusal that is not reported.
        run $pes $direct refused
        [ $? != 0 ] && grep -q "PE $pes does not exist" "$work/log" && ! grep -q 'of the kernels' "$work/log"
        ok $? "one work-item's collectives, and an invalid root, $pes PEs, direct=$direct" "$work/log"
    done
done

cat >"$work/bits.cl" <<'END'
#include <ishmemx.h>
SHMEMG_KERNEL void bits(SHMEMG_GLOBAL float *f, SHMEMG_GLOBAL float *sum, SHMEMG_GLOBAL double *d, SHMEMG_GLOBAL double *product)
{
    ishmemx_float_sum_reduce_work_group(sum, f, 200, ISHMEMX_WORK_GROUP);
    ishmemx_double_prod_reduce_work_group(product, d, 200, ISHMEMX_WORK_GROUP);
}
END
cat >"$work/bits.c" <<'END'
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>
enum { N = 200 };
static float f[N], of_kernel[N];
static double d[N], product[N];
int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), bad;
    float *df = shmemg_calloc(N, sizeof *f), *ds = shmemg_calloc(N, sizeof *f);
    double *dd = shmemg_calloc(N, sizeof *d), *dp = shmemg_calloc(N, sizeof *d);
    for (int i = 0; i < N; i++)
        d[i] = 1 + 1.0 / (me * 37 + i + 3), f[i] = (float)(d[i] * (i % 3 ? 1e-4 : 1e3));
    shmem_putmem(df, f, sizeof f, me);
    shmem_putmem(dd, d, sizeof d, me);
    shmem_barrier_all();
    bad = shmemx_launch("bits", (size_t[]){1, 1, 1}, (size_t[]){4, 1, 1}, (void *[]){&df, &ds, &dd, &dp}, (size_t[]){8, 8, 8, 8}, 4) ||
          shmemx_device_sync();
    shmem_float_sum_reduce(SHMEM_TEAM_WORLD, f, f, N);
    shmem_double_prod_reduce(SHMEM_TEAM_WORLD, d, d, N);
    shmem_getmem(of_kernel, ds, sizeof f, me);
    shmem_getmem(product, dp, sizeof d, me);
    bad |= memcmp(f, of_kernel, sizeof f) || memcmp(d, product, sizeof d);
    if (bad)
        printf("PE %d: other bits\n", me);
    shmem_finalize();
    return bad;
}
END
$OSHCC -O2 "$work/bits.c" "$work/bits.cl" -o "$work/bits" >"$work/log" 2>&1
ok $? "a program that reduces in a kernel and on the host compiles" "$work/log"
# Catches: a kernel's reduction that combines in another order than the host's.
bits() { # program, what
    for direct in $directs; do
        SHMEM_TEST_DEVICE_DIRECT=$direct SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 $OSHRUN -n 5 "$1" >"$work/log" 2>&1
        ok $? "reductions have the host's bits$2, 5 PEs, direct=$direct" "$work/log"
    done
}
bits "$work/bits" ""
if [ -n "$DEVICE_AGAIN" ]; then
    :
elif find_sycl "$work/jit"; then
    compile_sycl "$work/bits-sycl" "$work/bits.c" "$work/bits.cl" && timeout 60 $OSHRUN -n 1 "$work/bits-sycl" >"$work/log" 2>&1 # compiles the kernel for all
    ok $? "the program that reduces compiles with its kernels as SYCL" "$work/log"
    bits "$work/bits-sycl" ", SYCL"
else
    skip "reductions as SYCL" "$no_sycl"
fi
plan
