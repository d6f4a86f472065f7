/* late.c - see late.h. */
#include "proxy/late.h"

#include <errno.h>

#include "host/policy/limits.h"
#include "host/util/base.h"
#include "proxy/ongoing.h"

struct late {
    struct shi_proxy_ongoing ongoing;
    uint64_t due_ns;
    int (*perform)(void *ring, struct shi_engine_op *op);
};

/* 1: it has been performed. Whoever completes it then completes it for the engine. */
static int advance(const struct shi_proxy_ring *p, struct shi_proxy_ongoing *o)
{
    struct late *l = (struct late *)o;
    struct shi_engine_op *op = o->op;
    if (shi_now_ns() < l->due_ns)
        return 0;
    int err = l->perform((void *)p, op);
    if (err == -EAGAIN)
        return 0;
    if (err)
        o->op = NULL;
    if (err && err != -EINPROGRESS)
        shi_engine_complete(p->engine, op, err);
    return 1;
}

static int is_held(const struct shi_proxy_ring *p, uint32_t pe)
{
    for (const struct shi_proxy_ongoing *o = p->ongoing; o; o = o->next)
        if (o->advance == advance && o->op->request.pe == pe)
            return 1;
    return 0;
}

int shi_late_hold(struct shi_proxy_ring *p, struct shi_engine_op *op, int (*perform)(void *ring, struct shi_engine_op *op))
{
    uint32_t kind = op->request.op;
    if ((kind != SHI_OP_PUT && kind != SHI_OP_PUT_INLINE && kind != SHI_OP_GET) || is_held(p, op->request.pe))
        return 0;
    struct late *l = shi_proxy_ongoing_get(&(const struct shi_proxy_ongoing){.bytes = sizeof *l, .op = op, .advance = advance});
    if (!l)
        return 0;
    l->due_ns = shi_now_ns() + SHI_LATE_NS;
    l->perform = perform;
    shi_proxy_ongoing_add(p, &l->ongoing);
    return 1;
}
