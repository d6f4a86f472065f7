/* request.h - carry a kernel's request out. */
#ifndef SHI_PROXY_REQUEST_H
#define SHI_PROXY_REQUEST_H

#include "proxy/engine.h"

/* Where the request came from. */
struct shi_proxy_place {
    struct shi_ring *ring;
};

/* shi_engine_exec.issue; place is a struct shi_proxy_place. */
int shi_proxy_issue(void *place, struct shi_engine_op *op);

#endif
