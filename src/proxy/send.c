/*
 * send.c - tagged messages of kernels. Only the proxy thread accesses the list.
 *
 * Any thread that makes progress may complete a send; it then sets request.done (R1 -> A1 of tag.h). While a send is in
 * progress the proxy makes progress in each round, because the program's threads may be computing.
 */
#include "proxy/send.h"

#include <errno.h>

#include "host/net/node/progress.h"
#include "host/policy/limits.h"
#include "host/tag/tag.h"
#include "host/util/kept.h"

static struct shi_kept kept = {.most = SHI_KEPT_REQUESTS}; /* memory of sends in progress; by the thread that polls */

struct shi_proxy_message {
    struct shi_proxy_message *next;
    struct shi_engine_op *op; /* holds an inline payload */
    struct shmemx_tag_request request;
};

int shi_proxy_send(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    const void *source = v->payload ? v->payload : (const void *)v->local;
    const struct shi_tag_data data = {.one = {(void *)source, v->bytes}, .n = 1, .bytes = v->bytes};
    int pe = (int)op->request.pe;
    shi_tag_start("shmemxg_tag_send");
    if (shi_tag_send_now(&shi_team_world, &data, v->tag, pe))
        return 0;
    struct shi_proxy_message *m = shi_kept_get(&kept, sizeof *m); /* bounded by the requests in progress */
    if (!m)
        return -ENOMEM;
    m->op = op;
    m->request.done = 0;
    m->request.is_send = 1;
    m->next = p->messages;
    p->messages = m;
    shi_tag_send(&m->request, &shi_team_world, &data, v->tag, pe, 0);
    return -EINPROGRESS;
}

void shi_proxy_send_poll(struct shi_proxy_ring *p)
{
    shi_progress();
    for (struct shi_proxy_message **at = &p->messages, *m; (m = *at);) {
        if (!shi_tag_is_done(&m->request)) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        shi_engine_complete(p->engine, m->op, 0);
        shi_kept_put(&kept, m, sizeof *m);
    }
}
