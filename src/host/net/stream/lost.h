/*
 * lost.h - PEs that are gone while the job goes on (host/survive): they have failed, or have left the job.
 *
 * A transfer that fails, or a PE that is silent for SHMEM_HEARTBEAT, makes the PE suspected; shi_stream_lose makes it lost, for ever. From then on
 * - what waits to be sent to it, and what is sent later, is dropped; all of it counts as acknowledged, so that fence, quiet and waits end;
 * - fetches from it end, and store nothing; writes and reads end when libfabric ends them, with an error or without;
 * - nothing that it has sent is taken any more: of its last messages, which nothing acknowledges, some PEs have taken more than others.
 * Its memory here stays registered: its node may still write what it has posted.
 *
 *   word       written by                             read by          order
 *   lost       shi_stream_lose                        any thread       relaxed: a thread that sees it late drops its message in the next poll
 *   lost_work  shi_stream_lose, batch.c; lost.c       polling thread   R5 -> A5
 */
#ifndef SHI_LOST_H
#define SHI_LOST_H

#include "host/net/fabric/net.h"

/* From now on the job goes on without PEs that are gone. suspect: PE pe seems to be; it may be called on any thread, often, under a lane's
 * lock. NULL: as before. */
void shi_stream_goes_on(void (*suspect)(int pe));

/* PE pe is gone. Any thread. */
void shi_stream_lose(int pe);

int shi_stream_is_gone(int pe);

/* By the thread that polls, at the end of a poll: call back what waits for lost PEs. */
void shi_lost_poll(void);

/* Is all delivered that lane 0 has sent to PEs that are not lost? seq: [n_pes] of the caller's, zero before the first call. Poll and call it
 * again until 1. */
int shi_stream_delivered(uint64_t *seq);

/* This PE's address, if it is a socket address. 0, or -ENOTSUP. */
int shi_stream_socket_address(struct shi_net_address *out);

#endif
