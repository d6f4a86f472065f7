/*
 * limits.h - times, counts and amounts of memory at which the library changes what it does and that depend on no fact: constants, each
 * with its reason. What depends on facts is in the files beside this one. Sizes that are formats (slots of a node's FIFOs, records, exchange
 * buffers) stand beside the formats.
 */
#ifndef SHI_POLICY_LIMITS_H
#define SHI_POLICY_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* ---- the threads of the library ---------------------------------------------------------------------------------------- */

#define SHI_LOOK_NS 2000000ull    /* the progress thread looks so often whether the program polls: each look takes the core from it */
#define SHI_IDLE_FIRST_NS 1000000 /* without a network that it can sleep in, its sleeps begin with this, */
#define SHI_IDLE_LAST_NS 8000000  /* and double up to this */
#define SHI_TRIM_NS 10000000000ull /* so often memory is given back that nothing has used since */
enum {
    SHI_LIFELINE_MS = 20,   /* between looks at a connection that is being made (host/survive/lifeline.h) */
    SHI_LIFELINES = 1024    /* connections that a PE's socket takes: one at a time, and a new one after each failure */
};

enum {
    SHI_SERVE_MS = 50,      /* the longest sleep of the progress thread in the network's wait */
    SHI_PROXY_BATCH = 64,   /* requests that the proxy takes from a ring in one round */
    SHI_PROXY_SLICE_NS = 100000 /* the proxy's time slice: it runs for microseconds, so the scheduler may prefer it */
};

/* ---- procedure calls, locks -------------------------------------------------------------------------------------------- */

#define SHI_LOCK_POLLS_NS 50000u /* a PE polls a lock of its node for so long before it queues: a switch of processes */
enum {
    SHI_LOCK_CALLS_A_POLL = 1024, /* calls of a PE that takes its own lock, for each poll for others */
    SHI_GPC_PATIENCE = 64,        /* polls of the program that run no function, until a thread does; tests by a function, until it pauses */
    SHI_GPC_PAUSE_NS = 1000000,   /* such a pause */
    SHI_GPC_PROBES = 64,          /* functions that cannot go on yet which one dispatch asks */
    SHI_GPC_NESTED = 16,          /* functions on one stack */
    SHI_GPC_FETCHES = 4           /* calls whose long data has been read, or is being read: large ones do not fill the memory */
};

/* ---- messages on a node -------------------------------------------------------------------------------------------------- */

enum {
    SHI_AM_BUDGET = 64,        /* messages that one poll hands over */
    SHI_AM_RETRIES = 8,        /* and retries of sends to each PE */
    SHI_AM_IN_A_ROW = 32,      /* messages of one sender in a row */
    SHI_AM_RELEASE_CELLS = 16, /* read, then the sender may reuse them */
    SHI_AM_HOT = 8,            /* every poll reads the FIFOs of so many senders, idle or not */
    SHI_AM_PATIENCE = 1000,    /* idle polls until a FIFO beyond those is read less often: each is a line of the caches */
    SHI_AM_COLD = 4,           /* FIFOs of those that a poll reads */
    SHI_TAG_POLLS = 64         /* of a wait for a tagged message, back to back, before it looks for an abort and may yield */
};

/* ---- a stream of messages to a PE of another node ---------------------------------------------------------------------- */

enum {
    SHI_ORDER_WINDOW = 16,    /* unacknowledged messages, after which records are collected: the target is behind */
    SHI_ORDER_MOST = 256,     /* and after which records wait: the target may have to keep them all */
    SHI_ORDER_ACK_EVERY = 8,  /* messages without an acknowledgement: a stream without a quiet gets one, too */
    SHI_BATCH_READY = 4,      /* closed messages of a stream that wait for room */
    SHI_BATCHES = 256,        /* messages of a lane; replies may take more. So many are kept */
    SHI_BATCHES_LONG = 16,    /* the same, of those that are longer than usual */
    SHI_WRITES = 64,          /* writes and reads to one PE at a time */
    SHI_AWAKE_NS = 20000000,  /* a PE whose library serves reads gets a message so often: its waits yield for 60 ms */
    SHI_STEPS_AHEAD = 8       /* exchanges of an alltoall that a PE begins ahead of those that send to it, so that none is flooded */
};
#define SHI_UNSENT_NS 1000000000ull /* at the end: for messages that the network has no room for yet */

/* ---- memory that only a device, or that the network accesses ------------------------------------------------------------ */

enum {
    SHI_WORDS_JOINED = 64, /* updates of words, after which another agent gets its turn, */
    SHI_WORDS_REST = 8,    /* for so many calls */
    SHI_PIN_STEP = 64 << 20 /* of the heap, registered at a time, at least, where the network pins it */
};

/* ---- failures ---------------------------------------------------------------------------------------------------------- */

enum {
    SHI_JOIN_LOOK_NS = 20000000, /* so often a process that waits to join looks whether the job ends */
    SHI_CHECKS = 16,         /* checks within SHMEM_HEARTBEAT; an operation that all of them see is lost */
    SHI_REFUSED_CHECKS = 12, /* an operation that so many see refused: it is to be reported before peers declare this PE dead */
    SHI_STUCK_CHECKS = 20    /* checks within SHI_STUCK_NS */
};
#define SHI_TRACER_NS 100000000ull /* so often the library looks for a debugger: 10 us each */
#define SHI_STUCK_NS 2000000000ull /* a kernel that has not filled its slot for so long is reported */
#define SHI_LATE_NS 4000000ull /* SHMEM_CHECK=1: an operation of a kernel is so late, longer than another process has the core */
#define SHI_LOST_RING_NS 2000000000ull /* SHMEM_WAIT=doorbell: a ring that has not come by then is missing */

/* ---- memory that is kept for later operations, at most ------------------------------------------------------------------- */

enum {
    SHI_KEPT_GPC = 256 << 20, /* calls and their data */
    SHI_KEPT_TAGS = 4 << 20,  /* unexpected messages */
    SHI_KEPT_STREAM = 4 << 20, /* messages that came early */
    SHI_KEPT_REQUESTS = 1 << 20 /* of kernels; and active messages between nodes */
};

/* ---- collectives ------------------------------------------------------------------------------------------------------- */

enum {
    SHI_BLOCK_BYTES = 8192,          /* combined at a time: stays in the first-level cache */
    SHI_REMOTE_BLOCK_BYTES = 524288, /* the same between nodes: each block waits for the network twice */
    SHI_INLINE_BYTES = 1032          /* the longest block that a collect between nodes sends with its length */
};

#endif
