/*
 * shmemx.h - the part of the tagged messages that bench/tag.c uses, implemented on MPI. MPI has no masks: mask 0
 * becomes MPI_ANY_TAG, any other mask an exact tag.
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

#endif
