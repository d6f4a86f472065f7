/*
 * receive.c - receives and probes of tagged messages by kernels. Only the thread that polls accesses the lists.
 *
 * A receive is posted as the host's own are, and stays in the list until a kernel has asked for its result and the result is
 * delivered. The engine counts it as complete once it is posted, so that no fence or quiet waits for a message. Any thread
 * that makes progress may complete it; it then sets request.done (R1 -> A1 of tag.h). While the lists are not empty the proxy
 * makes progress in each round, because the program's threads may be computing.
 *
 * A probe looks at the messages that have arrived and, where a sender keeps messages, asks it (tag_claim.c) and looks for the
 * answer in each round. It never waits. Its request is in progress meanwhile; the sender's progress engine answers.
 */
#include "proxy/receive.h"

#include <errno.h>
#include <string.h>

#include "host/net/node/progress.h"
#include "host/policy/limits.h"
#include "host/tag/tag.h"
#include "host/util/kept.h"

static struct shi_kept kept = {.most = SHI_KEPT_REQUESTS}; /* memory of receives and probes in progress; by the thread that polls */

struct shi_proxy_receive {
    struct shi_proxy_receive *next;
    uint64_t ticket;
    int asked; /* the result goes to the slot of `answer` */
    uint64_t answer;
    struct shmemx_tag_request request;
};

struct shi_proxy_probe {
    struct shi_proxy_probe *next;
    struct shi_engine_op *op;
    struct shi_tag_params params;
    struct shi_tag_search search;
    int ended, found;
    shmemx_tag_status_t status;
};

/* What a receive or a probe accepts. 0 or -EINVAL. */
static int accepts(const struct shi_request_view *v, struct shi_tag_params *out)
{
    int any = v->sender == SHI_TAG_ANY;
    if (!any && v->sender >= (uint64_t)shi_world.n_pes)
        return -EINVAL;
    out->pe = any ? SHI_MATCH_ANY : (int)v->sender;
    out->key = (struct shi_match_key){.tag = v->tag, .mask = v->mask, .team = shi_team_world.number, .source = out->pe};
    return 0;
}

/* The slot of the ticket is free. status: NULL: there is no message. */
static void publish(const struct shi_proxy_ring *p, uint64_t ticket, const shmemx_tag_status_t *status)
{
    const uint64_t none[SHI_RESULT_WORDS] = {0, 0, SHI_TAG_ANY};
    const uint64_t result[SHI_RESULT_WORDS] = {status ? status->bytes : 0, status ? status->tag : 0,
                                               status ? (uint64_t)status->source : 0};
    shi_result_publish_words(p, ticket, status ? result : none);
}

int shi_proxy_receive(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v)
{
    const struct shi_tag_data data = {.one = {(void *)v->local, v->bytes}, .n = 1, .bytes = v->bytes};
    struct shi_tag_params params;
    if (accepts(v, &params))
        return -EINVAL;
    struct shi_proxy_receive *r = shi_kept_get(&kept, sizeof *r); /* bounded by the receives that kernels have not completed */
    if (!r)
        return -ENOMEM;
    memset(r, 0, sizeof *r);
    r->ticket = r->answer = ticket;
    r->asked = v->result == SHI_RESULT_SLOT;
    r->next = p->receives;
    p->receives = r;
    shi_tag_start("shmemxg_tag_recv");
    shi_tag_recv(&r->request, &params, &data);
    return 0;
}

int shi_proxy_receive_test(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v)
{
    struct shi_proxy_receive *r = p->receives;
    while (r && (r->ticket != v->ticket || r->asked))
        r = r->next;
    if (!r)
        return -EINVAL;
    if (!v->wait && !shi_tag_is_done(&r->request)) {
        if (!shi_result_free(p, ticket))
            return -EAGAIN;
        publish(p, ticket, NULL);
        return 0;
    }
    r->asked = 1;
    r->answer = ticket;
    return 0;
}

int shi_proxy_probe(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    struct shi_tag_params params;
    if (accepts(v, &params))
        return -EINVAL;
    struct shi_proxy_probe *x = shi_kept_get(&kept, sizeof *x); /* bounded by the requests in progress */
    if (!x)
        return -ENOMEM;
    memset(x, 0, sizeof *x);
    x->op = op;
    x->params = params;
    x->next = p->probes;
    p->probes = x;
    shi_tag_start("shmemxg_tag_probe");
    return -EINPROGRESS;
}

/* Advance a probe. 1: its result is delivered. */
static int advance(const struct shi_proxy_ring *p, struct shi_proxy_probe *x)
{
    if (!x->ended) {
        x->found = shi_tag_probe_step(&x->search, &x->params, &x->status);
        x->ended = x->found != -EAGAIN;
    }
    if (!x->ended || !shi_result_free(p, x->op->ticket))
        return 0;
    publish(p, x->op->ticket, x->found ? &x->status : NULL);
    return 1;
}

void shi_proxy_receive_poll(struct shi_proxy_ring *p)
{
    shi_progress();
    for (struct shi_proxy_receive **at = &p->receives, *r; (r = *at);) {
        if (!r->asked || !shi_tag_is_done(&r->request) || !shi_result_free(p, r->answer)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        publish(p, r->answer, &r->request.status);
        shi_kept_put(&kept, r, sizeof *r);
    }
    for (struct shi_proxy_probe **at = &p->probes, *x; (x = *at);) {
        if (!advance(p, x)) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        shi_engine_complete(p->engine, x->op, 0);
        shi_kept_put(&kept, x, sizeof *x);
    }
}

void shi_proxy_receive_down(struct shi_proxy_ring *p)
{
    for (struct shi_proxy_receive *r; (r = p->receives);) {
        p->receives = r->next;
        shi_tag_cancel(&r->request);
        if (shi_tag_is_done(&r->request)) /* else its message is on the way and refers to it */
            shi_kept_put(&kept, r, sizeof *r);
    }
}
