/*
 * ctx.c - contexts. Loads and stores are ordered by the core, so a context of one node carries no state of its own
 * beyond its team; quiet and fence order the calling thread's stores.
 */
#include "host/ops/ctx.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* Creation is not collective and may happen on several threads; the data path never takes this. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

int shi_ctx_create(struct shmem_team *t, long options, struct shmem_ctx **out)
{
    struct shmem_ctx *c = malloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    *c = (struct shmem_ctx){.peer = shi_world.check || shi_world.dev_private ? SHI_CTX_DEFAULT->peer : t->peer, .n_pes = (unsigned)t->n,
                            .options = options, .team = t};
    pthread_mutex_lock(&list_lock);
    c->next = t->ctxs;
    t->ctxs = c;
    pthread_mutex_unlock(&list_lock);
    *out = c;
    return 0;
}

void shi_ctx_destroy(struct shmem_ctx *c)
{
    pthread_mutex_lock(&list_lock);
    struct shmem_ctx **at = &c->team->ctxs;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pthread_mutex_unlock(&list_lock);
    free(c);
}
