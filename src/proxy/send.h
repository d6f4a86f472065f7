/* send.h - tagged messages that kernels send: started, and completed when the source may be written again. */
#ifndef SHI_PROXY_SEND_H
#define SHI_PROXY_SEND_H

#include "proxy/result.h"

/* Start one. 0: it is gone; -EINPROGRESS, or -ENOMEM. */
int shi_proxy_send(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v);

/* Complete those that are done. For shi_engine_exec.poll. */
void shi_proxy_send_poll(struct shi_proxy_ring *p);

#endif
