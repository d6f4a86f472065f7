/* request.h - carry out a request of a kernel. */
#ifndef SHI_PROXY_REQUEST_H
#define SHI_PROXY_REQUEST_H

#include "proxy/result.h"

/* shi_engine_exec.issue; ring is a struct shi_proxy_ring. */
int shi_proxy_issue(void *ring, struct shi_engine_op *op);

/* shi_engine_exec.ended: count the request, and add it to the trace, from the first call of shi_proxy_issue to now. */
void shi_proxy_ended(void *ring, const struct shi_engine_op *op);

#endif
