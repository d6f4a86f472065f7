/* gpc.c - entry points of global procedure calls. They check all arguments before any message is sent. */
#include "host/api/def.h"

#include <errno.h>
#include <stdlib.h>

#include "host/coll/agree.h"
#include "host/gpc/gpc.h"
#include "host/gpc/gpc_handle.h"
#include "host/gpc/gpc_run.h"
#include "host/gpc/gpc_shape.h"
#include "host/ops/wait.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

/* ---- handles of functions ---------------------------------------------------------------------------------------- */

static int enter(const char *routine, enum shi_gpc_kind kind, union shi_gpc_entry entry)
{
    shi_need_up(routine);
    if (!entry.func)
        shi_die(routine, "the function is NULL");
    SHI_AGREE(routine, &shi_team_world, {0});
    if (shi_gpc_up())
        shi_die(routine, "active messages cannot start");
    int handle = shi_gpc_register(routine, kind, entry);
    if (handle < 0)
        shi_log_error("%s: all %d handles are in use", routine, SHI_GPC_HANDLES - SHI_GPC_FIRST_HANDLE);
    return handle;
}

int shmemx_gpc_register(shmemx_gpc_func_t func)
{
    return enter(__func__, SHI_GPC_FUNC, (union shi_gpc_entry){.func = func});
}

int shmemx_gpc_register_callback(shmemx_gpc_func_t callback)
{
    return enter(__func__, SHI_GPC_CALLBACK, (union shi_gpc_entry){.func = callback});
}

int shmemx_gpc_register_tree(shmemx_gpc_tree_t tree)
{
    return enter(__func__, SHI_GPC_TREE, (union shi_gpc_entry){.tree = tree});
}

int shmemx_gpc_release(int handle)
{
    shi_need_up(__func__);
    SHI_AGREE(__func__, &shi_team_world, {"handle", handle});
    int err = shi_gpc_release(__func__, handle);
    if (err)
        shi_log_error("%s: handle = %d is not a handle", __func__, handle);
    return err;
}

void shmemx_gpc_limits(shmemx_gpc_limits_t *limits)
{
    *limits = (shmemx_gpc_limits_t){.hlen = SHI_GPC_HLEN, .rhlen = SHI_GPC_HLEN, .dlen = SHI_GPC_DLEN,
                                    .rdlen = SHI_GPC_DLEN, .handles = SHI_GPC_HANDLES - SHI_GPC_FIRST_HANDLE,
                                    .in_flight = SHI_GPC_IN_FLIGHT};
}

/* ---- test and wait ----------------------------------------------------------------------------------------------- */

void shmemx_gpc_nbh_init(shmemx_gpc_nbh_t *nbh)
{
    *nbh = (shmemx_gpc_nbh_t){.failed = -1};
}

static int busy(const shmemx_gpc_nbh_t *nbh)
{
    return __atomic_load_n(&nbh->busy, __ATOMIC_ACQUIRE); /* A1 of gpc_call.h */
}

int shmemx_gpc_test(shmemx_gpc_nbh_t *nbh)
{
    shi_need_up(__func__);
    if (busy(nbh)) {
        shi_gpc_step();
        if (busy(nbh))
            shi_gpc_test_failed(nbh);
    }
    shi_tsan_acquire();
    return shi_wait_tested(!busy(nbh));
}

static int await(const shmemx_gpc_nbh_t *nbh)
{
    SHI_WAIT_LOOP(shi_gpc_wait_step, !busy(nbh), .routine = "shmemx_gpc_wait", .kind = SHI_FOR_OTHER,
                  .words = "a GPC has not been answered");
    shi_tsan_acquire();
    return nbh->status;
}

int shmemx_gpc_wait(shmemx_gpc_nbh_t *nbh)
{
    shi_need_up(__func__);
    int paused = busy(nbh) ? shi_gpc_pause(__func__) : 0;
    if (paused < 0)
        return paused;
    int status = await(nbh);
    if (paused)
        shi_gpc_resume();
    return status;
}

/* ---- exec -------------------------------------------------------------------------------------------------------- */

static int check_length(const char *routine, const char *name, const void *at, const char *length, size_t bytes,
                        size_t most)
{
    if (bytes <= most && (at || !bytes))
        return 0;
    if (bytes > most)
        shi_log_error("%s: %s = %zu is over the limit of %zu", routine, length, bytes, most);
    else
        shi_log_error("%s: %s = NULL with %s = %zu", routine, name, length, bytes);
    return -EINVAL;
}

static int check(const char *routine, const struct shi_gpc_params *w)
{
    union shi_gpc_entry e;
    if (!w->team) {
        shi_log_error("%s: team is SHMEM_TEAM_INVALID: this PE is no member", routine);
        return -EINVAL;
    }
    if (!shi_gpc_find(w->func, SHI_GPC_FUNC, &e)) {
        shi_log_error("%s: func = %d is not a handle of a function", routine, w->func);
        return -EINVAL;
    }
    if (w->callback != SHMEMX_GPC_NONE && !shi_gpc_find(w->callback, SHI_GPC_CALLBACK, &e)) {
        shi_log_error("%s: callback = %d is neither a handle of a callback nor SHMEMX_GPC_NONE", routine, w->callback);
        return -EINVAL;
    }
    if (w->nbh && busy(w->nbh)) {
        shi_log_error("%s: nbh = %p is in use by a GPC that has not completed", routine, (void *)w->nbh);
        return -EBUSY;
    }
    int bad = check_length(routine, "hdr", w->hdr, "hlen", w->hlen, SHI_GPC_HLEN);
    bad = bad ? bad : check_length(routine, "data", w->data, "dlen", w->dlen, SHI_GPC_DLEN);
    bad = bad ? bad : check_length(routine, "rhdr", w->rhdr, "rhlen", w->rhlen, SHI_GPC_HLEN);
    bad = bad ? bad : check_length(routine, "rdata", w->rdata, "rdlen", w->rdlen, SHI_GPC_DLEN);
    return bad;
}

/* Start, and wait if the program gave no handle. */
static int start(const char *routine, struct shi_gpc_params *w)
{
    shmemx_gpc_nbh_t own = {.failed = -1};
    int blocking = !w->nbh, paused = blocking ? shi_gpc_pause(routine) : 0;
    if (paused < 0)
        return paused;
    if (blocking)
        w->nbh = &own;
    w->nested = shi_wait_inside != NULL;
    shi_tsan_release();
    int err = shi_gpc_start(w);
    if (err)
        shi_log_error("%s: out of memory", routine);
    else if (blocking)
        err = await(&own);
    if (paused)
        shi_gpc_resume();
    return err;
}

int shmemx_gpc_exec(shmem_team_t team, int func, int pe, const void *hdr, size_t hlen, const void *data, size_t dlen,
                    void *rhdr, size_t rhlen, void *rdata, size_t rdlen, shmemx_gpc_nbh_t *nbh)
{
    shi_need_up(__func__);
    struct shi_gpc_params w = {.team = shi_team_of(__func__, "team", team), .func = func, .callback = SHMEMX_GPC_NONE,
                               .tree = SHMEMX_GPC_NONE, .plain = 1, .pe = pe, .hdr = hdr, .hlen = hlen, .data = data,
                               .dlen = dlen, .rhdr = rhdr, .rhlen = rhlen, .rdata = rdata, .rdlen = rdlen, .nbh = nbh};
    int err = check(__func__, &w);
    if (!err && (pe < 0 || pe >= w.team->n)) {
        shi_log_error("%s: pe = %d: not a PE of the team, which has PEs 0 to %d", __func__, pe, w.team->n - 1);
        err = -EINVAL;
    }
    return err ? err : start(__func__, &w);
}

int shmemx_gpc_chained_exec(shmem_team_t team, int func, int callback, const void *hdr, size_t hlen, const void *data,
                            size_t dlen, void *rhdr, size_t rhlen, void *rdata, size_t rdlen, int idlen,
                            const int *idlst, shmemx_gpc_nbh_t *nbh, int tree)
{
    shi_need_up(__func__);
    struct shi_gpc_params w = {.team = shi_team_of(__func__, "team", team), .func = func, .callback = callback,
                               .tree = tree, .hdr = hdr, .hlen = hlen, .data = data, .dlen = dlen, .rhdr = rhdr, .rhlen = rhlen,
                               .rdata = rdata, .rdlen = rdlen, .idlen = idlen, .nbh = nbh};
    int err = check(__func__, &w);
    if (err)
        return err;
    if (idlen < 0 || (idlen > 0 && !idlst)) {
        shi_log_error("%s: idlen = %d with idlst = %p", __func__, idlen, (const void *)idlst);
        return -EINVAL;
    }
    int few[3 * 64], *scratch = idlen <= 64 ? few : malloc(3 * (size_t)idlen * sizeof *scratch);
    if (!scratch) {
        shi_log_error("%s: out of memory for %d ids", __func__, idlen);
        return -ENOMEM;
    }
    err = shi_gpc_shape(__func__, &w, idlst, scratch);
    if (!err)
        err = start(__func__, &w);
    if (scratch != few)
        free(scratch);
    return err;
}
