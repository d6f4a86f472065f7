#!/usr/bin/env bash
# many.sh - 256 PEs on one host, and 64 on 16 hosts. Catches: a limit (descriptors, keys of the launcher, connections), a wait or a
# table that does not scale to a job of hundreds of PEs; a job above the limit of active sets that hangs or fails without a reason.
#
# By hand, for more: MANY_PES=1024 MANY_EACH=64 make check TESTS=test/multi/many.sh
. "${top_srcdir:=.}/test/tap.sh"
export FAKE_HOSTS_N=16
need_hosts "$0"
export SHMEM_SYMMETRIC_SIZE=1M SHMEM_TEST_SPIN=0
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
# What PEs that talk to each other cost, and that nobody connects to PEs to which it does not talk, nor inherits their connections.
within() { # most sockets, KiB a PE, KiB of shared memory; name
    awk -v s="$1" -v p="$2" -v m="$3" -F '[:,]' 'NF != 10 || $3 > s || $5 > p || $7 > m { bad = 1 } END { exit bad || NR != 1 }' "$out"
    ok $? "$4" "$out"
    sed 's/^/# /' "$out"
}
timeout -k 5 300 $OSHRUN -n 64 "$many" all >"$out" 2>&1
within 8 8192 65536 "64 PEs of a node, each to each: at most 64 MiB of shared memory"
SHMEM_TRANSPORT=ofi timeout -k 5 300 $OSHRUN -n 64 "$many" all >"$out" 2>&1
within 32 6144 65536 "64 PEs over the network, each to each: at most 6 MiB a PE"
timeout -k 5 300 $OSHRUN -n 24 "$many" sets >"$out" 2>&1
ok $? "all active sets of 24 PEs" "$out"
timeout -k 5 300 $OSHRUN -n 48 "$many" sets >"$out" 2>&1
[ $? -eq 1 ] && grep -q "shmem_barrier: more than 1024 different active sets in one job; use teams" "$out"
ok $? "more than 1,024 active sets end the job with a line" "$out"
plan
