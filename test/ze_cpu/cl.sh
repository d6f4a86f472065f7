#!/bin/sh
# cl.sh FILE.cl OUT.spv [OPTION...] - compile OpenCL C to SPIR-V with the distribution's tools; exit 77 when one is missing.
# Full -O2 can make integers of odd widths, which the translator refuses: so only the passes named here, those of oshcc
# with CL_PASSES=oshcc, or none with CL_PASSES=none.
: "${CLANG:=clang-14}" "${OPT:=opt-14}" "${LLVM_SPIRV:=llvm-spirv-14}"
for tool in "$CLANG" "$OPT" "$LLVM_SPIRV"; do
    command -v "$tool" >/dev/null || exit 77
done
tmp=$(mktemp) || exit 1
trap 'rm -f "$tmp" "$tmp.opt" "$tmp.log"' EXIT
file=$1 out=$2
shift 2
case ${CL_PASSES:-} in
oshcc)
    opt=$OPT translate=$LLVM_SPIRV
    eval "$(sed -n '/^inline=/,/^}/p' "$(dirname "$0")/../../src/tools/oshcc.in")"
    ;;
*)
    passes='function(sroa,early-cse,simplifycfg)'
    [ "${CL_PASSES:-}" != none ] || passes=verify
    translated() {
        "$OPT" -passes="$passes" "$1" -o "$1.opt" && "$LLVM_SPIRV" "$1.opt" -o "$2"
    }
    ;;
esac
sub_groups=-cl-ext=+all
"$CLANG" -target spir64 -x cl -cl-std=CL2.0 -O2 -Xclang -finclude-default-header -Xclang -disable-llvm-passes \
    -Xclang "$sub_groups" "$@" -emit-llvm -c "$file" -o "$tmp" && translated "$tmp" "$out"
