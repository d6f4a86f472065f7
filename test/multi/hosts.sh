#!/usr/bin/env bash
# hosts.sh - every test program of several PEs again, with the PEs spread over two hosts (1 + 1 and 2 + 2) and, on one
# host, with the network between all of them. Catches: what only holds where loads and stores reach everybody.
#
# PES_PROGRAMS names the programs, below $top_builddir (make check: all of them); each of their tests is one here (see
# test/pes). By hand: make check TESTS=test/multi/hosts.sh
. "${top_srcdir:=.}/test/tap.sh"
[ -n "$PES_PROGRAMS" ] || skip_all "no programs named in PES_PROGRAMS"
command -v mpirun >/dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
need_hosts "$0"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent="$hosts rsh"
export SHMEM_SPIN=0 # the hosts share the cores, which no PE can know
FULMAR_TEST_TIMEOUT=${FULMAR_TEST_TIMEOUT:-240} && export FULMAR_TEST_TIMEOUT
oshrun=$OSHRUN
cd "$top_builddir" || exit 99

# All programs with one launcher, number of PEs and name of the way.
way() { # launcher, PEs, name
    for program in $PES_PROGRAMS; do
        OSHRUN=$1 FULMAR_TEST_PES="$2" sh "$top_srcdir/test/pes" "./$program" </dev/null |
            sed -n "s|^\(\(not \)\{0,1\}ok\) [0-9]* - \(.*\)|\1 - ${program##*/}, $3: \3|p; /^#/p; /^1\.\.0/s|.*|not ok - $program, $3: no tests|p"
    done
}

{
    way "$hosts in h1 $oshrun --engine mpirun -H h1:1,h2:1" 2 "1 + 1 PEs"
    way "$hosts in h1 $oshrun --engine mpirun -H h1:2,h2:2" 4 "2 + 2 PEs"
    SHMEM_TRANSPORT=ofi way "$hosts in h1 $oshrun" 3 "network on one host"
} | awk '/^(not )?ok - / { n++; sub(/ok -/, "ok " n " -") } { print; fflush() } END { print "1.." n + 0 }'
