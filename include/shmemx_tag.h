/*
 * shmemx_tag.h - tagged messages: two-sided communication between the PEs of a team, matched by source and tag.
 *
 * Included by shmemx.h. Sizes are in bytes. PE numbers count in `team`, which isolates its messages from those of other
 * teams. A message matches a receive of the same team when the receive's pe is the sender or SHMEMX_TAG_ANY_SOURCE and
 * (message tag ^ receive tag) & mask is 0. Among those that may match, the earliest posted receive takes the earliest
 * sent message of each PE; messages of one thread to one PE are never overtaken by a later one that the same receive
 * may match, whatever their sizes. Buffers may be anywhere: private memory, symmetric heap, static data, device heap.
 * A wrong argument ends the job with one line that names it.
 *
 * What no receive has been posted for waits in the memory of the receiver, up to the limits SHMEM_TAG_UNEXPECTED_*
 * (shmem_environment(7)); above them a send completes only when it is matched, whatever its size. All routines may be
 * called by several threads at once with SHMEM_THREAD_MULTIPLE; a request belongs to one thread at a time.
 */
#ifndef SHMEMX_TAG_H
#define SHMEMX_TAG_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define SHMEMX_TAG_ANY_SOURCE (-1)
#define SHMEMX_TAG_EXACT UINT64_MAX /* a mask: all bits of the tag count; 0: none does */

/* An operation under way, and a message taken by a probe. The null values are those of no operation and no message. */
typedef struct shmemx_tag_request *shmemx_tag_request_t;
typedef struct shmemx_tag_message *shmemx_tag_message_t;
#define SHMEMX_TAG_REQUEST_NULL ((shmemx_tag_request_t)0)
#define SHMEMX_TAG_MESSAGE_NULL ((shmemx_tag_message_t)0)

/* What a receive or a probe met. Of sends only `cancelled` means something, and is 0. */
typedef struct {
    uint64_t tag;
    size_t bytes;  /* of the message as it was sent */
    int source;    /* PE of the team */
    int truncated; /* it was longer than the buffer, which has its beginning */
    int cancelled; /* the receive was cancelled; nothing else means anything then */
} shmemx_tag_status_t;

/* A piece of a message. */
typedef struct {
    void *base;
    size_t bytes;
} shmemx_tag_iov_t;

/*
 * Send. send returns when `source` may be written again: at once when there is room in the receiver's memory, at the
 * latest when the message was received. ssend returns after a receive has matched it. The i forms return at once with a
 * request; the v forms send n pieces as one message, and the array itself stays untouched until completion too.
 */
void shmemx_tag_send(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe);
void shmemx_tag_ssend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe);
void shmemx_tag_sendv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe);
void shmemx_tag_isend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe,
                      shmemx_tag_request_t *request);
void shmemx_tag_issend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe,
                       shmemx_tag_request_t *request);
void shmemx_tag_isendv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe,
                       shmemx_tag_request_t *request);

/*
 * Receive at most `bytes` bytes into dest, or into n pieces, filled in turn. A longer message is cut: its sender
 * completes, and the status says so. status may be NULL.
 */
void shmemx_tag_recv(shmem_team_t team, void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe,
                     shmemx_tag_status_t *status);
void shmemx_tag_recvv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, uint64_t mask, int pe,
                      shmemx_tag_status_t *status);
void shmemx_tag_irecv(shmem_team_t team, void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe,
                      shmemx_tag_request_t *request);
void shmemx_tag_irecvv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, uint64_t mask, int pe,
                       shmemx_tag_request_t *request);

/*
 * Complete. A request that has completed becomes null; a null request has completed, with an empty status. Statuses,
 * one or n of them, may be NULL.
 *
 * test         1 and the status when the request has completed, else 0; makes progress
 * wait         returns when it has
 * wait_any     the index of one that has completed, the lowest first; -1 at once when all n are null
 * wait_some    at least one: how many have completed, their indices and statuses in order; 0 when all n are null
 * wait_all     all n; status i is of request i
 * cancel       a receive that nothing has matched completes, with `cancelled`; any other request is left to complete as
 *              it would have. Either way it must be completed by one of the above.
 */
int shmemx_tag_test(shmemx_tag_request_t *request, shmemx_tag_status_t *status);
void shmemx_tag_wait(shmemx_tag_request_t *request, shmemx_tag_status_t *status);
int shmemx_tag_wait_any(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *status);
int shmemx_tag_wait_some(int n, shmemx_tag_request_t *requests, int *indices, shmemx_tag_status_t *statuses);
void shmemx_tag_wait_all(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses);
void shmemx_tag_cancel(shmemx_tag_request_t *request);

/*
 * Look for a message that a receive would take now. iprobe and improbe make progress and return 1 and the status when
 * there is one, else 0; probe and mprobe wait for it. probe leaves the message for the next receive; mprobe takes it out,
 * so that no other receive or probe finds it, and mrecv or imrecv receives it and makes the message null.
 */
int shmemx_tag_iprobe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status);
void shmemx_tag_probe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status);
int shmemx_tag_improbe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message,
                       shmemx_tag_status_t *status);
void shmemx_tag_mprobe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message,
                       shmemx_tag_status_t *status);
void shmemx_tag_mrecv(shmemx_tag_message_t *message, void *dest, size_t bytes, shmemx_tag_status_t *status);
void shmemx_tag_imrecv(shmemx_tag_message_t *message, void *dest, size_t bytes, shmemx_tag_request_t *request);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
