#!/bin/sh
# system_calls.sh - a PE is killed before or after one of its system calls, anywhere from the start of its program to its end: those that live go on, or, where
# it dies in shmem_init, the job ends with a line.
# Catches: a state that a death leaves half made, in shared memory, at the launcher, in shmem_init and shmem_finalize.
#
# FULMAR_KILLS=N kills at N of them, all: at each, all/10: at each tenth one, from the one with the number FULMAR_SEED on. FULMAR_SEED: other ones.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
program=$top_builddir/test/fault/survive
kill_at=$top_builddir/test/fault/kill_at
mkdir "$dir/tmp"
SHMEM_SYMMETRIC_SIZE=1m TMPDIR=$dir/tmp
export SHMEM_SYMMETRIC_SIZE TMPDIR

job() { # PEs, the PE that dies, at: into log and status
    timeout -k 5 60 $OSHRUN --survive -n "$1" "$kill_at" "$2" "$3" "$dir/calls" "$program" "$seed" 0 1 14 >"$dir/log" 2>&1
    status=$?
}

# The PE may have ended its program; or it has not come to the end of shmem_init.
is_right() { # PEs
    right=$(grep -c '^right: ' "$dir/log")
    { [ $status = 0 ] && [ "$right" -ge $(($1 - 1)) ]; } || { [ $status = 137 ] && [ "$right" = 0 ] && grep -q 'was killed by SIGKILL' "$dir/log"; }
}

kill_one() { # PEs, the PE, at
    job "$1" "$2" "$3"
    killed=$((killed + 1))
    is_right "$1" || {
        echo "seed $seed: $1 PEs, PE $2 dies at $3: status $status"
        cat "$dir/log"
    } >>"$dir/wrong"
    [ -z "$(ls "$dir/tmp")" ] || {
        echo "seed $seed: $1 PEs, PE $2 dies at $3: files stay: $(ls "$dir/tmp")"
        rm -rf "$dir/tmp"
        mkdir "$dir/tmp"
    } >>"$dir/wrong"
}

seed=${FULMAR_SEED:-1} killed=0 kills=${FULMAR_KILLS:-30}
job 2 1 0
[ $status = 0 ] && [ "$(grep -c '^right: ' "$dir/log")" = 2 ] && calls=$(cat "$dir/calls") && [ "$calls" -gt 100 ]
ok $? "a PE that is traced and not killed ends as others do" "$dir/log"
case $kills in
all) step=1 ;;
all/*) step=${kills#all/} ;;
*) step=$(((3 * calls + kills - 1) / kills)) ;;
esac
first=$seed
for n in 2 3 4; do
    job $n 1 0
    calls=$(cat "$dir/calls") at=$((1 + (first + n * 104729) % step))
    while [ $at -le "$calls" ]; do
        kill_one $n $((at % n)) $at
        at=$((at + step)) seed=$((seed + 1))
    done
done
[ ! -s "$dir/wrong" ]
ok $? "$killed PEs die at one of about $calls system calls each" "$dir/wrong"
! grep -l "TMPDIR=$dir/tmp" /proc/[0-9]*/environ >"$dir/log" 2>/dev/null
ok $? "no process stays" "$dir/log"
plan
