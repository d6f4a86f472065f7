/* call.h - global procedure calls that kernels ask for: started, and completed when they have been answered. */
#ifndef SHI_PROXY_CALL_H
#define SHI_PROXY_CALL_H

#include "device/lib/request.h"
#include "proxy/request.h"

/* Start one. -EINPROGRESS, or -EINVAL for a handle that is none, or -ENOMEM. */
int shi_proxy_call(struct shi_proxy_place *p, struct shi_engine_op *op, const struct shi_request_view *v);

/* shi_engine_exec.poll: complete those that have been answered. place is a struct shi_proxy_place. */
void shi_proxy_call_poll(void *place);

#endif
