#!/usr/bin/env bash
# uid.sh - jobs that no launcher starts, whose processes meet by a unique id: how they start, who is refused, and how they end.
#
# Catches: a PE that waits for ever for one that does not come or has died, in each phase of the start too; a death that PEs which make no calls do
# not see; a line that names another PE, or none; another exit status than oshrun's job has; strangers and old files that disturb a job;
# a secret that others can read; an id that does not reach other hosts.
. "${top_srcdir:=.}/test/tap.sh"
need_hosts "$0"
uid=$top_builddir/test/launch/uid boot=$top_builddir/test/launch/boot uidrun=$top_srcdir/test/lib/uidrun
work=$(mktemp -d "$FAKE_HOSTS/uid.XXXXXX") || exit 99
export SHMEM_START_TIMEOUT=30

# job LIMIT N MODE [PE]: $took is in ms; the lines and statuses are in $work/out.
job() {
    local limit=$1 begin
    shift
    begin=$(date +%s%N)
    timeout -k 2 "$limit" "$uid" "$@" >"$work/out" 2>&1
    status=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    echo "status $status, $took ms" >>"$work/out"
}

statuses() { # of PEs 0, 1, ...
    sed -n 's/^PE [0-9]*: //p' "$work/out" | tr '\n' ' '
}

lines() { # how many lines match
    grep -c "$1" "$work/out"
}

for n in 1 2 3 7 24; do
    job 30 $n fine
    [ $status = 0 ] && [ "$(lines fulmar)" = 0 ]
    ok $? "$n processes meet by the id" "$work/out"
done
job 20 1 args
[ $status = 0 ] && [ "$(lines fulmar)" = 4 ]
ok $? "what does not belong together is refused with a line" "$work/out"
job 20 7 two
[ $status = 0 ] && [ "$(lines fulmar)" = 0 ]
ok $? "two jobs beside each other" "$work/out"

# ---- who does not come, and who is refused
SHMEM_START_TIMEOUT=2
job 20 4 never 2
[ "$(statuses)" = "1 1 0 1 " ] && [ "$(lines 'PE 0: shmem_init: waiting for all PEs .*: PE 2 not there')" = 1 ]
ok $? "a PE that does not come is named, and the others end" "$work/out"
job 20 3 never 0
[ "$(statuses)" = "0 1 1 " ] && [ "$(lines 'does not listen')" = 2 ]
ok $? "the process that made the id does not come" "$work/out"
job 20 4 twice 2
[ $status = 1 ] && [ "$(lines 'PE 0: shmem_init: two processes have the number 1: pid [0-9]* on .* and pid')" = 1 ] && ! statuses | grep -qw 0
ok $? "two processes with one number" "$work/out"
job 20 4 size 3
[ $status = 1 ] && [ "$(lines 'PE 0: shmem_init: .* has 5 PEs, .* has 4')" = 1 ] && ! statuses | grep -qw 0
ok $? "a process that has another number of PEs" "$work/out"
job 20 3 changed 1
[ $status = 1 ] && [ "$(lines 'the unique id is not one of this library')" = 1 ] && [ "$(lines 'PE 1 not there')" = 1 ]
ok $? "an id that was changed on the way" "$work/out"
job 30 6 attack
[ $status = 0 ] && [ "$(lines fulmar)" = 0 ]
ok $? "150 strangers hold connections before the PEs come: the job starts ($took ms)" "$work/out"

# ---- deaths
SHMEM_START_TIMEOUT=30
# As under oshrun: the status of exit and shmem_global_exit is the job's, one line names the PE.
for pe in 0 1 4 6; do
    job 60 7 kill $pe
    want=$(for i in 0 1 2 3 4 5 6; do [ $i = $pe ] && echo 137 || echo 1; done | tr '\n' ' ')
    [ "$(statuses)" = "$want" ] && [ "$(lines fulmar)" = 1 ] && [ "$(lines "PE $pe (pid [0-9]* on .*uid) ended without shmem_finalize")" = 1 ]
    ok $? "PE $pe is killed while the others compute ($took ms)" "$work/out"
done
for case in exit:7 global:5 quiet:1; do
    want=${case#*:}
    job 60 7 ${case%:*} 3
    [ "$(statuses | tr ' ' '\n' | sed '4d;/^$/d' | sort -u)" = "$want" ] && [ "$(lines fulmar)" = 1 ] && [ "$(lines 'PE 3 (pid')" = 1 ]
    ok $? "PE 3 ends by ${case%:*}: the others have status $want ($took ms)" "$work/out"
done
job 60 5 fork 2
[ $status = 1 ] && [ "$(lines 'PE 2 (pid')" = 1 ]
ok $? "a PE dies whose forked child lives on ($took ms)" "$work/out"
bad=0 SHMEM_START_TIMEOUT=2
for ms in 0 2 4 7 12; do
    for pe in 0 3; do
        job 60 5 kill=$ms $pe
        # 0: it was over. Else nobody waits for longer than the limit of the start, and none for ever.
        [ $status = 0 ] || { [ $status = 1 ] && [ "$(statuses | wc -w)" = 5 ]; } || { bad=1; cp "$work/out" "$work/bad"; }
    done
done
ok $bad "a PE that is killed in any phase of the start: all end" "$work/bad"

# ---- the file
for pe in 1 2 0; do
    SHMEM_UNIQUEID=$pe/3@$work/file timeout 20 "$boot" >"$work/out.$pe" 2>&1 &
    sleep 0.2
    [ ! -e "$work/file" ] || stat -c %a "$work/file" >>"$work/modes"
done
wait
[ "$(cat "$work"/out.? | grep -c 'of 3 on .*node 0 1 2, 0 wrong')" = 3 ] && [ ! -e "$work/file" ]
ok $? "processes that come before the file; it is removed" "$work/out.1"
(umask 0; SHMEM_UNIQUEID=0/2@$work/alone timeout 20 "$boot" >"$work/out" 2>&1) &
for i in $(seq 100); do [ -e "$work/alone" ] && break; sleep 0.02; done
[ "$(stat -c %a "$work/alone")" = 600 ]
ok $? "only its user can read the file, whatever the umask"
wait
(SHMEM_START_TIMEOUT=20 SHMEM_UNIQUEID=0/2@$work/busy timeout 20 "$boot" >"$work/out.0" 2>&1) &
for i in $(seq 500); do [ -s "$work/busy" ] && break; sleep 0.02; done
SHMEM_UNIQUEID=0/2@$work/busy timeout 20 "$boot" >"$work/out" 2>&1
[ $? = 1 ] && [ "$(lines fulmar)" = 1 ] && grep -q "file $work/busy: another job starts with it now" "$work/out" &&
    SHMEM_UNIQUEID=1/2@$work/busy timeout 20 "$boot" >>"$work/out" 2>&1 && wait && [ "$(cat "$work"/out "$work"/out.0 | grep -c '0 wrong')" = 2 ] && [ ! -e "$work/busy" ]
ok $? "a file by which another job is starting is refused, and that job starts" "$work/out"
wait
for old in make squat; do
    if [ $old = squat ]; then
        "$uid" "$work/old" squat &
        squatter=$!
    else
        "$uid" "$work/old" make
    fi
    for i in $(seq 100); do [ -s "$work/old" ] && break; sleep 0.02; done
    SHMEM_START_TIMEOUT=20 SHMEM_UNIQUEID=1/2@$work/old timeout 20 "$boot" >"$work/out" 2>&1 &
    one=$!
    sleep 0.3
    SHMEM_UNIQUEID=0/2@$work/old timeout 20 "$boot" >"$work/out.0" 2>&1
    wait $one
    cat "$work/out.0" >>"$work/out"
    [ "$(grep -c '0 wrong' "$work/out")" = 2 ]
    ok $? "an older job's file: its port is $([ $old = make ] && echo closed || echo "another's now")" "$work/out"
done
kill $squatter
for value in 2/2@x 1/2@ -1/2@x a/b@x nonsense; do
    env -u RANK -u SLURM_PROCID SHMEM_UNIQUEID=$value timeout 20 "$boot" >"$work/out" 2>&1
    [ $? = 1 ] && [ "$(lines SHMEM_UNIQUEID=)" = 1 ]
    ok $? "SHMEM_UNIQUEID=$value is refused with one line" "$work/out"
done
for pe in 0 1; do
    RANK=$pe WORLD_SIZE=2 SHMEM_UNIQUEID=$work/file timeout 20 "$boot" >"$work/out.$pe" 2>&1 &
done
wait
[ "$(cat "$work"/out.[01] | grep -c 'of 2 on')" = 2 ]
ok $? "numbers from torchrun's variables" "$work/out.0"

# ---- two hosts
UIDRUN_HOSTS="h1 h2" timeout 30 "$uidrun" -n 5 "$boot" >"$work/out" 2>&1
[ "$(grep -c 'on h1, node 0 1 2, 0 wrong' "$work/out")" = 3 ] && [ "$(grep -c 'on h2, node 3 4, 0 wrong' "$work/out")" = 2 ]
ok $? "3 PEs on one host, 2 on another: each knows its node" "$work/out"
for conf in rma coll; do
    UIDRUN_HOSTS="h1 h2" timeout 60 "$uidrun" -n 4 "$top_builddir/test/conf/$conf.pes" >"$work/out" 2>&1
    [ $? = 0 ] && ! grep -q '^not ok' "$work/out" && grep -q '^1\.\.' "$work/out"
    ok $? "test/conf/$conf on two hosts" "$work/out"
done
# ---- the library by such a job
for run in shm:conf/amo shm:conf/sync shm:multi/fork shm:multi/team shm:multi/tag shm:multi/gpc_calls ofi:conf/rma ofi:multi/lock; do
    transport=auto
    [ ${run%:*} = shm ] || transport=ofi
    SHMEM_TRANSPORT=$transport timeout 60 "$uidrun" -n 3 "$top_builddir/test/${run#*:}.pes" >"$work/out" 2>&1
    [ $? = 0 ] && ! grep -q '^not ok' "$work/out" && grep -q '^1\.\.' "$work/out"
    ok $? "test/${run#*:}, SHMEM_TRANSPORT=$transport" "$work/out"
done

# ---- beside other launchers
timeout 30 "$OSHRUN" -n 2 "$uid" 3 fine >"$work/out" 2>&1 && [ "$(lines '^PE [012]: 0$')" = 6 ]
ok $? "two such jobs, by processes of oshrun" "$work/out"
SHMEM_UNIQUEID=0/2@$work/none timeout 30 "$OSHRUN" -n 2 "$boot" >"$work/out" 2>&1 && [ "$(lines 'PE [01] of 2 .*node 0 1, 0 wrong')" = 2 ]
ok $? "oshrun in such a process: its PEs are those of oshrun" "$work/out"
cat >"$work/halves.c" <<'END'
#include <mpi.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

/* Even and odd ranks are two jobs, which add their ranks. */
int main(int argc, char **argv)
{
    int rank, n, provided;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_size(half, &n);
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    attr.mpi_comm = &half;
    if (shmemx_init_thread_attr(SHMEMX_INIT_WITH_MPI_COMM, &attr, SHMEM_THREAD_MULTIPLE, &provided))
        return 1;
    int *sum = shmem_calloc(1, sizeof *sum), all = 0, me;
    MPI_Comm_rank(half, &me);
    shmem_int_atomic_add(sum, rank, 0);
    shmem_barrier_all();
    MPI_Allreduce(sum, &all, 1, MPI_INT, MPI_SUM, half);
    printf("%d of %d: %d%s\n", rank, shmem_n_pes(), all, me == shmem_my_pe() && n == shmem_n_pes() && provided == SHMEM_THREAD_MULTIPLE ? "" : " wrong");
    shmem_finalize();
    MPI_Finalize();
    return 0;
}
END
if command -v mpirun >/dev/null && OSHCC_CC=mpicc "$OSHCC" "$work/halves.c" -o "$work/halves" >"$work/out" 2>&1; then
    timeout 60 mpirun --oversubscribe -n 5 "$work/halves" 2>&1 </dev/null | sort >"$work/out"
    [ "$(tr '\n' '|' <"$work/out")" = "0 of 3: 6|1 of 2: 4|2 of 3: 6|3 of 2: 4|4 of 3: 6|" ]
    ok $? "two communicators of MPI are two jobs" "$work/out"
else
    skip "two communicators of MPI are two jobs" "mpicc or mpirun is not installed"
fi

mkdir "$work/folder"
begin=$(date +%s%N)
UIDRUN_HOSTS="h1 h2" timeout 30 "$uidrun" -n 4 "$boot" "$work/folder" >"$work/out" 2>&1 &
job=$!
for i in $(seq 200); do [ -e "$work/folder/fenced.0" ] && [ -e "$work/folder/fenced.3" ] && break; sleep 0.05; done
"$hosts" kill h2
wait $job
status=$?
took=$((($(date +%s%N) - begin) / 1000000))
[ $status != 0 ] && [ "$(lines 'PE [23] (pid [0-9]* on h2, .*) ended without shmem_finalize')" = 1 ]
ok $? "all processes of a host are killed: the others end with one line ($took ms)" "$work/out"

# A link is cut while all compute, or wait in barriers: each host's PEs end, with one line a host.
cat >"$work/apart.c" <<'END'
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    shmem_init();
    shmem_barrier_all();
    FILE *f = fopen(argv[1], "a");
    fprintf(f, "%d\n", shmem_my_pe());
    fclose(f);
    while (argc < 3) {
        shmem_barrier_all();
        usleep(20000);
    }
    sleep(60);
    return 0;
}
END
"$OSHCC" "$work/apart.c" -o "$work/apart" >"$work/out" 2>&1 || exit 99
for how in compute ""; do
    : >"$work/there"
    SHMEM_HEARTBEAT=3 UIDRUN_HOSTS="h1 h2" timeout 100 "$uidrun" -n 4 "$work/apart" "$work/there" $how >"$work/out" 2>&1 &
    job=$!
    for i in $(seq 600); do [ "$(wc -l <"$work/there")" = 4 ] && break; sleep 0.05; done
    "$hosts" in h2 ip link set eth0 down
    wait $job
    status=$?
    "$hosts" in h2 ip link set eth0 up
    silent='does not answer: its host|has not answered for 3 s'
    [ $status = 1 ] && grep -Eq "fulmar: PE [01]: .*($silent)" "$work/out" && grep -Eq "fulmar: PE [23]: .*($silent)" "$work/out"
    ok $? "a link is cut while all ${how:-wait in barriers}: the PEs of both hosts end, with a line on each" "$work/out"
done
plan
