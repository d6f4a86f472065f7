/*
 * mpi.c - MPI and OpenSHMEM in one program: puts move numbers, MPI adds them up. Rank and PE number are equal.
 *
 *   build: OSHCC_CC=mpicc oshcc mpi.c -o mpi     run: oshrun -n 4 mpi, or mpirun -n 4 mpi
 */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>

static long from_left;

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shmem_long_p(&from_left, (long)(me + 1) * (me + 1), (me + 1) % n);
    shmem_barrier_all();
    long sum = 0;
    MPI_Reduce(&from_left, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("the sum of the squares from 1 to %d is %ld\n", n, sum);
    shmem_finalize();
    MPI_Finalize();
    return rank != me;
}
