/*
 * lane.h - the state of the streams: lanes, the messages that each has sent to each PE, and those that this PE has
 * applied.
 *
 * A lane is touched under its lock, by the program's threads, the proxy and the thread that polls. The receiving side's
 * state (peer_rx, ack_queue, held, polls) belongs to the thread that polls, one at a time. Exceptions, beside those of order.h:
 *
 *   word                    written by                     read by             order
 *   n_lanes, lane[]         shi_stream_lane, its mutex     any thread          R1 -> A1
 *   n_open, n_waiting       holder of the lock             polling thread      relaxed: a later poll sees it
 *   lane.n_used             holder of the lock             polling thread      R3 -> A3
 *   fetches.outstanding     senders; polling thread        quiet, local        R2 -> A2
 *   n_held                  polling thread                 any thread          relaxed: whether to sleep
 *   n_steps                 polling thread                 any thread          relaxed: whether one came meanwhile
 *   n_active                any thread, fetch-add          any thread          relaxed: likewise
 *   closing                 shi_stream_pause, _resume      any thread          relaxed: a barrier follows or precedes
 *   memory.handle           shi_stream_learn               any thread          R4 -> A4
 *   peer_rx.lost, lost_work see lost.h                     any thread          R5 -> A5
 *   peer_rx.life            shi_stream_up, _meet           any thread          relaxed: constant while the PE is not lost
 *   dropped                 any thread, fetch-add          any thread          relaxed: the wait for the operation that was dropped comes before
 *
 * E1 (R1 -> A1)  a lane is whole before it is counted.
 * E2 (R2 -> A2)  a fetched value is in place before it is no longer counted.
 * E3 (R3 -> A3)  the PE's number is in used before it is counted.
 * E4 (R4 -> A4)  memory that a PE has described later is described completely.
 * E5 (R5 -> A5)  the poll that clears lost_work finds the PE lost, or the messages dropped, for which it was set.
 */
#ifndef SHI_LANE_H
#define SHI_LANE_H

#include "host/net/fabric/net.h"
#include "host/net/node/net_shm.h"
#include "host/net/stream/order.h"
#include "host/net/stream/stream.h"
#include "host/net/stream/words.h"

enum { MAX_REPLIES = 1024 };

/* From a lane to one PE. */
struct stream {
    struct shi_order order;
    struct batch *open;                /* being filled */
    struct batch *ready, *last_ready;  /* closed, in order; the transport has refused them */
    int n_ready;
    unsigned char listed, dirty, waiting, used; /* is in the lane's list open, dirty, waiting, used */
    unsigned char bulk;                   /* the BULK_ level of its last message */
    uint64_t stalled_seq;                 /* acked_seq when the lane was last asked */
    uint64_t follows;                     /* number of writes that the open message must follow */
    uint64_t announced, *announcement;    /* the last number in the target's counter; buffers of its writes */
    unsigned announcements;
    uint64_t served_seq;                  /* last message by which the peer reads this PE's memory */
    uint64_t awake_ns, awake_seq;         /* when keep_awake last looked, and the last message then */
    struct shi_net_req flush;
    struct shi_after *after, *last_after; /* callbacks at an acknowledgement, in order */
    struct shi_stream_wait am; /* of active messages, which wait in a queue of their own */
};

struct shi_lane {
    struct shi_net_lane *net;
    struct stream *to;       /* [n_pes] */
    uint64_t fences;
    int sessions;            /* contexts of this lane in a session that batches */
    int *open, n_open;       /* PEs whose open batch has records */
    int *dirty, n_dirty;     /* PEs that quiet has to ask */
    int *waiting, n_waiting; /* PEs whose closed batches wait for room */
    int *used, n_used;       /* PEs that a message was sent to, each once */
    int n_known;             /* of them, those that are in shi_stream_net.known; the polling thread's */
    unsigned failed_retries; /* number of refused retries; may wrap */
    struct batch_pool {
        struct batch *free;
        int n_free, least_free; /* batches in the list free; since the last shi_batch_trim, at least so many */
        int n;                  /* all that there are */
    } pool[2];                  /* [is_long] */
    int index;
    unsigned dropped; /* how often operations were dropped, as their PE is lost; may wrap */
    struct outstanding {
        struct shi_reply *reply; /* NULL: the cookie is free */
        uint32_t pe, bytes;      /* which reply it takes */
        int half;                /* of fetches.outstanding */
    } outstanding[MAX_REPLIES];  /* by cookie */
    struct shi_reply own[MAX_REPLIES];
    int free_reply[MAX_REPLIES], n_free_replies;
    uint64_t waits; /* of quiet and local that have begun */
    struct fetches {
        int outstanding[2];  /* replies without a callback: those of the round's waits, and those that were fetched since */
        unsigned char now;   /* which of them counts new ones; the other one is 0 when no round is in progress */
        uint64_t of, served; /* as in struct shi_wait_round */
    } fetches;
};

/* What one PE has sent here. */
struct peer_rx {
    struct shi_acks acks;
    struct stashed *early; /* messages that overtook others of their stream */
    unsigned char met;     /* one has come at all */
    unsigned char known;   /* is in the list known */
    unsigned char held;    /* is in the list held */
    unsigned char traced;  /* its last message had TRACED */
    unsigned char lost;    /* enum shi_lost, lost.h; set under no lock, read relaxed */
    unsigned char bulk;    /* and this BULK_ level */
    unsigned char life;    /* which process has the PE's number, the first one 0; of this PE, too */
    uint64_t alive_ns, pinged_ns;
    size_t reads; /* the most bytes that were to be read from it since it became silent */
    struct {
        uint64_t seq, since_ns; /* 0: no message is missing */
        int lane;
    } gap; /* the message that the stashed ones of a lane wait for */
};

/* How the target of a write learns that it is in place: see written.h. */
enum shi_written_by { SHI_WRITTEN_END, SHI_WRITTEN_IMMEDIATE, SHI_WRITTEN_COUNTER };
enum { SHI_WRITTEN_AHEAD = 256 }; /* numbers beyond the first one that is missing; more than a lane's peer_cap */

/* Writes of one stream that are in place: 1 to first, and first + 1 + i for each bit i of ahead. */
struct shi_written {
    uint64_t first, ahead[SHI_WRITTEN_AHEAD / 64];
};

/* The target's knowledge of its peers' writes. */
struct shi_written_state {
    enum shi_written_by by;
    int number_bits;               /* of the immediate data; a lane's index and a PE are above them */
    struct shi_written **numbers;  /* [n_pes][SHI_NET_LANES]; [pe] NULL: none has come */
    uint64_t (*counters)[SHI_NET_LANES]; /* [n_pes] */
    struct shi_net_memory own, *peer;    /* the counters, as peers write them; [n_pes] */
};

/* The network and its PEs; set by shi_stream_up. */
struct shi_stream_net {
    const struct shi_net_ops *ops;
    struct shi_net_limits limits;
    int me, n_pes, n_local; /* n_local: PEs of this node */
    size_t bcopy_bytes;     /* longest put that is better a record than a write */
    struct shi_stream_region own[SHI_REGIONS];
    struct shi_net_memory (*memory)[SHI_REGION_ADDED]; /* [n_pes], of this PE, and what others described since start-up */
    struct shi_net_memory *added[SHI_STREAM_ADDED];    /* [n_pes] the same of the regions from there on; NULL: never described */
    const char *published; /* PE pe's first SHI_REGION_DEVICE regions, as it published them: SHI_SHM_RECORD_BYTES apart */
    struct peer_rx *peer_rx;                      /* [n_pes] */
    struct peer_info {
        int node, same_program;
    } *peer_info;                                 /* [n_pes] */
    struct shi_written_state written;
    struct shi_lane *lane[SHI_NET_LANES];
    int n_lanes;
    uint64_t silence_ns; /* SHMEM_HEARTBEAT; 0: no limit */
    int closing;         /* connections end: no failure of a PE */
    /* of stream_rx.c */
    uint64_t polls;      /* that ended, from 1 */
    uint64_t now_ns;     /* when the last poll ended */
    uint64_t checked_ns; /* when heartbeats were last checked */
    uint64_t tracer_ns;  /* when the tracer was last looked for */
    uint32_t traced;     /* TRACED, or 0; written by the polling thread, read by senders, relaxed */
    int *ack_queue, n_ack_queue; /* PEs with acknowledgements queued */
    int *held, n_held;   /* PEs with messages that wait for writes or copies */
    int *known, n_known; /* PEs that a message has come from, or was sent to: those whose heartbeats are checked */
    struct stashed *free_slot;              /* of stream_device.c */
    struct device_update *free_update, *updated, *last_updated; /* the same: free; whose words are written, in order */
    struct shi_words words;                 /* updates by records */
    struct shi_copies copies;               /* to and from device memory */
    uint64_t copies_checked;                /* copies.ended at the last check */
    unsigned copy_checks;                   /* since a copy ended last */
    struct shi_pipeline *pipeline;          /* NULL: never up */
    unsigned n_steps;    /* of chunks and copies; may wrap */
    int n_active;        /* chunks in use, and transfers that wait for one */
    uint64_t asked_ns;   /* when lanes were last asked about messages without acknowledgement */
    int receive_err;     /* of the last receive that failed; 0: none */
    void (*suspect)(int pe); /* what a failed transfer with a PE calls; NULL: it ends the job */
    int lost_work;       /* lost.c has something to do; set by any thread, cleared by the polling thread */
};
extern struct shi_stream_net shi_stream_net;

/* Region `region` of PE pe as transfers name it; handle 0: they cannot. */
static inline const struct shi_net_memory *shi_stream_memory(int pe, enum shi_region region)
{
    if (region >= SHI_REGION_ADDED)
        return &shi_stream_net.added[region - SHI_REGION_ADDED][pe];
    const struct shi_net_memory *m = &shi_stream_net.memory[pe][region];
    if (pe == shi_stream_net.me || region == SHI_REGION_DEVICE || __atomic_load_n(&m->handle, __ATOMIC_ACQUIRE)) /* A4 */
        return m;
    return (const struct shi_net_memory *)(shi_stream_net.published + (size_t)pe * SHI_SHM_RECORD_BYTES) + region;
}

/* Is the PE gone? Messages and transfers to it are dropped, and count as complete. */
static inline int shi_stream_is_lost(int pe)
{
    return __atomic_load_n(&shi_stream_net.peer_rx[pe].lost, __ATOMIC_RELAXED);
}

static inline void shi_lane_count_drop(struct shi_lane *l)
{
    __atomic_fetch_add(&l->dropped, 1, __ATOMIC_RELAXED);
}

/* Lanes that are whole. */
static inline int shi_stream_n_lanes(void)
{
    return __atomic_load_n(&shi_stream_net.n_lanes, __ATOMIC_ACQUIRE); /* A1 */
}

static inline int shi_stream_closing(void)
{
    return __atomic_load_n(&shi_stream_net.closing, __ATOMIC_RELAXED);
}

static inline void shi_lane_lock(struct shi_lane *l)
{
    pthread_mutex_lock(&l->net->lock);
}

static inline void shi_lane_unlock(struct shi_lane *l)
{
    pthread_mutex_unlock(&l->net->lock);
}

/* A chunk, or a copy of the device, has advanced. */
static inline void shi_stream_step(void)
{
    __atomic_store_n(&shi_stream_net.n_steps, shi_stream_net.n_steps + 1, __ATOMIC_RELAXED);
}

/* Quiet has to ask PE pe. The lane is locked. */
static inline void shi_lane_dirty(struct shi_lane *l, int pe)
{
    if (!l->to[pe].dirty)
        l->dirty[l->n_dirty++] = pe;
    l->to[pe].dirty = 1;
}

/* Free a lane that has no batches. */
void shi_lane_free(struct shi_lane *l);

/* Forget what this PE has registered; all is withdrawn. */
void shi_stream_memory_leave(void);

/* Stop progress, send what waits for room, and withdraw this PE's memory. 0: there is no network. */
int shi_stream_stop(void);

/* PE pe seems to be gone. 1: the job goes on; it is suspected, or lost already. 0: the caller ends the job. */
int shi_stream_suspect(int pe);

/* A transfer without a request failed (net.h): ends the job, unless it is ending anyway or goes on without the PE. A receive does not: see
 * check_gap in heartbeat.c. */
void shi_stream_net_failed(int pe, int err);

#endif
