/*
 * net_fault.c - interposes between net_ofi.c and libfabric: replaces entries of the domain's, endpoint's and queue's tables.
 *
 *   delay=N      a completion is delivered N reads of the queue after it came
 *   reorder=SEED completions that are ready come in a random order
 *   again=N      every Nth call that starts a transfer is refused for want of room
 *   rma=N        the Nth write or read cannot be started
 *   full=N       the Nth write or read and all later ones are refused for want of room
 *   full_messages=N, full_receives=N   likewise messages, and receives
 *   error=N      the Nth completion of a transfer is a failure
 *   lost=N       the completion of the Nth write or read never comes
 *   receive=N    the Nth message received is a failure
 *   rest=N       the wait for completions fails from the Nth time on
 *   lanes=N      N endpoints can be opened
 *   window=N     N operations in flight, so that the queue is always nearly full
 *   unordered=N  the provider promises no order, and starts each write N reads of the queue late; with reorder 1 to N reads,
 *                so that writes overtake each other
 *   unreported=1 nor does it report writes at the target
 *
 * The caller holds the lane's lock, as for the endpoint itself.
 */
#include "host/net/fabric/net_fault.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 2048 };

static struct {
    long delay, reorder, again, rma, full, full_messages, full_receives, error, lost, receive, rest, lanes, window, unordered, unreported;
} fault;

struct held_entry {
    struct fi_cq_data_entry entry;
    long due;
};

struct held_write {
    struct fi_msg_rma msg;
    struct iovec local;
    struct fi_rma_iov remote;
    uint64_t flags;
    long due;
};

/* One endpoint with its queue, and the provider's own calls. */
struct shim {
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fi_ops_cq cq_ops;
    struct fi_ops_msg msg_ops;
    struct fi_ops_rma rma_ops;
    const struct fi_ops_cq *real_cq;
    const struct fi_ops_msg *real_msg;
    const struct fi_ops_rma *real_rma;
    struct held_entry held[HELD];
    struct held_write write[HELD];
    int n_held, n_write;
    struct fi_cq_data_entry failing;
    int has_failing;
    long reads;
};

static struct shim *shims[SHI_NET_LANES];
static const struct fi_ops_domain *real_domain;
static int n_shims;
static long posts, transfers, tried, tried_messages, tried_receives, completions, moved, receives, waits, endpoints;
static int n_all_held; /* entries and writes that the shims hold; atomic, because fi_cq_sread reads it without the lanes' locks */
static uint64_t random_state;

/* ---- options ------------------------------------------------------------------------------------------------------ */

static long *option_of(const char *name, size_t length)
{
    static const struct {
        const char *name;
        long *at;
    } known[] = {{"delay", &fault.delay}, {"reorder", &fault.reorder}, {"again", &fault.again},
                 {"rma", &fault.rma}, {"full", &fault.full}, {"full_messages", &fault.full_messages},
                 {"full_receives", &fault.full_receives}, {"error", &fault.error}, {"lost", &fault.lost}, {"receive", &fault.receive},
                 {"rest", &fault.rest}, {"lanes", &fault.lanes}, {"window", &fault.window},
                 {"unordered", &fault.unordered}, {"unreported", &fault.unreported}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0)
            return known[i].at;
    return NULL;
}

int shi_net_fault_set(const char *text, char *why, size_t bytes)
{
    memset(&fault, 0, sizeof fault);
    for (const char *p = text; *p;) {
        size_t length = strcspn(p, "=,");
        long *at = option_of(p, length);
        char *end = (char *)p;
        long value = at && p[length] == '=' ? strtol(p + length + 1, &end, 10) : -1;
        if (value < 0 || end == p + length + 1 || (*end && *end != ',')) {
            snprintf(why, bytes, "SHMEM_TEST_NET_FAULT=%s: not accepted; give delay, reorder, again, rma, full, full_messages, "
                     "full_receives, error, lost, receive, rest, lanes, window, unordered, unreported, each as NAME=N, with commas between", text);
            return -EINVAL;
        }
        *at = value;
        p = *end ? end + 1 : end;
    }
    random_state = (uint64_t)fault.reorder * 0x9e3779b97f4a7c15 + 1;
    return 0;
}

void shi_net_fault_limits(struct shi_net_limits *limits)
{
    if (fault.window)
        limits->lane_cap = limits->peer_cap = (int)fault.window;
    if (fault.unordered)
        limits->ordered &= fault.unreported ? 0 : SHI_NET_IMMEDIATE;
}

/* ---- interposed calls --------------------------------------------------------------------------------------------- */

static struct shim *shim_of(const struct fid_ep *ep, const struct fid_cq *cq)
{
    for (int i = 0; i < n_shims; i++)
        if (shims[i]->ep == ep || shims[i]->cq == cq)
            return shims[i];
    abort(); /* the table that led here belongs to one of them */
}

static int refused(void)
{
    return fault.again && ++posts % fault.again == 0;
}

static int is_full(long from, long *n)
{
    return from && ++*n >= from;
}

/* Of a write or read: 0 or why it does not start. */
static ssize_t stopped(void)
{
    if (is_full(fault.full, &tried))
        return -FI_EAGAIN;
    return fault.rma && ++transfers == fault.rma ? -FI_EIO : refused() ? -FI_EAGAIN : 0;
}

static int message_refused(void)
{
    return is_full(fault.full_messages, &tried_messages) || refused();
}

static ssize_t recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from, void *context)
{
    return is_full(fault.full_receives, &tried_receives) ? -FI_EAGAIN
                                                         : shim_of(ep, NULL)->real_msg->recv(ep, buf, len, desc, from, context);
}

static ssize_t send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to, void *context)
{
    return message_refused() ? -FI_EAGAIN : shim_of(ep, NULL)->real_msg->send(ep, buf, len, desc, to, context);
}

static ssize_t inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
    return message_refused() ? -FI_EAGAIN : shim_of(ep, NULL)->real_msg->inject(ep, buf, len, to);
}

static ssize_t read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from, uint64_t addr, uint64_t key,
                    void *context)
{
    ssize_t rc = stopped();
    return rc ? rc : shim_of(ep, NULL)->real_rma->read(ep, buf, len, desc, from, addr, key, context);
}

static int below(int n)
{
    random_state = random_state * 6364136223846793005 + 1442695040888963407;
    return (int)((random_state >> 33) % (uint64_t)n);
}

static ssize_t writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    struct shim *s = shim_of(ep, NULL);
    ssize_t rc = s->n_write == HELD ? -FI_EAGAIN : stopped();
    if (rc)
        return rc;
    if (!fault.unordered)
        return s->real_rma->writemsg(ep, msg, flags);
    struct held_write *w = &s->write[s->n_write++];
    __atomic_fetch_add(&n_all_held, 1, __ATOMIC_RELAXED);
    long late = fault.reorder ? 1 + below((int)fault.unordered) : fault.unordered;
    *w = (struct held_write){*msg, *msg->msg_iov, *msg->rma_iov, flags, s->reads + late};
    return 0;
}

static void start_writes(struct shim *s)
{
    for (int i = 0; i < s->n_write;) {
        struct held_write *w = &s->write[i];
        w->msg.msg_iov = &w->local;
        w->msg.rma_iov = &w->remote;
        if (w->due > s->reads || s->real_rma->writemsg(s->ep, &w->msg, w->flags)) {
            i++;
        } else {
            memmove(w, w + 1, (size_t)(--s->n_write - i) * sizeof *w);
            __atomic_fetch_sub(&n_all_held, 1, __ATOMIC_RELAXED);
        }
    }
}

/* A held entry that is due: the first, or any when they come out of order. -1: none. */
static int due(const struct shim *s)
{
    int ready[HELD], n = 0;
    for (int i = 0; i < s->n_held; i++)
        if (s->held[i].due <= s->reads)
            ready[n++] = i;
    return n == 0 ? -1 : fault.reorder ? ready[below(n)] : ready[0];
}

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
    struct shim *s = shim_of(NULL, cq);
    struct fi_cq_data_entry *out = buf;
    size_t n = 0;
    if (count == 0) /* the provider itself, in fi_cq_sread, without the lane's lock */
        return s->real_cq->read(cq, buf, 0);
    s->reads++;
    start_writes(s);
    if (s->has_failing)
        return -FI_EAVAIL;
    ssize_t rc = s->n_held + (int)count <= HELD ? s->real_cq->read(cq, buf, count) : -FI_EAGAIN;
    if (rc < 0 && rc != -FI_EAGAIN)
        return rc;
    for (ssize_t i = 0; i < rc; i++)
        s->held[s->n_held++] = (struct held_entry){out[i], s->reads + fault.delay};
    if (rc > 0)
        __atomic_fetch_add(&n_all_held, (int)rc, __ATOMIC_RELAXED);
    for (int i; n < count && !s->has_failing && (i = due(s)) >= 0;) {
        struct fi_cq_data_entry e = s->held[i].entry;
        memmove(&s->held[i], &s->held[i + 1], (size_t)(--s->n_held - i) * sizeof s->held[i]);
        __atomic_fetch_sub(&n_all_held, 1, __ATOMIC_RELAXED);
        s->has_failing = e.flags & FI_RECV ? fault.receive && ++receives == fault.receive
                                           : fault.error && ++completions == fault.error;
        if (s->has_failing)
            s->failing = e;
        else if (!fault.lost || !(e.flags & FI_RMA) || e.flags & FI_REMOTE_WRITE || ++moved != fault.lost)
            out[n++] = e;
    }
    return n ? (ssize_t)n : s->has_failing ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags)
{
    struct shim *s = shim_of(NULL, cq);
    if (!s->has_failing)
        return s->real_cq->readerr(cq, buf, flags);
    s->has_failing = 0;
    *buf = (struct fi_cq_err_entry){.op_context = s->failing.op_context, .err = FI_EIO, .flags = s->failing.flags};
    return 1;
}

static ssize_t cq_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
    if (fault.rest && ++waits >= fault.rest)
        return -FI_EOTHER;
    if (__atomic_load_n(&n_all_held, __ATOMIC_RELAXED)) /* only reads deliver them, and a wait for the provider sleeps */
        return -FI_EAGAIN;
    return shim_of(NULL, cq)->real_cq->sread(cq, buf, count, cond, timeout);
}

static int endpoint(struct fid_domain *d, struct fi_info *i, struct fid_ep **ep, void *context)
{
    int ours = i->ep_attr->type == FI_EP_RDM; /* providers open others for their connections */
    return ours && ++endpoints > fault.lanes ? -FI_EMFILE : real_domain->endpoint(d, i, ep, context);
}

void shi_net_fault_domain(struct fid_domain *domain)
{
    static struct fi_ops_domain ops;
    if (!fault.lanes)
        return;
    real_domain = domain->ops;
    ops = *real_domain;
    ops.endpoint = endpoint;
    domain->ops = &ops;
}

void shi_net_fault_on(struct fid_ep *ep, struct fid_cq *cq)
{
    if (!(fault.delay || fault.reorder || fault.again || fault.rma || fault.full || fault.full_messages || fault.full_receives ||
          fault.error || fault.lost || fault.receive || fault.rest || fault.unordered) || n_shims == SHI_NET_LANES)
        return;
    struct shim *s = calloc(1, sizeof *s);
    if (!s)
        return;
    *s = (struct shim){.ep = ep, .cq = cq, .cq_ops = *cq->ops, .msg_ops = *ep->msg, .rma_ops = *ep->rma,
                       .real_cq = cq->ops, .real_msg = ep->msg, .real_rma = ep->rma};
    s->cq_ops.read = cq_read;
    s->cq_ops.readerr = cq_readerr;
    s->cq_ops.sread = cq_sread;
    s->msg_ops.recv = recv;
    s->msg_ops.send = send;
    s->msg_ops.inject = inject;
    s->rma_ops.read = read;
    s->rma_ops.writemsg = writemsg;
    cq->ops = &s->cq_ops;
    ep->msg = &s->msg_ops;
    ep->rma = &s->rma_ops;
    shims[n_shims++] = s;
}

void shi_net_fault_leave(void)
{
    while (n_shims)
        free(shims[--n_shims]);
    memset(shims, 0, sizeof shims);
    memset(&fault, 0, sizeof fault);
    posts = transfers = tried = tried_messages = tried_receives = completions = moved = receives = waits = endpoints = 0;
    real_domain = NULL;
    random_state = 0;
    n_all_held = 0;
}
