/* send.h - tagged messages of kernels: started here, and completed when the source may be written again. */
#ifndef SHI_PROXY_SEND_H
#define SHI_PROXY_SEND_H

#include "proxy/result.h"

/* Start a send. 0: complete; -EINPROGRESS, or -ENOMEM. */
int shi_proxy_send(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v);

/* Complete the sends of this ring that are done. */
void shi_proxy_send_poll(struct shi_proxy_ring *p);

#endif
