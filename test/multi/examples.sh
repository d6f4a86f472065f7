#!/bin/sh
# examples.sh - the examples of global procedure calls and tagged messages compile without a warning and find their own results right.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
for e in gpc_hash gpc_reduce pipeline; do
    $OSHCC -O2 -Wall -Wextra -Werror "$top_srcdir/examples/$e.c" -o "$dir/$e" >"$dir/out" 2>&1
    ok $? "$e compiles" "$dir/out"
    for n in 1 2 5; do
        timeout 60 $OSHRUN -n $n "$dir/$e" >"$dir/out" 2>&1
        ok $? "$e, $n PEs" "$dir/out"
    done
done
plan
