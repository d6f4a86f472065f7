/*
 * pipeline.h - transfers between the network and memory that it cannot access, in pieces through chunks of host memory: the
 * copy of one piece overlaps the network's transfer of others.
 *
 * The device can access the chunks, and the network has registered them. A chunk's states:
 *
 *   out (a put's source, what a peer gets)   COPY local memory to chunk    WIRE chunk to peer             FREE
 *   in  (a get's dest, what a peer puts)     WIRE peer to chunk            COPY chunk to local memory     FREE
 *
 * Pools. Operations of this PE take chunks of SHI_POOL_OWN, or of SHI_POOL_SHORT for one record; those that peers request take
 * chunks of SHI_POOL_SERVED. A chunk in use never waits for another chunk of its PE; an own one may wait until the peer has
 * served it, a served one only for the network and the device. So PEs that transfer to each other cannot block each other
 * (test/model/pipeline.pml).
 *
 * Fairness. A free chunk goes to the transfer of its pool that holds the fewest chunks, and among these to the one that has
 * waited longest.
 *
 *   word        written by                          read by             order
 *   submitted   any thread; thread that polls       the same            R1 -> A1: the transfer is filled in
 *   the rest    thread that polls                   thread that polls   plain
 */
#ifndef SHI_PIPELINE_H
#define SHI_PIPELINE_H

#include "host/net/stream/stream.h"
#include "host/util/base.h"

enum shi_pool { SHI_POOL_OWN, SHI_POOL_SERVED, SHI_POOL_SHORT, SHI_POOLS };

/* Chunks of either long pool. A piece of an own operation costs this PE a message, a request and a poll; the peer serves it in two, and
 * copies one while the network transfers the next. */
enum { SHI_PIPELINE_OWN = 2, SHI_PIPELINE_SERVED = 4 };

struct shi_chunk {
    struct shi_chunk *next;  /* of the free ones */
    struct shi_transfer *of; /* NULL: has ended, or needs no more of this chunk */
    char *memory;
    size_t off, bytes;       /* which piece */
    uint64_t after;          /* COPY: it has ended when so many copies have */
    unsigned char state, pool, posted, arrived; /* WIRE: the network has it; and has ended it */
    union {
        struct shi_net_req req;
        struct shi_reply reply;
        struct shi_after after;
    } wait; /* for `wire` to use, which leads to one call of shi_chunk_arrived */
};

/* A transfer; its owner, which keeps it until `done`, fills in the first part, the rest being 0. */
struct shi_transfer {
    /* Start the network's part of a piece. 0: it has ended; -EINPROGRESS: shi_chunk_arrived follows; -EAGAIN: try again. */
    int (*wire)(struct shi_transfer *t, struct shi_chunk *c);
    void (*done)(struct shi_transfer *t); /* the last access */
    char *local;
    size_t bytes;
    enum shi_pool pool;
    unsigned char in;       /* the network's part comes first */
    unsigned char hidden;   /* only the device accesses local; else the host copies */
    unsigned char detached; /* done when the network has the last piece; else when all pieces have ended */

    struct shi_transfer *next;
    size_t begun, ended; /* bytes */
    int held;            /* chunks */
};

/* Bytes of memory for SHI_PIPELINE_SERVED chunks of chunk_bytes and SHI_PIPELINE_OWN of twice that, and for those of one record. */
size_t shi_pipeline_bytes(size_t chunk_bytes);

/* Make chunks of this memory, which the device can access. 0, or -errno after one line. Pair: shi_pipeline_down, when no
 * transfer is in progress and before the memory is freed. */
int shi_pipeline_up(char *memory, size_t chunk_bytes);
void shi_pipeline_down(void);

/* Is it up? */
int shi_pipeline_is_up(void);

/* Start a transfer. Any thread; `done` is called inside a poll, possibly before this returns. */
void shi_pipeline_start(struct shi_transfer *t);

/* The same, by the thread that polls. */
void shi_pipeline_serve(struct shi_transfer *t);

/* Advance all; returns how many transfers have ended. By the thread that polls, at the end of a poll. */
int shi_pipeline_poll(void);

/* The network's part of a piece has ended. By the thread that polls. */
static inline void shi_chunk_arrived(struct shi_chunk *c)
{
    c->arrived = 1;
}

/* `done` of a chunk's wait.req: a write or read has ended. */
static inline void shi_chunk_moved(struct shi_net_req *req, int err)
{
    if (err)
        shi_stream_fail(req->pe, err);
    shi_chunk_arrived(shi_container_of(req, struct shi_chunk, wait.req));
}

/* wait.req, for a write or read of this chunk. */
static inline struct shi_net_req *shi_chunk_req(struct shi_chunk *c)
{
    c->wait.req = (struct shi_net_req){.done = shi_chunk_moved};
    return &c->wait.req;
}

/* The chunk as peers read and write it. */
struct shi_am_src shi_chunk_src(const struct shi_chunk *c);

#endif
