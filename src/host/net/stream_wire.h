/*
 * stream_wire.h - the stream's messages and state, for stream.c (sends) and stream_rx.c (applies) only.
 *
 * Everything of a lane is touched under its lock, by the program's threads, by the proxy and by the thread that polls.
 * The receiving side's state (heard, owed, looks) belongs to the thread that polls, one at a time. Exceptions:
 *
 *   word                    written by                     read by             order
 *   n_lanes, lane[]         shi_stream_lane, its mutex     any thread          R1 -> A1
 *   heard[pe].seq[lane]     polling thread                 senders             R2 -> A2
 *   heard[pe].owed_lanes    polling thread, fetch-or       senders, fetch-and  R3 -> A3
 *   stream.acked            polling thread, with lock      it, without lock    relaxed: its own store
 *   stream.flushing         callback of the flush          holders of the lock release, acquire: buffers are free
 *   lane.fetching           senders; polling thread        quiet, local        release, acquire: the replies are here
 *   closing                 shi_stream_pause, _resume      any thread          relaxed: a barrier follows or precedes
 *
 * E1 (R1 -> A1)  a lane is whole before it is counted.
 * E2 (R2 -> A2)  a message's records are applied before any message acknowledges it.
 * E3 (R3 -> A3)  the message that takes the bit has the seq that was stored before it was set.
 * Checked by test/model/stream.pml, which must fail when E2 or E3 is weakened.
 */
#ifndef SHI_STREAM_WIRE_H
#define SHI_STREAM_WIRE_H

#include "host/net/am.h"
#include "host/net/stream.h"
#include "host/util/base.h"

enum { MAX_LANES = 8, MAX_REPLIES = 1024 };

/* ---- on the wire: host byte order, checked equal when PEs exchange their addresses ------------------------------------ */

enum { ACK_SOON = 1, ACK_NOW = 2 }; /* what the sender asks for */

struct head {
    uint32_t pe;      /* sender */
    uint16_t lane;    /* its stream */
    uint16_t ack_lane;
    uint32_t flags;   /* ACK_ */
    uint32_t bytes;   /* of the message, this head included */
    uint64_t seq;     /* messages of this stream count from 1 */
    uint64_t ack;     /* messages applied of the receiver's stream ack_lane */
};

enum { OP_PUT, OP_PUT_BLOCKS, OP_AMO, OP_GET_BLOCKS, OP_REPLY, OP_AM }; /* the last two are not the program's */

/* A record; its payload follows, 8-byte aligned, its length rounded up to 8. */
struct record {
    uint8_t op, region;
    uint8_t what;    /* OP_AMO: enum shi_amo; OP_AM: enum shi_am_id */
    uint8_t width;   /* OP_AMO: bytes of the word; bit 7: its old value is wanted */
    uint32_t bytes;  /* of the payload */
    uint64_t off;    /* OP_REPLY: the cookie */
};

struct amo_payload {
    uint64_t value, cond, cookie; /* sent as far as the operation needs them */
};

struct blocks_payload {
    struct shi_blocks blocks;
    uint64_t cookie; /* OP_GET_BLOCKS */
};

_Static_assert(sizeof(struct head) == 32 && sizeof(struct record) == 16, "the wire has no holes");
_Static_assert(sizeof(struct head) + sizeof(struct record) + sizeof(struct blocks_payload) + SHI_STREAM_PUT_BYTES <=
                   SHI_NET_MESSAGE_BYTES, "the longest record fits into a message");
_Static_assert(SHI_AM_MAX_BYTES + sizeof(struct head) + sizeof(struct record) <= SHI_NET_MESSAGE_BYTES, "and so does "
               "an active message");

/* ---- state ------------------------------------------------------------------------------------------------------------ */

struct batch {
    struct shi_net_req req;
    struct batch *next;
    struct shi_lane *lane;
    size_t bytes;
    _Alignas(16) char data[SHI_NET_MESSAGE_BYTES];
};

/* What a lane has sent to one PE. Counts are of messages. */
struct stream {
    struct batch *open;                 /* being filled */
    struct batch *ready, *last_ready;   /* closed, in order, waiting for room */
    int n_ready;
    unsigned char listed, dirty, waiting; /* in the lane's lists */
    unsigned char wrote;   /* with SHI_NET_SAW: writes that no message with ACK_ flags follows yet */
    unsigned char rma;     /* writes or reads that no flush covers yet */
    unsigned char flushing;
    unsigned char ask;     /* somebody waits: the next message asks at once */
    uint64_t made;         /* closed */
    uint64_t need;         /* the last one with a record that quiet waits for; made + 1: the open one */
    uint64_t placed;       /* the first one with ACK_ flags behind the last write: acknowledged, the write is in place */
    uint64_t asked;        /* the last one that asked for an acknowledgement */
    uint64_t acked;
    uint64_t epoch;        /* the lane's fences when the last record came */
    uint64_t fenced;       /* need when that epoch began: what a write must not overtake */
    uint64_t write_epoch;  /* of the oldest write that has not ended */
    struct shi_net_req flush;
    struct shi_after *after, *last_after; /* waiting for acked */
};

struct shi_lane {
    struct shi_net_lane *net;
    struct stream *to;  /* [n_pes] */
    uint64_t fences;
    int sessions;          /* of its contexts, that batch */
    int *open, n_open;     /* PEs whose open batch has something */
    int *dirty, n_dirty;   /* PEs that quiet has to look at */
    int *waiting, n_waiting; /* PEs whose batches wait for room */
    unsigned turn;           /* the one that is tried first, modulo n_waiting */
    struct batch *free;
    int n_batches, index;
    struct shi_reply *reply[MAX_REPLIES]; /* by cookie */
    struct shi_reply own[MAX_REPLIES];
    int free_reply[MAX_REPLIES], n_free_replies;
    int fetching; /* replies that only quiet waits for */
};

/* What has been applied of the streams of one PE. */
struct heard {
    uint64_t seq[MAX_LANES];
    struct stashed *early; /* messages that came before their turn */
    uint64_t owed_at;      /* the look that found an acknowledgement owed; 0: not in the list of those owed */
    uint32_t owed_lanes;   /* a bit each: set by the receiving side, cleared by the message that takes it along */
    unsigned char now, met;
    uint64_t alive_ns, pinged_ns;
};

/* The network and its parties; set by shi_stream_up. */
struct shi_stream_net {
    const struct shi_net_ops *ops;
    struct shi_net_limits limits;
    int me, n_pes;
    struct shi_stream_region own[SHI_REGIONS];
    struct shi_net_memory (*memory)[SHI_REGIONS]; /* [n_pes] */
    struct heard *heard;                          /* [n_pes] */
    struct shi_lane *lane[MAX_LANES];
    int n_lanes;
    uint64_t silence_ns; /* SHMEM_HEARTBEAT; 0: any */
    int closing;         /* failures of connections are the end of the job, not of a PE */
    /* of stream_rx.c */
    uint64_t looks;      /* ends of polls, from 1 */
    uint64_t looked_ns;  /* when silence was last looked for */
    int *owed, n_owed;   /* PEs that wait for an acknowledgement */
};
extern struct shi_stream_net shi_stream_net;

/* Lanes that are whole. */
static inline int shi_stream_n_lanes(void)
{
    return __atomic_load_n(&shi_stream_net.n_lanes, __ATOMIC_ACQUIRE); /* A1 */
}

static inline int shi_stream_closing(void)
{
    return __atomic_load_n(&shi_stream_net.closing, __ATOMIC_RELAXED);
}

/* stream.c, for stream_rx.c; the lane's lock is held. */
void *shi_stream_append(struct shi_lane *l, int pe, const struct record *r, int forced);
void shi_stream_commit(struct shi_lane *l, int pe, int more);
void shi_stream_send_open(struct shi_lane *l, int pe, uint32_t flags);
void shi_stream_round(struct shi_lane *l);

/* A transfer failed (net.h): the end of the job, but for connections that end with it. */
void shi_stream_net_failed(int pe, int err);

/* stream_rx.c, for stream.c. */
void shi_stream_arrive(const void *msg, size_t bytes);
int shi_stream_receive(int n_pes);

#endif
