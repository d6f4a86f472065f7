#!/usr/bin/env bash
# bitcode.sh - libfulmar_device.bc and .ptx: a kernel that knows only C names is linked with each and runs on the CPU.
# Catches: a routine without its C name, with other arguments, or that does not find the default context.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/src/tools/llvm.sh"
find_llvm && "$clang" -print-targets 2> /dev/null | grep -q nvptx64 || skip_all "no clang with the target nvptx64"
[ -f "$top_builddir/.libs/libcuda_cpu.so" ] || skip_all "no CUDA driver for the CPU (libze-dev is missing)"
for python in ${PYTHON:-python3 /usr/bin/python3} none; do
    ! $python -c 'import numpy' 2> /dev/null || break
done
[ $python != none ] || skip_all "no Python with NumPy"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log
export SHMEM_DEVICE=cuda-cpu PYTHONPATH=$top_srcdir/python LD_LIBRARY_PATH=$top_builddir/.libs PYTHONDONTWRITEBYTECODE=1
tool() {
    first_of "$1-$llvm" "/usr/lib/llvm-$llvm/bin/$1" "/usr/lib/llvm$llvm/bin/$1" "$1"
}
make -s -C "$top_builddir" libfulmar_device.bc > "$log" 2>&1
ok $? "the library is made" "$log"
bc=$top_builddir/libfulmar_device.bc ptx=$top_builddir/libfulmar_device.ptx

# All names of shmemg.h, as the preprocessor writes them.
"$clang" -x cuda -E -P --cuda-device-only -nocudainc -nocudalib -Wno-unknown-cuda-version -include "$top_srcdir/src/device/lib/cuda_clang.h" \
    "-I$top_srcdir/include" "-I$top_srcdir/src" "$top_srcdir/src/device/lib/bitcode.cu" 2> "$log" |
    grep -oE 'extern "C" __attribute__\(\(device\)\) [^(]*\(' | grep -oE 'shmemx?g_[a-z0-9_]+' | sort -u > "$work/names"
"$(tool llvm-nm)" "$bc" | sed -n 's/.* T //p' | sort -u > "$work/have"
[ "$(wc -l < "$work/names")" -gt 1500 ] && diff "$work/names" "$work/have" > "$log"
ok $? "the bitcode has all routines by their names" "$log"
! "$(tool llvm-dis)" "$bc" -o - | grep -E 'target-cpu|^define .*ptx_kernel|nvvm.annotations' > "$log"
ok $? "the bitcode is for every processor, and has no kernel" "$log"

visible() { # the functions of a PTX for others, with the kinds of their results
    sed -nE 's/^\.visible \.func *(\([^)]*\))? *(shmemx?g_[a-z0-9_]+)\(.*/\2 \1/p' "$top_builddir/$1.ptx" | sort -u
}
visible libfulmar_device | sed 's/ .*//' > "$work/names"
visible libfulmar_numba > "$work/have"
[ "$(wc -l < "$work/names")" -gt 500 ] && sed 's/$/ (.param .b32 func_retval0)/' "$work/names" | diff - "$work/have" > "$log"
ok $? "each routine of the PTX has a form for Numba, which returns a status" "$log"

"$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx70 -nocudainc -nocudalib \
    -Wno-unknown-cuda-version -O2 -emit-llvm -c "$top_srcdir/test/device/bitcode_kernel.cu" -o "$work/kernel.bc" > "$log" 2>&1
ok $? "a kernel that declares C names" "$log"
to_ptx() { # BITCODE, PTX
    "$(tool llc)" -march=nvptx64 -mcpu=sm_80 -mattr=+ptx70 "$1" -o "$2"
}
{ "$(tool llvm-link)" --only-needed "$work/kernel.bc" "$bc" -o "$work/linked.bc" &&
    "$opt" -passes='internalize,globaldce,default<O2>' -internalize-public-api-list=by_names,shmemg_default_10_ "$work/linked.bc" -o "$work/all.bc" &&
    to_ptx "$work/all.bc" "$work/by_bc.ptx"; } > "$log" 2>&1
ok $? "it is linked with the bitcode" "$log"
# What a linker of PTX does: the library's functions take the places of the kernel's declarations.
to_ptx "$work/kernel.bc" "$work/kernel.ptx" > "$log" 2>&1 && {
    cat "$ptx"
    sed -E '/^\.(version|target|address_size)/d; /^\.extern \.func/,/^;/d' "$work/kernel.ptx"
} > "$work/by_ptx.ptx"
ok $? "it is put beside the PTX" "$log"
for form in bc ptx; do
    for n in 1 3; do
        timeout 100 $OSHRUN -n $n $python "$top_srcdir/test/device/bitcode_run.py" "$work/by_$form.ptx" > "$log" 2>&1 && grep -q "^right on $n PEs" "$log"
        ok $? "it runs with the $form, $n PEs" "$log"
    done
done
for n in 1 3; do
    timeout 100 $OSHRUN -n $n $python "$top_srcdir/test/device/bitcode_run.py" "$work/by_bc.ptx" other > "$log" 2>&1 && grep -q "^right on $n PEs" "$log"
    ok $? "in a module that another package loads and launches, $n PEs" "$log"
done
if ptxas=$(first_of ptxas /usr/local/cuda/bin/ptxas); then
    "$ptxas" -arch=sm_90 "$work/by_bc.ptx" -o "$work/cubin" > "$log" 2>&1
    ok $? "NVIDIA's assembler accepts the linked kernel" "$log"
else
    skip "NVIDIA's assembler" "it is not installed"
fi
plan
