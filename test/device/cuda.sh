#!/usr/bin/env bash
# cuda.sh - the CUDA backend on the driver on the CPU with faults injected (test/device/fake/cuda.c): its calls, its reaction to
# failures, its messages, and that nothing waits for kernels that wait. It shows nothing about a GPU; see test/gpu/run.sh.
if [ ! -f "$top_builddir/.libs/libcuda_cpu.so" ]; then
    echo "1..0 # SKIP this build has no libcuda_cpu.so (libze-dev)"
    exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
. "${top_srcdir:=.}/test/tap.sh"
cc=${CC:-cc}
export LD_LIBRARY_PATH="$work" FAKE_CUDA_DRIVER="$top_builddir/.libs/libcuda_cpu.so"
$cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -Wl,-soname,libcuda.so.1 \
    "-I$top_srcdir/src" "$top_srcdir/test/device/fake/cuda.c" -o "$work/libcuda.so.1" -ldl -lpthread > "$work/log" 2>&1
ok $? "the driver with faults compiles" "$work/log"
calls() { # environment, then arguments of cuda_calls
    env SHMEM_DEBUG=1 SHMEM_DEVICE_SYMMETRIC_SIZE=8M "$@" > "$work/log" 2>&1
}
program=$top_builddir/test/device/cuda_calls

# Catches: calls outside a context, streams that wait for the default stream, memory or contexts that are not freed.
calls "$program"
sed -n 's/^\(not \)\{0,1\}ok [0-9]* - /&/p' "$work/log" | while read -r line; do echo "# $line"; done
! grep -q '^not ok' "$work/log" && grep -q '^1\.\.12$' "$work/log"
ok $? "memory, sharing, images, launches, host calls" "$work/log"
! grep -q '^fake:' "$work/log"
ok $? "everything is freed and no stream waits for the default stream" "$work/log"

calls "$top_builddir/test/device/backend" && [ "$(grep -c '^ok' "$work/log")" = 5 ] && ! grep -q '^fake:' "$work/log"
ok $? "what every backend of devices does" "$work/log"

calls FAKE_CUDA_WAITING=1 FAKE_CUDA_STALL=4194304 timeout 300 "$program" && ! grep -q '^fake:' "$work/log"
ok $? "nothing waits for kernels that wait: copies, fills, launches, the loading of kernels" "$work/log"
calls FAKE_CUDA_SLOW=3000 timeout 300 "$program" && ! grep -q '^fake:' "$work/log"
ok $? "copies that are late are awaited" "$work/log"
calls SHMEM_DEVICE=cuda ZE_CPU_DEVICES=1 timeout 60 $OSHRUN -n 2 "$top_builddir/test/multi/device_private.pes"
status=$?
[ $status = 0 ] && [ "$(grep -c '2 PEs share 1 cuda device and take turns' "$work/log")" = 1 ]
ok $? "two PEs on one device, and a line that they take turns" "$work/log"
mkdir "$work/mps" && touch "$work/mps/control"
calls SHMEM_DEVICE=cuda ZE_CPU_DEVICES=1 CUDA_MPS_PIPE_DIRECTORY="$work/mps" timeout 60 $OSHRUN -n 2 "$top_builddir/test/multi/device_private.pes" &&
    ! grep -q 'take turns' "$work/log"
ok $? "no such line where MPS runs" "$work/log"

# Catches: an error, a crash or two lines on a machine without a GPU.
none() { # DESCRIPTION, text of the line, environment
    d=$1 text=$2
    shift 2
    calls "$@" "$program" probe
    [ "$(grep -v '^fulmar' "$work/log")" = 0 ] && [ "$(grep -c 'no CUDA device: ' "$work/log")" = 1 ] &&
        grep -q "$text" "$work/log"
    ok $? "no device: $d" "$work/log"
}
none "the toolkit's stub (error 34)" "stub (error 34)" FAKE_CUDA_FAIL=cuInit=34
none "a stub without a driver" "stub (error 34)" FAKE_CUDA_FAIL=cuGetProcAddress=34
none "a driver without a GPU (error 100)" "cuInit failed with 100" FAKE_CUDA_FAIL=cuInit=100
none "a driver without devices" "found none" FAKE_CUDA_DEVICES=0
none "an old driver without a call" "the driver has no cuStreamQuery" FAKE_CUDA_MISSING=cuStreamQuery
none "no driver" "libcuda.so.1" LD_LIBRARY_PATH="$work/none"
stub=$(ls /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda*/lib/stubs/libcuda.so 2> /dev/null | head -1)
if [ "$stub" ]; then
    mkdir "$work/stub" && ln -s "$stub" "$work/stub/libcuda.so.1"
    none "NVIDIA's own stub" "stub (error 34)" LD_LIBRARY_PATH="$work/stub"
fi

# Catches: an error whose cause is not reported, or reported twice.
reports() { # DESCRIPTION, text, environment and arguments
    d=$1 text=$2
    shift 2
    calls "$@" && [ "$(grep -v 'device:' "$work/log" | grep -c "$text")" = 1 ]
    ok $? "$d" "$work/log"
}
reports "a GPU in exclusive mode" "is in exclusive mode" FAKE_CUDA_MODE=mode=3 \
    FAKE_CUDA_FAIL=cuDevicePrimaryCtxRetain=46 "$program" up
reports "IPC is not supported" "cuIpcGetMemHandle.* CUDA_ERROR_NOT_SUPPORTED" FAKE_CUDA_FAIL=cuIpcGetMemHandle=801 \
    "$program" share
reports "MPS with too many processes" "failed with 809, .*: MPS, .* takes no more of them; run fewer PEs" \
    FAKE_CUDA_FAIL=cuDevicePrimaryCtxRetain=809 "$program" up
reports "MPS that does not answer" "cuInit failed with 807, .*: MPS, .* does not answer; start it again" FAKE_CUDA_FAIL=cuInit=807 "$program" up
reports "kernels without code for this GPU" "(sm_90)" FAKE_CUDA_FAIL=cuModuleLoadDataEx=209 "$program" load
reports "a long launch of more groups than fit" "has 9 work-groups and the device runs at most 8 at once" \
    "$program" launch late
calls "$program" launch && ! grep -q 'it never ends' "$work/log"
ok $? "a short launch of more groups than fit: no line" "$work/log"

# Catches: a call that the driver lacks and that is made all the same.
calls FAKE_CUDA_MISSING=cuFuncGetParamInfo "$program" launch
ok $? "a driver older than 12.4 launches kernels" "$work/log"

# Catches: PEs on a device of another NUMA node, a misread list of cores, an unknown location taken for a remote one.
sysfs=$work/sys
mine=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
mkdir -p "$sysfs/devices/system/node/node"{0,1,2} "$sysfs/bus/pci/devices/0000:"{0a,0b,0c,0d}:00.0
echo "$mine-$((mine + 1))" > "$sysfs/devices/system/node/node0/cpulist"
echo "900-910,1000" > "$sysfs/devices/system/node/node1/cpulist"
echo "900,$mine" > "$sysfs/devices/system/node/node2/cpulist"
for i in 0 1 2; do echo $i > "$sysfs/bus/pci/devices/0000:0$(echo abc | cut -c$((i + 1))):00.0/numa_node"; done
echo -1 > "$sysfs/bus/pci/devices/0000:0d:00.0/numa_node"
is_local() { taskset -c "$mine" "$program" is_local "$sysfs" "$1"; }
is_local 0000:0A:00.0 && ! is_local 0000:0B:00.0 && is_local 0000:0C:00.0 && is_local 0000:0D:00.0 && is_local 0000:0E:00.0
ok $? "local and remote devices by NUMA node"

# The library with the test double: heaps of several PEs, shared by handles; host routines on memory that the host
# cannot access.
for pes in 1 2 3; do
    calls SHMEM_DEVICE=cuda timeout 60 $OSHRUN -n $pes "$top_builddir/test/multi/device_private.pes"
    ok $? "device heaps of $pes PEs" "$work/log"
done
! grep -q '^fake:' "$work/log" && grep -q 'device cuda:1 of 2: CPU (PTX on threads), PCI cpu:1' "$work/log"
ok $? "PEs take devices round robin and free everything" "$work/log"
calls SHMEM_DEVICE=cuda FAKE_CUDA_FAIL=cuIpcOpenMemHandle=217 timeout 60 $OSHRUN -n 2 "$top_builddir/test/multi/device_private.pes"
[ $? != 0 ] && [ "$(grep -c 'cuIpcOpenMemHandle.*failed with 217' "$work/log")" -ge 1 ]
ok $? "a peer's memory that cannot be mapped is an error on all PEs" "$work/log"
# Catches: devices without access to each other that end the job, an update that two agents make at the same time, a
# mapping or a context that is not released.
for pes in 2 3; do
    for program in device_private device_any_private; do
        calls SHMEM_DEVICE=cuda ZE_CPU_PEERS=0 timeout 100 $OSHRUN -n $pes "$top_builddir/test/multi/$program.pes"
        ok $? "$program, $pes PEs, devices that cannot access each other" "$work/log"
    done
done
! grep -q '^fake:' "$work/log" && grep -q 'cannot access the memory of device cpu:[01] (error 217): copies only' "$work/log"
ok $? "their memory is mapped for copies, and everything is freed" "$work/log"

# Catches: the program's own memory of which another process maps the beginning of its allocation, or the wrong part of it; memory of
# another device than the program says.
for pes in 1 2 3; do
    calls ZE_CPU_DEVICES=1 timeout 60 $OSHRUN -n $pes "$top_builddir/test/multi/external_cuda.pes" && ! grep -q -e '^not ok' -e '^fake:' "$work/log"
    ok $? "the program's own memory, $pes PEs" "$work/log"
done
calls SHMEM_TRANSPORT=ofi timeout 60 $OSHRUN -n 2 "$top_builddir/test/multi/external_cuda.pes" && ! grep -q -e '^not ok' -e '^fake:' "$work/log"
ok $? "the program's own memory, over the network" "$work/log"
calls timeout 60 $OSHRUN -n 2 "$top_builddir/test/multi/external_cuda.pes" 1
[ $? != 0 ] && grep -q 'CUDA: 524264 bytes at 0x[0-9a-f]* are not memory of one allocation on device 1' "$work/log"
ok $? "the program's memory of another device is refused" "$work/log"

# Catches: a copy that fails, at once or later, and whose data is taken for whole, that makes the job wait for ever, or whose reason
# is not given. 3392 bytes are the last piece of a transfer through chunks of 8 KiB.
breaks() { # DESCRIPTION, text, environment, program
    d=$1 text=$2
    shift 2
    calls SHMEM_DEVICE=cuda timeout 60 env "${@:1:$#-1}" $OSHRUN -n 2 "${@:$#}"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q "$text" "$work/log" && grep -q 'CUDA: .* failed with 719' "$work/log"
    ok $? "a copy that fails: $d" "$work/log"
}
device_private=$top_builddir/test/multi/device_private.pes
breaks "of the host" 'shmem_[a-z]*: the device failed to copy 200000 bytes' FAKE_CUDA_COPY=200000=719 "$device_private"
breaks "through the pipeline, at once" 'network: the device cannot start a copy for the network' FAKE_CUDA_COPY=3392=719 \
    SHMEM_TRANSPORT=ofi SHMEM_TEST_DEVICE_STAGING=32K "$device_private"
breaks "through the pipeline, later" 'network: the device cannot copy data of the network' FAKE_CUDA_COPY=3392=719 FAKE_CUDA_EVENT=1 \
    SHMEM_TRANSPORT=ofi SHMEM_TEST_DEVICE_STAGING=32K "$device_private"

# Catches: a copy that never ends, for which the job waits for ever, although its PEs answer (600: CUDA_ERROR_NOT_READY).
calls SHMEM_DEVICE=cuda SHMEM_HEARTBEAT=5 SHMEM_TRANSPORT=ofi SHMEM_TEST_DEVICE_STAGING=32K FAKE_CUDA_COPY=3392=600 FAKE_CUDA_EVENT=1 \
    timeout 60 $OSHRUN -n 2 "$device_private"
status=$?
[ $status -ne 0 ] && [ $status -ne 124 ] &&
    grep -q 'network: the device has ended none of [0-9]* copies for 5 s (SHMEM_HEARTBEAT)' "$work/log"
ok $? "a copy that never ends ends the job with a line" "$work/log"

# Catches: an allocation, a copy, a mapping or a loading that the runtime makes while kernels wait for each other.
if command -v "${NVCC:-nvcc}" > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    $OSHCC --kernels=cuda -O2 "$top_srcdir/test/gpu/litmus.c" "$top_srcdir/test/gpu/litmus.cl" -o "$work/litmus" > "$work/log" 2>&1
    ok $? "the litmus tests compile" "$work/log"
    for devices in 1 2; do
        for direct in 1 0; do
            calls ZE_CPU_DEVICES=$devices FAKE_CUDA_WAITING=1 SHMEM_DEVICE=cuda SHMEM_TEST_DEVICE_DIRECT=$direct timeout 120 \
                $OSHRUN -n 2 "$work/litmus" 50 && ! grep -q -e '^not ok' -e '^fake:' "$work/log"
            ok $? "litmus tests: nothing waits for kernels, 2 PEs on $devices devices, direct=$direct" "$work/log"
        done
    done

    # Catches: the same for a copy that a kernel's request makes.
    cat > "$work/one.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void put(SHMEMG_GLOBAL char *dest, SHMEMG_GLOBAL char *source, int to)
{
    shmemg_putmem(dest, source, 3392, to);
    shmemg_quiet();
}
END
    cat > "$work/one.c" << 'END'
#include <shmemx.h>
int main(void)
{
    shmem_init();
    char *dest = shmemg_malloc(4096), *source = shmemg_malloc(4096);
    int to = (shmem_my_pe() + 1) % shmem_n_pes();
    void *args[] = {&dest, &source, &to};
    const size_t one[3] = {1, 1, 1}, bytes[] = {8, 8, 4};
    return shmemx_launch("put", one, one, args, bytes, 3) || shmemx_device_sync();
}
END
    $OSHCC --kernels=cuda "$work/one.c" "$work/one.cl" -o "$work/one" > "$work/log" 2>&1
    ok $? "a kernel with one put compiles" "$work/log"
    export SHMEM_TEST_DEVICE_DIRECT=0
    breaks "of a kernel's request, at once" 'proxy: a request of a kernel failed' FAKE_CUDA_COPY=3392=719 "$work/one"
    breaks "of a kernel's request, later" 'proxy: a request of a kernel failed' FAKE_CUDA_COPY=3392=719 FAKE_CUDA_EVENT=1 "$work/one"
    unset SHMEM_TEST_DEVICE_DIRECT
else
    tests=$((tests + 1))
    echo "ok $tests - litmus tests, requests whose copies fail # SKIP nvcc compiles their kernels; it is not installed"
fi

# Catches: kernels without a default context, of which no line says why.
cat > "$work/local.c" << 'END'
#include <shmemx.h>
static const char ptx[] = "//\n.version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 8 .b8 shmemg_default_10_[368];\n"
                          ".visible .entry empty() { ret; }\n";
int main(void)
{
    const size_t one[3] = {1, 1, 1};
    shmemx_kernels_register(ptx, sizeof ptx);
    shmem_init();
    void *p = shmemg_malloc(8);
    int err = !p || shmemx_launch("empty", one, one, 0, 0, 0);
    shmem_finalize();
    return err;
}
END
$OSHCC "$work/local.c" -o "$work/local" > "$work/log" 2>&1 && calls SHMEM_DEVICE=cuda "$work/local" &&
    ! grep -q 'does not find' "$work/log"
ok $? "a module's default context is found" "$work/log"
calls SHMEM_DEVICE=cuda FAKE_CUDA_FAIL=cuModuleGetGlobal=500 "$work/local"
[ "$(grep -c 'the device does not find shmemg_default_10_' "$work/log")" = 1 ]
ok $? "a default context that is not found is reported" "$work/log"

# Catches: statistics that do not say how device memory is reached.
ways() { # TEXT, environment
    text=$1
    shift
    calls SHMEM_STATS=1 SHMEM_DEVICE=cuda "$@" timeout 60 $OSHRUN -n 3 "$top_builddir/test/multi/device_private.pes"
    grep -q "PE 0: device memory of PEs: $text\$" "$work/log"
    ok $? "statistics: $text" "$work/log"
}
ways "3 by kernels"
ways "2 by kernels, 1 by copies" ZE_CPU_PEERS=0
ways "1 by kernels, 2 by staged" SHMEM_TRANSPORT=ofi
calls SHMEM_DEVICE=cuda FAKE_CUDA_FAIL=cuIpcGetMemHandle=801 timeout 60 $OSHRUN -n 1 "$top_builddir/test/multi/device_private.pes"
ok $? "a single PE needs no sharing" "$work/log"

# Catches: a declaration of the backend that differs from the driver's.
header=$(ls /usr/local/cuda*/include/cuda.h /usr/include/cuda.h 2> /dev/null | head -1)
if [ "$header" ]; then
    {
        echo "#include \"$header\""
        echo '#include "device/cuda_driver.h"'
        sed -n 's/^    \(CU[A-Z_]* = [0-9]*\),\{0,1\}$/\1/p' "$top_srcdir/src/device/cuda_driver.h" |
            sed 's/\(.*\) = \(.*\)/_Static_assert(\1 == \2, "\1");/'
        echo '#define X(call, params) _Static_assert(__builtin_types_compatible_p(__typeof__(call), CUresult params), #call);'
        echo 'CUDA_CALLS(X) CUDA_CALLS_OPTIONAL(X) CUDA_CALLS_VIRTUAL(X) CUDA_CALLS_SINCE_12_4(X)'
        echo '_Static_assert(__builtin_types_compatible_p(__typeof__(cuGetProcAddress), cuGetProcAddress_v2_t), "");'
        echo '_Static_assert(sizeof(CUipcMemHandle) == 64 && sizeof(CUmemAllocationProp) == 32 && sizeof(CUmemAccessDesc) == 12, "");'
    } > "$work/same.c"
    [ "$(grep -c 'CU.*==' "$work/same.c")" -gt 20 ] &&
        $cc -std=gnu11 "-I$top_srcdir/src" -fsyntax-only "$work/same.c" > "$work/log" 2>&1
    ok $? "constants and prototypes equal those of $header" "$work/log"
else
    tests=$((tests + 1))
    echo "ok $tests - constants and prototypes equal those of cuda.h # SKIP it is not installed"
fi
plan
