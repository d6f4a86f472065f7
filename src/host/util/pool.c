/*
 * pool.c - objects behind handles, in chunks that are never freed.
 *
 *   word               written by     read by        order
 *   chunks, next       under lock     lock, looks    R1 -> A1 a chunk is complete before it is visible
 *   item.live          under lock     lock, looks    relaxed: a handle reaches a thread from the thread that created it
 *   all others         under lock     lock           none
 */
#include "host/util/pool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct shi_pool_item {
    void *object;
    int live;
    struct shi_pool_item *next; /* freed after this one */
};

struct shi_pool_chunk {
    struct shi_pool_chunk *next;
    char *object;
    struct shi_pool_item item[SHI_POOL_CHUNK];
};

/* The object's item, or NULL. */
static struct shi_pool_item *find(const struct shi_pool *p, const void *object)
{
    struct shi_pool_chunk *c = __atomic_load_n(&p->chunks, __ATOMIC_ACQUIRE); /* A1 */
    for (; c; c = c->next) {
        size_t off = (uintptr_t)object - (uintptr_t)c->object;
        if (off < p->bytes * SHI_POOL_CHUNK && off % p->bytes == 0)
            return &c->item[off / p->bytes];
    }
    return NULL;
}

static int grow(struct shi_pool *p)
{
    struct shi_pool_chunk *c = calloc(1, sizeof *c);
    char *objects = aligned_alloc(SHI_LINE_BYTES, p->bytes * SHI_POOL_CHUNK);
    if (!c || !objects) {
        free(c);
        free(objects);
        return 0;
    }
    memset(objects, 0, p->bytes * SHI_POOL_CHUNK);
    c->object = objects;
    for (int i = 0; i < SHI_POOL_CHUNK; i++)
        c->item[i].object = objects + (size_t)i * p->bytes;
    c->next = p->chunks;
    p->used = 0;
    __atomic_store_n(&p->chunks, c, __ATOMIC_RELEASE); /* R1 */
    return 1;
}

void *shi_pool_take(struct shi_pool *p)
{
    struct shi_pool_item *i = p->oldest;
    if (p->n_dead > SHI_POOL_DEAD) {
        p->oldest = i->next;
        p->n_dead--;
    } else {
        if ((!p->chunks || p->used == SHI_POOL_CHUNK) && !grow(p))
            return NULL;
        i = &p->chunks->item[p->used++];
    }
    __atomic_store_n(&i->live, 1, __ATOMIC_RELAXED);
    return i->object;
}

void *shi_pool_get(struct shi_pool *p)
{
    pthread_mutex_lock(&p->lock);
    void *object = shi_pool_take(p);
    pthread_mutex_unlock(&p->lock);
    return object;
}

void shi_pool_give(struct shi_pool *p, void *object)
{
    memset(object, 0, p->bytes);
    struct shi_pool_item *i = find(p, object);
    assert(i);
    __atomic_store_n(&i->live, 0, __ATOMIC_RELAXED);
    i->next = NULL;
    if (p->n_dead++)
        p->newest->next = i;
    else
        p->oldest = i;
    p->newest = i;
}

void shi_pool_put(struct shi_pool *p, void *object)
{
    pthread_mutex_lock(&p->lock);
    shi_pool_give(p, object);
    pthread_mutex_unlock(&p->lock);
}

enum shi_pool_state shi_pool_state_of(const struct shi_pool *p, const void *handle)
{
    const struct shi_pool_item *i = find(p, handle);
    if (!i)
        return SHI_HANDLE_NONE;
    if (__atomic_load_n(&i->live, __ATOMIC_RELAXED))
        return SHI_HANDLE_LIVE;
    return SHI_HANDLE_DEAD;
}
