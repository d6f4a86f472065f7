#!/bin/sh
# compile.sh - the device library compiles for devices: a kernel that calls every routine becomes valid SPIR-V, and PTX;
# names and prototypes are those of the specification's draft; constants equal shmem.h's. Catches: code that C11 accepts
# and OpenCL C or the translator does not, a missing routine or wrong argument, a constant that differs from the host's.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
include="-I$top_srcdir/include -I$top_srcdir/src"
tsv=${top_srcdir}/../shared/spec/gpu-aux-api.tsv
cc=${CC:-cc}

skip() { # DESCRIPTION REASON
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

# R NAME(PARAMS) of every function whose name starts with PREFIX, from preprocessed text, one per line, without extra
# blanks.
prototypes() { # PREFIX
    tr '\n' ' ' | sed 's/ *(/(/g; s/[{};]/\n/g' |
        sed -n 's/.*static inline \(__attribute__(([^)]*)) \)*\([^=(]*[ *]'"$1"'[a-z0-9_]*([^()]*)\) *$/\2/p' |
        grep -v '_(' | sed 's/  */ /g; s/ \* */ */g; s/( /(/g; s/ )/)/g' | sort -u
}

echo '#include "shmemg.h"' | $cc -std=gnu11 -E -P -DSHMEMG_HOST_ITEMS $include -x c - 2>"$dir/out" |
    prototypes shmemg_ >"$dir/c11"
[ "$(wc -l <"$dir/c11")" -gt 769 ]
ok $? "routines are found in the header" "$dir/out"

if [ -r "$tsv" ]; then
    # Device handles; for shmemg_*longdouble_* see shmemg.h.
    awk -F'\t' '$3 == "device" { print $5 }' "$tsv" | grep -v longdouble |
        sed 's/  */ /g; s/ \* */ */g' | sort -u >"$dir/draft"
    comm -23 "$dir/draft" "$dir/c11" >"$dir/out"
    [ -s "$dir/draft" ] && [ ! -s "$dir/out" ]
    ok $? "every routine of the draft has its prototype" "$dir/out"
else
    skip "every routine of the draft has its prototype" "the draft's table is not beside the source tree"
fi

names='SHMEM_CMP_EQ SHMEM_CMP_NE SHMEM_CMP_GT SHMEM_CMP_LE SHMEM_CMP_LT SHMEM_CMP_GE SHMEM_SIGNAL_SET SHMEM_SIGNAL_ADD'
(echo '#include <shmem.h>'; echo "values $names") | $cc -E -P $include -x c - | grep '^values' >"$dir/host"
(echo '#include <shmemg.h>'; echo "values $names") | $cc -E -P -DSHMEMG_HOST_ITEMS $include -x c - | grep '^values' |
    cmp -s - "$dir/host"
ok $? "constants equal those of shmem.h"
cat >"$dir/same.c" <<'EOF'
#define SHMEMG_HOST_ITEMS
#include "shmemg.h"
_Static_assert(SHMEM_CMP_EQ == SHI_CMP_EQ && SHMEM_CMP_NE == SHI_CMP_NE && SHMEM_CMP_GT == SHI_CMP_GT, "");
_Static_assert(SHMEM_CMP_LE == SHI_CMP_LE && SHMEM_CMP_LT == SHI_CMP_LT && SHMEM_CMP_GE == SHI_CMP_GE, "");
_Static_assert(SHMEM_SIGNAL_SET == SHI_SIGNAL_SET && SHMEM_SIGNAL_ADD == SHI_SIGNAL_ADD, "");
EOF
$cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror $include -fsyntax-only "$dir/same.c" >"$dir/out" 2>&1
ok $? "the library's constants equal the header's" "$dir/out"

for h in "$top_srcdir"/src/device/lib/*.h; do
    case $h in */cuda_clang.h | */on_stream.h | */sycl*.h) continue ;; esac # C++: test/gpu/gpu.sh, test/device/nvshmem.sh, test/device/sycl.sh
    printf '#include "%s"\n#include "%s"\nextern int nothing_else;\n' "$h" "$h" |
        $cc -x c -std=gnu11 -D_GNU_SOURCE $include -fsyntax-only -Wall -Wextra -Werror - >"$dir/out" 2>&1
    ok $? "${h##*/} alone and twice" "$dir/out"
done

# Print a kernel that calls each routine in FILE once; a parameter of type T gets an argument of that type.
kernel() { # FILE DECLARATION HEADER
    awk -v declaration="$2" -v header="$3" '
        BEGIN { print "#include \"" header "\""; print declaration; print "    void *pointer = object;" }
        {   open = index($0, "("); head = substr($0, 1, open - 1); list = substr($0, open + 1, length($0) - open - 1)
            match(head, /[a-z0-9_]*$/); call = "    " substr(head, RSTART) "("
            n = list == "void" ? 0 : split(list, p, ",")
            for (i = 1; i <= n; i++) {
                sub(/^ */, "", p[i]); type = p[i]; sub(/[a-z_0-9A-Z]*$/, "", type)
                a = type ~ /shmem_ctx_t/ ? "ctx" : type ~ /shmem_team_t/ ? "team" \
                    : "(" type ")" (type ~ /\*/ ? "pointer" : "value")
                call = call (i > 1 ? ", " : "") a
            }
            print call ");" }
        END { print "}" }' "$1"
}

# ---- CUDA C++: nvcc -------------------------------------------------------------------------------------------------

# Including the header checks every routine; machine code is generated for two types only, because all take minutes.
if command -v nvcc >/dev/null; then
    grep -E 'shmemg_ctx_(long|float|putmem|getmem|signal|fence|quiet|sync|team|my|n|ptr)' "$dir/c11" >"$dir/cu"
    kernel "$dir/cu" '__global__ void call_all(shmem_ctx_t ctx, shmem_team_t team, size_t *object, long value) {' \
        shmemg.h >"$dir/all.cu"
    nvcc -std=c++17 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -Xcicc -O0 -Xptxas -O0 \
        -Werror all-warnings $include -fatbin "$dir/all.cu" -o "$dir/all.fatbin" >"$dir/out" 2>&1
    ok $? "a kernel that calls every routine compiles as CUDA C++ for sm_80 and sm_90" "$dir/out"

    # Catches: kernels of the tests, examples or benchmarks that only compile as OpenCL C. Kernels that are specific to
    # OpenCL C do not use SHMEMG_KERNEL.
    for test in "$top_srcdir"/test/device/*.sh; do
        awk -v base="$dir/of-$(basename "$test" .sh)-" '
            match($0, /^cat *>+ *"\$work\/[a-z_]*\.cl"/) {
                file = $0; gsub(/.*\/|".*/, "", file); sub(/.*\$work\//, "", file); file = base file; next }
            /^END$/ { file = "" }
            file { print > file }' "$test"
    done
    grep -l SHMEMG_KERNEL "$dir"/of-*.cl "$top_srcdir"/examples/*.cl "$top_srcdir"/bench/*.cl "$top_srcdir"/test/gpu/*.cl \
        >"$dir/kernels"
    [ "$(wc -l <"$dir/kernels")" -ge 14 ]
    ok $? "kernels are found in the tests" "$dir/kernels"
    while read -r file; do
        nvcc -x cu -std=c++17 -arch=sm_90 -Xcicc -O0 $include -ptx "$file" -o "$dir/of.ptx" >"$dir/out" 2>&1
        ok $? "kernels of ${file##*/} compile as CUDA C++" "$dir/out"
    done <"$dir/kernels"

    # Catches: two kernel files of a program whose library variables clash, linked separately or as one module.
    for k in a b; do
        echo "#include <shmemg.h>
        SHMEMG_KERNEL void $k(long *x, int pe) { shmemg_long_p(x, 7, pe); }" >"$dir/$k.cu"
    done
    echo 'int main() { return 0; }' >"$dir/main.cu"
    for whole in false true; do
        nvcc -rdc=$whole -std=c++17 -arch=sm_90 -Xcicc -O0 $include "$dir/a.cu" "$dir/b.cu" "$dir/main.cu" \
            -o "$dir/program" >"$dir/out" 2>&1
        ok $? "two files of kernels in one program, -rdc=$whole" "$dir/out"
    done
else
    skip "a kernel that calls every routine compiles as CUDA C++" "not installed: nvcc"
fi

# ---- SPIR-V: clang, opt, llvm-spirv; spirv-val if installed --------------------------------------------------------

. "$top_srcdir/src/tools/llvm.sh"
if ! find_llvm; then
    skip "a kernel that calls every routine compiles to SPIR-V" "LLVM with llvm-spirv is not installed"
    plan
    exit
fi
clang_cl="$clang -target spir64 -x cl -cl-std=CL2.0 -O2 -Wall -Wextra -Werror"
clang_cl="$clang_cl $include -Xclang -finclude-default-header"

spirv() { # FILE.cl FILE.spv
    $clang_cl -Xclang -disable-llvm-passes -emit-llvm -c "$1" -o "$dir/a.bc" && translated "$dir/a.bc" "$2"
}

echo '#include "shmemg.h"' >"$dir/h.cl"
$clang_cl -E -P "$dir/h.cl" 2>"$dir/out" | prototypes shmemg_ >"$dir/cl"
opening='kernel void call_all(shmem_ctx_t ctx, shmem_team_t team, global ulong *object, long value) {'
kernel "$dir/cl" "$opening" shmemg.h >"$dir/all.cl"
calls=$(grep -c '^    shmemg_' "$dir/all.cl")
[ "$calls" -eq "$(wc -l <"$dir/c11")" ] && spirv "$dir/all.cl" "$dir/all.spv" >>"$dir/out" 2>&1
ok $? "a kernel that calls all $calls routines compiles to SPIR-V" "$dir/out"

cat >"$dir/one.cl" <<'EOF'
#include "shmemg.h"
kernel void one(shmem_ctx_t ctx, global int *x, global ulong *sig, int pe)
{
    int mine = 7;
    local int ours[64];
    ours[get_local_id(0)] = mine;
    shmemg_ctx_int_put(ctx, x, &mine, 1, pe);
    shmemg_int_put_signal_tg(x, ours, 64, sig, 1, SHMEM_SIGNAL_ADD, pe);
    shmemg_signal_wait_until_tg(sig, SHMEM_CMP_GE, 1);
    shmemg_team_sync_tg(SHMEM_DEVICE_TEAM_WORLD);
}
EOF
spirv "$dir/one.cl" "$dir/one.spv" >"$dir/out" 2>&1
ok $? "a call with arguments in every address space compiles" "$dir/out"

cat >"$dir/odd.cl" <<'EOF'
kernel void odd(global uint *o, uint n)
{
    uint sum = 0, last = 77;
    for (uint u = o[0]; u < n; u += 8) {
        sum += last + (last != 77 ? o[u & 7] : 0);
        last = n;
    }
    o[1] = sum;
}
EOF
spirv "$dir/odd.cl" "$dir/odd.spv" >"$dir/out" 2>&1
ok $? "a loop whose unrolling makes an integer of 3 bits compiles" "$dir/out"

# Intel SHMEM's names; one type of each overload is enough.
echo '#include "ishmemx.h"' >"$dir/h.cl"
$clang_cl -E -P "$dir/h.cl" 2>"$dir/out" | prototypes ishmem | grep -v longlong >"$dir/icl"
kernel "$dir/icl" 'kernel void call_all(shmem_team_t team, global ulong *object, long value) {' ishmemx.h >"$dir/iall.cl"
calls=$(grep -c '^    ishmem' "$dir/iall.cl")
[ "$calls" -gt 3000 ] && spirv "$dir/iall.cl" "$dir/iall.spv" >>"$dir/out" 2>&1
ok $? "a kernel that calls $calls of Intel SHMEM's names compiles to SPIR-V" "$dir/out"
if command -v nvcc >/dev/null; then
    grep 'ishmemx*_long_' "$dir/icl" >"$dir/icu"
    kernel "$dir/icu" '__global__ void call_all(shmem_team_t team, size_t *object, long value) {' ishmemx.h >"$dir/iall.cu"
    nvcc -std=c++17 -arch=sm_80 -G -Werror all-warnings $include -ptx "$dir/iall.cu" -o "$dir/iall.ptx" >"$dir/out" 2>&1
    ok $? "Intel SHMEM's names of a type compile as CUDA C++" "$dir/out"
else
    skip "Intel SHMEM's names of a type compile as CUDA C++" "not installed: nvcc"
fi

if command -v spirv-val >/dev/null; then
    (spirv-val "$dir/all.spv" && spirv-val "$dir/one.spv" && spirv-val "$dir/iall.spv") >"$dir/out" 2>&1
    ok $? "the modules are valid" "$dir/out"
else
    skip "the modules are valid" "not installed: spirv-val"
fi
strings=$(LC_ALL=C tr -c 'a-z_0-9' '\n' <"$dir/one.spv" | grep -c -x -e shmemg_default_10_ -e shmemg_fault_)
[ "$strings" -ge 2 ]
ok $? "the host can find the module's variables"
plan
