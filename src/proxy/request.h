/* request.h - carry a kernel's request out. */
#ifndef SHI_PROXY_REQUEST_H
#define SHI_PROXY_REQUEST_H

#include "device/lib/request.h"
#include "proxy/engine.h"

struct shi_proxy_call;
struct shi_proxy_message;

/* Where the request came from. */
struct shi_proxy_place {
    struct shi_ring *ring;             /* as the host has it; kernels add to the head of theirs, which is this one or ... */
    const struct shi_ring *device_ring; /* ... in memory that the host cannot touch */
    struct shi_engine *engine;
    struct shi_proxy_call *calls; /* GPCs under way, see call.h */
    struct shi_proxy_message *messages; /* tagged messages, see send.h */
};

/* Give a result to the owner of the ticket, once the last one in its cell has been taken. */
int shi_proxy_cell_free(const struct shi_proxy_place *p, uint64_t ticket);
void shi_proxy_cell_give(const struct shi_proxy_place *p, uint64_t ticket, uint64_t value);

/* shi_engine_exec.issue; place is a struct shi_proxy_place. */
int shi_proxy_issue(void *place, struct shi_engine_op *op);

#endif
