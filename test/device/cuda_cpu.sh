#!/usr/bin/env bash
# cuda_cpu.sh - the CUDA half of the device library on the CPU: the other device tests with kernels compiled by nvcc, on
# libcuda_cpu.so; the litmus tests of test/gpu; CUDA's math library.
#
# DEVICE_SUITES names others, or none.
#
# Catches: a kernel that is right in SPIR-V only; a call of the CUDA backend that fails; an instruction of PTX that is missing.
export OSHCC_KERNELS=cuda SHMEM_DEVICE=cuda-cpu
if [ ! -f "$top_builddir/.libs/libcuda_cpu.so" ]; then
    echo "1..0 # SKIP this build has no libcuda_cpu.so (libze-dev)"
    exit 0
fi
. "${top_srcdir:=.}/test/device/run.sh"
nvcc=$(command -v "${NVCC:-nvcc}" || echo /usr/local/cuda/bin/nvcc)

"$nvcc" -arch=compute_75 -ptx "$top_srcdir/test/cuda_cpu/library.cu" -o "$work/library.ptx" > "$work/log" 2>&1 &&
    "$top_builddir/test/cuda_cpu/library" "$work/library.ptx" > "$work/log" 2>&1 && ! grep -q '^not ok' "$work/log" &&
    grep -q '^1\.\.4' "$work/log"
ok $? "functions of the math library are as exact as on a GPU" "$work/log"

$OSHCC -O2 "$top_srcdir/test/gpu/litmus.c" "$top_srcdir/test/gpu/litmus.cl" -o "$work/litmus" > "$work/log" 2>&1
ok $? "the litmus tests compile" "$work/log"
for pes in 1 2; do
    for direct in 0 1; do
        run $pes $direct "$work/litmus" 100 && ! grep -q '^not ok' "$work/log"
        ok $? "litmus tests, $pes PEs, direct=$direct" "$work/log"
    done
done

for suite in ${DEVICE_SUITES-gpc kernels tag}; do
    DEVICE_AGAIN=1 bash "$top_srcdir/test/device/$suite.sh" > "$work/all" 2>&1
    grep -A 5 '^not ok' "$work/all" > "$work/log" || grep -q '^1\.\.[1-9]' "$work/all" && [ ! -s "$work/log" ]
    ok $? "$suite.sh" "$work/log"
done
plan
