#!/bin/sh
# processor.sh - configure refuses processors with 32 bits and big-endian ones in one line. Catches: a build that fails late, or a
# library that computes wrong addresses. The compiler's macros play the processor.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/include"
: > "$dir/include/shmem_table.h" # by which configure recognizes the source tree
cp -R "$top_srcdir/configure" "$top_srcdir/build-aux" "$dir" && cd "$dir" || exit 99 # no file of a build in the source tree

refused() { # name, macros
    ./configure CC="${CC:-cc}" CPPFLAGS="$2" >"$dir/out" 2>&1
    [ $? -eq 1 ] && [ "$(grep -c '^configure: error: Fulmar needs a 64-bit little-endian processor' "$dir/out")" -eq 1 ]
    ok $? "$1" "$dir/out"
}
refused "32 bits" "-U__SIZEOF_POINTER__ -D__SIZEOF_POINTER__=4"
refused "big-endian" "-U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__"
plan
