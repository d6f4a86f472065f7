/*
 * shmem.h - the part of OpenSHMEM that bench/tag.c and bench.h use, implemented on MPI, so that one source measures
 * both.
 *
 * shmem_long_p does only what bench_agree needs: PE 0 gives one value to all PEs, and the next barrier delivers it.
 */
#ifndef BENCH_MPI_SHMEM_H
#define BENCH_MPI_SHMEM_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5

static struct {
    long has, offset, value;
} bench_mpi_given;

static inline void shmem_init(void)
{
    MPI_Init(NULL, NULL);
}

static inline void shmem_finalize(void)
{
    MPI_Finalize();
}

static inline void shmem_global_exit(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
}

static inline int shmem_my_pe(void)
{
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    return me;
}

static inline int shmem_n_pes(void)
{
    int n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    return n;
}

static inline void shmem_long_p(long *dest, long value, int pe)
{
    bench_mpi_given.has = 1;
    bench_mpi_given.offset = (char *)dest - (char *)&bench_mpi_given;
    bench_mpi_given.value = value;
    (void)pe;
}

static inline void shmem_barrier_all(void)
{
    MPI_Bcast(&bench_mpi_given, sizeof bench_mpi_given, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (bench_mpi_given.has)
        *(long *)((char *)&bench_mpi_given + bench_mpi_given.offset) = bench_mpi_given.value;
    bench_mpi_given.has = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline void *shmem_align(size_t alignment, size_t bytes)
{
    void *p;
    return posix_memalign(&p, alignment, bytes) ? NULL : p;
}

static inline void shmem_free(void *p)
{
    free(p);
}

static inline void *shmem_ptr(const void *p, int pe)
{
    return pe == shmem_my_pe() ? (void *)p : NULL;
}

#endif
