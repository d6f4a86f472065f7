/*
 * shmemx_tag.h - tagged messages: two-sided communication between the PEs of a team, matched by source and tag.
 *
 * Included by shmemx.h. Sizes are in bytes. PE numbers are those of `team`; messages of different teams never match. A
 * message matches a receive of the same team if the receive's pe is the sender or SHMEMX_TAG_ANY_SOURCE and (message tag ^
 * receive tag) & mask is 0. Matching is in order: the earliest posted receive that matches takes the earliest sent message
 * of each PE; a message of one thread is never overtaken by a later one to the same PE that the same receive may match,
 * regardless of size. Buffers may be in any memory: private memory, symmetric heap, static data, device heap.
 * An invalid argument ends the job with one line that names it.
 *
 * Unexpected messages are stored at the receiver, up to the limits SHMEM_TAG_UNEXPECTED_* (shmem_environment(7)); above the
 * limits a send of any size completes only when it is matched. With SHMEM_THREAD_MULTIPLE several threads may call all
 * routines concurrently; only one thread at a time may use a request.
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
#define SHMEMX_TAG_EXACT UINT64_MAX /* mask: compare all bits of the tag (mask 0: none) */

/* An operation in progress, and a message removed by a matched probe. The null values stand for none. */
typedef struct shmemx_tag_request *shmemx_tag_request_t;
typedef struct shmemx_tag_message *shmemx_tag_message_t;
#define SHMEMX_TAG_REQUEST_NULL ((shmemx_tag_request_t)0)
#define SHMEMX_TAG_MESSAGE_NULL ((shmemx_tag_message_t)0)

/* The result of a receive or probe. For sends only `cancelled` and `failed` are defined. */
typedef struct {
    uint64_t tag;
    size_t bytes;  /* length of the message as sent */
    int source;    /* number of the sender in the team */
    int truncated; /* it is longer than the buffer, which holds its first bytes */
    int cancelled; /* the operation was cancelled; the other members are undefined then */
    int failed;    /* 0, or why there is no message (shmemx_survive.h): SHMEMX_ERR_PE_FAILED, SHMEMX_ERR_REVOKED; the others are undefined */
} shmemx_tag_status_t;

/* A piece of a message. */
typedef struct {
    void *base;
    size_t bytes;
} shmemx_tag_iov_t;

/*
 * Send. send returns when `source` may be reused: immediately if the receiver has memory for the message, at the latest when
 * it is received. The s forms (synchronous) complete after a receive has matched the message. The i forms return immediately
 * with a request; the v forms send n pieces as one message, and the array of pieces must not change until completion either.
 */
void shmemx_tag_send(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe);
void shmemx_tag_ssend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe);
void shmemx_tag_sendv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe);
void shmemx_tag_ssendv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe);
void shmemx_tag_isend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe,
                      shmemx_tag_request_t *request);
void shmemx_tag_issend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe,
                       shmemx_tag_request_t *request);
void shmemx_tag_isendv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe,
                       shmemx_tag_request_t *request);
void shmemx_tag_issendv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe,
                        shmemx_tag_request_t *request);

/*
 * Receive at most `bytes` bytes into dest, or into n pieces, filled one after the other. A longer message is truncated: its
 * send completes, and `truncated` is set in the status. status may be NULL.
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
 * Persistent requests, for an operation that is repeated with the same arguments. The init routines check the arguments and
 * start nothing: the request is inactive. start starts the operation, with the contents that the buffer has then, and the
 * request is active until it is completed; completion makes it inactive, not null. An inactive request counts as null in
 * all routines below. start and start_all end the job for a request that is active, null or not persistent. The team must
 * exist whenever the request is started, and the array of pieces must not change while the request exists.
 */
void shmemx_tag_send_init(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe,
                          shmemx_tag_request_t *request);
void shmemx_tag_ssend_init(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe,
                           shmemx_tag_request_t *request);
void shmemx_tag_sendv_init(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe,
                           shmemx_tag_request_t *request);
void shmemx_tag_ssendv_init(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe,
                            shmemx_tag_request_t *request);
void shmemx_tag_recv_init(shmem_team_t team, void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe,
                          shmemx_tag_request_t *request);
void shmemx_tag_recvv_init(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, uint64_t mask, int pe,
                           shmemx_tag_request_t *request);
void shmemx_tag_start(shmemx_tag_request_t *request);
void shmemx_tag_start_all(int n, shmemx_tag_request_t *requests);

/*
 * Completion. A request becomes null on completion, a persistent one inactive; a null or inactive request counts as
 * complete, with an empty status. The status arguments may be NULL.
 *
 * test         return 1 and the status if the request is complete, else 0; makes progress, as all tests do
 * test_any     return 1 if a request is complete, its lowest index and its status, or index -1 if all n are null; else 0
 * test_some    complete all requests that can be; return their number, their indices and statuses in order; -1 if all n
 *              are null
 * test_all     return 1 and the statuses if all n are complete; else 0, and no request changes
 * wait         return when the request is complete
 * wait_any     return the lowest index of a complete request; -1 immediately if all n are null
 * wait_some    wait for at least one; return the number of complete ones, their indices and statuses in order; 0 if all n
 *              are null
 * wait_all     wait for all n; status i is that of request i
 * request_get_status  as test, but the request stays as it is and must still be completed
 * cancel       cancel a receive that no message has matched, or a send that no receive or matched probe has taken: it
 *              completes with `cancelled`, and the message is never received. An operation that is matched, and a send that
 *              is complete, are unaffected. The cancel of a send may need an answer of the receiver's library, for which
 *              the completing call waits. In each case the request must still be completed by one of the calls above.
 * request_free  free the request, which becomes null. An active operation completes without it; its buffer stays in use
 *              until the program knows otherwise that the message has been received.
 */
int shmemx_tag_test(shmemx_tag_request_t *request, shmemx_tag_status_t *status);
int shmemx_tag_test_any(int n, shmemx_tag_request_t *requests, int *index, shmemx_tag_status_t *status);
int shmemx_tag_test_some(int n, shmemx_tag_request_t *requests, int *indices, shmemx_tag_status_t *statuses);
int shmemx_tag_test_all(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses);
void shmemx_tag_wait(shmemx_tag_request_t *request, shmemx_tag_status_t *status);
int shmemx_tag_wait_any(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *status);
int shmemx_tag_wait_some(int n, shmemx_tag_request_t *requests, int *indices, shmemx_tag_status_t *statuses);
void shmemx_tag_wait_all(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses);
int shmemx_tag_request_get_status(shmemx_tag_request_t request, shmemx_tag_status_t *status);
void shmemx_tag_cancel(shmemx_tag_request_t *request);
void shmemx_tag_request_free(shmemx_tag_request_t *request);

/*
 * Probe for a message that a receive would match now. iprobe and improbe make progress and return 1 and the status if there
 * is one, else 0; probe and mprobe wait for it. probe and iprobe leave the message for the next receive; mprobe and improbe
 * remove it from matching, and mrecv, imrecv or their v forms receive it and set the message to null.
 */
int shmemx_tag_iprobe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status);
void shmemx_tag_probe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status);
int shmemx_tag_improbe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message,
                       shmemx_tag_status_t *status);
void shmemx_tag_mprobe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message,
                       shmemx_tag_status_t *status);
void shmemx_tag_mrecv(shmemx_tag_message_t *message, void *dest, size_t bytes, shmemx_tag_status_t *status);
void shmemx_tag_imrecv(shmemx_tag_message_t *message, void *dest, size_t bytes, shmemx_tag_request_t *request);
void shmemx_tag_mrecvv(shmemx_tag_message_t *message, const shmemx_tag_iov_t *iov, int n, shmemx_tag_status_t *status);
void shmemx_tag_imrecvv(shmemx_tag_message_t *message, const shmemx_tag_iov_t *iov, int n, shmemx_tag_request_t *request);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
