#!/usr/bin/env bash
# survive_hosts.sh - survive.sh on two hosts, started by a unique id and by a launcher that keeps the job when a process dies.
# Catches: a death on another host that no PE sees, or that not all learn of; PEs that wait for a host or a link that is down; the end of the job with
# the first death; a PE that ends before others know that it leaves.
#
# FULMAR_KILLS=1000 kills so many PEs.
. "${top_srcdir:=.}/test/tap.sh"
need_hosts "$0"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
program=$top_builddir/test/fault/survive
export SHMEM_SYMMETRIC_SIZE=4m SHMEM_FAULTS=continue UIDRUN_HOSTS="h1 h2"

check() { # DESCRIPTION, how many PEs are left
    [ "$(grep -c '^right: ' "$dir/log")" = "$2" ] && ! grep -q '^wrong: ' "$dir/log" && return
    { echo "$1:"; cat "$dir/log"; } >>"$dir/wrong"
}

kills() { # PEs, how many of them die, within microseconds, steps: one job
    seed=$((seed + 1)) killed=$((killed + $2))
    # shellcheck disable=SC2086
    timeout 60 "$top_srcdir/test/lib/uidrun" -n $1 "$program" $seed $2 $3 $4 >"$dir/log" 2>&1
    check "seed $seed: $1 PEs, $2 die within $3 us, $4 steps, status $?" $(($1 - $2))
}

seed=${FULMAR_SEED:-0} killed=0
while [ $killed -lt "${FULMAR_KILLS:-12}" ]; do
    kills 2 1 20000 40
    kills 4 1 40000 100
    kills 4 2 40000 60
done
[ ! -s "$dir/wrong" ]
ok $? "$killed PEs die in $seed jobs started by a unique id" "$dir/wrong"
: >"$dir/wrong"

# Catches: a launcher that ends the job some time after the death. The job goes on for long enough.
if command -v mpirun >/dev/null; then
    timeout 60 "$hosts" in h1 mpirun --enable-recovery -x SHMEM_FAULTS -x SHMEM_SYMMETRIC_SIZE --host h1:2,h2:2 -n 4 "$program" 7 1 40000 4000 >"$dir/log" 2>&1
    check "mpirun: status $?" 3
    [ ! -s "$dir/wrong" ]
    ok $? "one of 4 PEs started by mpirun dies" "$dir/wrong"
    : >"$dir/wrong"
else
    skip "a PE started by mpirun dies" "Open MPI (openmpi-bin) is not installed"
fi

slurm=$top_srcdir/test/lib/slurm.sh
if ! why=$("$slurm" can); then
    skip "a PE started by srun dies" "$why"
elif "$slurm" up >"$dir/log" 2>&1 && export SLURM_CONF="$FAKE_HOSTS/slurm.conf" && ! "$hosts" in h1 srun --mpi=list 2>&1 | grep -q pmix; then
    skip "a PE started by srun dies" "$(srun --version) has no plugin for PMIx"
else
    timeout 60 "$hosts" in h1 srun --no-kill --kill-on-bad-exit=0 --mpi=pmix --nodes=2 --ntasks-per-node=2 "$program" 7 1 40000 4000 >"$dir/log" 2>&1
    check "srun: status $?" 3
    [ ! -s "$dir/wrong" ]
    ok $? "one of 4 PEs started by srun dies" "$dir/wrong"
    : >"$dir/wrong"
fi

SHMEM_HEARTBEAT=10 timeout 60 "$top_srcdir/test/lib/uidrun" -n 4 "$program" 8 w2 1 20 >"$dir/log" 2>&1 &
sleep 3
"$hosts" kill h2
wait $!
check "host h2 is killed" 2
[ ! -s "$dir/wrong" ]
ok $? "all processes of a host die at once" "$dir/wrong"
: >"$dir/wrong"

# Both sides take the other one for dead.
SHMEM_HEARTBEAT=2 timeout 60 "$top_srcdir/test/lib/uidrun" -n 4 "$program" 9 w2 1 20 >"$dir/log" 2>&1 &
sleep 3
"$hosts" in h1 ip link set eth0 down
wait $!
check "the link is cut" 4
[ ! -s "$dir/wrong" ]
ok $? "the link between two hosts is cut" "$dir/wrong"
plan
