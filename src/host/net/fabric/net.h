/*
 * net.h - contract of a transport between nodes: messages, and writes and reads of registered memory.
 *
 * Send-side completion (after the UCX design note on send progress):
 *   short     complete when it returns 0. -EAGAIN: nothing was kept.
 *   zcopy     message, write, read. -EINPROGRESS: the request embedded in the caller's structure is called back once.
 *             -EAGAIN: the transport is full, nothing was posted. Callbacks of one PE come in the order of posting,
 *             whatever order the provider completes in; so an operation without a request has ended when a later one,
 *             or a flush, is called back.
 *   flush     is called back when all that was posted to this PE before has ended. 0: it has already.
 * Any other negative value: the operation cannot be started, nothing was kept or logged; `error` explains it.
 * Completion is local: the caller may reuse the buffer. With SHI_NET_WAW writes arrive behind earlier writes; with
 * SHI_NET_SAW, which implies it, messages do too. Without SHI_NET_SAW a write's completion means that its data is in
 * place. With SHI_NET_IMMEDIATE the target, in a poll after that, is called back with the write's immediate data.
 *
 * A lane may have `peer_cap` operations in flight to one PE, so that a slow PE leaves room for the others, and `lane_cap`
 * in all, fewer than the completion queue has entries. More return -EAGAIN.
 *
 * A lane is an endpoint with its completion queue. The caller holds the lane's lock for every call but poll, idle_wait and wake.
 * poll calls back, and hands messages to `arrive`, without the lock, on one thread at a time.
 */
#ifndef SHI_NET_H
#define SHI_NET_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "host/boot/boot.h"
#include "host/util/config.h"
#include "host/util/device_memory.h"

enum shi_net_what { SHI_NET_SENDS, SHI_NET_WRITES, SHI_NET_READS, SHI_NET_RECEIVES };

/* An operation that lasts too long. pe: the other PE, or this one for receives. */
struct shi_net_overdue {
    enum shi_net_what what;
    int pe;
    size_t bytes;
};

struct shi_net_req {
    _Alignas(16) char provider[64];                   /* the provider's while posted */
    void (*done)(struct shi_net_req *self, int err); /* err 0, or as `error` of the transport explains it */
    struct shi_net_req *next;                         /* posted behind this one to the same PE */
    struct shi_net_req *next_late; /* read into device memory whose data may not be visible yet */
    int pe, err;
    unsigned char ended, pooled, late, what;          /* what: enum shi_net_what */
    unsigned checks;                                  /* for `overdue` */
    size_t bytes;
};

/* How many checks an operation may last when all that is in flight to its PE has so many bytes: a limit, and one more for each 32
 * MiB, so that a slow network is not taken for one that has lost it. */
static inline unsigned shi_net_patience(unsigned checks, size_t bytes)
{
    return checks + checks * (unsigned)(bytes >> 25);
}

/* Memory of a PE as its peers name it in writes and reads. */
struct shi_net_memory {
    uint64_t base, key; /* base: what to add to an offset */
    uint64_t handle;    /* of the registering PE, with SHI_NET_LATE; 0: not registered */
};
enum { SHI_NET_LATE = 1 }; /* device memory: writes can become visible to the device after later messages; see expose_device */

struct shi_net_address {
    _Alignas(8) char data[128];
};

struct shi_net_lane {
    pthread_mutex_t lock;
    int index;
};

enum { SHI_NET_SAW = 1, SHI_NET_WAW = 2, SHI_NET_IMMEDIATE = 4 };
enum { SHI_NET_READ = 1, SHI_NET_WRITE = 2 }; /* what peers may do with registered memory */
enum { SHI_NET_MESSAGE_BYTES = 16384, SHI_NET_LONGEST_BYTES = 65664 }; /* see message_bytes */
enum { SHI_NET_LANES = 8 }; /* the most */

/* Constants after up. */
struct shi_net_limits {
    size_t short_bytes; /* of a short message */
    size_t message_bytes; /* of the longest message: SHI_NET_MESSAGE_BYTES to SHI_NET_LONGEST_BYTES */
    size_t rma_bytes;   /* of one write or read */
    int ordered;        /* SHI_NET_SAW, _WAW, _IMMEDIATE */
    int lane_cap, peer_cap;
    int sockets; /* addresses are those of sockets (struct sockaddr) */
    int pins; /* registration allocates all of the memory, and keeps its pages: returning them needs a new registration */
};

/* A message has come; msg is 8-byte aligned, and valid until this returns. NULL: the end of a poll. */
typedef void shi_net_arrive(const void *msg, size_t bytes);

/* With SHI_NET_IMMEDIATE: a write of another PE is in place. Not authenticated. */
typedef void shi_net_written(uint32_t immediate);

/* A transfer with PE pe that had no request has failed; or, instead of a PE's number:
 * RECEIVE  one message could not be received. Others can. Any process may have sent it.
 * BROKEN   the transport cannot send to, or receive from, any PE. */
enum { SHI_NET_RECEIVE = -1, SHI_NET_BROKEN = -2 };
typedef void shi_net_failed(int pe, int err);

struct shi_net_ops {
    const char *(*provider)(void); /* after up */
    const char *(*error)(int err); /* text for an error of a transfer */
    /* Open the first lane. 0 or -errno after one line. */
    int (*up)(const struct shi_boot *boot, const struct shi_config *config, shi_net_arrive *arrive,
              shi_net_written *written, shi_net_failed *failed, struct shi_net_limits *limits);
    /* Get this PE's address; name those of all PEs before the first transfer: PE i's is i * stride bytes behind the first.
     * They stay where they are. The provider is given the address of a PE at the first transfer to it. */
    int (*address)(struct shi_net_address *out);
    int (*connect)(const struct shi_net_address *first, size_t stride);
    /* Another address of PE pe is there: later transfers go to it. Nothing is in flight to the PE. */
    void (*renew)(int pe);
    /* Register [base, + bytes) for accesses by peers, rights: SHI_NET_ of them. 0, or as `error` explains it. Where the provider
     * lets us choose, the key is random, so that only PEs that receive it know it. Once withdraw returns, the provider refuses
     * the key, unless it caches registrations. */
    int (*expose)(const void *base, size_t bytes, int rights, struct shi_net_memory *out);
    void (*withdraw)(const struct shi_net_memory *m);
    /* The same for memory of a device, one range at a time; local operations may then name it, too. Collective calls withdraw
     * it. Where it is SHI_NET_LATE, a read of any of it by this PE itself makes data visible that writes have brought before the
     * read; a read into it has ended when its data is visible. NULL: not supported. */
    int (*expose_device)(const void *base, size_t bytes, const struct shi_device_memory *m, struct shi_net_memory *out);
    /* Lane i, opened at first use; one of the open ones where no more can be opened. All messages arrive on lane 0. */
    struct shi_net_lane *(*lane)(int i);
    int (*send_short)(struct shi_net_lane *l, int pe, const void *msg, size_t bytes);
    int (*send)(struct shi_net_lane *l, int pe, const void *msg, size_t bytes, struct shi_net_req *req);
    int (*write)(struct shi_net_lane *l, int pe, const struct shi_net_memory *to, uint64_t off, const void *from,
                 size_t bytes, uint32_t immediate, struct shi_net_req *req);
    int (*read)(struct shi_net_lane *l, int pe, const struct shi_net_memory *from, uint64_t off, void *to, size_t bytes,
                struct shi_net_req *req);
    int (*flush)(struct shi_net_lane *l, int pe, struct shi_net_req *req);
    /* Bytes of the operations of one kind, enum shi_net_what, in flight between the lane, which is locked, and a PE. */
    size_t (*in_flight)(const struct shi_net_lane *l, int pe, unsigned what);
    /* For checks at regular intervals, by the thread that polls: an operation that is the oldest one to its PE and has been
     * found so for more than shi_net_patience(checks, bytes in flight) checks. 0: there is none. */
    int (*overdue)(unsigned checks, struct shi_net_overdue *out);
    /* For the same checks: an operation that has been refused with -EAGAIN for want of room in the network, and never accepted,
     * before each of as many checks, for the bytes in flight on its lane. 0: there is none. */
    int (*refused)(unsigned checks, struct shi_net_overdue *out);
    /* Handle what has completed or arrived, on all lanes. How many. */
    int (*poll)(void);
    /* Sleep until something may have completed or arrived, at most timeout_ms. 1, or 0 at once where the provider cannot
     * or another thread does. */
    int (*idle_wait)(int timeout_ms);
    /* End an idle_wait of another thread, or the next one. */
    void (*wake)(void);
    /* The first message of a PE has arrived: connections opened for it are marked close-on-exec. */
    void (*met)(void);
    /* The process ends: close the endpoints; with some providers they have files. The last call, when no thread polls any more. */
    void (*down)(void);
    /* The process leaves the job: close and free all; up may follow. All memory is withdrawn, no thread polls any more. Requests that have
     * not ended are called back. */
    void (*leave)(void);
};

extern const struct shi_net_ops shi_net_ofi;

#endif
