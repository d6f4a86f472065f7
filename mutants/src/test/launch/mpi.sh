#!/usr/bin/env bash
# mpi.sh - MPI and OpenSHMEM in one program, initialized in either order: with Open MPI under mpirun and oshrun, with MPICH under mpiexec;
# OpenSHMEM alone under MPICH's mpiexec and a slow mpirun.
#
# Catches: one library's session with the launcher ended by the other's finalize, an MPI_Init that fails because PMIx is initialized,
# ranks that differ from PE numbers, a PE of mpiexec that another node's PEs wait for after its shmem_global_exit, a PE that ends before its
# launcher has read that it finalized.
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
echo '#include <mpi.h>' > "$work/header.c"
cat > "$work/both.c" << 'END'
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
static int got;
int main(int argc, char **argv)
{
    int mpi_first = argc > 1, rank, size, sum;
    if (mpi_first)
        MPI_Init(&argc, &argv);
    shmem_init();
    if (!mpi_first)
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int me = shmem_my_pe(), n = shmem_n_pes(), all = n * (n - 1) / 2;
    shmem_int_atomic_add(&got, me, (me + 1) % n);
    shmem_barrier_all();
    MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int ok = rank == me && size == n && sum == all;
    if (mpi_first) {
        shmem_finalize();
        MPI_Finalize();
    } else {
        MPI_Finalize();
        shmem_finalize();
    }
    printf(ok ? "fine\n" : "rank %d PE %d of %d %d sum %d\n", rank, me, size, n, sum);
    return !ok;
}
END
. "${top_srcdir:=.}/test/tap.sh"
# Debian installs both side by side, and MPICH's compiler also without its headers; elsewhere mpicc is one of the two.
find_mpi() { # suffix of Debian's commands, a word of what mpicc -show prints
    if "mpicc.$1" -E "$work/header.c" > /dev/null 2>&1; then
        echo ".$1"
    elif ! mpicc -show 2> /dev/null | grep -q "$2"; then
        return 1
    fi
}
both() { # name, launcher, argument: both libraries in one program
    # shellcheck disable=SC2086
    timeout 60 $2 -n 3 "$work/$1" $3 > "$work/out" 2>&1 && [ "$(grep -c fine "$work/out")" = 3 ]
    ok $? "$1: ${3:-shmem} first, under $(basename "${2%% *}")${SHMEM_TRANSPORT:+, transport $SHMEM_TRANSPORT}" "$work/out"
}
if suffix=$(find_mpi openmpi -lmpi); then
    OSHCC_CC=mpicc$suffix "$OSHCC" "$work/both.c" -o "$work/openmpi" > "$work/out" 2>&1
    ok $? "a program with Open MPI is built" "$work/out"
    for first in "" mpi; do
        both openmpi "mpirun$suffix --map-by :oversubscribe" $first # an option that Open MPI 4 to 6 accept
        both openmpi "$OSHRUN" $first
    done
    if may_trace; then # 7 s
        timeout 60 "mpirun$suffix" --map-by :oversubscribe -n 3 "$top_builddir/test/fault/leave" late_server > "$work/out" 2>&1 &&
            [ "$(grep -c 'was here' "$work/out")" = 3 ]
        ok $? "PEs of mpirun, which reads that they have finalized only after 4 s: a success" "$work/out"
    else
        skip "PEs of mpirun, which reads late that they have finalized" "$no_trace"
    fi
else
    skip "Open MPI and OpenSHMEM in one program" "Open MPI (openmpi-bin, libopenmpi-dev) is not installed"
fi

if suffix=$(find_mpi mpich -lmpich) && command -v mpiexec.hydra > /dev/null; then
    OSHCC_CC=mpicc$suffix "$OSHCC" "$work/both.c" -o "$work/mpich" > "$work/out" 2>&1
    ok $? "a program with MPICH is built" "$work/out"
    for first in "" mpi; do
        both mpich mpiexec.hydra $first
        SHMEM_TRANSPORT=ofi both mpich mpiexec.hydra $first
    done
    # fulmar(7) says so. An MPICH that uses PMIx has all ranks there, too.
    timeout 60 "$OSHRUN" -n 2 "$work/mpich" > "$work/out" 2>&1
    if [ "$(grep -c fine "$work/out")" = 2 ]; then
        ok 0 "mpich: under oshrun, by PMIx"
    else
        # MPICH 4 and MPICH 5
        grep -Eq 'PE [01] of 1 2|unsupported PMI version PMIx' "$work/out" && grep -q "MPICH's own launcher" "$top_srcdir/man/fulmar.7"
        ok $? "mpich: one rank a PE under oshrun, or a line, as fulmar(7) says, where MPICH has no PMIx" "$work/out"
    fi
else
    skip "MPICH and OpenSHMEM in one program" "MPICH (mpich, libmpich-dev) is not installed"
fi

if command -v mpiexec.hydra > /dev/null; then
    timeout 60 mpiexec.hydra -n 3 "$top_builddir/test/launch/observe" > "$work/out" 2>&1 &&
        SHMEM_TRANSPORT=ofi timeout 60 mpiexec.hydra -n 3 "$top_builddir/test/launch/observe" >> "$work/out" 2>&1
    ok $? "a program without MPI under mpiexec.hydra" "$work/out"
    cat > "$work/end.c" << 'END'
#include <shmem.h>
int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 1)
        shmem_global_exit(7);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
END
    "$OSHCC" "$work/end.c" -o "$work/end" > "$work/out" 2>&1
    SHMEM_TRANSPORT=ofi timeout 60 mpiexec.hydra -n 3 "$work/end" >> "$work/out" 2>&1
    status=$? # of that PE, or of those that mpiexec has ended
    [ $status = 7 ] || [ $status = 9 ]
    ok $? "shmem_global_exit ends all PEs under mpiexec.hydra: status $status" "$work/out"
else
    skip "OpenSHMEM under MPICH's mpiexec.hydra" "MPICH (mpich) is not installed"
fi

# A library that uses PMIx as Open MPI 5 does: it calls PMIx_Init, which counts its calls, only after PMIx_Initialized has
# returned false.
cat > "$work/other.c" << 'END'
#include <pmix.h>
int other_rank(void)
{
    pmix_proc_t me = {.rank = PMIX_RANK_UNDEF};
    return PMIx_Initialized() || PMIx_Init(&me, NULL, 0) || PMIx_Finalize(NULL, 0) ? -1 : (int)me.rank;
}
END
cat > "$work/pmix.c" << 'END'
#include <shmem.h>
int other_rank(void);
int main(void)
{
    shmem_init();
    int bad = other_rank() != shmem_my_pe();
    shmem_barrier_all();
    shmem_finalize();
    return bad;
}
END
# shellcheck disable=SC2046
${CC:-cc} -shared -fPIC "$work/other.c" -o "$work/libother.so" $(pkg-config --cflags --libs pmix) > "$work/out" 2>&1 &&
    "$OSHCC" "$work/pmix.c" -o "$work/pmix" -L"$work" -lother -Wl,-rpath,"$work" >> "$work/out" 2>&1 &&
    timeout 60 "$OSHRUN" -n 2 "$work/pmix" >> "$work/out" 2>&1
ok $? "PMIx after shmem_init" "$work/out"
plan
