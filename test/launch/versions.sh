#!/bin/sh
# versions.sh - PEs of one node with different versions of the library: one line names both. Catches: two layouts of the same
# shared memory.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
version=$("$top_builddir/src/tools/oshinfo" | sed -n 's/^Fulmar \([^ ,]*\),.*/\1/p')
other=$(echo "$version" | tr 0-8 1-9)
LC_ALL=C sed "s/$version/$other/g" "$top_builddir/.libs/libfulmar.so.1" >"$dir/libfulmar.so.1"

timeout -k 5 60 $OSHRUN -n 1 "$top_builddir/test/multi/soak" seconds=1 : \
    -n 1 -x LD_LIBRARY_PATH="$dir" "$top_builddir/test/multi/soak" seconds=1 >"$dir/out" 2>&1
[ $? -eq 1 ] && [ "$(grep -c ^fulmar "$dir/out")" -eq 1 ] && grep -q "^fulmar: PE 1: PE 0 has Fulmar $version, this PE has $other:" "$dir/out"
ok $? "a PE with another library than the first PE of its node ends the job" "$dir/out"
timeout -k 5 60 $OSHRUN -n 2 -x LD_LIBRARY_PATH="$dir" "$top_builddir/test/multi/soak" seconds=1 >"$dir/out" 2>&1
ok $? "control: a job of this other library ends well" "$dir/out"
plan
