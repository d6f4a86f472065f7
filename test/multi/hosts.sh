#!/usr/bin/env bash
# hosts.sh - run every test program of several PEs with the PEs on two hosts (2 + 2, those of test/conf also 1 + 1) and,
# on one host, with the network between all PEs. Catches: code that works only where loads and stores reach every PE.
#
# PES_PROGRAMS names the programs, relative to $top_builddir (make check: all of them); each of their tests is a test
# here (see test/pes). By hand: make check TESTS=test/multi/hosts.sh
. "${top_srcdir:=.}/test/tap.sh"
[ -n "$PES_PROGRAMS" ] || skip_all "no programs named in PES_PROGRAMS"
command -v mpirun >/dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
need_hosts "$0"
export SHMEM_TEST_SPIN=0 # the hosts share the cores, which the PEs cannot detect
FULMAR_TEST_TIMEOUT=${FULMAR_TEST_TIMEOUT:-240} && export FULMAR_TEST_TIMEOUT
oshrun=$OSHRUN
cd "$top_builddir" || exit 99

# Run programs with one launcher and number of PEs; NAME is part of the test names.
way() { # launcher, PEs, name, pattern of the programs
    for program in $PES_PROGRAMS; do
        case $program in $4) ;; *) continue ;; esac
        OSHRUN=$1 FULMAR_TEST_PES="$2" sh "$top_srcdir/test/pes" "./$program" </dev/null |
            sed -n "s|^\(\(not \)\{0,1\}ok\) [0-9]* - \(.*\)|\1 - ${program##*/}, $3: \3|p; /^#/p; /^1\.\.0/s|.*|not ok - $program, $3: no tests|p"
    done
}

{
    way "$hosts in h1 $oshrun --engine mpirun -H h1:1,h2:1" 2 "1 + 1 PEs" '*conf/*'
    way "$hosts in h1 $oshrun --engine mpirun -H h1:2,h2:2" 4 "2 + 2 PEs" '*'
    SHMEM_TRANSPORT=ofi way "$hosts in h1 $oshrun" 3 "network on one host" '*'
} | awk '/^(not )?ok - / { n++; sub(/ok -/, "ok " n " -") } { print; fflush() } END { print "1.." n + 0 }'
