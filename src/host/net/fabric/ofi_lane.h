/*
 * ofi_lane.h - endpoints of libfabric, which the transport calls lanes: opened at first use; what they have under way or cannot start.
 */
#ifndef SHI_OFI_LANE_H
#define SHI_OFI_LANE_H

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "host/net/fabric/net.h"
#include "host/net/fabric/ofi_refused.h"

enum { SHI_OFI_RECVS = 64, SHI_OFI_LANE_CAP = 1024 };

/* What a lane has posted to one PE and not yet called back. */
struct shi_ofi_queue {
    struct shi_net_req *head, *tail;
    int n;
};

struct shi_ofi_lane {
    struct shi_net_lane pub;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct shi_ofi_queue *posted; /* [n_pes] */
    struct shi_net_req *pool; /* for operations without a request */
    struct shi_net_req *late; /* reads into device memory for which no read of it has been posted yet */
    int in_flight;
    int found; /* by the last read of its completion queue */
    struct shi_ofi_refused refused, refused_recvs; /* receives: of lane 0 */
};

extern struct shi_ofi_lane shi_ofi_lane[SHI_NET_LANES];
extern int shi_ofi_n_lanes;

/* Does libfabric lack room for an operation? Providers have several names for that. */
static inline int shi_ofi_is_busy(ssize_t rc)
{
    return rc == -FI_EAGAIN || rc == -FI_ENOMEM;
}

/* How many are open. */
static inline int shi_ofi_lanes(void)
{
    return __atomic_load_n(&shi_ofi_n_lanes, __ATOMIC_ACQUIRE); /* A1 */
}

/* Open lane 0; the others are opened with the same arguments, which stay. no_cuda_calls: transfers do not call CUDA. 0, or libfabric's
 * error with nothing left open. */
int shi_ofi_lanes_up(struct fid_domain *domain, struct fid_av *av, struct fi_info *info, int n_pes, int *no_cuda_calls);

/* Close the first n and forget all. */
void shi_ofi_lanes_down(int n);

/* Close all lanes that are open, with their queues. What they still had posted ends with -FI_ECANCELED. */
void shi_ofi_lanes_leave(void);

/* The lane's own address. 0, or libfabric's error. */
int shi_ofi_lane_name(const struct shi_ofi_lane *l, struct shi_net_address *out);

/* Lock all lanes, and let none be opened; the caller holds none. */
void shi_ofi_lanes_hold(void);
void shi_ofi_lanes_release(void);

/* Of shi_net_ops. */
struct shi_net_lane *shi_ofi_lane_at(int i);
size_t shi_ofi_lane_in_flight(const struct shi_net_lane *l, int pe, unsigned what);
int shi_ofi_lanes_overdue(unsigned checks, struct shi_net_overdue *out);
int shi_ofi_lanes_refused(unsigned checks, struct shi_net_overdue *out);

#endif
