#!/usr/bin/env bash
# left_hosts.sh - left.sh where some PEs share memory and others do not. Catches: a PE of another host, or of this one, that is not looked at.
. "${top_srcdir:=.}/test/tap.sh"
command -v mpirun >/dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
export FAKE_HOSTS_N=3
need_hosts "$0"
export SHMEM_SYMMETRIC_SIZE=1m SHMEM_TEST_SPIN=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
while read -r places mode lines; do
    timeout -k 5 100 "$hosts" in h1 $OSHRUN --engine mpirun -H "$places" "$top_builddir/test/fault/left" "$mode" >"$dir/out" 2>&1 </dev/null
    status=$?
    [ $status -eq "$((lines > 0))" ] && [ "$(grep -c '^fulmar:' "$dir/out")" -eq "$lines" ] &&
        [ "$(grep -c '^fulmar: PE [012]: shmem_.*: PE [012] has \(called shmem_finalize\|ended its program\)' "$dir/out")" -eq "$lines" ]
    ok $? "$mode, $places: status $status" "$dir/out"
done <<'EOF'
h1:2,h2:1 exit_barrier_f 1
h1:1,h2:2 one_barrier_more_f 1
h1:1,h2:1,h3:1 exit_team 1
h1:2,h2:1 right_again_f 0
EOF
plan
