#!/bin/sh
# conformance.sh - every prototype and every C11 generic form of OpenSHMEM 1.6 compiles without a warning and links.
#
# The programs are generated from the specification and are beside the repository, in shared/spec/conformance. Catches:
# a parameter type or const that differs, a missing routine, a generic that misses a type.
spec=$top_srcdir/../shared/spec/conformance
if [ ! -f "$spec/proto16.c" ]; then
    echo "1..0 # SKIP shared/spec/conformance is not beside the source tree"
    exit 0
fi
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
. "${top_srcdir:=.}/test/tap.sh"
for cc in gcc clang; do
    if ! command -v $cc > /dev/null; then
        tests=$((tests + 1))
        echo "ok $tests - $cc # SKIP $cc is not installed"
        continue
    fi
    flags="-Wall -Wextra -pedantic -Werror -I$top_srcdir/include -L$top_builddir/.libs -Wl,-rpath,$top_builddir/.libs"
    # shellcheck disable=SC2086
    $cc -std=c99 $flags "$spec/proto16.c" -o "$out/proto" -lfulmar > "$out/log" 2>&1 && "$out/proto"
    ok $? "prototypes, $cc -std=c99" "$out/log"
    # shellcheck disable=SC2086
    $cc -std=c11 $flags "$spec/c11_16.c" -o "$out/generic" -lfulmar > "$out/log" 2>&1
    ok $? "generic forms, $cc -std=c11" "$out/log"
done
plan
