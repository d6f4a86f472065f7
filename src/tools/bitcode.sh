#!/bin/sh
# bitcode.sh FOLDER - make the device library for compilers of other languages, with C names such as shmemg_int64_put:
# FOLDER/libfulmar_device.bc, LLVM's bitcode for NVIDIA GPUs with all routines, and FOLDER/libfulmar_device.ptx, for programs that
# link PTX, with the types of fixed size of 4 and 8 bytes and those without a type; FOLDER/libfulmar_numba.ptx, the same routines as
# Numba calls them; and FOLDER/libfulmar_on_stream.ptx, the kernels of src/device/lib/on_stream.cu. Fail with one line if there is no clang for it.
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
work=$(mktemp -d "$out/bitcode.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

compile() { # FILE OPTION...
    file=$1
    shift
    "$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx70 -nocudainc -nocudalib \
        -Wno-unknown-cuda-version -std=c++17 -O2 -include "$src/device/lib/cuda_clang.h" "-I$src/../include" "-I$src" \
        "$src/device/lib/$file" -S "$@"
}
compile on_stream.cu -o "$work/libfulmar_on_stream.ptx" && compile bitcode.cu -emit-llvm -o "$work/all.ll" || exit 1
# Without a processor's name the functions can be inlined into those of any other.
sed -E 's/"target-(cpu|features)"="[^"]*"//g' "$work/all.ll" > "$work/any.ll" && "$(tool llvm-as)" "$work/any.ll" -o "$work/libfulmar_device.bc" || exit 1

types='char|schar|short|int|long|longlong|uchar|ushort|uint|ulong|ulonglong|int8|int16|uint8|uint16|size|ptrdiff'
sed -nE 's/^define .*@(shmemx?g_[a-z0-9_]+)\(.*/\1/p' "$work/any.ll" | grep -vE "^shmemg_(ctx_)?($types)_" > "$work/names"
to_ptx() { # IR, NAME: with the functions of $work/names
    "$opt" -passes=internalize,globaldce -internalize-public-api-file="$work/names" "$1" -o "$work/some.bc" &&
        "$(tool llc)" -march=nvptx64 -mcpu=sm_80 -mattr=+ptx70 "$work/some.bc" -o "$work/$2.ptx"
}
to_ptx "$work/all.ll" libfulmar_device || exit 1

# Numba's functions return a status, 0, and their value through a pointer, the first argument: for each routine a function of that kind.
{
    sed -E 's/@(shmemx?g_[a-z0-9_]+)\(/@c_\1(/g' "$work/all.ll"
    awk -v wanted="$work/names" -v opaque="$(grep -c '^define .*(ptr' "$work/all.ll")" '
        function pointer(to) { return opaque > 0 ? "ptr" : (to == "void" ? "i8" : to) "*" }
        BEGIN { while ((getline name < wanted) > 0) want[name] = 1 }
        /^define / && match($0, /@shmemx?g_[a-z0-9_]+\(/) {
            name = substr($0, RSTART + 1, RLENGTH - 2)
            if (!(name in want))
                next
            n = split(substr($0, 1, RSTART - 1), head, " ")
            result = head[n]
            rest = substr($0, RSTART + RLENGTH)
            n = split(substr(rest, 1, index(rest, ")") - 1), param, /, */)
            all = call = ""
            for (i = 1; i <= n; i++) {
                split(param[i], word, " ")
                all = all ", " word[1] " %a" i
                call = call (i > 1 ? ", " : "") word[1] " %a" i
            }
            print "define i32 @" name "(" pointer(result) " %result" all ") {"
            print (result == "void" ? "  call void" : "  %value = call " result) " @c_" name "(" call ")"
            if (result != "void")
                print "  store " result " %value, " pointer(result) " %result"
            print "  ret i32 0\n}"
        }' "$work/all.ll"
} > "$work/numba.ll" && to_ptx "$work/numba.ll" libfulmar_numba || exit 1

# Whole files take their places at once, the target of make last: two makes at one time never show a part of a file to a reader.
mv -f "$work"/libfulmar_*.ptx "$out" && mv -f "$work/libfulmar_device.bc" "$out"
