#!/usr/bin/env bash
# coll_rules.sh - SHMEM_COLLECTIVES: the programs of collectives with each schedule, different rules, wrong rules. Every PE is a
# node of its own. Catches: a schedule that is wrong for lengths or numbers of nodes for which the built-in rules never take it;
# PEs with different rules that wait for each other; an error that each PE reports.
. "${top_srcdir:=.}/test/tap.sh"
export SHMEM_SYMMETRIC_SIZE=64M SHMEM_TEST_SPIN=0 SHMEM_TRANSPORT=ofi
"$top_builddir/src/tools/oshinfo" | grep -q '^network .*none' && skip_all "this build has no network"
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT

rules() { # PEs, program, rules
    SHMEM_COLLECTIVES=$3 timeout -k 5 120 $OSHRUN -n "$1" "$top_builddir/test/$2.pes" >"$out" 2>&1 &&
        grep -q '^1\.\.[1-9]' "$out" && ! grep -q '^not ok' "$out"
    ok $? "${2##*/}, $1 PEs, $3" "$out"
}

refused() { # what the one line has, command
    SHMEM_COLLECTIVES=$2 timeout -k 5 60 $OSHRUN -n 3 "${@:3}" >"$out" 2>&1
    [ $? != 0 ] && [ "$(grep -c SHMEM_COLLECTIVES "$out")" = 1 ] && grep SHMEM_COLLECTIVES "$out" | grep -qF -- "$1"
    ok $? "one line: $1" "$out"
}

rules 5 conf/coll 'broadcast:*:*:*:scatter,reduce:*:*:*:halving,alltoall:*:*:*:pairwise'
rules 3 conf/coll 'broadcast:*:*:*:tree,alltoall:*:*:*:index'
rules 5 multi/coll_long 'broadcast:*:*:*:scatter,alltoall:*:*:*:nodes'
rules 11 multi/coll_long 'alltoall:*:*:*:nodes' # more than the window of long alltoalls
rules 2 conf/coll 'broadcast:*:*:*:scatter,reduce:*:*:*:halving,alltoall:*:*:*:nodes'
for way in doubling halving; do
    REPRODUCE_THREADS=1 rules 6 multi/reproduce "reduce:*:*:*:$way"
done
if [ -x "$top_builddir/test/multi/device_any_private.pes" ]; then
    rules 3 multi/device_any_private 'reduce:*:*:*:halving'
else
    skip "reductions by halves of private device memory" "this build has no devices"
fi
program=$top_builddir/test/conf/coll.pes
refused '"tree" is no schedule of reduce' 'reduce:*:*:*:tree' "$program"
# shellcheck disable=SC2016
refused 'PE 1 has other rules than PE 0' 'reduce:*:*:*:doubling' \
    sh -c 'if [ "$PMIX_RANK" = 1 ]; then SHMEM_COLLECTIVES=reduce:*:*:-8:doubling; fi; exec "$0"' "$program"
SHMEM_COLLECTIVES='reduce:2-4:*:-4K:doubling' "$top_builddir/src/tools/oshinfo" >"$out" &&
    grep -q 'reduce .*up to 4096 bytes, 2 to 4 nodes: recursive doubling (SHMEM_COLLECTIVES)' "$out"
ok $? "oshinfo shows a rule" "$out"
plan
