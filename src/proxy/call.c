/*
 * call.c - global procedure calls of kernels. Only the proxy thread accesses the list.
 *
 * Any thread that makes progress may receive the reply; it then clears nbh.busy (R1 -> A1 of gpc_call.h). While a call is in
 * progress the proxy makes progress in each round, because the program's threads may be computing.
 */
#include "proxy/call.h"

#include <errno.h>
#include <stdlib.h>

#include "host/gpc/gpc.h"
#include "host/gpc/gpc_handle.h"
#include "host/net/progress.h"
#include "host/ops/dheap.h"
#include "host/util/log.h"

struct shi_proxy_call {
    struct shi_proxy_call *next;
    struct shi_engine_op *op;
    shmemx_gpc_nbh_t nbh;
    void *rhdr; /* in the kernel's memory */
    int to_slot;
    char reply[]; /* [rhlen] */
};

int shi_proxy_call(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    union shi_gpc_entry e;
    if (!shi_gpc_find(v->func, SHI_GPC_FUNC, &e))
        return -EINVAL;
    struct shi_proxy_call *c = calloc(1, sizeof *c + v->rhlen); /* bounded by the requests in progress */
    if (!c)
        return -ENOMEM;
    c->op = op;
    c->rhdr = (void *)v->local;
    c->to_slot = v->result == SHI_RESULT_SLOT;
    const struct shi_gpc_params w = {.team = &shi_team_world, .func = v->func, .callback = SHMEMX_GPC_NONE,
                                     .tree = SHMEMX_GPC_NONE, .plain = 1, .pe = (int)op->request.pe, .hdr = v->payload,
                                     .hlen = v->bytes, .rhdr = c->reply, .rhlen = v->rhlen, .nbh = &c->nbh, .nested = 1};
    int err = shi_gpc_start(&w);
    if (err) {
        free(c);
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
    if (c->nbh.rhsize)
        shi_dheap_move(c->rhdr, c->reply, c->nbh.rhsize);
    if (c->to_slot)
        shi_result_publish(p, c->op->ticket, (uint64_t)(int64_t)c->nbh.status);
    else if (c->nbh.status)
        shi_log_error("a global procedure call that a kernel started on PE %u has failed", c->op->request.pe);
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
        free(c);
    }
}
