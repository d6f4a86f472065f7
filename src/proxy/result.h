/*
 * result.h - a ring that the proxy serves, and its result slots: the results of fetching requests go back to kernels
 * through them. Requests of two laps of the ring may be in progress at a time and share a slot: the second result waits
 * until the owner of the first has taken it. The ring's owner table is in device/lib/ring.h.
 */
#ifndef SHI_PROXY_RESULT_H
#define SHI_PROXY_RESULT_H

#include "device/lib/request.h"
#include "proxy/engine.h"

struct shi_proxy_ongoing;

struct shi_proxy_ring {
    struct shi_ring *ring;              /* mapped by the host; kernels increment the head of device_ring */
    const struct shi_ring *device_ring; /* the same ring, or a copy in memory that the host cannot access */
    struct shi_engine *engine;
    struct shi_proxy_ongoing *ongoing;  /* see ongoing.h */
    int ends_waits; /* as told to the engine */
    struct shi_proxy_ring *next;
};

static inline struct shi_ring_result *shi_result_slot(const struct shi_proxy_ring *p, uint64_t ticket)
{
    return (struct shi_ring_result *)p->ring->results + (ticket & ((1ull << p->ring->log_n) - 1));
}

static inline int shi_result_free(const struct shi_proxy_ring *p, uint64_t ticket)
{
    return shi_load_acquire(&shi_result_slot(p, ticket)->tag) == 0; /* A5 */
}

/* Publish the result of the ticket; its slot must be free. */
static inline void shi_result_publish(const struct shi_proxy_ring *p, uint64_t ticket, uint64_t value)
{
    struct shi_ring_result *slot = shi_result_slot(p, ticket);
    slot->value = value;
    shi_store_release(&slot->tag, ticket + 1); /* R4 */
}

/* The same for a result of several words. */
static inline void shi_result_publish_words(const struct shi_proxy_ring *p, uint64_t ticket,
                                            const uint64_t word[SHI_RESULT_WORDS])
{
    struct shi_ring_result *slot = shi_result_slot(p, ticket);
    for (int i = 1; i < SHI_RESULT_WORDS; i++)
        slot->more[i - 1] = word[i];
    shi_result_publish(p, ticket, word[0]);
}

#endif
