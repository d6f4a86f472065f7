#!/usr/bin/env bash
# templates.sh - Thrust and CUB, of the toolkit that is installed, on libcuda_cpu.so.
#
# Catches: what the runtime or the driver tells them that makes them choose no algorithm; memory that is freed while their kernels use it;
# halves of two writes of 16 bytes, in which they keep a value with its state; an instruction of their kernels that is refused or wrong.
. "${top_srcdir:=.}/test/tap.sh"
nvcc=$(command -v "${NVCC:-nvcc}" || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || skip_all "nvcc compiles the programs; it is not installed"
[ -f "$top_builddir/.libs/libcuda_cpu.so" ] || skip_all "this build has no libcuda_cpu.so (libze-dev)"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export SHMEM_DEVICE=cuda-cpu
for name in thrust cub; do
    printf '#include <%s>\n' "$([ $name = cub ] && echo cub/cub.cuh || echo thrust/sort.h)" > "$work/there.cu"
    if ! "$nvcc" -E "$work/there.cu" > /dev/null 2>&1; then
        tests=$((tests + 1)) && echo "ok $tests - $name # SKIP the toolkit is without it"
        continue
    fi
    $OSHCC --cuda -w -std=c++17 --extended-lambda -gencode arch=compute_90,code=compute_90 "$top_srcdir/test/cuda_cpu/$name.cu" -o "$work/$name" > "$work/log" 2>&1
    ok $? "$name compiles" "$work/log"
    good=1
    for _ in 1 2 3 4 5; do # the order of blocks differs
        timeout 300 "$work/$name" > "$work/log" 2>&1 && grep -qx right "$work/log" || { good=0 && break; }
    done
    [ $good = 1 ]
    ok $? "$name: each algorithm gives the host's result" "$work/log"
done
plan
