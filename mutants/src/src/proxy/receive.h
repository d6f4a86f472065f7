/* receive.h - receives and probes of tagged messages by kernels. */
#ifndef SHI_PROXY_RECEIVE_H
#define SHI_PROXY_RECEIVE_H

#include "proxy/result.h"

/* Post the receive of this ticket. 0, -EINVAL or -ENOMEM. */
int shi_proxy_receive(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v);

/* Test for, or wait for, a receive that has no result slot of its own; its result, if any, goes to this ticket's slot. 0,
 * -EAGAIN, or -EINVAL for one that does not exist. */
int shi_proxy_receive_test(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v);

/* Probe. -EINPROGRESS, -EINVAL or -ENOMEM. */
int shi_proxy_probe(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v);

/* Deliver results of this ring that are there. */
void shi_proxy_receive_poll(struct shi_proxy_ring *p);

/* Cancel the receives that kernels have left. */
void shi_proxy_receive_down(struct shi_proxy_ring *p);

#endif
