#!/usr/bin/env bash
# external_ga.sh - ComEx's and Global Arrays' own tests over contrib/comex, unchanged: with 4 and 8 PEs on a node, and with 4 over the network
# and for several threads.
#
#   GA=DIR make check TESTS=test/external_ga.sh
#   GA        a checkout of https://github.com/GlobalArrays/ga, tested with 5.9.2
#   GA_WAYS   how to run them; default: node:4 node:8 ofi:4 threads:4 (SHMEM_TRANSPORT and the number of PEs; threads: on a node, where MPI_Init
#             asks for MPI_THREAD_MULTIPLE)
#   GA_TESTS  the names of GA's test programs; default: those of its make check
#   GA_LIMIT  the seconds that one may take; default: 600
#
# A program passes if GA's `make check` says so: it ends with 0. GA's own LOG_COMPILER, which takes MPIEXEC, is two commands, of which the
# test-driver of today's automake runs the first. It is built once, in external_ga of the build folder. All takes half an hour.
# Catches: a routine that Global Arrays use and that has other results on this library; a wait that never ends; a count of 0 that moves a row.
. "${top_srcdir:=.}/test/tap.sh"
[ -f "${GA:=none}/comex/src-common/comex.h" ] || skip_all "GA does not name a checkout of Global Arrays"
for tool in mpicc mpif90 mpirun autoreconf; do
    command -v $tool > /dev/null || skip_all "$tool is not installed (Open MPI: openmpi-bin, libopenmpi-dev, gfortran; autoconf, automake, libtool)"
done
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
tools=$(cd "$top_builddir/src/tools" && pwd) bin=$(cd "$top_builddir" && pwd)/external_ga
export PATH=$tools:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SHMEM_TEST_SPIN=0
if [ ! -x "$bin/ga/comex/testing/test" ]; then
    rm -rf "$bin"
    GA_SOURCE=$GA "$top_srcdir/contrib/comex/build.sh" "$bin" > "$work/log" 2>&1 && make -s -C "$bin/ga/comex" testing/test >> "$work/log" 2>&1
    ok $? "Global Arrays with ComEx over OpenSHMEM is built" "$work/log"
fi

# For programs that call MPI_Init, in C or in Fortran.
cat > "$work/threads.c" << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int MPI_Init(int *argc, char ***argv)
{
    int level, failed = MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    if (failed || level != MPI_THREAD_MULTIPLE)
        abort();
    fputs("calls may come from several threads\n", stderr);
    return failed;
}
void mpi_init_(int *failed)
{
    *failed = MPI_Init(NULL, NULL);
}
END
mpicc -shared -fPIC "$work/threads.c" -o "$work/threads.so" > "$work/log" 2>&1
ok $? "MPI_Init for several threads is built" "$work/log"

# Strided transfers of no row, and with a negative count, by memory and by messages.
cat > "$work/counts.c" << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include "comex.h"
int main(int argc, char **argv)
{
    int rank, size, stride[1] = {8}, count[2] = {atoi(argv[1]), atoi(argv[2])};
    double by = 1, own[4] = {1, 2, 3, 4};
    void *at[64];
    MPI_Init(&argc, &argv);
    comex_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comex_malloc(at, sizeof own, COMEX_GROUP_WORLD);
    for (int i = 0; i < 4; i++)
        ((double *)at[rank])[i] = 0;
    comex_barrier(COMEX_GROUP_WORLD);
    int to = (rank + 1) % size;
    comex_puts(own, stride, at[to], stride, count, 1, to, COMEX_GROUP_WORLD);
    comex_accs(COMEX_ACC_DBL, &by, own, stride, at[to], stride, count, 1, to, COMEX_GROUP_WORLD);
    for (int i = 0; i < 10000; i++) { /* these share calls, until the scale changes */
        by = i / 100 % 3;
        comex_acc(COMEX_ACC_DBL, &by, own, (double *)at[to] + 3, sizeof *own, to, COMEX_GROUP_WORLD);
    }
    comex_get((double *)at[to] + 3, own + 3, sizeof *own, to, COMEX_GROUP_WORLD);
    comex_gets(at[to], stride, own + 2, stride, count, 1, to, COMEX_GROUP_WORLD);
    comex_barrier(COMEX_GROUP_WORLD);
    printf("accumulated %g sum %g\n", own[3], ((double *)at[rank])[0] + ((double *)at[rank])[1] + own[2]);
    comex_finalize();
    MPI_Finalize();
    (void)argc;
}
END
mpicc -I"$GA/comex/src-common" "$work/counts.c" "$bin/ga/comex/.libs/libcomex.a" $(oshcc --showme:link) -lm -o "$work/counts" > "$work/log" 2>&1
ok $? "a program of counts is built" "$work/log"
for transport in auto ofi; do
    for case in "8 1 accumulated.9900.sum.4" "8 0 accumulated.9900.sum.3" "0 2 accumulated.9900.sum.3" "-8 1 count.0..is.-8" "8 -1 count.1..is.-1"; do
        # shellcheck disable=SC2086
        set -- $case
        SHMEM_TRANSPORT=$transport timeout 60 mpirun --map-by :oversubscribe -n 2 "$work/counts" "$1" "$2" > "$work/log" 2>&1
        grep -q "$3" "$work/log"
        ok $? "a strided transfer with count[0] = $1, count[1] = $2, $transport" "$work/log"
    done
done
for way in ${GA_WAYS:-node:4 node:8 ofi:4 threads:4}; do
    preload='' says=''
    case $way in
    node:*) export SHMEM_TRANSPORT=auto ;;
    threads:*) export SHMEM_TRANSPORT=auto preload="-x LD_PRELOAD=$work/threads.so" says='several threads' ;;
    *) export SHMEM_TRANSPORT=${way%:*} ;;
    esac
    run="timeout ${GA_LIMIT:-600} mpirun --map-by :oversubscribe -n ${way#*:} $preload"
    $run "$bin/ga/comex/testing/test" > "$work/log" 2>&1 && grep -q 'All tests passed' "$work/log" && grep -q "$says" "$work/log"
    ok $? "ComEx's test, $way" "$work/log"
    make -k -C "$bin/ga" ${GA_TESTS:+"TESTS=$(printf ' global/testing/%s.x' $GA_TESTS)"} check-ga LOG_COMPILER="$run" > "$work/log" 2>&1
    rows=0
    while read -r result name; do
        rows=$((rows + 1))
        [ "$result" = PASS: ] || [ "$result" = XFAIL: ]
        ok $? "${name##*/}, $way" "$bin/ga/${name%.x}.log"
    done < <(sed -nE 's/\x1b\[[0-9;]*m//g; /^(PASS|FAIL|XPASS|XFAIL|ERROR): /p' "$work/log")
    # shellcheck disable=SC2086
    set -- $GA_TESTS
    [ $rows -gt 0 ] && [ $rows -ge $# ]
    ok $? "make check ran all of them, $way" "$work/log"
done
plan
