#!/usr/bin/env bash
# cuda_cpu.sh - the CUDA half of the device library on the CPU: test/gpu/run.sh with kernels compiled by nvcc, on libcuda_cpu.so;
# CUDA's math library; default contexts.
#
# Catches: a kernel that is right in SPIR-V only; a call of the CUDA backend that fails; an instruction of PTX that is missing.
export OSHCC_KERNELS=cuda SHMEM_DEVICE=cuda-cpu
if [ ! -f "$top_builddir/.libs/libcuda_cpu.so" ]; then
    echo "1..0 # SKIP this build has no libcuda_cpu.so (libze-dev)"
    exit 0
fi
. "${top_srcdir:=.}/test/device/run.sh"
nvcc=$(command -v "${NVCC:-nvcc}" || echo /usr/local/cuda/bin/nvcc)
# The driver on the CPU takes PTX: oshcc's nvcc leaves out the machine code for two GPUs, which takes two thirds of the time and which
# test/device/compile.sh makes of the same kernels.
cat > "$work/nvcc" << END
#!/usr/bin/env bash
args=()
while [ \$# != 0 ]; do
    case \$1 in
    -gencode) shift ;;
    *) args+=("\$1") ;;
    esac
    shift
done
exec "$nvcc" "\${args[@]}" -gencode arch=compute_90,code=compute_90
END
chmod +x "$work/nvcc"
export NVCC=$work/nvcc

"$nvcc" -arch=compute_75 -ptx "$top_srcdir/test/cuda_cpu/library.cu" -o "$work/library.ptx" > "$work/log" 2>&1 &&
    "$top_builddir/test/cuda_cpu/library" "$work/library.ptx" > "$work/log" 2>&1 && ! grep -q '^not ok' "$work/log" &&
    grep -q '^1\.\.4' "$work/log"
ok $? "functions of the math library are as exact as on a GPU" "$work/log"

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

# The rehearsal of test/gpu/run.sh: each row of its table is a test.
(cd "$top_srcdir" && env -u MAKEFLAGS -u MAKELEVEL CUDA_CPU_LOCALS=1 bash test/gpu/run.sh -q -r 100 -b "$top_builddir" -o "$work/gpu") \
    > "$work/all" 2>&1
status=$?
while read -r line; do
    name=$(echo "$line" | sed 's/  *\(pass\|fail\|skip\)\( .*\)\{0,1\}$//')
    case $line in
    *" pass"*) ok 0 "run.sh: $name" ;;
    *" fail"*) grep -A 8 -F "$name" "$work/all" > "$work/log" && ok 1 "run.sh: $name" "$work/log" ;;
    *" skip"*) tests=$((tests + 1)) && echo "ok $tests - run.sh: $name # SKIP ${line##* skip }" ;;
    esac
done < <(grep -E ' (pass|fail|skip)( |$)' "$work/gpu/table")
[ $status = 0 ] && [ "$(grep -cE ' (pass|fail|skip)( |$)' "$work/gpu/table")" -ge 20 ]
ok $? "the rehearsal of test/gpu/run.sh goes through whole" "$work/all"
plan
