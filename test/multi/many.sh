#!/usr/bin/env bash
# many.sh - 256 PEs on one host, and 64 on 16 hosts. Catches: a limit (descriptors, keys of the launcher, connections), a wait or a
# table that does not scale to a job of hundreds of PEs; a job above the limit of active sets that hangs or fails without a reason.
#
# By hand, for more: MANY_PES=1024 MANY_EACH=64 make check TESTS=test/multi/many.sh
. "${top_srcdir:=.}/test/tap.sh"
export FAKE_HOSTS_N=16
need_hosts "$0"
export SHMEM_SYMMETRIC_SIZE=1M SHMEM_SPIN=0
pes=${MANY_PES:-256} each=${MANY_EACH:-4}
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT
many=$top_builddir/test/multi/many

timeout -k 5 900 $OSHRUN -n "$pes" "$many" >"$out" 2>&1 && [ "$(wc -l <"$out")" -eq 1 ] && grep -q "^$pes PEs" "$out"
ok $? "$pes PEs on one host" "$out"
sed 's/^/# /' "$out"

name="$((16 * each)) PEs on 16 hosts"
if command -v mpirun >/dev/null; then
    timeout -k 5 900 "$hosts" in h1 $OSHRUN --engine mpirun -H "$(seq -s, -f "h%g:$each" 16)" "$many" >"$out" 2>&1 &&
        [ "$(wc -l <"$out")" -eq 1 ] && grep -q "^$((16 * each)) PEs" "$out"
    ok $? "$name" "$out"
    sed 's/^/# /' "$out"
else
    skip "$name" "Open MPI (openmpi-bin) is not installed"
fi
timeout -k 5 300 $OSHRUN -n 24 "$many" sets >"$out" 2>&1
ok $? "all active sets of 24 PEs" "$out"
timeout -k 5 300 $OSHRUN -n 48 "$many" sets >"$out" 2>&1
[ $? -eq 1 ] && grep -q "shmem_barrier: more than 1024 different active sets in one job; use teams" "$out"
ok $? "more than 1,024 active sets end the job with a line" "$out"
plan
