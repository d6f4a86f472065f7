/*
 * net_ofi.c - the transport over libfabric: endpoints, completion in order.
 *
 *   what                 owner                                        order
 *   receive buffer       libfabric while posted, else the poller      receiving
 *   can_idle_wait        set with lane 0; cleared by idle_wait        relaxed: another thread may fail once more
 *   waiting              a thread, from its exchange to 1 until it    exchange: acquire, store of 0: release; so a call of fi_cq_sread
 *                        stores 0: in fi_cq_sread or while it         and a registration never overlap
 *                        registers memory
 *
 * Lanes and requests: ofi_lane.c. The provider may end what a lane has posted to a PE in any order; callbacks come from the queue's head.
 * Lock order: receiving, waiting, then those of ofi_lane.c.
 */
#include "host/net/net.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/net/carryless.h"
#include "host/net/net_fault.h"
#include "host/net/ofi.h"
#include "host/net/ofi_accept.h"
#include "host/net/ofi_lane.h"
#include "host/net/ofi_memory.h"
#include "host/net/ofi_peers.h"
#include "host/net/ofi_psm.h"
#include "host/util/base.h"
#include "host/util/cancel.h"
#include "host/util/fds.h"
#include "host/util/libc.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

enum { RECV_BYTES = SHI_OFI_RECVS * SHI_NET_MESSAGE_BYTES, EVENTS = 16, PEER_CAP = 64 };

struct recv {
    struct fi_context2 context;
    struct recv *next; /* to be posted again */
    _Alignas(16) char data[]; /* limits.message_bytes */
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static int me, n_pes;
static int sockets_close; /* libfabric's sockets are opened close-on-exec */
static int polls_again; /* fi_cq_read polls the network after each entry that it has found, for the next one */
static int can_idle_wait; /* lane 0's completion queue has a wait that sleeps */
static char *recvs, *end_of_recvs; /* all buffers for messages, which have RECV_BYTES */
static struct recv *idle_recvs;
static pthread_mutex_t receiving = PTHREAD_MUTEX_INITIALIZER;
static shi_net_arrive *arrive;
static shi_net_written *written;
static shi_net_failed *failed;
static struct shi_net_limits limits;

_Static_assert(sizeof(struct fi_context2) <= sizeof ((struct shi_net_req *)0)->provider, "a request embeds the provider's");

/* Back-pressure has several names among providers. */
static int is_busy(ssize_t rc)
{
    return rc == -FI_EAGAIN || rc == -FI_ENOMEM;
}

static int cannot(const char *what, ssize_t rc)
{
    shi_log_error("libfabric cannot %s (%s, %s): %s", what, info->fabric_attr->prov_name, info->domain_attr->name,
                  shi_ofi.error((int)-rc));
    return -EIO;
}

/* ---- up -------------------------------------------------------------------------------------------------------- */

static int post_recv(struct recv *r)
{
    return (int)fi_recv(shi_ofi_lane[0].ep, r->data, limits.message_bytes, NULL, FI_ADDR_UNSPEC, &r->context);
}

static int post_recvs(void)
{
    size_t bytes = shi_round_up(sizeof(struct recv) + limits.message_bytes, 64), n = RECV_BYTES / limits.message_bytes;
    if (posix_memalign((void **)&recvs, 64, n * bytes))
        return -ENOMEM;
    end_of_recvs = recvs + n * bytes;
    for (char *r = recvs; r < end_of_recvs; r += bytes) {
        int rc = post_recv((struct recv *)r);
        if (rc)
            return cannot("post a receive", rc);
    }
    return 0;
}

static int open_domain(void)
{
    struct fi_av_attr table = {.type = FI_AV_TABLE, .count = (size_t)n_pes};
    int rc = shi_ofi.fabric(info->fabric_attr, &fabric, NULL);
    if (!rc)
        rc = fi_domain(fabric, info, &domain, NULL);
    if (!rc)
        rc = fi_av_open(domain, &table, &av, NULL);
    if (!rc)
        shi_net_fault_domain(domain);
    return rc ? cannot("open the domain", rc) : 0;
}

/* Does the completion queue's wait sleep, and end at its timeout? That of libfabric 1.17's shm spins until something comes.
 * Query the wait object's type; do not request one: with FI_WAIT_FD tcp starts a thread of its own and goes wrong. */
static int sleeps(struct fid_cq *cq)
{
    enum fi_wait_obj kind;
    return fi_control(&cq->fid, FI_GETWAITOBJ, &kind) == 0 &&
           (kind == FI_WAIT_FD || kind == FI_WAIT_POLLFD || kind == FI_WAIT_MUTEX_COND);
}

static int up(const struct shi_boot *boot, const struct shi_config *config, shi_net_arrive *on_arrival,
              shi_net_written *on_write, shi_net_failed *on_failure, struct shi_net_limits *out)
{
    struct shi_ofi_params params = {config->ofi_provider.text, config->ofi_domain.text, boot->n_local == boot->n_pes,
                                    boot->local_index, config->ofi_hmem == 1};
    char why[512];
    int no_cuda_calls;
    shi_ofi_psm_settings(config->heartbeat);
    int err = shi_ofi_open(why, sizeof why);
    if (!err)
        err = shi_ofi_select(&params, NULL, NULL, &info, why, sizeof why);
    if (!err && why[0] && boot->local_index == 0)
        shi_log_error("warning: %s", why);
    if (!err)
        err = shi_net_fault_set(config->net_fault.text, why, sizeof why);
    if (err) {
        shi_log_error("%s", why);
        return err;
    }
    shi_log_debug("libfabric provider %s on %s; oshinfo lists the others", info->fabric_attr->prov_name,
                  info->domain_attr->name);
    me = boot->pe;
    n_pes = boot->n_pes;
    arrive = on_arrival;
    written = on_write;
    failed = on_failure;
    limits = shi_ofi_limits(info);
    const struct shi_provider *row = shi_ofi_row(info);
    polls_again = row && row->polls_again;
    limits.carryless = shi_carryless_here();
    limits.lane_cap = SHI_OFI_LANE_CAP;
    limits.peer_cap = PEER_CAP;
    shi_net_fault_limits(&limits);
    struct shi_fds before;
    shi_fds_note(&before);
    if (row && row->job_key)
        err = shi_ofi_psm_key(info, boot->job);
    if (!err)
        err = open_domain();
    if (!err && shi_ofi_has_ip_addresses(info) && !shi_ofi_accept_install(&sockets_close) && boot->local_index == 0)
        shi_log_error("network: libfabric's accept cannot be replaced: other users can disturb this job (%s)",
                      info->fabric_attr->prov_name);
    if (!err && (err = shi_ofi_lanes_up(domain, av, info, n_pes, &no_cuda_calls)))
        err = cannot("open an endpoint", err);
    if (!err) {
        can_idle_wait = sleeps(shi_ofi_lane[0].cq);
        shi_ofi_memory_up(domain, shi_ofi_lane[0].ep, info, no_cuda_calls);
        err = post_recvs();
    }
    shi_fds_close_on_exec(&before);
    *out = limits;
    return err;
}

static const char *provider(void)
{
    return info->fabric_attr->prov_name;
}

static const char *error(int err)
{
    return shi_ofi.error(-err);
}

static int address(struct shi_net_address *out)
{
    int rc = shi_ofi_lane_name(&shi_ofi_lane[0], out);
    return rc ? cannot("get the address of the endpoint", rc) : 0;
}

static int connect_to(const struct shi_net_address *first, size_t stride)
{
    for (int pe = 0; shi_ofi_has_ip_addresses(info) && pe < n_pes; pe++)
        shi_ofi_accept_from((const struct sockaddr *)((const char *)first + (size_t)pe * stride), n_pes);
    return shi_ofi_peers_up(av, first, stride, n_pes);
}

/* ---- posting ------------------------------------------------------------------------------------------------------ */

static void append(struct shi_ofi_lane *l, int pe, struct shi_net_req *r)
{
    struct shi_ofi_queue *q = &l->posted[pe];
    r->next = NULL;
    r->pe = pe;
    r->err = 0;
    *(q->tail ? &q->tail->next : &q->head) = r;
    q->tail = r;
    q->n++;
    l->in_flight++;
}

/* A request to post with: the caller's, or one of the lane's pool. NULL: the pool is empty. */
static struct shi_net_req *get_request(struct shi_ofi_lane *l, int pe, struct shi_net_req *req, enum shi_net_what what, size_t bytes)
{
    if (l->in_flight >= limits.lane_cap || l->posted[pe].n >= limits.peer_cap)
        return NULL;
    if (!req && (req = l->pool))
        l->pool = req->next;
    if (!req)
        return NULL;
    req->ended = req->late = 0;
    req->what = (unsigned char)what;
    req->checks = 0;
    req->bytes = bytes;
    return req;
}

static int refused_or_failed(struct shi_ofi_lane *l, enum shi_net_what what, int pe, size_t bytes, ssize_t rc)
{
    if (!is_busy(rc))
        return (int)rc;
    shi_ofi_refuse(&l->refused, what, pe, bytes);
    return -EAGAIN;
}

static int posted(struct shi_ofi_lane *l, int pe, struct shi_net_req *r, ssize_t rc)
{
    if (rc == 0) {
        shi_ofi_accept(&l->refused, r->what, pe, r->bytes);
        append(l, pe, r);
        return -EINPROGRESS;
    }
    if (r->pooled) {
        r->next = l->pool;
        l->pool = r;
    }
    return refused_or_failed(l, r->what, pe, r->bytes, rc);
}

static int post_short(struct shi_net_lane *pub, int pe, const void *msg, size_t bytes)
{
    SHI_TSAN_IGNORED;
    SHI_UNCANCELLED;
    struct shi_ofi_lane *l = (struct shi_ofi_lane *)pub;
    ssize_t rc = fi_inject(l->ep, msg, bytes, shi_ofi_peer(pe));
    if (rc)
        return refused_or_failed(l, SHI_NET_SENDS, pe, bytes, rc);
    shi_ofi_accept(&l->refused, SHI_NET_SENDS, pe, bytes);
    return 0;
}

static int post_send(struct shi_net_lane *pub, int pe, const void *msg, size_t bytes, struct shi_net_req *req)
{
    SHI_TSAN_IGNORED;
    SHI_UNCANCELLED;
    struct shi_ofi_lane *l = (struct shi_ofi_lane *)pub;
    struct shi_net_req *r = get_request(l, pe, req, SHI_NET_SENDS, bytes);
    return r ? posted(l, pe, r, fi_send(l->ep, msg, bytes, NULL, shi_ofi_peer(pe), r->provider)) : -EAGAIN;
}

static int post_write(struct shi_net_lane *pub, int pe, const struct shi_net_memory *to, uint64_t off, const void *from,
                 size_t bytes, uint32_t immediate, struct shi_net_req *req)
{
    SHI_TSAN_IGNORED;
    SHI_UNCANCELLED;
    struct shi_ofi_lane *l = (struct shi_ofi_lane *)pub;
    struct shi_net_req *r = get_request(l, pe, req, SHI_NET_WRITES, bytes);
    if (!r)
        return -EAGAIN;
    struct iovec local = {(void *)from, bytes};
    struct fi_rma_iov remote = {to->base + off, bytes, to->key};
    struct fi_msg_rma m = {.msg_iov = &local, .desc = shi_ofi_on_device(from) ? &shi_ofi_device.desc : NULL, .iov_count = 1, .addr = shi_ofi_peer(pe), .rma_iov = &remote,
                           .rma_iov_count = 1, .context = r->provider, .data = immediate};
    uint64_t flags = FI_COMPLETION;
    if (!(limits.ordered & SHI_NET_SAW))
        flags |= FI_DELIVERY_COMPLETE | (limits.ordered & SHI_NET_IMMEDIATE ? FI_REMOTE_CQ_DATA : 0);
    return posted(l, pe, r, fi_writemsg(l->ep, &m, flags));
}

static int post_read(struct shi_net_lane *pub, int pe, const struct shi_net_memory *from, uint64_t off, void *to,
                size_t bytes, struct shi_net_req *req)
{
    SHI_TSAN_IGNORED;
    SHI_UNCANCELLED;
    struct shi_ofi_lane *l = (struct shi_ofi_lane *)pub;
    struct shi_net_req *r = get_request(l, pe, req, SHI_NET_READS, bytes);
    if (!r)
        return -EAGAIN;
    int on_device = shi_ofi_on_device(to);
    r->late = on_device && shi_ofi_device.memory.handle & SHI_NET_LATE;
    return posted(l, pe, r, fi_read(l->ep, to, bytes, on_device ? shi_ofi_device.desc : NULL, shi_ofi_peer(pe),
                                    from->base + off, from->key, r->provider));
}

static int post_flush(struct shi_net_lane *pub, int pe, struct shi_net_req *req)
{
    SHI_TSAN_IGNORED;
    SHI_UNCANCELLED;
    struct shi_ofi_lane *l = (struct shi_ofi_lane *)pub;
    if (!l->posted[pe].head)
        return 0;
    append(l, pe, req);
    req->ended = 1;
    return -EINPROGRESS;
}

/* ---- completion --------------------------------------------------------------------------------------------------- */

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
        ssize_t rc = fi_read(l->ep, &read[l->pub.index], sizeof *read, NULL, shi_ofi_peer(me), m->base, m->key, r->provider);
        if (is_busy(rc)) {
            shi_ofi_refuse(&l->refused, SHI_NET_READS, me, sizeof *read);
            return;
        }
        shi_ofi_accept(&l->refused, SHI_NET_READS, me, sizeof *read);
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
    ssize_t n = fi_cq_read(l->cq, e, polls_again && !l->found ? 1 : EVENTS);
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
        shi_ofi_accept(&shi_ofi_lane[0].refused_recvs, SHI_NET_RECEIVES, me, limits.message_bytes);
        idle_recvs = idle_recvs->next;
    }
    if (is_busy(rc))
        shi_ofi_refuse(&shi_ofi_lane[0].refused_recvs, SHI_NET_RECEIVES, me, limits.message_bytes);
    pthread_mutex_unlock(&shi_ofi_lane[0].pub.lock);
    if (rc && !is_busy(rc))
        failed(SHI_NET_BROKEN, rc);
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
        failed(f.failed_pe, f.err);
    for (int i = 0; i < f.n_immediate; i++)
        written(f.immediate[i]);
    for (int i = 0; i < f.n_messages; i++) {
        struct recv *r = f.message[i].recv;
        arrive(r->data, f.message[i].bytes);
        post_later(r);
    }
    if (idle_recvs)
        repost_recvs();
    return f.n;
}

static int poll_lanes(void)
{
    if (pthread_mutex_trylock(&receiving))
        return 0;
    int handled = 0, n = shi_ofi_lanes();
    for (int i = 0; i < n; i++)
        handled += poll_lane(&shi_ofi_lane[i]);
    arrive(NULL, 0);
    pthread_mutex_unlock(&receiving);
    return handled;
}

/* Does another thread poll? A poll may last for milliseconds: tcp copies all that peers have requested. A wait would take its
 * work, and libfabric's lock, from it. */
static int is_polled(void)
{
    if (pthread_mutex_trylock(&receiving))
        return 1;
    pthread_mutex_unlock(&receiving);
    return 0;
}

static int waiting; /* a thread is in libfabric's wait, or registers memory */
static int holders; /* threads that want to register memory: the progress thread, which waits again at once, must let them */

/* Reads no entry, so that the poller gets them all. One thread at a time: tcp gives all waiting threads one array of
 * poll(2) results. */
static int idle_wait(int timeout_ms)
{
    struct fi_cq_data_entry none;
    if (is_polled())
        return 0;
    if (!__atomic_load_n(&can_idle_wait, __ATOMIC_RELAXED) || __atomic_load_n(&holders, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&waiting, 1, __ATOMIC_ACQUIRE))
        return 0;
    ssize_t rc = fi_cq_sread(shi_ofi_lane[0].cq, &none, 0, NULL, timeout_ms);
    __atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
    if (rc >= 0 || rc == -FI_EAGAIN || rc == -FI_EAVAIL || rc == -FI_EINTR)
        return 1;
    if (__atomic_exchange_n(&can_idle_wait, 0, __ATOMIC_RELAXED))
        shi_log_debug("libfabric's wait for messages fails: %s; the progress thread sleeps and polls instead",
                      shi_ofi.error((int)-rc));
    return 0;
}

static void wake(void)
{
    if (__atomic_load_n(&can_idle_wait, __ATOMIC_RELAXED))
        fi_cq_signal(shi_ofi_lane[0].cq);
}

/* tcp and net look up the key of a request that has come without the lock under which they register memory, also in the newest
 * libfabric: a lookup beside a registration does not find the key, and the connection is closed, or follows a wrong pointer. So the
 * library makes no other call that may handle requests meanwhile. */
static void hold_progress(void)
{
    static const struct timespec a_moment = {.tv_nsec = 20000};
    __atomic_fetch_add(&holders, 1, __ATOMIC_RELAXED);
    while (__atomic_exchange_n(&waiting, 1, __ATOMIC_ACQUIRE)) {
        fi_cq_signal(shi_ofi_lane[0].cq); /* it may wait for milliseconds */
        nanosleep(&a_moment, NULL);
    }
    __atomic_fetch_sub(&holders, 1, __ATOMIC_RELAXED);
    shi_ofi_lanes_hold();
}

static void release_progress(void)
{
    shi_ofi_lanes_release();
    __atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
}

static int expose(const void *base, size_t bytes, int rights, struct shi_net_memory *out)
{
    SHI_UNCANCELLED;
    hold_progress();
    int rc = shi_ofi_expose(base, bytes, rights, out);
    release_progress();
    return rc;
}

static int expose_device(const void *base, size_t bytes, const struct shi_device_memory *m, struct shi_net_memory *out)
{
    SHI_UNCANCELLED;
    hold_progress();
    int rc = shi_ofi_expose_device(base, bytes, m, out);
    release_progress();
    return rc;
}

static void withdraw(const struct shi_net_memory *m)
{
    SHI_UNCANCELLED;
    hold_progress();
    shi_ofi_withdraw(m);
    release_progress();
}

/* A look at all descriptors for each PE: only where they cannot be opened close-on-exec. */
static void met(void)
{
    struct shi_net_address own;
    if (!sockets_close && shi_ofi_has_ip_addresses(info) && shi_ofi_lane_name(&shi_ofi_lane[0], &own) == 0)
        shi_fds_close_connections_on_exec((const struct sockaddr *)own.data);
}

/* Closing sends what the provider still holds, and removes files of libfabric's shm provider. With late_close an endpoint
 * waits for its peers meanwhile (psm2 and psm3: up to 5 s). Messages to PEs that still poll are on lane 0, which all PEs close; the other
 * lanes are quiet, and their peers, lanes 0 of other PEs, no longer answer. */
static void down(void)
{
    const struct shi_provider *row = shi_ofi_row(info);
    int n = shi_ofi_lanes();
    shi_ofi_lanes_down(n > 1 && row && row->late_close ? 1 : n);
}

const struct shi_net_ops shi_net_ofi = {
    .provider = provider, .error = error, .up = up, .address = address, .connect = connect_to,
    .expose = expose, .expose_device = expose_device, .withdraw = withdraw, .lane = shi_ofi_lane_at,
    .send_short = post_short, .send = post_send, .write = post_write, .read = post_read, .flush = post_flush,
    .in_flight = shi_ofi_lane_in_flight, .overdue = shi_ofi_lanes_overdue, .refused = shi_ofi_lanes_refused, .poll = poll_lanes,
    .idle_wait = idle_wait, .wake = wake, .met = met, .down = down,
};
