/*
 * call.c - global procedure calls of kernels. Only the proxy thread accesses the list.
 *
 * Any thread that makes progress may receive the reply; it then clears nbh.busy (R1 -> A1 of gpc_call.h). While a call is in
 * progress the proxy makes progress in each round, because the program's threads may be computing.
 */
#include "proxy/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/gpc/gpc.h"
#include "host/gpc/gpc_handle.h"
#include "host/gpc/gpc_shape.h"
#include "host/net/node/progress.h"
#include "host/ops/dheap.h"
#include "host/policy/limits.h"
#include "host/util/kept.h"
#include "host/util/log.h"

static struct shi_kept kept = {.most = SHI_KEPT_REQUESTS}; /* memory of GPCs in progress; by the thread that polls */

struct shi_proxy_call {
    struct shi_proxy_call *next;
    struct shi_engine_op *op;
    shmemx_gpc_nbh_t nbh;
    void *rhdr; /* in the kernel's memory */
    int to_slot;
    size_t rhlen; /* of reply */
    char reply[]; /* [rhlen] */
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

int shi_proxy_call(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    union shi_gpc_entry e;
    if (!shi_gpc_find(v->func, SHI_GPC_FUNC, &e))
        return -EINVAL;
    struct shi_proxy_call *c = shi_kept_get(&kept, sizeof *c + v->rhlen); /* bounded by the requests in progress */
    if (!c)
        return -ENOMEM;
    memset(c, 0, sizeof *c + v->rhlen);
    c->op = op;
    c->rhdr = (void *)v->local;
    c->rhlen = v->rhlen;
    c->to_slot = v->result == SHI_RESULT_SLOT;
    struct shi_gpc_params w = {.team = &shi_team_world, .func = v->func, .callback = SHMEMX_GPC_NONE,
                                     .tree = SHMEMX_GPC_NONE, .plain = 1, .pe = (int)op->request.pe, .hdr = v->payload,
                                     .hlen = v->bytes, .rhdr = c->reply, .rhlen = v->rhlen, .nbh = &c->nbh, .nested = 1};
    int err = op->request.op == SHI_OP_GPC_CHAINED ? start_chained(&w, v) : shi_gpc_start(&w);
    if (err) {
        shi_kept_put(&kept, c, sizeof *c + v->rhlen);
        return err;
    }
    c->next = p->calls;
    p->calls = c;
    return -EINPROGRESS;
}

/* 0 while the result slot is not free. */
static int deliver(const struct shi_proxy_ring *p, const struct shi_proxy_call *c)
{
    if (c->to_slot && !shi_result_free(p, c->op->ticket))
        return 0;
    const uint64_t result[SHI_RESULT_WORDS] = {(uint64_t)(int64_t)c->nbh.status, (uint64_t)(int64_t)c->nbh.failed};
    if (c->nbh.rhsize)
        shi_dheap_move(c->rhdr, c->reply, c->nbh.rhsize);
    if (c->to_slot)
        shi_result_publish_words(p, c->op->ticket, result);
    else if (c->nbh.status)
        shi_log_error("a global procedure call that a kernel started has failed on PE %d", c->nbh.failed);
    return 1;
}

void shi_proxy_call_poll(struct shi_proxy_ring *p)
{
    shi_progress();
    for (struct shi_proxy_call **at = &p->calls, *c; (c = *at);) {
        if (__atomic_load_n(&c->nbh.busy, __ATOMIC_ACQUIRE) || !deliver(p, c)) { /* A1 */
            at = &c->next;
            continue;
        }
        *at = c->next;
        shi_engine_complete(p->engine, c->op, 0);
        shi_kept_put(&kept, c, sizeof *c + c->rhlen);
    }
}
