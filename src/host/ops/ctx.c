/*
 * ctx.c - contexts. Loads and stores are ordered by the core, so a context of one node carries no state of its own
 * beyond its team; quiet and fence order the calling thread's stores. Over the network a context that one thread uses
 * at a time (SERIALIZED, PRIVATE) gets a lane of its own as long as there are some: its quiet waits for nobody else's
 * operations, and no lock is contended.
 */
#include "host/ops/ctx.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "host/net/stream.h"
#include "host/ops/far.h"

/* Creation is not collective and may happen on several threads; the data path never takes this. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static struct shi_lane *lane_for(long options)
{
    static int made;
    if (!shi_world.lane || !(options & (SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE)))
        return shi_world.lane;
    return shi_stream_lane(1 + __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) % 64);
}

int shi_ctx_create(struct shmem_team *t, long options, struct shmem_ctx **out)
{
    struct shmem_ctx *c = malloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    *c = (struct shmem_ctx){.peer = shi_all_miss() ? SHI_CTX_DEFAULT->peer : t->peer, .n_pes = (unsigned)t->n,
                            .options = options, .team = t, .lane = lane_for(options)};
    pthread_mutex_lock(&list_lock);
    c->next = t->ctxs;
    t->ctxs = c;
    pthread_mutex_unlock(&list_lock);
    *out = c;
    return 0;
}

void shi_ctx_session(struct shmem_ctx *c, int batching)
{
    if (c->lane && c->batching != batching)
        shi_stream_session(c->lane, batching ? 1 : -1);
    c->batching = batching;
}

void shi_ctx_destroy(struct shmem_ctx *c)
{
    shi_ctx_session(c, 0);
    shi_far_quiet(c->lane); /* completes what was issued on it */
    pthread_mutex_lock(&list_lock);
    struct shmem_ctx **at = &c->team->ctxs;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pthread_mutex_unlock(&list_lock);
    free(c);
}
