/*
 * ongoing.h - requests of kernels that go on after they were issued: GPCs, tagged messages, receives, probes. The proxy advances them in each
 * round, and makes progress then, because the program's threads may be computing. Only the thread that polls accesses them.
 */
#ifndef SHI_PROXY_ONGOING_H
#define SHI_PROXY_ONGOING_H

#include "proxy/result.h"

/* First in the structure of each kind. */
struct shi_proxy_ongoing {
    struct shi_proxy_ongoing *next;
    size_t bytes;             /* of the structure */
    struct shi_engine_op *op; /* complete when this has ended; NULL: the engine has completed it */
    int (*advance)(const struct shi_proxy_ring *p, struct shi_proxy_ongoing *o); /* 1: it has ended, and its result is delivered */
    int (*leave)(struct shi_proxy_ongoing *o); /* at the end; NULL: nothing is left. 1: nothing refers to it any more */
};

/* A structure of so many bytes, zero behind its first member; NULL without memory. They are bounded by the requests of kernels. */
void *shi_proxy_ongoing_get(const struct shi_proxy_ongoing *o);
void shi_proxy_ongoing_put(struct shi_proxy_ongoing *o);

/* It begins. */
void shi_proxy_ongoing_add(struct shi_proxy_ring *p, struct shi_proxy_ongoing *o);

/* Advance all of this ring. */
void shi_proxy_ongoing_poll(struct shi_proxy_ring *p);

/* The ring ends. */
void shi_proxy_ongoing_down(struct shi_proxy_ring *p);

/* All rings have ended: free unused memory. */
void shi_proxy_ongoing_clear(void);

#endif
