/*
 * net_ofi.c - the transport over libfabric: start, operations, the wait for messages. Their completion: ofi_poll.c.
 *
 *   what                 owner                                        order
 *   can_idle_wait        set with lane 0; cleared by idle_wait        relaxed: another thread may fail once more
 *   waiting              a thread, from its exchange to 1 until it    exchange: acquire, store of 0: release; so a call of fi_cq_sread
 *                        stores 0: in fi_cq_sread or while it         and a registration never overlap
 *                        registers memory
 *
 * Lanes and requests: ofi_lane.c. Lock order: receiving (ofi_poll.c), waiting, then those of ofi_lane.c.
 */
#include "host/net/fabric/net.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/net/fabric/net_fault.h"
#include "host/net/fabric/ofi.h"
#include "host/net/fabric/ofi_accept.h"
#include "host/net/fabric/ofi_lane.h"
#include "host/net/fabric/ofi_memory.h"
#include "host/net/fabric/ofi_peers.h"
#include "host/net/fabric/ofi_poll.h"
#include "host/net/fabric/ofi_psm.h"
#include "host/policy/limits.h"
#include "host/util/base.h"
#include "host/util/cancel.h"
#include "host/util/fds.h"
#include "host/util/libc.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static int me, n_pes;
static int sockets_close; /* libfabric's sockets are opened close-on-exec */
static int can_idle_wait; /* lane 0's completion queue has a wait that sleeps */
static struct shi_net_limits limits;

_Static_assert(sizeof(struct fi_context2) <= sizeof ((struct shi_net_req *)0)->provider, "a request embeds the provider's");

static int cannot(const char *what, ssize_t rc)
{
    shi_log_error("libfabric cannot %s (%s, %s): %s", what, info->fabric_attr->prov_name, info->domain_attr->name,
                  shi_ofi.error((int)-rc));
    return -EIO;
}

/* ---- up -------------------------------------------------------------------------------------------------------- */

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
                                    boot->local_index, config->ofi_hmem == 1, config->faults == SHI_FAULTS_CONTINUE};
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
    limits = shi_ofi_limits(info);
    const struct shi_provider *row = shi_ofi_row(info);
    limits.sockets = shi_ofi_has_ip_addresses(info);
    limits.lane_cap = SHI_OFI_LANE_CAP;
    limits.peer_cap = SHI_WRITES;
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
        const struct shi_ofi_receiver r = {.arrive = on_arrival, .written = on_write, .failed = on_failure, .me = me,
                                           .message_bytes = limits.message_bytes, .polls_again = row && row->polls_again};
        if ((err = shi_ofi_receive(&r)))
            err = cannot("post a receive", err);
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
    if (!shi_ofi_is_busy(rc))
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

static int waiting; /* a thread is in libfabric's wait, or registers memory */
static int holders; /* threads that want to register memory: the progress thread, which waits again at once, must let them */

/* Reads no entry, so that the poller gets them all. One thread at a time: tcp gives all waiting threads one array of
 * poll(2) results. */
static int idle_wait(int timeout_ms)
{
    struct fi_cq_data_entry none;
    if (shi_ofi_is_polled())
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

static void leave(void)
{
    shi_ofi_lanes_leave();
    shi_ofi_poll_leave();
    shi_ofi_memory_leave();
    shi_ofi_accept_leave();
    shi_ofi_peers_leave(n_pes);
    if (av)
        fi_close(&av->fid);
    if (domain)
        fi_close(&domain->fid);
    if (fabric)
        fi_close(&fabric->fid);
    if (info)
        shi_ofi.freeinfo(info);
    shi_net_fault_leave();
    av = NULL;
    domain = NULL;
    fabric = NULL;
    info = NULL;
    me = n_pes = sockets_close = can_idle_wait = 0;
    limits = (struct shi_net_limits){.ordered = 0};
}

const struct shi_net_ops shi_net_ofi = {
    .provider = provider, .error = error, .up = up, .address = address, .connect = connect_to, .renew = shi_ofi_peer_renew,
    .expose = expose, .expose_device = expose_device, .withdraw = withdraw, .lane = shi_ofi_lane_at,
    .send_short = post_short, .send = post_send, .write = post_write, .read = post_read, .flush = post_flush,
    .in_flight = shi_ofi_lane_in_flight, .overdue = shi_ofi_lanes_overdue, .refused = shi_ofi_lanes_refused, .poll = shi_ofi_poll,
    .idle_wait = idle_wait, .wake = wake, .met = met, .down = down, .leave = leave,
};
