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

# Catches: kernels without a default context, or a fault that is lost, where the driver does not find a module's variables.
cat > "$work/k.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void set(SHMEMG_GLOBAL uint64_t *w, int to) { shmemg_uint64_p(w, 7, to); }
SHMEMG_KERNEL void wrong(SHMEMG_GLOBAL uint64_t *w, int to) { shmemg_ctx_uint64_p((shmem_ctx_t)w, w, 1, to); }
END
cat > "$work/k.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    int to = (shmem_my_pe() + 1) % shmem_n_pes();
    uint64_t *w = shmemg_calloc(1, 8), got = 0;
    void *args[] = {&w, &to};
    const size_t one[3] = {1, 1, 1}, bytes[] = {8, 4};
    int err = shmemx_launch(argc > 1 ? "wrong" : "set", one, one, args, bytes, 2) || shmemx_device_sync();
    shmem_barrier_all();
    shmem_getmem(&got, w, sizeof got, shmem_my_pe());
    shmem_finalize();
    return err || got != 7;
}
END
for rdc in false true; do
    "$nvcc" -x cu -std=c++17 -rdc=$rdc -arch=compute_80 -ptx "-I$top_srcdir/include" "-I$top_srcdir/src" "$work/k.cl" \
        -o "$work/k.ptx" > "$work/log" 2>&1 && $OSHCC "$work/k.c" "$work/k.ptx" -o "$work/k" >> "$work/log" 2>&1
    for locals in 0 1; do
        CUDA_CPU_LOCALS=$locals run 2 1 "$work/k"
        ok $? "nvcc -rdc=$rdc: kernels have their default context, local variables found: $locals" "$work/log"
        ! CUDA_CPU_LOCALS=$locals run 2 1 "$work/k" wrong && grep -q "none of this library's" "$work/log"
        ok $? "nvcc -rdc=$rdc: the fault of a wrong context is reported, local variables found: $locals" "$work/log"
    done
done

for suite in ${DEVICE_SUITES-gpc kernels queue tag threads}; do
    DEVICE_AGAIN=1 bash "$top_srcdir/test/device/$suite.sh" > "$work/all" 2>&1
    grep -A 5 '^not ok' "$work/all" > "$work/log" || grep -q '^1\.\.[1-9]' "$work/all" && [ ! -s "$work/log" ]
    ok $? "$suite.sh" "$work/log"
done
plan
