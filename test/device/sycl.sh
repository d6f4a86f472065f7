#!/usr/bin/env bash
# sycl.sh - Intel SHMEM's API in SYCL (sycl.cpp) by AdaptiveCpp: in kernels by a work-item, sub-groups and groups, on the host and on
# queues, direct and by the ring; with kernels in OpenCL C in the same program. Catches: a name that is not emitted or goes to another routine,
# a kernel without the default context, a handle of a team that differs between host and kernels.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/lib/sycl.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
find_sycl "$work/jit" || skip_all "$no_sycl"

$OSHCXX --sycl -O0 -Xclang -disable-O0-optnone "$top_srcdir/test/device/sycl.cpp" -o "$work/api" > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"
timeout 150 $OSHRUN -n 1 "$work/api" > "$work/log" 2>&1 && grep -q 'all as expected' "$work/log" # compiles the kernels once for all PEs
ok $? "1 PE" "$work/log"
for pes in ${FULMAR_TEST_PES:-2 4}; do
    for direct in 1 0; do
        SHMEM_TEST_DEVICE_DIRECT=$direct timeout 150 $OSHRUN -n "$pes" "$work/api" > "$work/log" 2>&1 && grep -q 'all as expected' "$work/log"
        ok $? "$pes PEs, direct $direct" "$work/log"
    done
done

! OSHCC_SYCL="acpp --acpp-targets=omp" $OSHCXX --sycl -fsyntax-only "$top_srcdir/examples/pass_sycl.cpp" > "$work/log" 2>&1 &&
    grep -m1 'error:' "$work/log" | grep -q 'to compile with --acpp-targets=generic'
ok $? "a target of AdaptiveCpp whose kernels cannot communicate: the first error says so" "$work/log"

cat > "$work/mixed.cpp" << 'END'
#include <ishmemx.h>
#include <cstdio>
int main()
{
    ishmem_init();
    int me = ishmem_my_pe(), n = ishmem_n_pes(), got[2];
    shmem_team_t world = SHMEM_TEAM_WORLD; /* shmem.h's names beside ishmem.h's */
    sycl::queue q;
    int *a = (int *)ishmem_calloc(2, sizeof *a);
    q.single_task([=] { ishmem_int_p(a, 100 + me, (me + 1) % n); }).wait();
    size_t one[3] = {1, 1, 1}, bytes[1] = {sizeof a};
    void *args[1] = {&a};
    int err = shmemx_launch("from_opencl", one, one, args, bytes, 1);
    ishmem_barrier_all();
    q.memcpy(got, a, sizeof got).wait();
    int from = (me + n - 1) % n, good = !err && got[0] == 100 + from && got[1] == 200 + from && shmem_team_n_pes(world) == n;
    unsigned long before, after, *of_kernel = sycl::malloc_host<unsigned long>(3, q);
    ishmemx_ts_handle_t at[3] = {ishmemx_ts_handle(of_kernel), ishmemx_ts_handle(of_kernel + 1), ishmemx_ts_handle(of_kernel + 2)};
    ishmemx_timestamp(ishmemx_ts_handle(&before));
    q.single_task([=] {
         ishmemx_timestamp(at[0]);
         *(unsigned long *)at[2] = *(volatile unsigned long *)at[0];
         ishmemx_timestamp_nbi(at[1]);
         ishmemx_nop();
         ishmemx_print("file", 1, "kernel", "with its name\n", WARNING);
         ishmemx_print("100%s\n");
     }).wait();
    ishmemx_timestamp(ishmemx_ts_handle(&after));
    ishmemx_print("of the host\n", STDERR);
    good = good && before <= of_kernel[0] && of_kernel[0] == of_kernel[2] && of_kernel[0] <= of_kernel[1] && of_kernel[1] <= after;
    if (!good)
        printf("PE %d: %d %d %d\n", me, err, got[0], got[1]);
    void *large = ishmem_malloc(100 << 20); /* Intel SHMEM's size of the heap */
    if (!large != !!getenv("ISHMEM_SYMMETRIC_SIZE"))
        printf("PE %d: heap\n", me), good = 0;
    ishmem_barrier_all();
    int *wrong = (int *)malloc(4);
    if (me == 0 && getenv("WRONG"))
        q.single_task([=] { ishmem_int_p(wrong, 1, 0); }).wait();
    ishmem_quiet();
    ishmem_finalize();
    return !good;
}
END
cat > "$work/more.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void from_opencl(SHMEMG_GLOBAL int *a)
{
    shmemg_int_p(a + 1, 200 + shmemg_my_pe(), (shmemg_my_pe() + 1) % shmemg_n_pes());
}
END
if (. "$top_srcdir/src/tools/llvm.sh" && find_llvm); then
    $OSHCXX --sycl -O2 "$work/mixed.cpp" "$work/more.cl" -o "$work/mixed" > "$work/log" 2>&1 &&
        timeout 100 $OSHRUN -n 2 "$work/mixed" > "$work/log" 2>&1
    ok $? "kernels in SYCL and OpenCL C in one program, with names of shmem.h; time stamps; the default size of the heap" "$work/log"
    [ "$(grep -c '^\[000[01]\] WARN: kernel: with its name$' "$work/log")" = 2 ] && [ "$(grep -c '^100%s$' "$work/log")" = 2 ] &&
        [ "$(grep -c '^of the host$' "$work/log")" = 2 ]
    ok $? "ishmemx_print, by type, of kernels and of the host" "$work/log"
    ISHMEM_SYMMETRIC_SIZE=8M timeout 100 $OSHRUN -n 2 "$work/mixed" > "$work/more" 2>&1
    ok $? "ISHMEM_SYMMETRIC_SIZE" "$work/more"
    WRONG=1 timeout 100 $OSHRUN -n 2 "$work/mixed" > "$work/log" 2>&1
    grep -q 'a kernel was refused: address 0x[0-9a-f]* is not in the device symmetric heap' "$work/log"
    ok $? "a kernel's error is reported" "$work/log"
else
    skip "kernels in SYCL and OpenCL C in one program" "LLVM with llvm-spirv compiles kernels; it is not installed"
fi
plan
