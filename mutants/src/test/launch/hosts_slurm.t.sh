#!/usr/bin/env bash
# hosts_slurm.t.sh - jobs on two fake hosts, started by a private Slurm with its own daemons, key and files.
. "${top_srcdir:=.}/test/tap.sh"
need_hosts "$0"
slurm=$top_srcdir/test/lib/slurm.sh
why=$("$slurm" can) || skip_all "$why"
work=$FAKE_HOSTS
engine=srun
. "$top_srcdir/test/launch/hosts.sh"
"$slurm" up >"$work/slurm.out" 2>&1
started=$?
ok $started "a private Slurm of two nodes starts" "$work/slurm.out"
[ $started = 0 ] || { plan && exit; } # srun would wait for nodes for ever
export SLURM_CONF="$FAKE_HOSTS/slurm.conf"

direct() {
    in_h1 timeout 40 srun --quiet --mpi=pmix --nodes=2 --ntasks-per-node=2 "$@"
}

# Inside an allocation: all of its nodes without -H, a part of them with -H.
test_allocation() {
    status=0
    in_h1 timeout 40 salloc -Q -N 2 --ntasks-per-node=2 "$OSHRUN" "$boot" >"$work/out" 2>"$work/err" </dev/null
    [ "$(sorted)" = "$two_and_two" ]
    result $? "oshrun in an allocation of two nodes uses both"

    in_h1 timeout 40 salloc -Q -N 2 --ntasks-per-node=2 "$OSHRUN" -H h2:1,h1:1 -l hostname >"$work/out" 2>"$work/err" </dev/null
    [ "$(sorted)" = "[0] h2|[1] h1|" ]
    result $? "-H in an allocation selects some of its nodes"

    in_h1 timeout 40 salloc -Q -N 2 --ntasks-per-node=2 "$OSHRUN" -H h1:3 -l hostname >"$work/out" 2>"$work/err" </dev/null
    [ "$(sorted)" = "[0] h1|[1] h1|[2] h1|" ]
    result $? "-H with this machine's name starts PEs on this machine only"
}

if ! in_h1 srun --mpi=list 2>&1 | grep -q pmix; then
    skip "jobs under srun --mpi=pmix" "$(srun --version) has no plugin for PMIx; hosts_pmi.t.sh tests it"
    plan
    exit
fi
touch "$work/begin"
test_places
test_programs
test_allocation
test_lookup slurmstepd
test_options
test_ends
test_disturbed
test_left 'slurmd|slurmctld|slurmscriptd'
test_host_killed_heartbeat
"$slurm" back h2 >"$work/slurm.out" 2>&1
ok $? "slurmd restarts on the killed host" "$work/slurm.out"
# Slurm detects it itself, after SlurmdTimeout and two pings.
test_host_killed
plan
