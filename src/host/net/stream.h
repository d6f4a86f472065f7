/*
 * stream.h - what one PE asks of another over the network: records in order, many to a message.
 *
 * A lane has a stream to each PE. Records go into a batch; a batch is sent at once while few messages of the stream are
 * unacknowledged and no session says that more will come, else when it is full, when somebody polls, or when completion
 * is asked for. So a lone put leaves with its call, and a flood shares messages. The target applies records in order
 * with its own loads, stores and atomics.
 * Acknowledgements count messages; they travel in the head of every message the other way.
 *
 * Large transfers bypass the stream as writes and reads of registered memory; the functions here keep what fence and
 * quiet promise across both ways.
 *
 * Calls that return -EAGAIN kept nothing: poll (shi_progress_poll) and try again. None of them waits. Any thread.
 */
#ifndef SHI_STREAM_H
#define SHI_STREAM_H

#include "device/lib/request.h"
#include "host/net/am_carrier.h"
#include "host/net/net.h"

struct shi_lane;

/* The symmetric memories of a PE. */
enum shi_region { SHI_REGION_HEAP, SHI_REGION_DATA, SHI_REGION_SYNC, SHI_REGION_DEVICE, SHI_REGIONS };

/* This PE's: copy is NULL where loads and stores do. */
struct shi_stream_region {
    char *base;
    size_t bytes;
    int (*copy)(void *to, const void *from, size_t bytes);
    const char *registered; /* the same memory where transfers may write all of it; NULL: base */
};

/* A place in a PE's symmetric memory. */
struct shi_spot {
    int pe;
    enum shi_region region;
    uint64_t off;
};

/* Blocks of `block` bytes, `stride` bytes from one start to the next on the far side. */
struct shi_blocks {
    uint32_t block, count;
    int64_t stride;
};

/* Where a reply goes: blocks of `block` bytes every `stride`. Filled by the caller of a fetching routine, which keeps it
 * until done(self). With done NULL it is copied, and quiet waits for it. */
struct shi_reply {
    char *to;
    size_t block;
    ptrdiff_t stride;
    void (*done)(struct shi_reply *self);
};

/* Told when all that a lane sent a PE before is complete there. */
struct shi_after {
    struct shi_after *next;
    uint64_t seq;
    void (*done)(struct shi_after *self);
};

enum { SHI_STREAM_PUT_BYTES = 8192, SHI_STREAM_REPLY_BYTES = 8192 }; /* of one record */

/* Bring up the network for this job, once in a process: lane 0, everybody's addresses and memory. Like the shared memory
 * of a node it stays: a later shmem_init goes on with it. Collective. 0 or -errno after one line. */
int shi_stream_up(const struct shi_boot *boot, const struct shi_config *config,
                  const struct shi_stream_region own[SHI_REGIONS], uint64_t exe_id);

/* Let progress serve it, and nothing else, for a new life of the library. 0 or -errno. */
int shi_stream_resume(void);

/* Stop to mind connections that end: the last part of a life, once its quiet is done. */
void shi_stream_pause(void);

/* Let progress serve it for others after that. 0 or -errno. */
int shi_stream_serve(void);

/* The process ends. Does nothing where there was no network. */
void shi_stream_down(void);

/* What PE pe said of itself: is its static data laid out like ours, and who is the first PE of its node. */
int shi_stream_same_program(int pe);
int shi_stream_node(int pe);

/* A region that comes later, here and as the peers described theirs (from shi_stream_describe). */
int shi_stream_describe(enum shi_region region, const struct shi_stream_region *own, struct shi_net_memory *out);
void shi_stream_learn(int pe, enum shi_region region, const struct shi_net_memory *memory);

/* A lane for a context; contexts may share one, the first is everybody's. NULL without memory. */
struct shi_lane *shi_stream_lane(int i);
int shi_stream_lanes(void); /* how many there are */

/* One more (1) or one less (-1) of the lane's contexts is in a session that batches: while any is, the program's records
 * wait for others, a poll, quiet or the end of the session even where nothing else is under way. */
void shi_stream_session(struct shi_lane *l, int change);

/* AFTER_WRITES: behind this PE's earlier writes even where no fence stands between (put-with-signal). MORE: the caller's
 * next record to this PE comes at once, so this one need not leave before it. */
enum { SHI_STREAM_AFTER_WRITES = 1, SHI_STREAM_MORE = 2 };

/* Up to SHI_STREAM_PUT_BYTES from `from`, copied. Strided: the blocks are packed from `from`, `from_stride` apart. */
int shi_stream_put(struct shi_lane *l, const struct shi_spot *to, const void *from, size_t bytes, int flags);
int shi_stream_put_blocks(struct shi_lane *l, const struct shi_spot *to, const struct shi_blocks *b, const void *from,
                          ptrdiff_t from_stride);

/* Update a word of 1, 2, 4 or 8 bytes; with a reply, its old value comes back. */
int shi_stream_amo(struct shi_lane *l, const struct shi_spot *at, int width, enum shi_amo op, uint64_t value,
                   uint64_t cond, struct shi_reply *reply, int flags);

/* Blocks of at most SHI_STREAM_REPLY_BYTES in all, by the target's hand. */
int shi_stream_get_blocks(struct shi_lane *l, const struct shi_spot *from, const struct shi_blocks *b,
                          struct shi_reply *reply);

/* Straight from or into the user's memory. 0 when there was nothing to do, -EINPROGRESS: req is called back. req NULL:
 * quiet tells. A write does not overtake what the lane sent before its last fence. One that cannot be started ends the
 * job. */
int shi_stream_write(struct shi_lane *l, const struct shi_spot *to, const void *from, size_t bytes,
                     struct shi_net_req *req);
int shi_stream_read(struct shi_lane *l, const struct shi_spot *from, void *to, size_t bytes, struct shi_net_req *req);

/* A transfer with PE pe ended with err, from its request's callback: one line, and the end of the job. */
void shi_stream_fail(int pe, int err) __attribute__((noreturn));

/* Is all that the lane sent pe known to be complete there? A read then overtakes nothing. */
int shi_stream_idle(struct shi_lane *l, int pe);

/* Later records and writes to a PE stay behind earlier ones. */
void shi_stream_fence(struct shi_lane *l);

/* Has all that the lane sent to pe (-1: to anybody) and asked of it before completed? Starts what is needed for that;
 * call it again, with polls between, until 1. */
int shi_stream_quiet(struct shi_lane *l, int pe);

/* Have all writes and reads ended here, so that their buffers are the caller's? As for quiet. */
int shi_stream_local(struct shi_lane *l);

/* Is all that the lane sent pe so far complete there? 0; -EINPROGRESS: a is called back when it is; -EAGAIN: ask
 * again. */
int shi_stream_after(struct shi_lane *l, int pe, struct shi_after *a);

/* Longest transfer of one write or read, and from which length on puts are better written. */
size_t shi_stream_rma_bytes(void);
size_t shi_stream_bcopy_bytes(void);

/* Active messages between nodes: the carrier behind am.h. */
void *shi_stream_am_begin(int pe, size_t bytes);
void shi_stream_am_end(int pe, enum shi_am_id id, size_t bytes);
int shi_stream_expose(const void *addr, size_t bytes, struct shi_am_src *out);
void shi_stream_withdraw(const struct shi_am_src *src);
int shi_stream_fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f);

#endif
