/*
 * lost.h - PEs that are gone while the job goes on (host/survive): they have failed, or have left the job.
 *
 * A transfer that fails, or a PE that is silent for SHMEM_HEARTBEAT, makes the PE suspected; shi_stream_lose makes it lost. From then on
 * - what waits to be sent to it, and what is sent later, is dropped; all of it counts as acknowledged, so that fence, quiet and waits end;
 * - fetches from it end, and store nothing; writes and reads end when libfabric ends them, with an error or without;
 * - nothing that it has sent is taken any more: of its last messages, which nothing acknowledges, some PEs have taken more than others.
 * Its memory here stays registered: its node may still write what it has posted.
 *
 * A lost PE stays lost, or another process takes its number: then the streams in both directions begin anew. Once nothing is in flight to it, the polling thread
 * clears what it knows of the PE, and only then is the PE not lost. The new process sends nothing before all that live have done so.
 * Model: test/model/renew.pml.
 *
 *   word       written by                             read by          order
 *   lost       shi_stream_lose, _return, by exchange; any thread       relaxed: a thread that sees it late drops its message in the next poll;
 *              polling thread, RETURNS to HERE                         R6 -> A6 the streams are cleared before the PE is not lost
 *   lost_work  shi_stream_lose, _return, batch.c;     polling thread   R5 -> A5
 *              lost.c
 */
#ifndef SHI_LOST_H
#define SHI_LOST_H

#include "host/net/fabric/net.h"

enum shi_lost { SHI_HERE, SHI_LOST, SHI_RETURNS };

struct shi_lane;

/* From now on the job goes on without PEs that are gone. suspect: PE pe seems to be; it may be called on any thread, often, under a lane's
 * lock. NULL: as before. */
void shi_stream_goes_on(void (*suspect)(int pe));

/* PE pe is gone. Any thread. */
void shi_stream_lose(int pe);

int shi_stream_is_gone(int pe);

/* PE pe, which is lost, is another process, which shi_stream_meet has announced: begin anew with it. Poll and call it again until 1; once the new process has
 * failed, that may never be. No thread of the program sends to the PE or waits for it. */
int shi_stream_return(int pe);

/* By the thread that polls, at the end of a poll: call back what waits for lost PEs, and begin anew with those that return. forget(pe): what has come
 * from the PE; 0: not yet. */
void shi_lost_poll(int (*forget)(int pe));

/* Is all delivered that lane 0 has sent to PEs that are not lost? seq: [n_pes] of the caller's, zero before the first call. Poll and call it
 * again until 1. */
int shi_stream_delivered(uint64_t *seq);

/* How often operations of the lane were dropped so far; may wrap. One that was dropped counts once fence, quiet or the wait for it has returned. */
unsigned shi_stream_dropped(const struct shi_lane *l);

/* This PE's address, if it is a socket address. 0, or -ENOTSUP. */
int shi_stream_socket_address(struct shi_net_address *out);

#endif
