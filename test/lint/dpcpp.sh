#!/bin/sh
# dpcpp.sh - the headers' branches for DPC++ compile, in its pass for the host and that for the device, with the tests and examples in SYCL,
# against declarations of DPC++ (dpcpp/sycl/sycl.hpp). Catches: a name that is missing in a branch that AdaptiveCpp does not compile, a call
# that DPC++'s types refuse. What DPC++ forbids in kernels, and whether the declarations are right, only DPC++ finds.
. "${top_srcdir:=.}/test/tap.sh"
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT
command -v clang++ > /dev/null || skip_all "clang++ is not installed; DPC++ is clang"
echo '#include <level_zero/ze_api.h>' | clang++ -x c++ -E - > "$out" 2>&1 || skip_all "the headers of Level Zero (libze-dev) are not installed"

compiles() { # FILE DESCRIPTION OPTIONS...
    file=$1 what=$2
    shift 2
    clang++ -std=c++17 -fsyntax-only -Wall -Werror -Wno-unused-variable -DSYCL_LANGUAGE_VERSION=202012L "$@" \
        -isystem "$top_srcdir/test/lint/dpcpp" -I"$top_srcdir/include" -I"$top_srcdir/src" "$top_srcdir/$file" > "$out" 2>&1
    ok $? "$file, $what" "$out"
}
for file in test/device/sycl.cpp test/device/sycl_queue.cpp test/device/sycl_api.cpp examples/pass_sycl.cpp examples/heat_sycl.cpp; do
    compiles $file "host"
    compiles $file "device" -D__SYCL_DEVICE_ONLY__
done
compiles test/device/sycl_queue.cpp "device, 2026.0" -D__SYCL_DEVICE_ONLY__ -DDPCPP_2026 -D__INTEL_LLVM_COMPILER=20260000 \
    -isystem "$top_srcdir/test/lint/dpcpp/2026"
plan
