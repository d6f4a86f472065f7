/*
 * ofi_lane.c - endpoints of libfabric: opened at first use, their queues checked now and then.
 *
 *   what             owner                                         order
 *   lane, its queues holder of the lane's lock                     the lock
 *   posted request   its lane, from -EINPROGRESS to the callback   the lock, then the callback's thread
 *   shi_ofi_n_lanes  shi_ofi_lane_at under `opening`               R1 -> A1 (ofi_lane.h) a lane is whole before it is counted
 *
 * Lock order: opening, then a lane's lock.
 */
#include "host/net/fabric/ofi_lane.h"

#include <pthread.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "host/net/fabric/net_fault.h"
#include "host/net/fabric/ofi.h"
#include "host/net/fabric/ofi_accept.h"
#include "host/util/log.h"
#include "host/util/table.h"

enum { POOL = 64 };

struct shi_ofi_lane shi_ofi_lane[SHI_NET_LANES];
int shi_ofi_n_lanes;

static struct shi_net_req pool[SHI_NET_LANES][POOL];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fi_info *info;
static int n_pes, no_cuda_calls;

int shi_ofi_lane_name(const struct shi_ofi_lane *l, struct shi_net_address *out)
{
    size_t bytes = sizeof out->data;
    return fi_getname(&l->ep->fid, out->data, &bytes);
}

static void close_lane(struct shi_ofi_lane *l)
{
    if (l->ep)
        fi_close(&l->ep->fid);
    if (l->cq)
        fi_close(&l->cq->fid);
    shi_table_free(l->posted, (size_t)n_pes, sizeof *l->posted);
    *l = (struct shi_ofi_lane){0};
}

/* libfabric must not call CUDA in transfers: such calls can wait for a kernel that waits for the transfer. 1: it does not. */
static int forbid_cuda_calls(struct fid_ep *ep)
{
    enum { CUDA_API_PERMITTED = 10 }; /* FI_OPT_ of libfabric 1.18 and later */
    const _Bool permitted = 0;
    return info->caps & FI_HMEM && !fi_setopt(&ep->fid, FI_OPT_ENDPOINT, CUDA_API_PERMITTED, &permitted, sizeof permitted);
}

/* 0, or libfabric's error with nothing left open. */
static int open_lane(int i)
{
    struct shi_ofi_lane *l = &shi_ofi_lane[i];
    struct shi_net_address own;
    size_t depth = SHI_OFI_LANE_CAP + (i == 0 ? SHI_OFI_RECVS : 0);
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_DATA, .size = depth, .wait_obj = i ? FI_WAIT_NONE : FI_WAIT_UNSPEC};
    *l = (struct shi_ofi_lane){.pub = {PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, i},
                               .posted = shi_table((size_t)n_pes, sizeof *l->posted)};
    for (int k = 0; k < POOL; k++) {
        pool[i][k] = (struct shi_net_req){.next = l->pool, .pooled = 1};
        l->pool = &pool[i][k];
    }
    int rc = l->posted ? fi_cq_open(domain, &attr, &l->cq, NULL) : -FI_ENOMEM;
    if (!rc)
        rc = fi_endpoint(domain, info, &l->ep, NULL);
    if (!rc)
        rc = fi_ep_bind(l->ep, &av->fid, 0);
    if (!rc)
        rc = fi_ep_bind(l->ep, &l->cq->fid, FI_TRANSMIT | FI_RECV);
    if (!rc) {
        no_cuda_calls = forbid_cuda_calls(l->ep);
        rc = fi_enable(l->ep);
    }
    if (!rc)
        rc = shi_ofi_lane_name(l, &own);
    if (rc) {
        close_lane(l);
        return rc;
    }
    if (shi_ofi_has_ip_addresses(info))
        shi_ofi_accept_at((const struct sockaddr *)own.data);
    shi_net_fault_on(l->ep, l->cq);
    __atomic_store_n(&shi_ofi_n_lanes, i + 1, __ATOMIC_RELEASE); /* R1 */
    return 0;
}

static int most = SHI_NET_LANES; /* that can be opened */

struct shi_net_lane *shi_ofi_lane_at(int i)
{
    pthread_mutex_lock(&opening);
    int rc = i >= shi_ofi_n_lanes && shi_ofi_n_lanes < most ? open_lane(shi_ofi_n_lanes) : 0;
    if (rc) {
        most = shi_ofi_n_lanes;
        shi_log_debug("libfabric cannot open more than %d endpoints: %s; contexts share them", most, shi_ofi.error(-rc));
    }
    int n = shi_ofi_n_lanes;
    pthread_mutex_unlock(&opening);
    return &shi_ofi_lane[i % n].pub;
}

int shi_ofi_lanes_up(struct fid_domain *in, struct fid_av *peers, struct fi_info *with, int n, int *without_cuda)
{
    domain = in;
    av = peers;
    info = with;
    n_pes = n;
    int rc = open_lane(0);
    *without_cuda = no_cuda_calls;
    return rc;
}

void shi_ofi_lanes_down(int n)
{
    for (int i = 0; i < n; i++)
        fi_close(&shi_ofi_lane[i].ep->fid);
    shi_ofi_n_lanes = 0;
}

static void cancel_posted(struct shi_ofi_lane *l)
{
    for (int pe = 0; l->in_flight && pe < n_pes; pe++)
        for (struct shi_net_req *r = l->posted[pe].head, *next; r; r = next, l->in_flight--) {
            next = r->next;
            if (!r->pooled)
                r->done(r, -FI_ECANCELED);
        }
}

void shi_ofi_lanes_leave(void)
{
    int n = shi_ofi_n_lanes;
    for (int i = 0; i < n; i++) {
        fi_close(&shi_ofi_lane[i].ep->fid);
        shi_ofi_lane[i].ep = NULL;
        cancel_posted(&shi_ofi_lane[i]);
    }
    for (int i = 0; i < n; i++)
        close_lane(&shi_ofi_lane[i]);
    memset(pool, 0, (size_t)n * sizeof *pool);
    shi_ofi_n_lanes = n_pes = no_cuda_calls = 0;
    domain = NULL;
    av = NULL;
    info = NULL;
    most = SHI_NET_LANES;
}

void shi_ofi_lanes_hold(void)
{
    pthread_mutex_lock(&opening);
    for (int i = 0; i < shi_ofi_n_lanes; i++)
        pthread_mutex_lock(&shi_ofi_lane[i].pub.lock);
}

void shi_ofi_lanes_release(void)
{
    for (int i = 0; i < shi_ofi_n_lanes; i++)
        pthread_mutex_unlock(&shi_ofi_lane[i].pub.lock);
    pthread_mutex_unlock(&opening);
}

/* ---- checks --------------------------------------------------------------------------------------------------------- */

enum { ALL_KINDS = ~0u >> 1 };

/* Of the operations of these kinds, a bit for each enum shi_net_what. */
static size_t bytes_in_flight(const struct shi_ofi_queue *q, unsigned kinds)
{
    size_t bytes = 0;
    for (const struct shi_net_req *r = q->head; r; r = r->next)
        bytes += kinds >> r->what & 1 ? r->bytes : 0;
    return bytes;
}

size_t shi_ofi_lane_in_flight(const struct shi_net_lane *l, int pe, unsigned what)
{
    return bytes_in_flight(&((const struct shi_ofi_lane *)l)->posted[pe], 1u << what);
}

/* Once in some seconds, so it looks at all PEs, of the lanes that have posted anything. */
int shi_ofi_lanes_overdue(unsigned checks, struct shi_net_overdue *out)
{
    int found = 0;
    for (struct shi_ofi_lane *l = shi_ofi_lane; l < shi_ofi_lane + shi_ofi_lanes(); l++) {
        pthread_mutex_lock(&l->pub.lock);
        for (int i = 0; l->in_flight && i < n_pes; i++) {
            struct shi_net_req *r = l->posted[i].head;
            if (!r || ++r->checks <= checks || r->checks <= shi_net_patience(checks, bytes_in_flight(&l->posted[i], ALL_KINDS)))
                continue;
            *out = (struct shi_net_overdue){r->what, i, r->bytes};
            found = 1;
        }
        pthread_mutex_unlock(&l->pub.lock);
    }
    return found;
}

static int check_refused(struct shi_ofi_refused *r, unsigned checks, struct shi_net_overdue *out)
{
    if (!shi_ofi_refused_check(r, checks))
        return 0;
    *out = r->op;
    return 1;
}

int shi_ofi_lanes_refused(unsigned checks, struct shi_net_overdue *out)
{
    int found = 0;
    for (struct shi_ofi_lane *l = shi_ofi_lane; l < shi_ofi_lane + shi_ofi_lanes(); l++) {
        size_t bytes = 0;
        pthread_mutex_lock(&l->pub.lock);
        for (int i = 0; l->refused.kept && i < n_pes; i++)
            bytes += bytes_in_flight(&l->posted[i], ALL_KINDS);
        found |= check_refused(&l->refused, shi_net_patience(checks, bytes), out);
        found |= check_refused(&l->refused_recvs, checks, out);
        pthread_mutex_unlock(&l->pub.lock);
    }
    return found;
}

