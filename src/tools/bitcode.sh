#!/bin/sh
# bitcode.sh FOLDER - make the device library for compilers of other languages, with C names such as shmemg_int64_put:
# FOLDER/libfulmar_device.bc, LLVM's bitcode for NVIDIA GPUs with all routines, and FOLDER/libfulmar_device.ptx, for programs that
# link PTX, with the types of fixed size of 4 and 8 bytes and those without a type; and FOLDER/libfulmar_on_stream.ptx, the kernels of
# src/device/lib/on_stream.cu. Fail with one line if there is no clang for it.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
src=$here/..
. "$here/llvm.sh"
out=$1
if ! find_llvm || ! "$clang" -print-targets 2> /dev/null | grep -q nvptx64; then
    echo "bitcode.sh: libfulmar_device.bc needs clang, opt and llc with the target nvptx64, of the version that compiles kernels" >&2
    exit 1
fi
tool() { # NAME: of the same version as clang
    first_of "$1-$llvm" "/usr/lib/llvm-$llvm/bin/$1" "/usr/lib/llvm$llvm/bin/$1" "$1"
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

compile() { # FILE OPTION...
    file=$1
    shift
    "$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx70 -nocudainc -nocudalib \
        -Wno-unknown-cuda-version -std=c++17 -O2 -include "$src/device/lib/cuda_clang.h" "-I$src/../include" "-I$src" \
        "$src/device/lib/$file" -S "$@"
}
compile on_stream.cu -o "$out/libfulmar_on_stream.ptx" && compile bitcode.cu -emit-llvm -o "$work/all.ll" || exit 1
# Without a processor's name the functions can be inlined into those of any other.
sed -E 's/"target-(cpu|features)"="[^"]*"//g' "$work/all.ll" > "$work/any.ll" && "$(tool llvm-as)" "$work/any.ll" -o "$out/libfulmar_device.bc" || exit 1

types='char|schar|short|int|long|longlong|uchar|ushort|uint|ulong|ulonglong|int8|int16|uint8|uint16|size|ptrdiff'
sed -nE 's/^define .*@(shmemx?g_[a-z0-9_]+)\(.*/\1/p' "$work/any.ll" | grep -vE "^shmemg_(ctx_)?($types)_" > "$work/names"
"$opt" -passes=internalize,globaldce -internalize-public-api-file="$work/names" "$work/all.ll" -o "$work/some.bc" &&
    "$(tool llc)" -march=nvptx64 -mcpu=sm_80 -mattr=+ptx70 "$work/some.bc" -o "$out/libfulmar_device.ptx"
