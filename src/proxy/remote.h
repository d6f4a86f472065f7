/* remote.h - requests of kernels on PEs that only the network reaches. */
#ifndef SHI_PROXY_REMOTE_H
#define SHI_PROXY_REMOTE_H

#include "proxy/result.h"

/* Start a request. As shi_engine_exec.issue; -EFAULT when it names memory that is not symmetric. */
int shi_remote_issue(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v);

/* Go on with what has been started, and complete what has ended. */
void shi_remote_poll(void);

#endif
