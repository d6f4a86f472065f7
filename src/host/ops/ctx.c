/*
 * ctx.c - contexts. The core orders loads and stores, so on one node a context has no state but its team; quiet and
 * fence order the calling thread's stores. Over the network a context that one thread uses at a time (SERIALIZED,
 * PRIVATE) gets its own lane while lanes are left: its quiet waits for its own operations only, without lock contention.
 */
#include "host/ops/ctx.h"

#include <errno.h>
#include <pthread.h>

#include "host/net/stream/lost.h"
#include "host/net/stream/stream.h"
#include "host/util/cancel.h"
#include "host/util/log.h"
#include "host/util/pool.h"

/* A destroyed context has n_pes = 0: every operation on it misses the fast table and is reported. Creation is not collective and may happen
 * on several threads: the pool's lock protects the teams' lists, too. The data path never takes it. */
static struct shi_pool pool = SHI_POOL_OF(struct shmem_ctx);

_Noreturn void shi_ctx_die(const char *routine, const struct shmem_ctx *c)
{
    if (c == &shi_ctx_small[0])
        shi_die(routine, "ctx is SHMEM_CTX_INVALID");
    if (shi_pool_state_of(&pool, c) == SHI_HANDLE_DEAD)
        shi_die(routine, "ctx = %p was destroyed, or its team was", (const void *)c);
    shi_die(routine, "ctx = %p is not a context", (const void *)c);
}

struct shmem_ctx *shi_ctx_checked(const char *routine, shmem_ctx_t handle)
{
    struct shmem_ctx *c = shi_ctx_of(handle);
    if ((uintptr_t)handle >= 2 && shi_pool_state_of(&pool, c) != SHI_HANDLE_LIVE)
        shi_ctx_die(routine, c);
    return c;
}

static struct shi_lane *lane_for(long options)
{
    static int made;
    if (!shi_world.lane || !(options & (SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE)))
        return shi_world.lane;
    SHI_UNCANCELLED;
    return shi_stream_lane(1 + __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) % 64);
}

int shi_ctx_create(const struct shmem_ctx *like, struct shmem_ctx **out)
{
    struct shmem_ctx filled = *like;
    filled.lane = lane_for(like->options);
    filled.dropped = filled.lane ? shi_stream_dropped(filled.lane) : 0;
    filled.creator = shi_world.check && like->options & SHMEM_CTX_PRIVATE ? shi_thread_id() : 0;
    if (shi_all_slow())
        filled.peer = SHI_CTX_DEFAULT->peer;
    pthread_mutex_lock(&pool.lock);
    struct shmem_ctx *c = shi_pool_take(&pool);
    if (c) {
        filled.next = *like->list;
        *c = filled;
        *like->list = c;
    }
    pthread_mutex_unlock(&pool.lock);
    *out = c;
    return c ? 0 : -ENOMEM;
}

void shi_ctx_session(struct shmem_ctx *c, int batching)
{
    if (c->lane && c->batching != batching)
        shi_stream_session(c->lane, batching ? 1 : -1);
    c->batching = batching;
}

void shi_ctx_destroy(struct shmem_ctx *c)
{
    pthread_mutex_lock(&pool.lock);
    struct shmem_ctx **at = c->list;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    shi_pool_give(&pool, c);
    pthread_mutex_unlock(&pool.lock);
}
