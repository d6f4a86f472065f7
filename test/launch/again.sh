#!/usr/bin/env bash
# again.sh - processes that are in many jobs, one after the other: by unique ids, beside MPI, beside oshrun.
#
# Catches: a variable, descriptor, thread, mapping or block of memory that stays when a process leaves a job, or that describes the old job in the next
# one; a death in a later job that the others do not see.
. "${top_srcdir:=.}/test/tap.sh"
again=$top_builddir/test/launch/again state=$top_builddir/test/launch/again_state
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
work=$(cd "$work" && pwd)
export SHMEM_START_TIMEOUT=30

# ---- variables
devices=
! grep -q '^#define HAVE_ZE 1' "$top_builddir/config.h" || devices="DEVICE=cpu DEVICE=cpu,TRANSPORT=ofi"
for set in CHECK=0 CHECK=1 TRANSPORT=ofi "STATS=$work/stats" "TRACE=$work/trace" $devices; do
    settings=()
    for one in ${set//,/ }; do settings+=("SHMEM_$one"); done
    env "${settings[@]}" timeout 60 "$state" >"$work/out" 2>&1 && [ "$(grep -c ', 0 differ' "$work/out")" = 2 ]
    ok $? "no variable keeps a job's state (SHMEM_${set%%/*})" "$work/out"
done

# ---- many jobs
SHMEM_SYMMETRIC_SIZE=4M timeout 200 "$again" 4 1000 >"$work/out" 2>&1
ok $? "4 processes, 1,000 jobs each: $(sed -n 's/^process 0, //p' "$work/out")" "$work/out"
SHMEM_SYMMETRIC_SIZE=4M SHMEM_TRANSPORT=ofi timeout 100 "$again" 4 60 >"$work/out" 2>&1
ok $? "over the network, 60 jobs: $(sed -n 's/^process 0, //p' "$work/out")" "$work/out"
for case in 12:auto 3:ofi; do
    SHMEM_TRANSPORT=${case#*:} timeout 60 "$again" 4 30 "${case%:*}" >"$work/out" 2>&1
    [ "$(sed -n 's/^process [0-9]: status //p' "$work/out" | tr '\n' ' ')" = "1 137 1 1 " ] && [ "$(grep -c fulmar "$work/out")" = 1 ] &&
        grep -q 'PE 1 (pid [0-9]* on .*again) ended without shmem_finalize' "$work/out"
    ok $? "a PE is killed in job ${case%:*} (SHMEM_TRANSPORT=${case#*:}): the others end with one line" "$work/out"
done

# ---- LeakSanitizer; it does not follow what libraries of others keep
printf 'leak:libfabric.so\nleak:libpmix\n' >"$work/others"
export LSAN_OPTIONS=suppressions=$work/others:print_suppressions=0:exitcode=23
if grep -q __asan_init "$top_builddir/.libs/libfulmar.so"; then
    leaks=$again
    export ASAN_OPTIONS=detect_leaks=1
else
    leaks=$work/leaks
    "$OSHCC" -g -fsanitize=leak -I"$top_srcdir/test/launch" "$top_srcdir/test/launch/again.c" -o "$leaks" >"$work/out" 2>&1 || leaks=
fi
if [ -z "$leaks" ] || { "$leaks" 1 2 2>&1 | grep -q 'LeakSanitizer has encountered a fatal error'; }; then
    skip "no memory is lost" "LeakSanitizer does not work here"
else
    for transport in auto ofi; do
        SHMEM_TRANSPORT=$transport timeout 100 "$leaks" 3 12 >"$work/out" 2>&1
        ! grep -q 'LeakSanitizer: detected\|status 23' "$work/out"
        ok $? "no memory is lost (SHMEM_TRANSPORT=$transport)" "$work/out"
    done
fi
unset LSAN_OPTIONS ASAN_OPTIONS

# ---- beside other launchers
for transport in auto ofi; do
    SHMEM_TRANSPORT=$transport timeout 60 "$OSHRUN" -n 3 "$again" pes 8 >"$work/out" 2>&1 && [ "$(grep -c right "$work/out")" = 3 ] && ! grep -q fulmar "$work/out"
    ok $? "PEs of oshrun leave its job and are in eight others (SHMEM_TRANSPORT=$transport)" "$work/out"
done
cat >"$work/ranks.c" <<'END'
#include <mpi.h>
#include "again.h"

/* In each round other ranks are together, in another order; MPI works beside. */
int main(int argc, char **argv)
{
    int rank, n, bad = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 40; round++) {
        MPI_Comm some;
        int me, sum;
        MPI_Comm_split(MPI_COMM_WORLD, (rank * 7 + round) % (1 + round % 3), (rank * 5 + round) % 4, &some);
        MPI_Comm_rank(some, &me);
        MPI_Comm_size(some, &n);
        shmemx_uniqueid_t id = SHMEMX_UNIQUEID_INITIALIZER;
        shmemx_init_attr_t attr;
        if (me == round % n && shmemx_get_uniqueid(&id))
            return 1;
        MPI_Bcast(&id, sizeof id, MPI_BYTE, round % n, some);
        shmemx_set_attr_uniqueid_args(me, n, &id, &attr);
        if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr))
            return 1;
        bad |= again_work(me, n, round);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, some);
        bad |= sum != n * (n - 1) / 2;
        shmem_finalize();
        MPI_Comm_free(&some);
    }
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("%s\n", all ? "wrong" : "right");
    return all;
}
END
if command -v mpirun >/dev/null && OSHCC_CC=mpicc "$OSHCC" -I"$top_srcdir/test/launch" "$work/ranks.c" -o "$work/ranks" >"$work/out" 2>&1; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 mpirun --oversubscribe -n 4 "$work/ranks" >"$work/out" 2>&1 </dev/null && grep -q '^right$' "$work/out"
    ok $? "40 jobs of ranks of MPI" "$work/out"
else
    skip "jobs of ranks of MPI" "mpicc or mpirun is not installed"
fi
plan
