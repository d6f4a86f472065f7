/*
 * wrap_nb.c - collectives of shmemx_coll.h: whose call a result is after, at the return of a blocking one, when the request of another is seen
 * to be complete. Their buffers are not recorded: the results are the library's.
 */
#include "race/wrap_nb.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "race/wrap.h"

/* A request that has not been seen complete. */
struct pending {
    uint64_t serial; /* of the call */
    int root;
    struct race_group *g; /* a copy, which counts calls as they were then */
};
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct pending *pending;
static size_t n_pending, room;

static void remember(const shmemx_req_t *req, const struct race_group *g, int root)
{
    size_t bytes = sizeof *g + (size_t)g->n * sizeof *g->pe;
    struct race_group *copy = req->wait_ ? malloc(bytes) : NULL;
    if (!req->wait_) /* no elements: nobody waits for anybody */
        return;
    pthread_mutex_lock(&changing);
    if (n_pending == room) {
        room = 2 * room + 16;
        pending = realloc(pending, room * sizeof *pending);
    }
    if (!copy || !pending)
        abort();
    memcpy(copy, g, bytes);
    pending[n_pending++] = (struct pending){req->wait_, root, copy};
    pthread_mutex_unlock(&changing);
}

void race_nb_ends(struct race_thread *u, const shmemx_req_t *req)
{
    struct pending p = {.g = NULL};
    pthread_mutex_lock(&changing);
    for (size_t i = 0; i < n_pending && !p.g; i++)
        if (pending[i].serial == req->wait_) {
            p = pending[i];
            pending[i] = pending[--n_pending];
        }
    pthread_mutex_unlock(&changing);
    if (p.g && u)
        race_group_take_nb(u, p.g, p.root);
    free(p.g);
}

/* A barrier completes what was issued before: the quiet is part of what the others learn. */
#define NB(COMPLETES, CALL)                                                                                          \
    RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                                   \
    struct race_group *g = op.u ? race_group_of_team(team) : NULL;                                                   \
    if ((COMPLETES) && op.u)                                                                                         \
        race_stream_quiet(op.u, op.s);                                                                               \
    if (g)                                                                                                           \
        race_group_give_nb(op.u, g, PE_root);                                                                        \
    int error = CALL;                                                                                                \
    if (g)                                                                                                           \
        remember(req, g, PE_root);                                                                                   \
    return error;
#define BLOCKING(CALL)                                                                                               \
    RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                                   \
    struct race_group *g = op.u ? race_group_of_team(team) : NULL;                                                   \
    if (g)                                                                                                           \
        race_group_give(op.u, g, -1);                                                                                \
    int error = CALL;                                                                                                \
    if (g)                                                                                                           \
        race_group_take(op.u, g, -1);                                                                                \
    return error;

static const int PE_root = -1; /* of calls without a root; a parameter has the same name where there is one */

/* Arguments behind the team. */
#define ARGS_broadcast dest, source, nelems, PE_root
#define ARGS_collect dest, source, nelems
#define ARGS_fcollect ARGS_collect
#define ARGS_alltoall ARGS_collect
#define ARGS_alltoalls dest, source, dst, sst, nelems
#define ARGS_alltoallv dest, dst_offsets, dst_counts, source, src_offsets, src_counts
#define ARGS_sum_inscan ARGS_collect
#define ARGS_sum_exscan ARGS_collect
#define REDUCE_ARGS dest, source, nreduce
#define ARGS_sum_reduce REDUCE_ARGS
#define ARGS_prod_reduce REDUCE_ARGS
#define ARGS_max_reduce REDUCE_ARGS
#define ARGS_min_reduce REDUCE_ARGS
#define ARGS_and_reduce REDUCE_ARGS
#define ARGS_or_reduce REDUCE_ARGS
#define ARGS_xor_reduce REDUCE_ARGS
#define ARGS_minloc_reduce REDUCE_ARGS
#define ARGS_maxloc_reduce REDUCE_ARGS
#define ARGS_sum_reducescatter REDUCE_ARGS
#define ARGS_prod_reducescatter REDUCE_ARGS
#define ARGS_max_reducescatter REDUCE_ARGS
#define ARGS_min_reducescatter REDUCE_ARGS
#define ARGS_and_reducescatter REDUCE_ARGS
#define ARGS_or_reducescatter REDUCE_ARGS
#define ARGS_xor_reducescatter REDUCE_ARGS
#define COUNTS_ARGS dest, source, counts
#define ARGS_sum_reducescatterv COUNTS_ARGS
#define ARGS_prod_reducescatterv COUNTS_ARGS
#define ARGS_max_reducescatterv COUNTS_ARGS
#define ARGS_min_reducescatterv COUNTS_ARGS
#define ARGS_and_reducescatterv COUNTS_ARGS
#define ARGS_or_reducescatterv COUNTS_ARGS
#define ARGS_xor_reducescatterv COUNTS_ARGS

#define WRAP_NB(R, NAME, N, T, PARAMS)                                                                               \
    RACE_WRAP(R, shmemx_##N##NAME##_nb, (SHMEM_UNWRAP PARAMS, shmemx_req_t * req))                                   \
    {                                                                                                                \
        NB(0, pshmemx_##N##NAME##_nb(team, ARGS##NAME, req))                                                         \
    }
#define WRAP_NEW(R, NAME, N, T, PARAMS)                                                                              \
    RACE_WRAP(R, shmemx_##N##NAME, PARAMS)                                                                           \
    {                                                                                                                \
        BLOCKING(pshmemx_##N##NAME(team, ARGS##NAME))                                                                \
    }
SHMEMX_FOR_EACH_NB_COLL(WRAP_NB)
SHMEMX_FOR_EACH_NEW_COLL(WRAP_NEW)

RACE_WRAP(int, shmemx_sync_nb, (shmem_team_t team, shmemx_req_t *req))
{
    NB(0, pshmemx_sync_nb(team, req))
}

RACE_WRAP(int, shmemx_barrier_nb, (shmem_team_t team, shmemx_req_t *req))
{
    NB(1, pshmemx_barrier_nb(team, req))
}

#define MEM(NAME, PARAMS)                                                                                            \
    RACE_WRAP(int, shmemx_##NAME##mem_nb, (SHMEM_UNWRAP PARAMS, shmemx_req_t *req))                                  \
    {                                                                                                                \
        NB(0, pshmemx_##NAME##mem_nb(team, ARGS_##NAME, req))                                                        \
    }
MEM(broadcast, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))
MEM(collect, (shmem_team_t team, void *dest, const void *source, size_t nelems))
MEM(fcollect, (shmem_team_t team, void *dest, const void *source, size_t nelems))
MEM(alltoall, (shmem_team_t team, void *dest, const void *source, size_t nelems))
MEM(alltoalls, (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
#define VECTOR_PARAMS                                                                                                \
    (shmem_team_t team, void *dest, const size_t *dst_offsets, const size_t *dst_counts, const void *source,         \
     const size_t *src_offsets, const size_t *src_counts)
MEM(alltoallv, VECTOR_PARAMS)
RACE_WRAP(int, shmemx_alltoallvmem, VECTOR_PARAMS)
{
    BLOCKING(pshmemx_alltoallvmem(team, ARGS_alltoallv))
}
