/*
 * pool.h - objects behind handles. Memory of objects is never unmapped, and a freed object is all zero, so the use of a
 * stale handle is detected and does not crash. The oldest freed object is reused first, and only when more than
 * SHI_POOL_DEAD are free.
 */
#ifndef SHI_POOL_H
#define SHI_POOL_H

#include <pthread.h>
#include <stddef.h>

#include "host/util/base.h"

enum { SHI_POOL_DEAD = 256, SHI_POOL_CHUNK = 64 };

enum shi_pool_state { SHI_HANDLE_NONE, SHI_HANDLE_DEAD, SHI_HANDLE_LIVE };

struct shi_pool {
    size_t bytes; /* of an object, a multiple of SHI_LINE_BYTES */
    pthread_mutex_t lock;
    struct shi_pool_chunk *chunks; /* newest first */
    int used;                      /* objects taken from the newest chunk */
    int n_dead;
    struct shi_pool_item *oldest, *newest; /* list of freed objects */
};

#define SHI_POOL_OF(TYPE) {.bytes = shi_pool_bytes(sizeof(TYPE)), .lock = PTHREAD_MUTEX_INITIALIZER}
#define shi_pool_bytes(N) (((N) + SHI_LINE_BYTES - 1) / SHI_LINE_BYTES * SHI_LINE_BYTES)

/* A zeroed object, or NULL without memory. Any thread. Pair: shi_pool_put. */
void *shi_pool_get(struct shi_pool *p);
void shi_pool_put(struct shi_pool *p, void *object);

/* The same by a caller that holds p->lock, which then also protects a list of the objects. */
void *shi_pool_take(struct shi_pool *p);
void shi_pool_give(struct shi_pool *p, void *object);

/* State of the object that a handle refers to; SHI_HANDLE_NONE for a value that is no handle. Any thread. */
enum shi_pool_state shi_pool_state_of(const struct shi_pool *p, const void *handle);

#endif
