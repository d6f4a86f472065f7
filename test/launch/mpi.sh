#!/usr/bin/env bash
# mpi.sh - MPI and OpenSHMEM in one program, with Open MPI, initialized in either order; MPICH's launcher.
#
# Catches: one library's PMIx session ended by the other's finalize, an MPI_Init that fails because PMIx is initialized, ranks that
# differ from PE numbers.
if ! command -v mpicc > /dev/null || ! command -v mpirun > /dev/null; then
    echo "1..0 # SKIP Open MPI (openmpi-bin, libopenmpi-dev) is not installed"
    exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
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
echo 1..6
if ! OSHCC_CC=mpicc "$OSHCC" "$work/both.c" -o "$work/both"; then
    echo "Bail out! the program does not build"
    exit 1
fi
n=0
for launcher in "mpirun --map-by :oversubscribe" "$OSHRUN"; do # an option that Open MPI 4 to 6 accept
    for first in "" mpi; do
        n=$((n + 1))
        what="${first:-shmem} first, under ${launcher##*/}"
        what=${what%% --*}
        # shellcheck disable=SC2086
        if timeout 60 $launcher -n 3 "$work/both" $first > "$work/out" 2>&1 && [ "$(grep -c fine "$work/out")" = 3 ]; then
            echo "ok $n - $what"
        else
            sed 's/^/# /' "$work/out"
            echo "not ok $n - $what"
        fi
    done
done

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
if ${CC:-cc} -shared -fPIC "$work/other.c" -o "$work/libother.so" $(pkg-config --cflags --libs pmix) > "$work/out" 2>&1 &&
    "$OSHCC" "$work/pmix.c" -o "$work/pmix" -L"$work" -lother -Wl,-rpath,"$work" >> "$work/out" 2>&1 &&
    timeout 60 "$OSHRUN" -n 2 "$work/pmix" >> "$work/out" 2>&1; then
    echo "ok 5 - PMIx after shmem_init"
else
    sed 's/^/# /' "$work/out"
    echo "not ok 5 - PMIx after shmem_init"
fi

what="MPICH's launcher has no PMIx server: one line names the launchers that have"
if ! command -v mpiexec.hydra > /dev/null; then
    echo "ok 6 - $what # SKIP MPICH is not installed"
elif ! timeout 60 mpiexec.hydra -n 2 "$work/pmix" > "$work/out" 2>&1 && grep -q 'which offers no PMIx server; use oshrun' "$work/out"; then
    echo "ok 6 - $what"
else
    sed 's/^/# /' "$work/out"
    echo "not ok 6 - $what"
fi
