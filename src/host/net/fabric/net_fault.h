/* net_fault.h - fault injection for tests (SHMEM_TEST_NET_FAULT): a libfabric endpoint that fails, delays and reorders. */
#ifndef SHI_NET_FAULT_H
#define SHI_NET_FAULT_H

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include "host/net/fabric/net.h"

/* The faults in `text`, "" for none. 0, or -EINVAL and in why[bytes] one line. */
int shi_net_fault_set(const char *text, char *why, size_t bytes);

/* Interpose on the calls of this domain, and of this endpoint with its queue. Does nothing without faults. */
void shi_net_fault_domain(struct fid_domain *domain);
void shi_net_fault_on(struct fid_ep *ep, struct fid_cq *cq);

/* All of them are closed. */
void shi_net_fault_leave(void);

/* Limits as the faults leave them. */
void shi_net_fault_limits(struct shi_net_limits *limits);

#endif
