/*
 * shmemx_uniqueid.h - start a job without a launcher: its processes meet by a unique id of 128 bytes. Included by shmemx.h.
 *
 * One process of the job calls shmemx_get_uniqueid and gives the id to the others, by whatever they have: MPI_Bcast, a store of
 * torch.distributed, a file. Each calls shmemx_set_attr_uniqueid_args with its number, the number of PEs and the id, then
 * shmemx_init_attr with SHMEMX_INIT_WITH_UNIQUEID in place of shmem_init. Names and structs are NVSHMEM's.
 *
 *     shmemx_uniqueid_t id = SHMEMX_UNIQUEID_INITIALIZER;
 *     shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
 *     if (rank == 0)
 *         shmemx_get_uniqueid(&id);
 *     MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
 *     shmemx_set_attr_uniqueid_args(rank, n_ranks, &id, &attr);
 *     shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr);
 *
 * The id contains the job's secret: every process that has the id can join the job. One id serves one job, and a process can be in one
 * at a time. After the last
 * shmem_finalize, shmem_init joins the same PEs again; shmemx_init_attr with a new id joins another job, of other processes and another number of
 * PEs. Of the old job, heaps, teams, contexts, handles and requests are void; static data keeps its addresses and its values.
 */
#ifndef SHMEMX_UNIQUEID_H
#define SHMEMX_UNIQUEID_H

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct {
    int version;
    char internal[124];
} shmemx_uniqueid_t;

/* id must remain until shmemx_init_attr has returned. */
typedef struct {
    int version;
    shmemx_uniqueid_t *id;
    int myrank, nranks;
} shmemx_uniqueid_args_t;

typedef struct {
    int version;
    shmemx_uniqueid_args_t uid_args;
    char content[96];
} shmemx_init_args_t;

typedef struct {
    int version;
    void *mpi_comm; /* the address of an MPI_Comm */
    shmemx_init_args_t args;
} shmemx_init_attr_t;

#define SHMEMX_UNIQUEID_INITIALIZER {(1 << 16) + (int)sizeof(shmemx_uniqueid_t), {0}}
#define SHMEMX_UNIQUEID_ARGS_INITIALIZER {(1 << 16) + (int)sizeof(shmemx_uniqueid_args_t), 0, -1, -1}
#define SHMEMX_INIT_ATTR_INITIALIZER                                                                                  \
    {(1 << 16) + (int)sizeof(shmemx_init_attr_t), 0,                                                                  \
     {(1 << 16) + (int)sizeof(shmemx_init_args_t), SHMEMX_UNIQUEID_ARGS_INITIALIZER, {0}}}

enum {
    SHMEMX_INIT_WITH_MPI_COMM = 1 << 1, /* by attr->mpi_comm, whose processes are the PEs: the program includes the header of MPI before shmemx.h */
    SHMEMX_INIT_WITH_SHMEM = 1 << 2,    /* as shmem_init; the same without a flag */
    SHMEMX_INIT_WITH_UNIQUEID = 1 << 3
};

/*
 * Make a unique id. This process listens for the others from now on, at its network interfaces, or at those that SHMEM_UID_INTERFACE names, and has
 * to be one of the job's PEs, of any number. May be called before shmem_init and in several processes, for jobs of their own or in vain; a
 * process keeps the last 16 ids that it has not used. 0, or a negative errno after one line.
 */
int shmemx_get_uniqueid(shmemx_uniqueid_t *uniqueid);

/* Fill *attr, whatever it contained. 0, or -EINVAL: myrank is not from 0 to nranks - 1. */
int shmemx_set_attr_uniqueid_args(const int myrank, const int nranks, const shmemx_uniqueid_t *uniqueid, shmemx_init_attr_t *attr);

/* Collective over the job's processes: shmem_init_thread, whose thread level is SHMEM_THREAD_SERIALIZED for the first. 0; or -EINVAL after one line:
 * flags and attributes that do not belong together. No other thread may change static data or fork meanwhile. A job that cannot start ends with one line, as in shmem_init. */
int shmemx_init_attr(unsigned flags, shmemx_init_attr_t *attributes);
int shmemx_init_thread_attr(unsigned flags, shmemx_init_attr_t *attributes, int requested, int *provided);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef MPI_VERSION
/* The id of the communicator's first process, to all. */
static inline int shmemx_set_attr_mpi_comm_args(void *mpi_comm, shmemx_init_attr_t *attr)
{
    static shmemx_uniqueid_t id;
    MPI_Comm comm = *(MPI_Comm *)mpi_comm;
    int rank, n, err = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    if (rank == 0)
        err = shmemx_get_uniqueid(&id);
    MPI_Bcast(&err, 1, MPI_INT, 0, comm);
    MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, comm);
    return err ? err : shmemx_set_attr_uniqueid_args(rank, n, &id, attr);
}

static inline int shmemx_init_thread_attr_mpi_(unsigned flags, shmemx_init_attr_t *attr, int requested, int *provided)
{
    shmemx_init_attr_t by_id;
    int err;
    if (!(flags & SHMEMX_INIT_WITH_MPI_COMM))
        return shmemx_init_thread_attr(flags, attr, requested, provided);
    err = shmemx_set_attr_mpi_comm_args(attr->mpi_comm, &by_id);
    return err ? err : shmemx_init_thread_attr(SHMEMX_INIT_WITH_UNIQUEID, &by_id, requested, provided);
}

static inline int shmemx_init_attr_mpi_(unsigned flags, shmemx_init_attr_t *attr)
{
    int provided;
    return shmemx_init_thread_attr_mpi_(flags, attr, SHMEM_THREAD_SERIALIZED, &provided);
}

#define shmemx_init_attr shmemx_init_attr_mpi_
#define shmemx_init_thread_attr shmemx_init_thread_attr_mpi_
#endif

#ifdef __cplusplus
}
#endif
#endif
