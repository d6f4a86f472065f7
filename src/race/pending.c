/* pending.c - see pending.h. */
#include "race/pending.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "race/clock.h"
#include "race/node.h"
#include "race/shadow.h"

struct race_pending *race_pending_new(const struct race_op *op, enum race_kind kind, const struct race_piece *piece, int n)
{
    struct race_pending *p = calloc(1, sizeof *p + (size_t)n * sizeof *piece);
    if (!p)
        abort();
    p->kind = kind, p->pc = op->pc, p->routine = op->routine, p->n = n;
    if (n)
        memcpy(p->piece, piece, (size_t)n * sizeof *piece);
    return p;
}

static unsigned stream_id(void)
{
    return (unsigned)RACE_REQUESTS << race_dim.bits | (unsigned)race_node.me;
}

static void access_all(struct race_thread *u, const struct race_pending *p, enum race_kind kind, int pending, size_t bytes)
{
    const struct race_access a = {.u = u,
                                  .bits = (uint64_t)kind << RACE_KIND_AT | (uint64_t)u->actor << RACE_ACTOR_AT |
                                          (pending ? (uint64_t)(stream_id() + 1) << RACE_STREAM_AT : 0),
                                  .when = u->epoch | (pending ? (uint64_t)p->epoch << 32 : 0),
                                  .pc = p->pc,
                                  .routine = p->routine};
    for (int i = 0; i < p->n && bytes; i++) {
        size_t part = p->piece[i].bytes < bytes ? p->piece[i].bytes : bytes;
        if (part)
            race_shadow_here(&a, (uintptr_t)p->piece[i].at, part);
        bytes -= part;
    }
}

void race_pending_begin(struct race_thread *u, struct race_pending *p)
{
    static uint32_t epochs;
    do
        p->epoch = __atomic_add_fetch(&epochs, 1, __ATOMIC_RELAXED);
    while (!p->epoch);
    access_all(u, p, p->kind, 1, SIZE_MAX);
}

void race_pending_end(struct race_thread *u, struct race_pending *p, size_t bytes)
{
    if (!p->epoch)
        return;
    for (int i = 0; i < p->n; i++)
        race_shadow_end(u, (uintptr_t)p->piece[i].at, p->piece[i].bytes, stream_id(), p->epoch);
    p->epoch = 0;
    access_all(u, p, p->kind == RACE_SOURCE ? RACE_LOAD : RACE_STORE, 0, bytes);
}

/* ---- by handle ----------------------------------------------------------------------------------------------------------- */

enum { HEADS = 1024 };
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct race_pending *head[HEADS];

static struct race_pending **head_of(const void *handle)
{
    return &head[((uintptr_t)handle >> 4 ^ (uintptr_t)handle >> 14) % HEADS];
}

void race_pending_enter(const void *handle, const void *at, struct race_pending *p)
{
    p->handle = handle, p->at = at;
    pthread_mutex_lock(&changing);
    p->next = *head_of(handle);
    *head_of(handle) = p;
    pthread_mutex_unlock(&changing);
}

void race_pending_done(struct race_thread *u, const void *handle, const void *at, int gone,
                       void (*ends)(struct race_thread *u, struct race_pending *p, const void *arg), const void *arg)
{
    int exact = 0;
    pthread_mutex_lock(&changing);
    for (struct race_pending *p = *head_of(handle); p && !exact; p = p->next)
        exact = p->handle == handle && p->at == at;
    for (struct race_pending **link = head_of(handle), *p; (p = *link);) {
        if (p->handle != handle || (exact && p->at != at)) {
            link = &p->next;
            continue;
        }
        if (p->epoch)
            ends(u, p, arg);
        if (!gone) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        free(p);
    }
    pthread_mutex_unlock(&changing);
}

struct race_pending *race_pending_idle(const void *handle)
{
    pthread_mutex_lock(&changing);
    struct race_pending *p = *head_of(handle);
    while (p && !(p->handle == handle && p->persistent && !p->epoch))
        p = p->next;
    pthread_mutex_unlock(&changing);
    return p;
}
