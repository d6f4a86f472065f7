#!/bin/sh
# replace.sh - PEs that are killed at any time, by seed, also while they join, and that oshrun --replace starts again: all go on together.
# Catches: a message, a lock, a counter of collectives or a block of the heap that a new PE has otherwise than the others; PEs that disagree about the new ones; a
# join that waits for a dead PE; a process that stays.
#
# FULMAR_KILLS=1000 kills so many PEs.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
program=$top_builddir/test/fault/replace
SHMEM_SYMMETRIC_SIZE=4m
export SHMEM_SYMMETRIC_SIZE

kills() { # PEs, how many of them die, within microseconds, steps, SHMEM_TRANSPORT: one job; all that are left are in one team
    seed=$((seed + 1)) killed=$((killed + $2))
    # shellcheck disable=SC2086
    SHMEM_TRANSPORT=$5 timeout 120 $OSHRUN --replace=99 -n $1 "$program" $seed $2 $3 $4 all >"$dir/log" 2>&1
    status=$?
    right=$(grep -c '^right: ' "$dir/log")
    [ $status = 0 ] && [ "$right" -gt 0 ] && [ "$(grep -c "^right: $right PEs" "$dir/log")" = "$right" ] && ! grep -q '^wrong' "$dir/log" &&
        [ "$right" = "$1" ] && grep -q 'started again' "$dir/log" && return
    echo "seed $seed: $1 PEs, $2 die within $3 us, $4 steps, $5: status $status" >>"$dir/wrong"
    cat "$dir/log" >>"$dir/wrong"
}

seed=${FULMAR_SEED:-0} killed=0
while [ $killed -lt "${FULMAR_KILLS:-16}" ]; do
    kills 2 1 20000 20000 auto
    kills 4 1 20000 20000 auto
    kills 4 2 100000 20000 auto
    kills 5 4 400000 20000 auto
done
[ ! -s "$dir/wrong" ]
ok $? "$killed PEs die in $((seed - ${FULMAR_SEED:-0})) jobs and are started again" "$dir/wrong"
# Catches, over libfabric: a message of a dead process that is taken for one of its successor, and one of that which comes before all have begun anew; a sequence
# number, an acknowledgement or an address of the dead process.
from=$seed killed=0
: >"$dir/wrong"
while [ $killed -lt "${FULMAR_KILLS:-8}" ]; do
    kills 2 1 20000 5000 ofi
    kills 4 2 100000 5000 ofi
    kills 5 4 400000 5000 ofi
done
[ ! -s "$dir/wrong" ]
ok $? "$killed PEs die in $((seed - from)) jobs over libfabric" "$dir/wrong"
# Catches, without a launcher: a process that comes by the unique id after the start and is not taken in, or beside the PE whose number it has.
pe() { # its number, how many: a PE of a job by unique id, which is started again when it is killed
    status=137
    while [ $status = 137 ]; do
        REPLACE_PE=$1 REPLACE_PES=$2 timeout 120 "$program" $seed 2 100000 5000 all >"$dir/pe$1" 2>&1
        status=$?
        FULMAR_REPLACES=1
        export FULMAR_REPLACES
    done
}
: >"$dir/wrong"
job_by_id() { # SHMEM_TRANSPORT
    seed=$((seed + 1))
    SHMEM_TRANSPORT=$1 SHMEM_FAULTS=continue
    export REPLACE_ID SHMEM_TRANSPORT SHMEM_FAULTS
    for i in 1 2 3; do
        pe $i 4 2>"$dir/killed" &
    done
    REPLACE_PE=0 REPLACE_PES=4 timeout 120 "$program" $seed 2 100000 5000 all >"$dir/pe0" 2>&1
    wait
    cat "$dir"/pe? >"$dir/log"
    [ "$(grep -c '^right: 4 PEs, [1-9]' "$dir/log")" = 4 ] || { echo "$1, seed $seed:"; cat "$dir/log"; } >>"$dir/wrong"
}
REPLACE_ID=$dir/id REPLACE_BESIDE="REPLACE_BESIDE= $program 1 1 1 1 >$dir/beside 2>&1; REPLACE_BESIDE= REPLACE_PES=5 $program 1 1 1 1 >$dir/fifth 2>&1"
export REPLACE_BESIDE
job_by_id auto
grep -q 'another process is PE 0' "$dir/beside" || { echo "beside PE 0:"; cat "$dir/beside"; } >>"$dir/wrong"
grep -q 'is PE 0 of 5, and the job has 4 PEs' "$dir/fifth" || { echo "PE 0 of 5:"; cat "$dir/fifth"; } >>"$dir/wrong"
unset REPLACE_BESIDE
REPLACE_ID=file=$dir/file
job_by_id ofi
[ -e "$dir/file" ] && echo "the file stays" >>"$dir/wrong"
unset REPLACE_ID SHMEM_TRANSPORT SHMEM_FAULTS
[ ! -s "$dir/wrong" ]
ok $? "processes join by the unique id, through memory and, by SHMEM_UNIQUEID, over libfabric" "$dir/wrong"
# Catches: shmemx_grow without a launcher that starts PEs again, which waits.
timeout 60 $OSHRUN --survive -n 3 "$program" 7 1 10000 2000 >"$dir/log" 2>&1
[ $? = 0 ] && [ "$(grep -c '^right: 2 PEs' "$dir/log")" = 2 ]
ok $? "without --replace a team of those that live" "$dir/log"
# Catches: new processes that wait for each other, when all PEs that could let them in have died.
for at in choice go; do
    timeout 60 $OSHRUN --replace=2 -n 3 "${program%replace}last" $at >"$dir/log" 2>&1
    [ $? = 1 ] && grep -q 'fulmar: PE [12]: .*have died' "$dir/log" && ! grep -q '^wrong' "$dir/log"
    ok $? "the last PE that can let in others dies at its $at" "$dir/log"
done
plan
