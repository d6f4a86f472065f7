#!/usr/bin/env bash
# program.sh - CUDA C++ of one source (program.cu): compiled by oshcc with nvcc, with the CUDA runtime of src/cudart, on libcuda_cpu.so.
#
# Catches: a call of the runtime that does something else than NVIDIA's; kernels that are launched with <<<>>> and have no context.
export OSHCC_KERNELS=cuda SHMEM_DEVICE=cuda-cpu
if [ ! -f "$top_builddir/.libs/libcuda_cpu.so" ]; then
    echo "1..0 # SKIP this build has no libcuda_cpu.so (libze-dev)"
    exit 0
fi
. "${top_srcdir:=.}/test/device/run.sh"
ptx="-gencode arch=compute_90,code=compute_90" # all that libcuda_cpu.so uses

# shellcheck disable=SC2086
{ $OSHCC $ptx -c "$top_srcdir/test/device/program_other.cu" -o "$work/other.o" &&
    $OSHCC $ptx "$top_srcdir/test/device/program.cu" "$work/other.o" -o "$work/program"; } > "$work/log" 2>&1
ok $? "a program of two files compiles, one of them to an object" "$work/log"
for n in 1 2; do
    run $n 1 "$work/program" && [ "$(grep -c '^0 failed$' "$work/log")" = $n ]
    ok $? "$n PEs: memory, streams, launches, calls of Fulmar in both files' kernels" "$work/log"
done
run 2 0 "$work/program"
ok $? "2 PEs, by the ring" "$work/log"

# Catches: a program that does not say which device it needs.
SHMEM_DEVICE=cuda "$work/program" > "$work/log" 2>&1
[ $? != 0 ] && { [ -e /dev/nvidia0 ] || grep -q 'with SHMEM_DEVICE=cuda-cpu the kernels run on the processor' "$work/log"; }
ok $? "without a GPU one line names the driver for the CPU" "$work/log"
plan
