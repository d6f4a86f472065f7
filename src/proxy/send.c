/*
 * send.c - tagged messages that kernels send. Only the proxy thread touches the list.
 *
 * A send ends in progress, on whatever thread; request.done tells (R1 -> A1 of tag.h). While one is under way each round
 * of the proxy makes progress, for the program may compute.
 */
#include "proxy/send.h"

#include <errno.h>
#include <stdlib.h>

#include "host/net/progress.h"
#include "host/tag/tag.h"

struct shi_proxy_message {
    struct shi_proxy_message *next;
    struct shi_engine_op *op; /* has the payload, if that is inline */
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
    struct shi_proxy_message *m = malloc(sizeof *m); /* as many as kernels wait for */
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
        free(m);
    }
}
