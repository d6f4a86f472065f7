/*
 * stream.h - puts, atomics and gets over the network: records in order, many to a message, beside writes and reads.
 *
 * A lane has a stream to each PE. Records go into a batch. The batch is sent at once while few messages of the stream are
 * unacknowledged and no session announces more records; else when it is full, at the next poll, or when completion is
 * requested. So a lone put leaves with its call, and a flood shares messages. The target applies records in order with
 * its own loads, stores and atomics. Acknowledgements count messages and travel in the head of every message the other
 * way.
 *
 * Large transfers bypass the stream as writes and reads of registered memory; fence and quiet cover both.
 *
 * order.h decides what may be sent and what is complete; batch.h fills and sends messages; stream_tx.c makes the records,
 * stream_rx.c applies them; lane.h has the state, stream_wire.h the messages.
 *
 * Calls that return -EAGAIN kept nothing: poll (shi_progress_poll) and try again. None of them waits. Any thread.
 */
#ifndef SHI_STREAM_H
#define SHI_STREAM_H

#include "device/lib/request.h"
#include "host/net/am/am_carrier.h"
#include "host/net/fabric/net.h"

struct shi_lane;

/* The symmetric memory of a PE. ADDED: the first beside the heaps. */
enum { SHI_STREAM_ADDED = 32 };
enum shi_region { SHI_REGION_HEAP, SHI_REGION_DATA, SHI_REGION_SYNC, SHI_REGION_DEVICE, SHI_REGION_ADDED,
                  SHI_REGIONS = SHI_REGION_ADDED + SHI_STREAM_ADDED };

/* A device whose memory the host cannot load and store. Its copies are made in order. */
struct shi_stream_device {
    int (*start)(const struct shi_device_copy *c, int n); /* one submission, between device memory and `memory`; 0 or -errno */
    int (*ended)(uint64_t *n); /* how many of them have ended, since up; 0 or -errno */
    char *memory;              /* of the host, for messages; the device can access it */
    uint64_t *word_lock;       /* `held` of net_shm.h, of this PE */
};

/* One of this PE's; device is NULL where the host can load and store. */
struct shi_stream_region {
    char *base;
    size_t bytes;
    const struct shi_stream_device *device;
    const struct shi_device_memory *memory; /* with device: how the network can register it; NULL: it cannot */
    const char *registered; /* a mapping of the same memory that transfers may write; NULL: base */
    size_t read_only;       /* bytes at its start that peers only read */
};

/* An address in a PE's symmetric memory. */
struct shi_remote_addr {
    int pe;
    enum shi_region region;
    uint64_t off;
};

/* Blocks of `block` bytes, `stride` bytes from one start to the next at the target. */
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

/* Called back when all that a lane sent a PE before is complete there. */
struct shi_after {
    struct shi_after *next;
    uint64_t seq;
    void (*done)(struct shi_after *self);
};

/* What a call that waits keeps from try to try, so that calls of other threads do not delay it for ever: zero before the first one.
 * NULL: the caller does not wait. */
struct shi_stream_wait {
    uint64_t since;  /* messages closed when it first found no room, plus 1 */
    uint64_t behind; /* number of writes that it must follow, plus 1 */
    uint64_t seq;    /* of a write: the message whose acknowledgement it must follow */
};

enum { SHI_STREAM_PUT_BYTES = SHI_RECORD_BYTES, SHI_STREAM_REPLY_BYTES = SHI_RECORD_BYTES }; /* of one record */
enum { SHI_JOB_PES = 1 << SHI_PE_BITS }; /* that requests of kernels can number, and barriers of teams can have */

/* What the PEs of a node share at start-up. barrier: over them; not called where there is one, or by a new process (shi_boot). */
struct shi_stream_node {
    char *record; /* [n_pes][SHI_SHM_RECORD_BYTES], zero; stays */
    void (*barrier)(void);
    uint32_t (*life)(int i); /* which process has the place of its i-th PE, the first one 0; NULL: all are the first */
};

/* Bring up the network for this job, once: lane 0, addresses and memory of all PEs. It stays up for a later
 * shmem_init, like the shared memory of a node. Collective. 0 or -errno after one line. */
int shi_stream_up(const struct shi_boot *boot, const struct shi_config *config, const struct shi_stream_node *node,
                  const struct shi_stream_region own[SHI_REGIONS], uint64_t exe_id);

/* Another process, the life-th one after the first, has the number of PE pe of this node, and has called shi_stream_up. See shi_stream_return. */
void shi_stream_meet(int pe, uint32_t life);

/* At shmem_init: make it the only source of progress. 0 or -errno. */
int shi_stream_resume(void);

/* At shmem_finalize, after quiet: ignore connections that end. */
void shi_stream_pause(void);

/* After that: poll it for PEs that are still in shmem_finalize. 0 or -errno. */
int shi_stream_serve(void);

/* At the end of the process. Does nothing without a network. */
void shi_stream_down(void);

/* The process leaves the job, after shmem_finalize: close and free all, so that shi_stream_up can follow. Does nothing without a network. */
void shi_stream_leave(void);

/* Is PE pe's static data laid out like this PE's? The first PE of its node. */
int shi_stream_same_program(int pe);
int shi_stream_node(int pe);

/* Add a region after shi_stream_up: describe this PE's, and learn those that peers described. Where the network cannot
 * register device memory, out->handle is 0 and only records reach it. forget: before its memory is released. */
int shi_stream_describe(enum shi_region region, const struct shi_stream_region *own, struct shi_net_memory *out);
void shi_stream_forget(enum shi_region region);
void shi_stream_learn(int pe, enum shi_region region, const struct shi_net_memory *memory);

/* Does the network pin registered memory? shi_stream_up then leaves the heap unregistered. */
int shi_stream_pins(void);

/* Register the first `bytes` of this PE's region for transfers, the first `had` of which have pages. Earlier registrations
 * stay. 0, or an error that is not logged. */
int shi_stream_grow(enum shi_region region, size_t had, size_t bytes, struct shi_net_memory *out);

/* One line: the first `bytes` of this PE's region cannot be registered. */
void shi_stream_cannot_register(enum shi_region region, size_t bytes, int err);

/* A lane for a context; contexts may share one, lane 0 is there for all. NULL without memory. */
struct shi_lane *shi_stream_lane(int i);

/* One more lane, which sends by way of lane 0's endpoint: its fence and quiet are its own, and a poll has no further endpoint to
 * look at. Lane 0 where no more can be made. */
struct shi_lane *shi_stream_lane_beside(void);

/* The i-th lane that was made, or NULL past the last; and which of them a lane is. */
struct shi_lane *shi_stream_lane_made(int i);
int shi_stream_lane_index(const struct shi_lane *l);

/* One more (1) or one less (-1) of the lane's contexts is in a session that batches. While any is, records wait for others,
 * a poll, quiet or the end of the session even when no message is unacknowledged. */
void shi_stream_session(struct shi_lane *l, int change);

/* Send the records that wait for others now, not at the next poll. */
void shi_stream_send(struct shi_lane *l);

/* AFTER_WRITES: behind this PE's earlier writes even without a fence (put-with-signal). MORE: another record to this PE
 * follows immediately; do not flush yet (like MSG_MORE). */
enum { SHI_STREAM_AFTER_WRITES = 1, SHI_STREAM_MORE = 2 };

/* Up to SHI_STREAM_PUT_BYTES from `from`, copied. Strided: the blocks are packed from `from`, `from_stride` apart. */
int shi_stream_put(struct shi_lane *l, const struct shi_remote_addr *to, const void *from, size_t bytes, int flags,
                   struct shi_stream_wait *w);
int shi_stream_put_blocks(struct shi_lane *l, const struct shi_remote_addr *to, const struct shi_blocks *b,
                          const void *from, ptrdiff_t from_stride, struct shi_stream_wait *w);

/* Update an aligned word of 4 or 8 bytes; with a reply, it returns the old value. */
int shi_stream_amo(struct shi_lane *l, const struct shi_remote_addr *at, int width, enum shi_amo op, uint64_t value,
                   uint64_t cond, struct shi_reply *reply, int flags, struct shi_stream_wait *w);

/* Compare-and-swap of 16 bytes, not in memory that only a device accesses; reply->done is set, and it gets what they were. */
int shi_stream_wide(struct shi_lane *l, const struct shi_remote_addr *at, const uint64_t value[2], const uint64_t cond[2],
                    struct shi_reply *reply, struct shi_stream_wait *w);

/* Blocks of at most SHI_STREAM_REPLY_BYTES in all; the target copies them into its reply. */
int shi_stream_get_blocks(struct shi_lane *l, const struct shi_remote_addr *from, const struct shi_blocks *b,
                          struct shi_reply *reply, struct shi_stream_wait *w);

/* Let the target, whose memory transfers cannot name, read the data from this PE's memory; with `a`, which is called back once
 * all is in place there. Until then, or quiet, or shi_stream_local, source stays as it is. */
int shi_stream_pull(struct shi_lane *l, const struct shi_remote_addr *to, const struct shi_am_src *source, size_t bytes,
                    struct shi_after *a, struct shi_stream_wait *w);

/* Let the target write the data into this PE's memory, then reply. */
int shi_stream_push(struct shi_lane *l, const struct shi_remote_addr *from, const struct shi_am_src *dest, size_t bytes,
                    struct shi_reply *reply, struct shi_stream_wait *w);

/* RDMA from or into the user's memory. 0: there was nothing to do; -EINPROGRESS: req is called back, or, with req NULL,
 * quiet waits for it. A write does not overtake what the lane sent before its last fence. A transfer that cannot be
 * started ends the job. */
int shi_stream_write(struct shi_lane *l, const struct shi_remote_addr *to, const void *from, size_t bytes,
                     struct shi_net_req *req, struct shi_stream_wait *w);
int shi_stream_read(struct shi_lane *l, const struct shi_remote_addr *from, void *to, size_t bytes,
                    struct shi_net_req *req);

/* The same with memory of PE pe that it has described; not behind fences, and with a request. */
int shi_stream_write_memory(int pe, const struct shi_net_memory *to, uint64_t off, const void *from, size_t bytes,
                            struct shi_net_req *req);
int shi_stream_read_memory(int pe, const struct shi_net_memory *from, uint64_t off, void *to, size_t bytes,
                           struct shi_net_req *req);

/* A transfer with PE pe failed with err: one line, and the end of the job; or, where the job goes on (lost.h), the PE is suspected, and the
 * transfer counts as ended. end_later: call req->done with 0 once the PE is lost, so that the caller knows by then. By the thread that polls. */
void shi_stream_fail(int pe, int err);
void shi_stream_end_later(struct shi_net_req *req, struct shi_lane *l);

/* Is all that the lane sent pe known to be complete there, so that a read overtakes nothing? */
int shi_stream_idle(struct shi_lane *l, int pe);

/* Later records and writes to a PE stay behind earlier ones. */
void shi_stream_fence(struct shi_lane *l);

/* Is all complete that the lane sent to pe (-1: to all PEs) and fetched from it before the first call, for which *wait is 0? Starts
 * what is needed for that; poll and call it again until 1. What other threads issue meanwhile does not delay it for long. */
int shi_stream_quiet(struct shi_lane *l, int pe, uint64_t *wait);

/* Have all those writes, reads and pulls ended, so that the caller may reuse their buffers? Call it like quiet. */
int shi_stream_local(struct shi_lane *l, uint64_t *wait);

/* Wait until all that the lane has sent pe before the first try is complete there. 0: it is; -EINPROGRESS: a is called back; -EAGAIN: try
 * again. soon: the acknowledgement may wait for a message that carries it, but not long; else it comes at once. */
int shi_stream_after(struct shi_lane *l, int pe, struct shi_after *a, int soon, struct shi_stream_wait *w);

/* May writes and reads name this region of PE pe? 0: only records reach it. */
int shi_stream_reaches(int pe, enum shi_region region);

/* Can the network access this memory of this process itself? 0: the data goes through memory of the host. */
int shi_stream_sends(const void *local, size_t bytes);

/* Longest transfer of one write or read; longest put that is better a record than a write. */
size_t shi_stream_rma_bytes(void);
size_t shi_stream_bcopy_bytes(void);

/* Active messages between nodes, for am_remote.c: as in am_carrier.h. */
struct shi_message_facts shi_stream_am_facts(void);
void *shi_stream_am_begin(int pe, size_t bytes);
void shi_stream_am_end(int pe, enum shi_am_id id, size_t bytes);
int shi_stream_expose(const void *addr, size_t bytes, struct shi_am_src *out);
int shi_stream_registered(const void *addr, size_t bytes, struct shi_am_src *out); /* 1: peers read and write it anyway */
void shi_stream_withdraw(const struct shi_am_src *src);
int shi_stream_fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f);

#endif
