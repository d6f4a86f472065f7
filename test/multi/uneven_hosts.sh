#!/usr/bin/env bash
# uneven_hosts.sh - the programs of collectives on 3, 5 and 8 fake hosts with different numbers of PEs, and with the PEs dealt
# out in turn. Catches: blocks that are placed as if every node had as many members, or as if a node's members were neighbours;
# schedules of numbers of nodes that are no powers of two; a barrier that ends before puts of nodes that it hears of through others.
. "${top_srcdir:=.}/test/tap.sh"
export FAKE_HOSTS_N=8
need_hosts "$0"
command -v mpirun >/dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
export SHMEM_SYMMETRIC_SIZE=64M SHMEM_TEST_SPIN=0
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT

uneven() { # hosts, mpirun's option, programs
    places=$1 option=$2
    shift 2
    for program in "$@"; do
        # shellcheck disable=SC2086
        timeout -k 5 300 "$hosts" in h1 $OSHRUN --engine mpirun -H "$places" $option "$top_builddir/test/$program.pes" >"$out" 2>&1 &&
            grep -q '^1\.\.[1-9]' "$out" && ! grep -q '^not ok' "$out"
        ok $? "${program##*/}, $places $option" "$out"
    done
}

uneven h1:1,h2:3,h3:2 "" conf/coll multi/coll_long multi/team multi/team_any multi/nbc
uneven h1:2,h2:1,h3:1,h4:3,h5:1 "" conf/coll
uneven h1:1,h2:1,h3:2,h4:1,h5:1,h6:1,h7:2,h8:1 "" conf/coll multi/coll_long
uneven h1:2,h2:2,h3:1 "--map-by node" conf/coll
uneven h1:1,h2:7 "" conf/coll multi/coll_long
uneven h1:1,h2:1,h3:1,h4:1 "" multi/order
# reductions: nodes whose results fit the order of the members, then others
uneven h1:2,h2:2,h3:2 "" multi/reproduce
export SHMEM_REPRODUCIBLE=1
uneven h1:1,h2:3,h3:2 "" multi/reproduce
uneven h1:2,h2:2 "--map-by node" multi/reproduce
unset SHMEM_REPRODUCIBLE
export SHMEM_COLLECTIVES='alltoall:*:*:*:nodes'
uneven h1:1,h2:3,h3:2 "" conf/coll multi/coll_long
uneven h1:2,h2:1,h3:1,h4:3,h5:1 "" conf/coll multi/coll_long
uneven h1:3,h2:2,h3:2 "--map-by node" conf/coll multi/coll_long
uneven h1:1,h2:7 "" multi/coll_long
export SHMEM_COLLECTIVES='alltoall:*:*:*:pairwise'
uneven h1:1,h2:3,h3:2 "" multi/coll_long
export SHMEM_COLLECTIVES='reduce:*:*:*:halving'
uneven h1:2,h2:4,h3:3 "" multi/coll_long
uneven h1:3,h2:1,h3:2,h4:1,h5:1 "" multi/coll_long
plan
