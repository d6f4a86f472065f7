/* wrap_order.c - fence, quiet, barriers, locks, contexts and teams. */
#include "race/clock.h"
#include "race/node.h"
#include "race/sync.h"
#include "race/wrap.h"

RACE_WRAP(void, shmem_ctx_fence, (shmem_ctx_t ctx))
{
    RACE_OP(ctx, 0);
    pshmem_ctx_fence(ctx);
    if (op.u)
        race_stream_fence(op.u, op.s);
}

RACE_WRAP(void, shmem_fence, (void))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    pshmem_fence();
    if (op.u)
        race_stream_fence(op.u, op.s);
}

static void quiet(const struct race_op *op)
{
    if (op->u)
        race_stream_quiet(op->u, op->s);
}

RACE_WRAP(void, shmem_ctx_quiet, (shmem_ctx_t ctx))
{
    RACE_OP(ctx, 0);
    pshmem_ctx_quiet(ctx);
    quiet(&op);
}

RACE_WRAP(void, shmem_quiet, (void))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    pshmem_quiet();
    quiet(&op);
}

/* ---- barriers ------------------------------------------------------------------------------------------------------------ */

/* A barrier completes what was issued before: the quiet is part of what the others learn. */
#define BARRIER(GROUP, COMPLETES, CALL)                                                                              \
    RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                                   \
    struct race_group *g = op.u ? GROUP : NULL;                                                                      \
    if (COMPLETES)                                                                                                   \
        quiet(&op);                                                                                                  \
    if (g)                                                                                                           \
        race_group_give(op.u, g, -1);                                                                                \
    CALL;                                                                                                            \
    if (g)                                                                                                           \
        race_group_take(op.u, g, -1);

RACE_WRAP(void, shmem_barrier_all, (void)){BARRIER(race_group_of_team(SHMEM_TEAM_WORLD), 1, pshmem_barrier_all())}

RACE_WRAP(void, shmem_sync_all, (void)){BARRIER(race_group_of_team(SHMEM_TEAM_WORLD), 0, pshmem_sync_all())}

RACE_WRAP(int, shmem_team_sync, (shmem_team_t team))
{
    BARRIER(race_group_of_team(team), 0, int error = pshmem_team_sync(team))
    return error;
}

RACE_WRAP(void, shmem_barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync)){
    BARRIER(race_group_of_set(PE_start, logPE_stride, PE_size, pSync), 1,
            pshmem_barrier(PE_start, logPE_stride, PE_size, pSync))}

RACE_WRAP(void, shmem_sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    BARRIER(race_group_of_set(PE_start, logPE_stride, PE_size, pSync), 0, pshmem_sync(PE_start, logPE_stride, PE_size, pSync))
}

/* ---- locks --------------------------------------------------------------------------------------------------------------- */

static uint64_t lock_key(const long *lock)
{
    uint64_t offset = 0;
    int segment = race_node_find((uintptr_t)lock, &offset);
    return race_sync_key((uint64_t)(segment + 1), offset, 7);
}

RACE_WRAP(void, shmem_set_lock, (long *lock))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    pshmem_set_lock(lock);
    if (op.u)
        race_sync_take(op.u, lock_key(lock));
}

RACE_WRAP(int, shmem_test_lock, (long *lock))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    int busy = pshmem_test_lock(lock);
    if (op.u && !busy)
        race_sync_take(op.u, lock_key(lock));
    return busy;
}

/* Clearing a lock completes what was issued before. */
RACE_WRAP(void, shmem_clear_lock, (long *lock))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    quiet(&op);
    if (op.u)
        race_sync_give(op.u, lock_key(lock), NULL);
    pshmem_clear_lock(lock);
}

/* ---- contexts ------------------------------------------------------------------------------------------------------------ */

RACE_WRAP(int, shmem_ctx_create, (long options, shmem_ctx_t *ctx))
{
    int error = pshmem_ctx_create(options, ctx);
    if (!error && race_self())
        race_stream_create(*ctx, SHMEM_TEAM_WORLD);
    return error;
}

RACE_WRAP(int, shmem_team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
{
    int error = pshmem_team_create_ctx(team, options, ctx);
    if (!error && race_self())
        race_stream_create(*ctx, team);
    return error;
}

RACE_WRAP(void, shmem_ctx_destroy, (shmem_ctx_t ctx))
{
    struct race_thread *u = race_self();
    pshmem_ctx_destroy(ctx);
    if (u && ctx != SHMEM_CTX_INVALID)
        race_stream_destroy(u, ctx);
}

/* ---- teams --------------------------------------------------------------------------------------------------------------- */

RACE_WRAP(int, shmem_team_split_strided,
          (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config,
           long config_mask, shmem_team_t *new_team))
{
    int error = pshmem_team_split_strided(parent_team, start, stride, size, config, config_mask, new_team);
    if (race_self() && parent_team != SHMEM_TEAM_INVALID)
        race_group_split(parent_team, *new_team, race_sync_key((uint64_t)start, (uint64_t)stride, (uint64_t)size));
    return error;
}

/* x teams of different rows are different teams, and so are y teams of different columns. */
RACE_WRAP(int, shmem_team_split_2d,
          (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,
           shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team))
{
    int error = pshmem_team_split_2d(parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config,
                                     yaxis_mask, yaxis_team);
    if (race_self() && parent_team != SHMEM_TEAM_INVALID && !error) {
        int me = pshmem_team_my_pe(parent_team), n = pshmem_team_n_pes(parent_team), width = xrange < n ? xrange : n;
        race_group_split(parent_team, *xaxis_team, race_sync_key(8, (uint64_t)(me / width), 0));
        race_group_split(parent_team, *yaxis_team, race_sync_key(9, (uint64_t)(me % width), 0));
    }
    return error;
}

RACE_WRAP(int, shmemx_team_split_list,
          (shmem_team_t parent_team, const int *pes, int n_pes, const shmem_team_config_t *config, long config_mask,
           shmem_team_t *new_team))
{
    int error = pshmemx_team_split_list(parent_team, pes, n_pes, config, config_mask, new_team);
    if (race_self() && parent_team != SHMEM_TEAM_INVALID) {
        uint64_t list = 0;
        for (int i = 0; i < n_pes; i++)
            list = race_sync_key(list, (uint64_t)pes[i], 10);
        race_group_split(parent_team, *new_team, list);
    }
    return error;
}

RACE_WRAP(int, shmemx_team_split_color,
          (shmem_team_t parent_team, int color, int key, const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team))
{
    int error = pshmemx_team_split_color(parent_team, color, key, config, config_mask, new_team);
    if (race_self() && parent_team != SHMEM_TEAM_INVALID)
        race_group_split(parent_team, *new_team, race_sync_key((uint64_t)color, 0, 11));
    return error;
}

RACE_WRAP(int, shmemx_team_create,
          (const int *pes, int n_pes, long *psync, const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team))
{
    int error = pshmemx_team_create(pes, n_pes, psync, config, config_mask, new_team);
    if (race_self() && !error)
        race_group_create(pes, n_pes, *new_team);
    return error;
}

RACE_WRAP(int, shmemx_team_dup, (shmem_team_t team, shmem_team_t *new_team))
{
    int error = pshmemx_team_dup(team, new_team);
    if (race_self() && team != SHMEM_TEAM_INVALID)
        race_group_split(team, *new_team, 12);
    return error;
}

RACE_WRAP(void, shmem_team_destroy, (shmem_team_t team))
{
    pshmem_team_destroy(team);
    race_group_forget(team);
}
