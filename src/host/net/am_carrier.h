/*
 * am_carrier.h - the contract between active messages and what carries them: shared memory on a node, the network's
 * stream to other nodes. am.c has seen to turns, to one caller at a time for each PE, and to one poll at a time.
 */
#ifndef SHI_AM_CARRIER_H
#define SHI_AM_CARRIER_H

#include "host/net/am.h"

struct shi_am_carrier {
    /* begin and end come in pairs with the PE's lock held between them. */
    void *(*begin)(int pe, size_t bytes);
    void (*end)(int pe, enum shi_am_id id, size_t bytes);
    int (*poll)(int budget);       /* hand at most so many messages to shi_am_deliver; how many, and other progress */
    size_t eager_bytes;            /* longer data is better fetched than sent */
    int (*expose)(int pe, const void *addr, size_t bytes, struct shi_am_src *out);
    void (*withdraw)(int pe, const struct shi_am_src *src);
    int (*fetch)(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f);
};

/* Who carries messages to PEs of other nodes, or, with all, to all other PEs. Before shi_am_start; forgotten by
 * shi_am_down. */
void shi_am_set_far(const struct shi_am_carrier *carrier, int all);

/* Call the handler. Only from poll. */
void shi_am_deliver(int pe, enum shi_am_id id, const void *msg, size_t bytes);

/* The same from elsewhere, where no earlier message waits. 1, or 0 and nothing done: somebody polls, or shi_am_start has not
 * been called. */
int shi_am_deliver_now(int pe, enum shi_am_id id, const void *msg, size_t bytes);

/* The node's. up: 0 or -errno after one logged line; is_near: does it carry to PE pe? */
extern const struct shi_am_carrier shi_am_shm;
int shi_am_shm_up(const struct shi_am_world *w);
int shi_am_shm_is_near(int pe);
void shi_am_shm_drop(const struct shi_am_world *w); /* what has arrived, whether up or not; see shi_am_down */

#endif
