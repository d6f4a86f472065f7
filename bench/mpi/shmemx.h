/*
 * shmemx.h - the part of the tagged messages that bench/tag.c uses, and of the collectives of bench/coll_nb.c, implemented on MPI. MPI has
 * no masks: mask 0 becomes MPI_ANY_TAG, any other mask an exact tag.
 */
#ifndef BENCH_MPI_SHMEMX_H
#define BENCH_MPI_SHMEMX_H

#include "shmem.h"

typedef MPI_Request shmemx_tag_request_t;
typedef MPI_Status shmemx_tag_status_t;
#define SHMEM_TEAM_WORLD MPI_COMM_WORLD
#define SHMEMX_TAG_EXACT UINT64_MAX
#define SHMEMX_TAG_ANY_SOURCE MPI_ANY_SOURCE

#define shmemx_tag_send(team, p, n, tag, pe) MPI_Send(p, (int)(n), MPI_BYTE, pe, (int)(tag), team)
#define shmemx_tag_isend(team, p, n, tag, pe, r) MPI_Isend(p, (int)(n), MPI_BYTE, pe, (int)(tag), team, r)
#define shmemx_tag_recv(team, p, n, tag, mask, pe, status)                                                           \
    MPI_Recv(p, (int)(n), MPI_BYTE, pe, (mask) ? (int)(tag) : MPI_ANY_TAG, team, MPI_STATUS_IGNORE)
#define shmemx_tag_irecv(team, p, n, tag, mask, pe, r)                                                               \
    MPI_Irecv(p, (int)(n), MPI_BYTE, pe, (mask) ? (int)(tag) : MPI_ANY_TAG, team, r)
#define shmemx_tag_wait_all(n, r, status) MPI_Waitall(n, r, MPI_STATUSES_IGNORE)
#define shmemx_tag_wait(r, status) MPI_Wait(r, MPI_STATUS_IGNORE)
#define shmemx_tag_cancel(r) MPI_Cancel(r)

typedef MPI_Request shmemx_req_t;
#define shmemx_req_wait(r) MPI_Wait(r, MPI_STATUS_IGNORE)
static inline int shmemx_req_test(shmemx_req_t *r)
{
    int done;
    MPI_Test(r, &done, MPI_STATUS_IGNORE);
    return done;
}
#define shmem_team_sync(team) MPI_Barrier(team)
#define shmem_long_sum_reduce(team, d, s, n) MPI_Allreduce(s, d, (int)(n), MPI_LONG, MPI_SUM, team)
#define shmem_broadcastmem(team, d, s, n, root) MPI_Bcast(d, (int)(n), MPI_BYTE, root, team)
#define shmem_fcollectmem(team, d, s, n) MPI_Allgather(s, (int)(n), MPI_BYTE, d, (int)(n), MPI_BYTE, team)
#define shmem_alltoallmem(team, d, s, n) MPI_Alltoall(s, (int)(n), MPI_BYTE, d, (int)(n), MPI_BYTE, team)
#define shmemx_sync_nb(team, r) MPI_Ibarrier(team, r)
#define shmemx_long_sum_reduce_nb(team, d, s, n, r) MPI_Iallreduce(s, d, (int)(n), MPI_LONG, MPI_SUM, team, r)
#define shmemx_broadcastmem_nb(team, d, s, n, root, r) MPI_Ibcast(d, (int)(n), MPI_BYTE, root, team, r)
#define shmemx_fcollectmem_nb(team, d, s, n, r) MPI_Iallgather(s, (int)(n), MPI_BYTE, d, (int)(n), MPI_BYTE, team, r)
#define shmemx_alltoallmem_nb(team, d, s, n, r) MPI_Ialltoall(s, (int)(n), MPI_BYTE, d, (int)(n), MPI_BYTE, team, r)

#endif
