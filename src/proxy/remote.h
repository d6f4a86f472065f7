/* remote.h - requests of kernels on PEs that only the network reaches. */
#ifndef SHI_PROXY_REMOTE_H
#define SHI_PROXY_REMOTE_H

#include "proxy/result.h"

/* Start a request with valid arguments. Returns as shi_engine_exec.issue; -EFAULT: target or signal is not symmetric. */
int shi_remote_issue(struct shi_proxy_ring *ring, struct shi_engine_op *request, const struct shi_request_view *v);

/* Advance the requests in progress, of all rings, and complete those that have ended. Returns what shi_progress handled, or -1:
 * there is none, and the network was not polled. */
int shi_remote_poll(void);

/* In shmem_finalize, when all requests are complete: free what they used. */
void shi_remote_leave(void);

#endif
