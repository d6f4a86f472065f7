/* call.h - global procedure calls of kernels: started here, and completed when their replies have arrived. */
#ifndef SHI_PROXY_CALL_H
#define SHI_PROXY_CALL_H

#include "proxy/result.h"

/* Start a call. -EINPROGRESS, -EINVAL for an invalid function handle, or -ENOMEM. */
int shi_proxy_call(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v);

#endif
