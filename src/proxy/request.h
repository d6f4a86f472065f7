/* request.h - carry out a request of a kernel. */
#ifndef SHI_PROXY_REQUEST_H
#define SHI_PROXY_REQUEST_H

#include "proxy/result.h"

/* shi_engine_exec.issue; ring is a struct shi_proxy_ring. */
int shi_proxy_issue(void *ring, struct shi_engine_op *op);

#endif
