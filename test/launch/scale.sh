#!/bin/sh
# scale.sh - the schedules of collectives between 4,096 PEs, on as many nodes and on 64, stay within bench/scale.bounds. Catches: a
# collective that needs more rounds, messages, bytes or memory than before, or sends a message for each PE instead of each node, at
# sizes that no test starts.
. "${top_srcdir:=.}/test/tap.sh"
scale=$top_builddir/bench/scale
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

"$scale" --check "$top_srcdir/bench/scale.bounds" >"$dir/out" 2>&1
ok $? "4,096 PEs: rounds, messages, bytes, memory and time within bench/scale.bounds" "$dir/out"

# A bound that is one lower fails: the check compares.
for column in 4 5 6 8; do
    awk -v c=$column '/^fcollect-1K/ { $c -= 1 } { print }' "$top_srcdir/bench/scale.bounds" >"$dir/lower"
    ! "$scale" --check "$dir/lower" >"$dir/out" 2>&1 && grep -q '^# above its bounds: fcollect-1K 4096 1:' "$dir/out"
    ok $? "a lower bound in column $column is exceeded" "$dir/out"
done
"$scale" --json 2 4096 >"$dir/out" 2>&1 && [ "$(grep -c '"nodes": 4096, "pes": 1, "rounds": 12, ' "$dir/out")" -ge 6 ]
ok $? "lines of JSON, 12 rounds for 4,096 nodes" "$dir/out"
for pes in 1 64; do # the nodes' first PEs alone send
    "$scale" --json -p $pes 64 >"$dir/out" 2>&1 &&
        [ "$(grep -cE '"(barrier|split|broadcast-8|reduce-8|scan-8)", "nodes": 64, "pes": '$pes', "rounds": 6, "messages": 6, ' "$dir/out")" = 5 ]
    ok $? "6 messages for 64 nodes with PEs: $pes" "$dir/out"
done
"$top_builddir/src/tools/oshinfo" >"$dir/out" 2>&1 && grep -q '^  broadcast .*binomial tree' "$dir/out" &&
    grep -q '^  reduce .*up to 8192 bytes: recursive doubling' "$dir/out" && grep -q 'recursive halving' "$dir/out"
ok $? "oshinfo shows the algorithms of collectives" "$dir/out"
"$top_builddir/src/tools/oshinfo" --json >"$dir/out" 2>&1 &&
    python3 -c 'import json, sys; assert len(json.load(sys.stdin)["collectives"]) == 8' <"$dir/out"
ok $? "the same as JSON" "$dir/out"
plan
