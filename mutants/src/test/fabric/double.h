/*
 * double.h - a libfabric for tests: its objects, and the contract between its files.
 *
 *   profile.c   the table of providers; fi_getinfo and the other exported functions
 *   object.c    fabric, domain, address vector, completion queue, registered memory
 *   endpoint.c  posting: checks of the caller's use, back-pressure
 *   nic.c       packets: the times at which they leave and land, and operations complete
 *   hmem.c      registered memory of devices, and writes to it that are late
 *
 * Endpoints are datagram sockets of one machine. The initiator sends a packet from the user's buffer when it polls; the
 * target writes it to memory when it polls, in any order that the profile leaves open. Random numbers decide: delays,
 * order, and when a post is refused.
 *
 *   word                     written by                        read by   order
 *   every object but below   holders of `fabric_lock`          them      the lock
 *   registered memory        the target, in nic.c              program   plain: the library's messages must order it
 *   user's source buffer     program, until it posts           nic.c     plain, from the post to the completion
 *
 * A call that breaks the rules of libfabric's manual ends the process with a line that starts with "fabric: misuse".
 */
#ifndef FABRIC_DOUBLE_H
#define FABRIC_DOUBLE_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_BYTES = 81920 }; /* the longest message that this double carries */

/* A provider's promises and requirements. Sizes 0: none. */
struct profile {
    const char *name, *provider, *domain;
    uint64_t order, mode; /* FI_ORDER_*, FI_CONTEXT */
    int mr_mode;
    size_t key_bytes, inject_bytes, max_bytes;
    size_t waw_bytes; /* the longest write that WAW covers */
    size_t depth;     /* operations in flight */
    size_t data_bytes; /* cq_data_size */
    unsigned char can_sleep, has_thread; /* fi_cq_sread; progress without polls */
    unsigned char waits_for_peers; /* fi_close of an endpoint waits for the endpoints that it has sent to */
    unsigned char skips_polls; /* number of polls between two looks at the network, unless PSM3_TCP_SKIPPOLL_COUNT has another */
    unsigned char polls_again; /* fi_cq_read polls the network after each entry that it has found, for the next one */
    unsigned char has_job_key; /* endpoints connect only to those with the same auth_key */
    unsigned char greets; /* no packet leaves before the peer has polled once */
    unsigned char fences; /* FI_FENCE, for those that request it */
    unsigned char data_on_request;  /* cq_data_size is 0 unless the hints have one */
    unsigned char data_of_messages; /* immediate data with messages only, although cq_data_size is not 0 */
    unsigned char hmem; /* FI_HMEM, where FABRIC_HMEM is set */
    unsigned char bare_keys; /* a poll looks up keys without the lock under which memory is registered and withdrawn */
};

struct fabric {
    struct fid_fabric pub;
    const struct profile *profile;
    int domains;
};

struct domain {
    struct fid_domain pub;
    struct fabric *fabric;
    const struct profile *profile;
    struct memory *memories;
    struct endpoint *first; /* opened */
    int users; /* number of queues, vectors and endpoints */
    int hmem, without_cuda; /* FI_HMEM; no calls of CUDA in transfers */
};

struct av {
    struct fid_av pub;
    struct domain *domain;
    uint64_t *address;
    size_t n;
    int users;
};

struct completion {
    struct completion *next;
    struct fi_cq_err_entry entry;
    uint64_t due;
    int in_order; /* after those before it */
};

struct cq {
    struct fid_cq pub;
    struct domain *domain;
    struct endpoint *endpoints;
    struct completion *first, **last;
    enum fi_cq_format format;
    uint64_t tick; /* number of polls */
    int empty; /* the last reads that found none */
    int users;
};

struct memory {
    struct fid_mr pub;
    struct memory *next;
    struct domain *domain;
    struct endpoint *endpoint; /* with FI_MR_ENDPOINT */
    char *base;
    size_t bytes;
    uint64_t access, requested_key;
    int enabled, pinned;
    char *view; /* of device memory: where this double maps it, else NULL */
};

enum kind { SEND, WRITE, LONG_WRITE, READ, KINDS, DATA = KINDS, PLACED, HELLO, WELCOME };

/* The head of a packet. LONG_WRITE is a write that WAW does not cover. */
struct head {
    uint64_t from, op; /* endpoint and operation of the initiator */
    uint64_t job;      /* of the sender */
    uint64_t total, off, addr, key;
    uint32_t kind, bytes; /* bytes: of payload after the head */
    uint32_t confirm;     /* answer with PLACED */
    uint32_t has_data;    /* immediate data */
    uint64_t data;
};

/* An operation that an endpoint must transmit, or has transmitted and that is not complete. */
struct op {
    struct op *next;
    struct head head;
    char *buf, *owned; /* owned: to be freed */
    int on_device;     /* buf: READ writes device memory */
    void *context;
    uint64_t flags, due, sum;
    size_t sent, answered;
    int silent; /* no completion */
    int fence;  /* all earlier operations end first */
    int fails;
};

struct op_queue {
    struct op *first, **last;
};

struct packet {
    struct packet *next;
    uint64_t due;
    struct head head;
    char data[];
};

/* The bytes in place of a write with immediate data that came in parts. */
struct partial {
    struct partial *next;
    uint64_t op, bytes;
};

struct receive {
    struct receive *next;
    void *buf, *context;
    size_t bytes;
};

struct peer {
    struct peer *next;
    uint64_t address;
    enum { UNKNOWN, ASKED, MET } state;
    struct op_queue posted, answers; /* to transmit */
    int owes_welcome;                /* to its HELLO: its socket was full */
    int waiting;                     /* number of operations of this peer in the endpoint's `waiting` */
    struct partial *partials;
    struct packet *arrived, **arrived_last; /* not landed */
};

struct endpoint {
    struct fid_ep pub;
    struct endpoint *next; /* of its queue */
    struct domain *domain;
    const struct profile *profile;
    size_t max_bytes, data_bytes; /* of an operation; of immediate data with a write */
    struct av *av;
    struct cq *cq;
    pthread_t thread;
    int fd, enabled, fences;
    uint64_t address, job, refuses_until, ops;
    struct peer *peers;
    struct op *waiting; /* transmitted, to be confirmed */
    struct receive *receives, **receives_last;
    size_t in_flight;
    int held; /* packets that have not landed */
    int skips_polls; /* as the profile's */
    uint64_t rate, free_ns; /* FABRIC_RATE; when all that was transmitted has left */
};

extern pthread_mutex_t fabric_lock;
void misuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
uint32_t below(uint32_t n); /* a random number */
int fails(void);            /* Is this the transfer that FABRIC_FAIL names? Call it once for each. */
uint64_t number(const char *name); /* an environment variable */

int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context);
const struct profile *profile_of(const char *name); /* NULL: not on this machine */

/* object.c: an operation's context is in use from post to completion where the provider has mode FI_CONTEXT. */
void context_posted(const struct profile *p, void *context);
void context_completed(const struct profile *p, void *context);
struct memory *memory_of(struct endpoint *e, const struct head *h, uint64_t right, char **at); /* checked */
char *local_of(struct domain *d, const void *buf, size_t bytes, void *desc, const char *what); /* where this double accesses it */

/* hmem.c: with the environment variable FABRIC_HMEM. */
int hmem_is_offered(const struct profile *p);
int hmem_map(const struct fi_mr_attr *attr, uint64_t flags, char **base, size_t *bytes, char **view); /* 0 or libfabric's error */
void hmem_unmap(char *view, size_t bytes);
void hmem_write(char *to, const void *from, size_t bytes); /* visible later: at a read of device memory, or after some polls */
void hmem_progress(void);
void hmem_flush(void);

/* endpoint.c */
int endpoint_open(struct fid_domain *d, struct fi_info *info, struct fid_ep **out, void *context);

/* nic.c. The caller holds the lock. */
int nic_open(struct endpoint *e);
void nic_close(struct endpoint *e);
void nic_post(struct endpoint *e, uint64_t to, struct op *o);
void nic_progress(struct cq *q);
int nic_wait(struct cq *q, int timeout_ms); /* releases the lock while it sleeps */
struct completion *nic_completion(struct cq *q);

#endif
