#!/bin/sh
# survive.sh - PEs that are killed at any time, by seed, while they compute, communicate, agree and shrink: those that live go on.
# Catches: a call that waits for a dead PE, members that disagree, an update that is lost, a lock that stays held, a process that stays.
#
# FULMAR_KILLS=10000 kills so many PEs.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
program=$top_builddir/test/fault/survive
SHMEM_SYMMETRIC_SIZE=4m
export SHMEM_SYMMETRIC_SIZE

kills() { # PEs, how many of them die, within microseconds, steps: one job
    seed=$((seed + 1)) killed=$((killed + $2))
    # shellcheck disable=SC2086
    timeout 60 $OSHRUN --survive -n $1 "$program" $seed $2 $3 $4 >"$dir/log" 2>&1
    status=$?
    [ $status = 0 ] && [ "$(grep -c '^right: ' "$dir/log")" = $(($1 - $2)) ] && return
    echo "seed $seed: $1 PEs, $2 die within $3 us, $4 steps: status $status" >>"$dir/wrong"
    cat "$dir/log" >>"$dir/wrong"
}

seed=${FULMAR_SEED:-0} killed=0
while [ $killed -lt "${FULMAR_KILLS:-100}" ]; do
    kills 2 1 3000 40
    kills 4 1 20000 200
    kills 3 2 3000 50
    kills 5 2 10000 100
    kills 8 5 3000 50
done
[ ! -s "$dir/wrong" ]
ok $? "$killed PEs die in $seed jobs" "$dir/wrong"
: >"$dir/wrong"
# Catches: a lock that a dead PE holds, and that no other PE gets. The step is under_lock.
STEP=4 killed=0
export STEP
while [ $killed -lt 30 ]; do
    kills 3 1 2000 20000
    kills 4 2 2000 20000
done
unset STEP
[ ! -s "$dir/wrong" ]
ok $? "$killed PEs die while all take a lock" "$dir/wrong"
: >"$dir/wrong"
# Catches: a table of statistics from what dead PEs have not sent.
for stats in 1 all; do
    SHMEM_STATS=$stats timeout 60 $OSHRUN --survive -n 4 "$program" 7 2 5000 50 >"$dir/log" 2>&1
    [ $? = 0 ] && [ "$(grep -c '^right: ' "$dir/log")" = 2 ]
    ok $? "SHMEM_STATS=$stats, 2 of 4 PEs die" "$dir/log"
done
# Catches: a report of where PEs wait that does not say which PEs have failed.
$OSHRUN --survive -n 3 "$program" 1 w2 1 20 >"$dir/log" 2>&1 &
job=$!
until_grep '^begun$' "$dir/log"
kill -KILL "$(pgrep -P $job -x survive | head -n 1)"
until_grep 'PE [0-2]: knows that this PE has failed: [0-2]$' "$dir/log" $job
seen=$?
pkill -KILL -P $job
wait $job
ok $seen "the report of a hang names a PE that has failed" "$dir/log"
# Catches: a call without SHMEM_FAULTS=continue that does nothing; PEs that differ in it.
timeout 60 $OSHRUN -n 2 "$program" 1 0 1 20 >"$dir/log" 2>&1
[ $? = 1 ] && grep -q 'shmemx_agree: SHMEM_FAULTS is not continue' "$dir/log"
ok $? "one line without SHMEM_FAULTS=continue" "$dir/log"
# Catches: an operation to a dead PE that never ends, or that ends before the PE is known to have failed; a message of a dead PE that is taken later;
# a lock with two holders, because its state has died.
SHMEM_TRANSPORT=ofi
export SHMEM_TRANSPORT
# Catches: an operation that was dropped, on a context whose status says 0; a status that tells of another context's operations.
timeout 60 $OSHRUN --survive -n 3 "${program%survive}dropped" >"$dir/log" 2>&1
[ $? = 0 ] && grep -q '^right' "$dir/log"
ok $? "the status of a context tells of operations that were dropped" "$dir/log"
killed=0 jobs=$seed
while [ $killed -lt $((${FULMAR_KILLS:-25} / 5)) ]; do
    kills 2 1 10000 40
    kills 4 2 20000 100
    kills 8 3 20000 50
done
[ ! -s "$dir/wrong" ]
ok $? "$killed PEs die in $((seed - jobs)) jobs over the network" "$dir/wrong"
plan
