/*
 * wrap_gpc.c - global procedure calls: the functions run after what the root had done when it started the GPC, what the root does when it is
 * complete is after them, and their buffers are in use until then.
 *
 * All GPCs that a PE has started have one clock for their start and one for their functions' ends. The functions of a PE run one at a time and are
 * ordered. Each is registered as `run`, which finds the program's function by the handle.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "race/node.h"
#include "race/pending.h"
#include "race/report.h"
#include "race/shadow.h"
#include "race/sync.h"
#include "race/wrap.h"

static uint64_t start_key(int root)
{
    return race_sync_key((uint64_t)root, 0, 15);
}

static uint64_t end_key(int root)
{
    return race_sync_key((uint64_t)root, 0, 16);
}

/* ---- the functions ------------------------------------------------------------------------------------------------------- */

enum { HANDLES = 4096 };
static shmemx_gpc_func_t of_handle[HANDLES], registering; /* which may be called before the call that registers it returns */

static shmemx_gpc_func_t function_of(int handle)
{
    shmemx_gpc_func_t func = handle >= 0 && handle < HANDLES ? __atomic_load_n(&of_handle[handle], __ATOMIC_ACQUIRE) : NULL;
    return func ? func : __atomic_load_n(&registering, __ATOMIC_ACQUIRE);
}

static void forget(const void *at, size_t bytes)
{
    if (at && bytes)
        race_shadow_forget(race_self(), (uintptr_t)at, bytes);
}

/* The functions of a PE are one more thread of it, whichever thread runs them: what is before them is what a key says, not what that thread did. */
static struct race_thread *functions(void)
{
    static struct race_thread *all; /* one at a time */
    if (!all) {
        all = calloc(1, sizeof *all);
        if (!all || !(all->clock = calloc(1, race_dim.bytes)))
            abort();
        race_thread_enter(all);
        race_report_gpc(all->number);
    }
    return all;
}

/* The function uses the stack of the thread that runs it, below this frame, which the thread has used before and uses again. */
static void forget_stack(uintptr_t frame)
{
    enum { DEPTH = 1 << 18 };
    race_shadow_forget(race_self(), frame - DEPTH, DEPTH);
}

static int run(shmemx_gpc_call_t *call)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    shmemx_gpc_func_t func =
        function_of(call->stage == SHMEMX_GPC_WAIT && call->callback != SHMEMX_GPC_NONE ? call->callback : call->func);
    struct race_thread *caller = race_self();
    if (!caller)
        return func(call);
    struct race_thread *u = race_thread = functions();
    int root = pshmem_team_translate_pe(call->team, call->root, SHMEM_TEAM_WORLD);
    race_sync_take_from(u, race_sync_local(&registering));
    race_sync_take(u, start_key(root));
    race_sync_take(u, end_key(root));
    if (root != race_node.me) { /* buffers of the library, which it uses again */
        if (call->stage == SHMEMX_GPC_INIT)
            forget(call->hdr, call->hlen), forget(call->data, call->dlen), forget(call->rhdr, call->rhlen), forget(call->rdata, call->rdlen);
    }
    if (call->stage == SHMEMX_GPC_WAIT)
        forget(call->chdr, call->chlen), forget(call->cdata, call->cdlen);
    forget_stack(frame);
    int result = func(call);
    race_sync_give(u, end_key(root), NULL);
    race_thread = caller;
    forget_stack(frame);
    return result;
}

#define REGISTER(NAME)                                                                                                 \
    RACE_WRAP(int, NAME, (shmemx_gpc_func_t func))                                                                     \
    {                                                                                                                  \
        RACE_NEXT(int, NAME, (shmemx_gpc_func_t))                                                                      \
        if (!race_self() || !func)                                                                                     \
            return next(func);                                                                                         \
        race_sync_give_to(race_self(), race_sync_local(&registering));                                                 \
        __atomic_store_n(&registering, func, __ATOMIC_RELEASE);                                                        \
        int handle = next(run);                                                                                        \
        if (handle >= 0 && handle < HANDLES)                                                                           \
            __atomic_store_n(&of_handle[handle], func, __ATOMIC_RELEASE);                                              \
        return handle;                                                                                                 \
    }
REGISTER(shmemx_gpc_register)
REGISTER(shmemx_gpc_register_callback)

/* ---- the root ------------------------------------------------------------------------------------------------------------ */

struct buffers {
    const void *data;
    size_t dlen;
    void *rhdr;
    size_t rhlen;
    void *rdata;
    size_t rdlen;
};

static void end(struct race_thread *u, struct race_pending *p, const void *arg)
{
    (void)arg;
    race_pending_end(u, p, SIZE_MAX);
}

static void ends(struct race_thread *u, const shmemx_gpc_nbh_t *nbh)
{
    if (u) {
        race_sync_take(u, end_key(race_node.me));
        race_pending_done(u, nbh, nbh, 1, end, NULL);
    }
}

/* Arguments that the library refuses are not read. */
static int valid(size_t hlen, const struct buffers *b, int idlen, const int *idlst, const shmemx_gpc_nbh_t *nbh)
{
    static shmemx_gpc_limits_t most;
    if (!most.handles)
        shmemx_gpc_limits(&most);
    return hlen <= most.hlen && b->dlen <= most.dlen && b->rhlen <= most.rhlen && b->rdlen <= most.rdlen && idlen >= 0 &&
           idlen <= race_node.pes && (idlst || !idlen) && !(nbh && nbh->busy);
}

/* here: the functions run at the root, too, and use the replies' buffers. */
static void starts(const struct race_op *op, const void *hdr, size_t hlen, const struct buffers *b, const shmemx_gpc_nbh_t *nbh, int here)
{
    if (!op->u)
        return;
    race_op_reads(op, hdr, hlen, 0);
    if (nbh) {
        const struct race_piece piece[] = {{b->data, b->dlen}, {b->rhdr, b->rhlen}, {b->rdata, b->rdlen}};
        struct race_pending *sources = race_pending_new(op, RACE_SOURCE, piece, 1),
                            *replies = race_pending_new(op, RACE_DEST, piece + 1, here ? 0 : 2);
        ends(op->u, nbh); /* of a handle that the program has not waited for */
        race_pending_enter(nbh, nbh, sources);
        race_pending_enter(nbh, nbh, replies);
        race_pending_begin(op->u, sources);
        race_pending_begin(op->u, replies);
    } else
        race_op_reads(op, b->data, b->dlen, 0);
    race_sync_give(op->u, start_key(race_node.me), NULL);
}

/* A GPC that did not start, or that has ended, needs its buffers no longer. */
static void started(const struct race_op *op, const struct buffers *b, const shmemx_gpc_nbh_t *nbh, int error)
{
    if (!op->u)
        return;
    if (nbh) {
        if (error)
            ends(op->u, nbh);
        return;
    }
    race_sync_take(op->u, end_key(race_node.me));
    race_op_writes(op, b->rhdr, b->rhlen, 0);
    race_op_writes(op, b->rdata, b->rdlen, 0);
}

RACE_WRAP(int, shmemx_gpc_exec,
          (shmem_team_t team, int func, int pe, const void *hdr, size_t hlen, const void *data, size_t dlen, void *rhdr,
           size_t rhlen, void *rdata, size_t rdlen, shmemx_gpc_nbh_t *nbh))
{
    RACE_NEXT(int, shmemx_gpc_exec,
              (shmem_team_t, int, int, const void *, size_t, const void *, size_t, void *, size_t, void *, size_t, shmemx_gpc_nbh_t *))
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    const struct buffers b = {data, dlen, rhdr, rhlen, rdata, rdlen};
    if (!valid(hlen, &b, 0, NULL, nbh))
        op.u = NULL;
    starts(&op, hdr, hlen, &b, nbh, op.u && pe == pshmem_team_my_pe(team));
    int error = next(team, func, pe, hdr, hlen, data, dlen, rhdr, rhlen, rdata, rdlen, nbh);
    started(&op, &b, nbh, error);
    return error;
}

RACE_WRAP(int, shmemx_gpc_chained_exec,
          (shmem_team_t team, int func, int callback, const void *hdr, size_t hlen, const void *data, size_t dlen, void *rhdr,
           size_t rhlen, void *rdata, size_t rdlen, int idlen, const int *idlst, shmemx_gpc_nbh_t *nbh, int tree))
{
    RACE_NEXT(int, shmemx_gpc_chained_exec,
              (shmem_team_t, int, int, const void *, size_t, const void *, size_t, void *, size_t, void *, size_t, int, const int *,
               shmemx_gpc_nbh_t *, int))
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    const struct buffers b = {data, dlen, rhdr, rhlen, rdata, rdlen};
    if (!valid(hlen, &b, idlen, idlst, nbh))
        op.u = NULL;
    starts(&op, hdr, hlen, &b, nbh, 1);
    race_op_reads(&op, idlst, (size_t)idlen * sizeof *idlst, 0);
    int error = next(team, func, callback, hdr, hlen, data, dlen, rhdr, rhlen, rdata, rdlen, idlen, idlst, nbh, tree);
    started(&op, &b, nbh, error);
    return error;
}

RACE_WRAP(int, shmemx_gpc_test, (shmemx_gpc_nbh_t * nbh))
{
    RACE_NEXT(int, shmemx_gpc_test, (shmemx_gpc_nbh_t *))
    int yes = next(nbh);
    if (yes)
        ends(race_self(), nbh);
    return yes;
}

RACE_WRAP(int, shmemx_gpc_wait, (shmemx_gpc_nbh_t * nbh))
{
    RACE_NEXT(int, shmemx_gpc_wait, (shmemx_gpc_nbh_t *))
    int status = next(nbh);
    if (!nbh->busy)
        ends(race_self(), nbh);
    return status;
}
