#!/bin/sh
# cl.sh FILE.cl OUT.spv [OPTION...] - compile OpenCL C to SPIR-V with the distribution's tools; exit 77 when one is missing.
# Full -O2 can make integers of odd widths, which the translator refuses: so only the passes named here, those of oshcc
# with CL_PASSES=oshcc, or none with CL_PASSES=none.
. "$(dirname "$0")/../../src/tools/llvm.sh"
find_llvm || exit 77
tmp=$(mktemp) || exit 1
trap 'rm -f "$tmp" "$tmp.opt" "$tmp.log"' EXIT
file=$1 out=$2
shift 2
case ${CL_PASSES:-} in
oshcc) ;;
*)
    passes='function(sroa,early-cse,simplifycfg)'
    [ "${CL_PASSES:-}" != none ] || passes=verify
    translated() {
        "$opt" -passes="$passes" "$1" -o "$1.opt" 2>"$1.log" && "$translate" "$1.opt" -o "$2"
    }
    ;;
esac
sub_groups=-cl-ext=+all
"$clang" -target spir64 -x cl -cl-std=CL2.0 -O2 -Xclang -finclude-default-header -Xclang -disable-llvm-passes \
    -Xclang "$sub_groups" "$@" -emit-llvm -c "$file" -o "$tmp" && translated "$tmp" "$out"
