#!/usr/bin/env bash
# hosts_pmi.t.sh - programs that launchers with PMI-1 start on two fake hosts: MPICH's mpiexec, Slurm's `srun --mpi=pmi2`, and oshrun
# with a Slurm that has no plugin for PMIx. Catches: wrong places of PEs, records lost or cut on the way to the other host, jobs that
# go on after a PE's end, several lines of srun that do not name the cause.
. "${top_srcdir:=.}/test/tap.sh"
need_hosts "$0"
slurm=$top_srcdir/test/lib/slurm.sh work=$FAKE_HOSTS engine=srun
. "$top_srcdir/test/launch/hosts.sh"

started() { # the program and its arguments, started by `direct`: sets $status
    direct "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

test_launcher() { # its name
    started "$boot"
    [ $status -eq 0 ] && [ "$(sorted)" = "$two_and_two" ]
    result $? "$1: every PE knows the hosts of all"

    started "$soak" seconds=1
    [ $status -eq 0 ]
    result $? "$1: random operations of all kinds"

    started "$leave" finalize_one_of_two
    [ $status -eq 0 ] && [ "$(grep -c 'was here' "$work/out")" -eq 4 ]
    result $? "$1: a return from main finalizes"

    for mode in global_exit_7 exit_3; do # the launcher may kill the PE before it has its status
        SHMEM_HEARTBEAT=0 started "$leave" $mode # the heartbeat would end the job, too
        [ $status -ne 0 ] && [ $status -ne 124 ]
        result $? "$1: $mode ends the PEs of both hosts"
    done

    SHMEM_HEARTBEAT=0 started "$leave" kill_compute
    [ $status -ne 0 ] && [ $status -ne 124 ]
    result $? "$1: a killed PE ends the job"
    until_pes 0 0
    result $? "$1: no PE remains"
}

if command -v mpiexec.hydra >/dev/null; then
    printf '#!/bin/sh\nexec %s rsh "$@"\n' "$hosts" >"$work/rsh"
    chmod +x "$work/rsh"
    direct() {
        in_h1 timeout 40 mpiexec.hydra -launcher rsh -launcher-exec "$work/rsh" -hosts h1,h2 -ppn 2 -n 4 "$@"
    }
    test_launcher "MPICH's mpiexec"
else
    skip "jobs under MPICH's mpiexec" "mpich is not installed"
fi

# Slurm's plugins except those for PMIx.
plugins=$(find /usr/lib /usr/lib64 /usr/local/lib -name mpi_pmi2.so -printf '%h\n' -quit 2>/dev/null)
if ! why=$("$slurm" can); then
    skip "jobs under srun --mpi=pmi2" "$why"
elif [ -z "$plugins" ]; then
    skip "jobs under srun --mpi=pmi2" "$(srun --version) has no plugin pmi2"
else
    mkdir "$work/plugins"
    ln -s "$plugins"/* "$work/plugins"
    rm -f "$work"/plugins/mpi_pmix*
    SLURM_PLUGINS=$work/plugins "$slurm" up >"$work/slurm.out" 2>&1
    ok $? "a private Slurm of two nodes starts" "$work/slurm.out"
    export SLURM_CONF="$FAKE_HOSTS/slurm.conf"
    direct() {
        in_h1 timeout 40 srun --quiet --mpi=pmi2 --kill-on-bad-exit=1 --nodes=2 --ntasks-per-node=2 "$@"
    }
    test_launcher "srun --mpi=pmi2"

    # On one host: MPICH 4.0 with UCX sometimes hangs in MPI_Finalize on several, without OpenSHMEM, too.
    if echo '#include <mpi.h>' | mpicc.mpich -E - >/dev/null 2>&1; then
        OSHCC_CC=mpicc.mpich "$OSHCC" "$top_srcdir/examples/mpi.c" -o "$work/mpi" &&
            in_h1 timeout 40 srun --quiet --mpi=pmi2 --nodes=1 --ntasks=3 "$work/mpi" >"$work/out" 2>"$work/err"
        status=$?
        [ $status -eq 0 ] && grep -q 'from 1 to 3 is 14' "$work/out"
        result $? "srun --mpi=pmi2: MPICH and OpenSHMEM in one program"
    else
        skip "MPICH and OpenSHMEM under srun --mpi=pmi2" "MPICH (mpich, libmpich-dev) is not installed"
    fi

    test_places
    run "$soak" seconds=1
    ended 0 0
    result $? "oshrun without PMIx: random operations of all kinds"
    run "$leave" global_exit_7
    ended 7 1 && grep -q '^oshrun: PE 3 .* on h2, .* exited with status 7' "$work/err"
    result $? "oshrun without PMIx: shmem_global_exit(7): 7 and one line"
    run "$leave" exit_3
    ended 3 1 && grep -q '^oshrun: PE 3 .* exited with status 3' "$work/err"
    result $? "oshrun without PMIx: the status of the PE that failed, with one line"
    run "$leave" kill_compute
    ended 137 1 && grep -q '^oshrun: PE 3 .* was killed by SIGKILL' "$work/err"
    result $? "oshrun without PMIx: a killed PE: 137 and one line"

    rm "$work"/plugins/mpi_pmi2*
    run hostname
    ended 1 1 && grep -q 'this Slurm has a plugin neither for PMIx nor for PMI-2' "$work/err"
    result $? "one line where Slurm has no plugin for PEs"
fi
plan
