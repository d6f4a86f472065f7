#!/usr/bin/env bash
# nvshmem.sh - a program with NVSHMEM's names (nvshmem.cu), compiled by oshcc with nvcc, on libcuda_cpu.so; and the list of the names.
#
# Catches: a routine of nvshmem.h that calls another one of Fulmar's, a team that kernels do not find, an operation on a stream that does not
# wait for earlier ones.
export OSHCC_KERNELS=cuda SHMEM_DEVICE=cuda-cpu
if [ ! -f "$top_builddir/.libs/libcuda_cpu.so" ]; then
    echo "1..0 # SKIP this build has no libcuda_cpu.so (libze-dev)"
    exit 0
fi
. "${top_srcdir:=.}/test/device/run.sh"

# As makefiles of programs for NVSHMEM do, with options that nvcc passes on.
OSHCC_CACHE=$work/cache $OSHCC -Xcompiler -fopenmp -Xcompiler=-Wall -lnvshmem_host -gencode arch=compute_90,code=compute_90 "$top_srcdir/test/device/nvshmem.cu" -o "$work/program" > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"
[ "$(ls "$work/cache" | wc -l)" = 2 ]
ok $? "OSHCC_CACHE keeps the objects of the runtime and of NVSHMEM's calls"
works() { # PEs, direct, arguments
    run "$1" "$2" "$work/program" "${@:3}" && [ "$(grep -c '^0 failed$' "$work/log")" = "$1" ]
}
for n in 1 2 3; do
    works $n 1
    ok $? "$n PEs" "$work/log"
done
works 2 0
ok $? "2 PEs, by the ring" "$work/log"
# Catches: a default context that the host does not find where device code is linked, as NVSHMEM's own programs are built.
OSHCC_CACHE=$work/cache $OSHCC -rdc=true -gencode arch=compute_90,code=compute_90 "$top_srcdir/test/device/nvshmem.cu" -o "$work/program" > "$work/log" 2>&1 &&
    works 2 1
ok $? "2 PEs, linked device code (-rdc=true)" "$work/log"
library=$top_srcdir/test/device/nvshmem_library.cu
OSHCC_CACHE=$work/cache $OSHCC -gencode arch=compute_90,code=compute_90 "$library" -o "$work/library" > "$work/log" 2>&1 &&
    OSHCC_CACHE=$work/cache $OSHCC -arch=compute_90 -ptx "$library" -o "$work/library.ptx" > "$work/log" 2>&1 &&
    run 2 1 "$work/library" "$work/library.ptx" && [ "$(grep -c '^0 failed$' "$work/log")" = 2 ]
ok $? "kernels in a module and in a library of the driver" "$work/log"
works 1 1 alone
ok $? "a PE that starts by a unique id" "$work/log"
for way in auto ofi; do
    ZE_CPU_PRIVATE=1 SHMEM_TRANSPORT=$way works 2 1
    ok $? "2 PEs, whose device memory the host cannot access, $way" "$work/log"
done
SHMEM_TRANSPORT=ofi works 2 0
ok $? "2 PEs over the network" "$work/log"
plan
