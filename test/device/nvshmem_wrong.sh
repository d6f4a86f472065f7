#!/usr/bin/env bash
# nvshmem_wrong.sh - an NVSHMEM program with planted errors (nvshmem_wrong.cu): SHMEM_CHECK=1 and ZE_CPU_CHECK=1 find them, on one node and
# over the network, and find nothing in the same program without the error.
#
# Catches: a check that is left out on the way from a kernel to a heap; operations that are late where the program waits for them, or never.
export OSHCC_KERNELS=cuda SHMEM_DEVICE=cuda-cpu
if [ ! -f "$top_builddir/.libs/libcuda_cpu.so" ]; then
    echo "1..0 # SKIP this build has no libcuda_cpu.so (libze-dev)"
    exit 0
fi
. "${top_srcdir:=.}/test/device/run.sh"

# In two steps, as makefiles do: the second has no source that names nvcc.
$OSHCC -gencode arch=compute_90,code=compute_90 -c "$top_srcdir/test/device/nvshmem_wrong.cu" -o "$work/wrong.o" > "$work/log" 2>&1 &&
    $OSHCC -gencode arch=compute_90,code=compute_90 "$work/wrong.o" -o "$work/wrong" -lnvshmem_host > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"
program() { # VARIABLE=VALUE, arguments
    env "$1" timeout 120 $OSHRUN -n 2 "$work/wrong" "${@:2}" > "$work/log" 2>&1
}
ends() { # PATTERN: the job ended, with this line
    [ $? != 0 ] && grep -q "$1" "$work/log"
}
for way in auto ofi; do
    export SHMEM_TRANSPORT=$way
    program SHMEM_CHECK=1 past
    ends '^fulmar: PE [01]: kernel_put: dest = 0x.*: 4 bytes run past the end of a block of 256 bytes of the device heap by 4 (pe = [01])$'
    ok $? "$way: a put behind a block" "$work/log"
    for error in flag source dest; do
        program SHMEM_CHECK=1 $error && grep -qE '^no error: [1-9][0-9]* wrong of 10$' "$work/log"
        ok $? "$way: $error: stale data is read" "$work/log"
        program SHMEM_CHECK=1 $error right && grep -q '^no error: 0 wrong of 10$' "$work/log"
        ok $? "$way: $error, with fence or quiet: it is not" "$work/log"
    done
done
unset SHMEM_TRANSPORT
program SHMEM_CHECK=1 freed
ends 'kernel_put: dest = 0x.*, 4 bytes, is in no block of the device heap: freed, or never allocated'
ok $? "a put to a block that is free" "$work/log"
program ZE_CPU_CHECK=1 store
grep -qE '^ze_cpu: kernel .*store.*, work-item \(0,0,0\) of group \(0,0,0\): store of 4 bytes at 0x.*: no memory of this device$' "$work/log"
ok $? "a kernel's store behind its memory" "$work/log"
program ZE_CPU_CHECK=1 local
grep -qE '^ze_cpu: kernel .*local.*: load of .* bytes at 0x.*: no memory of this device$' "$work/log"
ok $? "the source of a put behind its memory" "$work/log"
plan
