/*
 * ofi_poll.c - what ends and what arrives: the completion queues of the lanes, and the receives. The provider may end what a lane has posted
 * to a PE in any order; callbacks come from the queue's head.
 *
 *   what                 owner                                        order
 *   receive buffer       libfabric while posted, else the poller      receiving
 */
#include "host/net/fabric/ofi_poll.h"

#include <pthread.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "host/net/fabric/ofi_lane.h"
#include "host/net/fabric/ofi_memory.h"
#include "host/net/fabric/ofi_peers.h"
#include "host/util/base.h"
#include "host/util/table.h"

enum { RECV_BYTES = SHI_OFI_RECVS * SHI_NET_MESSAGE_BYTES, EVENTS = 16 };

struct recv {
    struct fi_context2 context;
    struct recv *next; /* to be posted again */
    _Alignas(16) char data[]; /* own.message_bytes */
};

static struct shi_ofi_receiver own;
static char *recvs, *end_of_recvs; /* all buffers for messages, which have RECV_BYTES */
static struct recv *idle_recvs;
static pthread_mutex_t receiving = PTHREAD_MUTEX_INITIALIZER;

static int post_recv(struct recv *r)
{
    return (int)fi_recv(shi_ofi_lane[0].ep, r->data, own.message_bytes, NULL, FI_ADDR_UNSPEC, &r->context);
}

int shi_ofi_receive(const struct shi_ofi_receiver *r)
{
    own = *r;
    size_t bytes = shi_round_up(sizeof(struct recv) + own.message_bytes, 64), n = RECV_BYTES / own.message_bytes;
    recvs = shi_table(n, bytes); /* not malloc: in a process of many jobs, what others leave in its place would spread the heap */
    if (!recvs)
        return -FI_ENOMEM;
    end_of_recvs = recvs + n * bytes;
    int rc = 0;
    for (char *at = recvs; !rc && at < end_of_recvs; at += bytes)
        rc = post_recv((struct recv *)at);
    return rc;
}

void shi_ofi_poll_leave(void)
{
    shi_table_free(recvs, 1, (size_t)(end_of_recvs - recvs));
    recvs = end_of_recvs = NULL;
    idle_recvs = NULL;
    own = (struct shi_ofi_receiver){.arrive = NULL};
}

/* What one read of a lane's completion queue found, to be handled without its lock. */
struct found {
    struct shi_net_req *first, *last;
    struct {
        struct recv *recv;
        size_t bytes;
    } message[EVENTS];
    uint32_t immediate[EVENTS];
    int n_messages, n_immediate, n;
    int failed_pe, err; /* of a transfer without a request, or a message; err 0: none */
};

/* The arrays stay as they are: to clear them takes as long as the rest of a poll that finds nothing. */
static void begin_found(struct found *f)
{
    f->first = f->last = NULL;
    f->n_messages = f->n_immediate = f->n = f->failed_pe = f->err = 0;
}

static void add_failure(struct found *f, int pe, int err)
{
    if (!f->err) {
        f->failed_pe = pe;
        f->err = err;
    }
}

/* A request has ended: collect what has ended at the head of its queue. */
static void end(struct shi_ofi_lane *l, struct shi_net_req *r, int err, struct found *f)
{
    struct shi_ofi_queue *q = &l->posted[r->pe];
    r->ended = 1;
    r->err = err;
    while ((r = q->head) && r->ended) {
        q->head = r->next;
        if (!q->head)
            q->tail = NULL;
        q->n--;
        l->in_flight--;
        if (r->pooled) {
            if (r->err)
                add_failure(f, r->pe, r->err);
            r->next = l->pool;
            l->pool = r;
            continue;
        }
        r->next = NULL;
        *(f->last ? &f->last->next : &f->first) = r;
        f->last = r;
    }
}

/* Reads into device memory have ended, but what they brought may still be under way to the memory: a read of it by the same NIC
 * pushes it there. */
static void post_late(struct shi_ofi_lane *l, struct found *f)
{
    static uint64_t read[SHI_NET_LANES];
    const struct shi_net_memory *m = &shi_ofi_device.memory;
    for (struct shi_net_req *r; (r = l->late);) {
        ssize_t rc = fi_read(l->ep, &read[l->pub.index], sizeof *read, NULL, shi_ofi_peer(own.me), m->base, m->key, r->provider);
        if (shi_ofi_is_busy(rc)) {
            shi_ofi_refuse(&l->refused, SHI_NET_READS, own.me, sizeof *read);
            return;
        }
        shi_ofi_accept(&l->refused, SHI_NET_READS, own.me, sizeof *read);
        l->late = r->next_late;
        r->late = 0;
        if (rc)
            end(l, r, (int)rc, f);
    }
}

/* A request's operation has completed. */
static void complete(struct shi_ofi_lane *l, struct shi_net_req *r, struct found *f)
{
    if (shi_likely(!r->late)) {
        end(l, r, 0, f);
        return;
    }
    r->next_late = l->late;
    l->late = r;
}

static int is_recv(const void *context)
{
    return (const char *)context >= recvs && (const char *)context < end_of_recvs;
}

static void post_later(struct recv *r)
{
    r->next = idle_recvs;
    idle_recvs = r;
}

static void read_error(struct shi_ofi_lane *l, struct found *f)
{
    struct fi_cq_err_entry e = {0};
    if (fi_cq_readerr(l->cq, &e, 0) < 1)
        return;
    f->n++;
    int err = e.err == FI_EAGAIN ? -EIO : -e.err;
    if (e.op_context && !is_recv(e.op_context)) {
        end(l, (struct shi_net_req *)e.op_context, err, f);
        return;
    }
    add_failure(f, e.op_context ? SHI_NET_RECEIVE : SHI_NET_BROKEN, err);
    if (e.op_context)
        post_later(e.op_context);
}

static void read_queue(struct shi_ofi_lane *l, struct found *f)
{
    struct fi_cq_data_entry e[EVENTS];
    ssize_t n = fi_cq_read(l->cq, e, own.polls_again && !l->found ? 1 : EVENTS);
    l->found = n > 0;
    if (n == -FI_EAVAIL)
        read_error(l, f);
    else if (n < 0 && n != -FI_EAGAIN)
        add_failure(f, SHI_NET_BROKEN, (int)n);
    for (ssize_t i = 0; i < n; i++) {
        f->n++;
        if (shi_unlikely(e[i].flags & FI_REMOTE_WRITE)) {
            f->immediate[f->n_immediate++] = (uint32_t)e[i].data;
            continue;
        }
        if (!is_recv(e[i].op_context)) {
            complete(l, (struct shi_net_req *)e[i].op_context, f);
            continue;
        }
        f->message[f->n_messages].recv = (struct recv *)e[i].op_context;
        f->message[f->n_messages++].bytes = e[i].len;
    }
    if (shi_unlikely(l->late != NULL))
        post_late(l, f);
}

/* Post receives again. */
static void repost_recvs(void)
{
    int rc = 0;
    pthread_mutex_lock(&shi_ofi_lane[0].pub.lock);
    while (idle_recvs && (rc = post_recv(idle_recvs)) == 0) {
        shi_ofi_accept(&shi_ofi_lane[0].refused_recvs, SHI_NET_RECEIVES, own.me, own.message_bytes);
        idle_recvs = idle_recvs->next;
    }
    if (shi_ofi_is_busy(rc))
        shi_ofi_refuse(&shi_ofi_lane[0].refused_recvs, SHI_NET_RECEIVES, own.me, own.message_bytes);
    pthread_mutex_unlock(&shi_ofi_lane[0].pub.lock);
    if (rc && !shi_ofi_is_busy(rc))
        own.failed(SHI_NET_BROKEN, rc);
}

static int poll_lane(struct shi_ofi_lane *l)
{
    struct found f;
    begin_found(&f);
    pthread_mutex_lock(&l->pub.lock);
    read_queue(l, &f);
    pthread_mutex_unlock(&l->pub.lock);
    while (f.first) {
        struct shi_net_req *r = f.first;
        f.first = r->next;
        r->done(r, r->err);
    }
    if (f.err)
        own.failed(f.failed_pe, f.err);
    for (int i = 0; i < f.n_immediate; i++)
        own.written(f.immediate[i]);
    for (int i = 0; i < f.n_messages; i++) {
        struct recv *r = f.message[i].recv;
        own.arrive(r->data, f.message[i].bytes);
        post_later(r);
    }
    if (idle_recvs)
        repost_recvs();
    return f.n;
}

int shi_ofi_poll(void)
{
    if (pthread_mutex_trylock(&receiving))
        return 0;
    int handled = 0, n = shi_ofi_lanes();
    for (int i = 0; i < n; i++)
        handled += poll_lane(&shi_ofi_lane[i]);
    own.arrive(NULL, 0);
    pthread_mutex_unlock(&receiving);
    return handled;
}

int shi_ofi_is_polled(void)
{
    if (pthread_mutex_trylock(&receiving))
        return 1;
    pthread_mutex_unlock(&receiving);
    return 0;
}
