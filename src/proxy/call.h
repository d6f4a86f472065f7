/* call.h - global procedure calls that kernels ask for: started, and completed when they have been answered. */
#ifndef SHI_PROXY_CALL_H
#define SHI_PROXY_CALL_H

#include "proxy/result.h"

/* Start one. -EINPROGRESS, or -EINVAL for a handle that is none, or -ENOMEM. */
int shi_proxy_call(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v);

/* Complete those that have been answered. */
void shi_proxy_call_poll(struct shi_proxy_ring *p);

#endif
