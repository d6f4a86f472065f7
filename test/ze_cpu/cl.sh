#!/bin/sh
# cl.sh FILE.cl OUT.spv [OPTION...] - compile OpenCL C to SPIR-V with the distribution's tools; exit 77 when one is missing.
# Full -O2 can make integers of odd widths, which the translator refuses: so only the passes named here, those of oshcc
# with CL_PASSES=oshcc, or none with CL_PASSES=none.
: "${CLANG:=clang-14}" "${OPT:=opt-14}" "${LLVM_SPIRV:=llvm-spirv-14}"
for tool in "$CLANG" "$OPT" "$LLVM_SPIRV"; do
    command -v "$tool" >/dev/null || exit 77
done
case ${CL_PASSES:-} in
oshcc) eval "$(sed -n '/^passes=/,/"$/p' "$(dirname "$0")/../../src/tools/oshcc.in")" ;;
none) passes=verify ;;
*) passes='function(sroa,early-cse,simplifycfg)' ;;
esac
tmp=$(mktemp) || exit 1
trap 'rm -f "$tmp" "$tmp.opt"' EXIT
file=$1 out=$2
shift 2
sub_groups=-cl-ext=+all
"$CLANG" -target spir64 -x cl -cl-std=CL2.0 -O2 -Xclang -finclude-default-header -Xclang -disable-llvm-passes \
    -Xclang "$sub_groups" "$@" -emit-llvm -c "$file" -o "$tmp" &&
    "$OPT" -passes="$passes" "$tmp" -o "$tmp.opt" &&
    "$LLVM_SPIRV" "$tmp.opt" -o "$out"
