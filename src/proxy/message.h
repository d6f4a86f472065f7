/* message.h - tagged messages of kernels: sends, which are complete when the source may be written again, receives and probes. */
#ifndef SHI_PROXY_MESSAGE_H
#define SHI_PROXY_MESSAGE_H

#include "proxy/result.h"

/* Start a send. 0: complete; -EINPROGRESS, or -ENOMEM. */
int shi_proxy_send(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v);

/* Post the receive of this ticket. 0, -EINVAL or -ENOMEM. */
int shi_proxy_receive(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v);

/* Test for, or wait for, a receive that has no result slot of its own; its result, if any, goes to this ticket's slot. 0,
 * -EAGAIN, or -EINVAL for one that does not exist. */
int shi_proxy_receive_test(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v);

/* Probe. -EINPROGRESS, -EINVAL or -ENOMEM. */
int shi_proxy_probe(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v);

#endif
