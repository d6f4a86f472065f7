/* ongoing.c - see ongoing.h. */
#include "proxy/ongoing.h"

#include <string.h>

#include "host/net/node/progress.h"
#include "host/policy/limits.h"
#include "host/util/kept.h"

static struct shi_kept kept = {.most = SHI_KEPT_REQUESTS};

void *shi_proxy_ongoing_get(const struct shi_proxy_ongoing *o)
{
    struct shi_proxy_ongoing *all = shi_kept_get(&kept, o->bytes);
    if (all) {
        memset(all, 0, o->bytes);
        *all = *o;
    }
    return all;
}

void shi_proxy_ongoing_put(struct shi_proxy_ongoing *o)
{
    shi_kept_put(&kept, o, o->bytes);
}

void shi_proxy_ongoing_add(struct shi_proxy_ring *p, struct shi_proxy_ongoing *o)
{
    o->next = p->ongoing;
    p->ongoing = o;
}

void shi_proxy_ongoing_poll(struct shi_proxy_ring *p)
{
    if (!p->ongoing)
        return;
    shi_progress();
    for (struct shi_proxy_ongoing **at = &p->ongoing, *o; (o = *at);) {
        if (!o->advance(p, o)) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        if (o->op)
            shi_engine_complete(p->engine, o->op, 0);
        shi_proxy_ongoing_put(o);
    }
}

void shi_proxy_ongoing_down(struct shi_proxy_ring *p)
{
    for (struct shi_proxy_ongoing *o; (o = p->ongoing);) {
        p->ongoing = o->next;
        if (o->leave && o->leave(o))
            shi_proxy_ongoing_put(o);
    }
}

void shi_proxy_ongoing_clear(void)
{
    shi_kept_clear(&kept);
}
