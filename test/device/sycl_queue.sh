#!/usr/bin/env bash
# sycl_queue.sh - Intel SHMEM's _on_queue forms on queues of AdaptiveCpp (sycl_queue.cpp), direct and by the ring, and kernels on queues of
# another device and of another context than the symmetric heap's. Catches: a form whose kernel is kept back until the host waits, that returns
# another event than its kernel's, that swaps arguments; a queue without access to the heap about which no line says so.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/lib/sycl.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
find_sycl "$work/jit" || skip_all "$no_sycl"

fast="-O0 -Xclang -disable-O0-optnone" # compiles in half the time, the kernels in a third: AdaptiveCpp optimises them again
# shellcheck disable=SC2086
$OSHCXX --sycl $fast "$top_srcdir/test/device/sycl_queue.cpp" -o "$work/queue" > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"
for setting in 1:1 2:1 4:1 3:0; do # the first compiles the kernels for all
    pes=${setting%:*}
    SHMEM_TEST_DEVICE_DIRECT=${setting#*:} timeout 200 $OSHRUN -n "$pes" "$work/queue" > "$work/log" 2>&1 && grep -q 'all as expected' "$work/log"
    ok $? "_on_queue forms, $pes PEs, direct ${setting#*:}" "$work/log"
done

cat > "$work/other.cpp" << 'END_OF_SOURCE'
/* A kernel on a queue of the last device puts; with an argument, a context of its own has kernels, too. */
#include <ishmemx.h>
#include <cstdio>
int main(int argc, char **)
{
    ishmem_init();
    int me = ishmem_my_pe(), n = ishmem_n_pes(), got = 0;
    sycl::queue q{sycl::device::get_devices(sycl::info::device_type::gpu).back()};
    int *a = (int *)ishmem_calloc(1, sizeof *a);
    q.single_task([=] { ishmem_int_p(a, 100 + me, (me + 1) % n); }).wait();
    ishmem_barrier_all();
    sycl::queue().memcpy(&got, a, sizeof got).wait();
    ze_driver_handle_t driver;
    ze_context_handle_t context, own;
    ze_device_handle_t device;
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    bool good = !shmemx_ze_get(&driver, &context, &device) && shmemx_sycl_state(context, device);
    if (argc > 1)
        good = good && !zeContextCreate(driver, &desc, &own) && shmemx_sycl_state(own, device) && !zeContextDestroy(own);
    printf("%s\n", good && got == 100 + (me + n - 1) % n ? "right" : "wrong");
    ishmem_finalize();
}
END_OF_SOURCE
# shellcheck disable=SC2086
$OSHCXX --sycl $fast "$work/other.cpp" -o "$work/other" -lze_loader > "$work/log" 2>&1
ok $? "the program with other queues compiles, with -lze_loader" "$work/log"
other() { # number of lines about a device, about a context, ARGUMENTS
    timeout 100 $OSHRUN -n 2 "$work/other" "${@:3}" > "$work/log" 2>&1
    [ "$(grep -c '^right' "$work/log")" = 2 ] && [ "$(grep -c 'fulmar: PE [01]: a kernel.s device is another one' "$work/log")" = "$1" ] &&
        [ "$(grep -c 'fulmar: PE [01]: a kernel.s Level Zero context is another one' "$work/log")" = "$2" ]
}
ZE_CPU_DEVICES=2 other 0 0
ok $? "a queue of another device, which can access the heap's memory" "$work/log"
ZE_CPU_DEVICES=2 ZE_CPU_PEERS=0 other 2 0
ok $? "a line says that a queue's device cannot access the heap's memory" "$work/log"
other 0 2 own
ok $? "a line says that kernels are of another context" "$work/log"

# The same linked in the wrong order.
OSHCC_SYCL="acpp --acpp-targets=generic -lze_loader" $OSHCXX --sycl $fast "$work/other.cpp" -o "$work/late" > "$work/log" 2>&1 &&
    timeout 100 $OSHRUN -n 1 "$work/late" > "$work/log" 2>&1
grep -q "kernels cannot communicate: the program is linked with libze_loader before libfulmar" "$work/log"
ok $? "a line says that the loader is linked before the library" "$work/log"
plan
