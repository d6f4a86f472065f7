#!/bin/sh
# left.sh - a PE that has come to shmem_finalize, or has returned from main, while others need it: the job ends with one line that names it.
# Catches: waits without end, by memory and over the network; a wait that still ends, and is taken for such a one.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
SHMEM_SYMMETRIC_SIZE=1m
export SHMEM_SYMMETRIC_SIZE

cat >"$dir/modes" <<'EOF'
exit_barrier_f shmem_finalize: PE 2 has ended its program \(exit, or a return from main\) without a collective call that this PE has made
finalize_barrier_f shmem_finalize: PE 2 has called shmem_finalize without a collective call that this PE has made
return_barriers shmem_barrier_all: PE 2 has ended its program .*, and is needed for this call
one_barrier_more_f shmem_finalize: PE [012] has called shmem_finalize (without a collective call that this PE has made|after a collective call that this PE has not made)
exit_sums shmem_int_sum_reduce: PE 2 has ended its program .*, and is needed for this call
exit_team shmem_team_sync: PE 2 has ended its program .*, and is needed for this call
finalize_wait_f shmem_long_wait_until: ivar = 0x[0-9a-f]+: all other PEs are in shmem_finalize or have left it, PE 1 has called shmem_finalize
exit_wait_any shmem_long_wait_until_any: ivar = 0x[0-9a-f]+: all other PEs are in shmem_finalize or have left it, PE 1 has ended its program
exit_lock shmem_set_lock: lock = 0x[0-9a-f]+: PE 2, which holds it or waits for it, has ended its program
right_slow
right_slow_f
right_word
right_thread
right_again_f
right_team
EOF

# The PEs of these jobs sleep most of the time: all at once.
for transport in auto ofi; do
    while read -r mode pattern; do
        (SHMEM_TRANSPORT=$transport timeout -k 5 60 $OSHRUN -n 3 "$top_builddir/test/fault/left" "$mode" >"$dir/$mode" 2>&1 </dev/null
         echo $? >"$dir/$mode.status") &
    done <"$dir/modes"
    wait
    while read -r mode pattern; do
        read -r status <"$dir/$mode.status"
        lines=$(grep -c '^fulmar:' "$dir/$mode")
        if [ "$pattern" ]; then
            [ $status -eq 1 ] && [ "$lines" -eq 1 ] && grep -Eq "^fulmar: PE [012]: $pattern" "$dir/$mode"
        else
            [ $status -eq 0 ] && [ "$lines" -eq 0 ]
        fi
        ok $? "$mode, SHMEM_TRANSPORT=$transport: status $status" "$dir/$mode"
    done <"$dir/modes"
done
plan
