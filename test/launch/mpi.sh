#!/usr/bin/env bash
# mpi.sh - MPI and OpenSHMEM in one program, with Open MPI, initialized in either order.
#
# Catches: one library's PMIx session ended by the other's finalize, ranks that differ from PE numbers.
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
echo 1..4
if ! OSHCC_CC=mpicc "$OSHCC" "$work/both.c" -o "$work/both"; then
    echo "Bail out! the program does not build"
    exit 1
fi
n=0
for launcher in "mpirun --map-by :oversubscribe" "$OSHRUN"; do # an option that Open MPI 4 to 6 accept
    for first in "" mpi; do
        n=$((n + 1))
        what="${first:-shmem} first, under ${launcher##*/}"
        # shellcheck disable=SC2086
        if timeout 60 $launcher -n 3 "$work/both" $first > "$work/out" 2>&1 && [ "$(grep -c fine "$work/out")" = 3 ]; then
            echo "ok $n - $what"
        else
            sed 's/^/# /' "$work/out"
            echo "not ok $n - $what"
        fi
    done
done
