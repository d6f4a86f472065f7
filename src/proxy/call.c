/*
 * call.c - global procedure calls of kernels. Any thread that makes progress may receive the reply; it then clears nbh.busy
 * (R1 -> A1 of gpc_call.h).
 */
#include "proxy/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/gpc/gpc.h"
#include "host/gpc/gpc_handle.h"
#include "host/gpc/gpc_shape.h"
#include "host/ops/dheap.h"
#include "host/util/log.h"
#include "proxy/ongoing.h"

struct call {
    struct shi_proxy_ongoing ongoing;
    shmemx_gpc_nbh_t nbh;
    void *rhdr; /* in the kernel's memory */
    int to_slot;
    char reply[]; /* [rhlen of the request] */
};

/* The list of a chained GPC: the request's, or all PEs; and its tree. 0, or -errno after one line. */
static int shape(struct shi_gpc_params *w, const struct shi_request_view *v, int *scratch)
{
    int *ids = scratch;
    if (v->ids)
        shi_dheap_memcpy(ids, v->ids, (size_t)w->idlen * sizeof *ids);
    for (int i = 0; !v->ids && i < w->idlen; i++)
        ids[i] = i;
    return shi_gpc_shape("shmemxg_gpc_chained_exec", w, ids, scratch + w->idlen);
}

static int start_chained(struct shi_gpc_params *w, const struct shi_request_view *v)
{
    union shi_gpc_entry e;
    if (v->callback != SHMEMX_GPC_NONE && !shi_gpc_find(v->callback, SHI_GPC_CALLBACK, &e))
        return -EINVAL;
    if (v->idlen > shi_world.n_pes)
        return -EINVAL;
    w->plain = 0;
    w->callback = v->callback;
    w->tree = v->tree;
    w->idlen = v->ids ? v->idlen : shi_world.n_pes;
    int *scratch = malloc(4 * (size_t)w->idlen * sizeof *scratch + 1);
    if (!scratch)
        return -ENOMEM;
    int err = shape(w, v, scratch);
    err = err ? err : shi_gpc_start(w);
    free(scratch);
    return err;
}

/* 0 while the reply has not come, or the result slot is not free. */
static int advance(const struct shi_proxy_ring *p, struct shi_proxy_ongoing *o)
{
    struct call *c = (struct call *)o;
    if (__atomic_load_n(&c->nbh.busy, __ATOMIC_ACQUIRE) || (c->to_slot && !shi_result_free(p, o->op->ticket))) /* A1 */
        return 0;
    const uint64_t result[SHI_RESULT_WORDS] = {(uint64_t)(int64_t)c->nbh.status, (uint64_t)(int64_t)c->nbh.failed};
    if (c->nbh.rhsize)
        shi_dheap_move(c->rhdr, c->reply, c->nbh.rhsize);
    if (c->to_slot)
        shi_result_publish_words(p, o->op->ticket, result);
    else if (c->nbh.status)
        shi_log_error("a global procedure call that a kernel started has failed on PE %d", c->nbh.failed);
    return 1;
}

int shi_proxy_call(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    union shi_gpc_entry e;
    if (!shi_gpc_find(v->func, SHI_GPC_FUNC, &e))
        return -EINVAL;
    struct call *c = shi_proxy_ongoing_get(&(const struct shi_proxy_ongoing){.bytes = sizeof *c + v->rhlen, .op = op, .advance = advance});
    if (!c)
        return -ENOMEM;
    c->rhdr = (void *)v->local;
    c->to_slot = v->result == SHI_RESULT_SLOT;
    struct shi_gpc_params w = {.team = &shi_team_world, .func = v->func, .callback = SHMEMX_GPC_NONE,
                                     .tree = SHMEMX_GPC_NONE, .plain = 1, .pe = (int)op->request.pe, .hdr = v->payload,
                                     .hlen = v->bytes, .rhdr = c->reply, .rhlen = v->rhlen, .nbh = &c->nbh, .nested = 1};
    int err = op->request.op == SHI_OP_GPC_CHAINED ? start_chained(&w, v) : shi_gpc_start(&w);
    if (err) {
        shi_proxy_ongoing_put(&c->ongoing);
        return err;
    }
    shi_proxy_ongoing_add(p, &c->ongoing);
    return -EINPROGRESS;
}
