/*
 * message.c - tagged messages of kernels. Any thread that makes progress may complete a send or a receive; it then sets request.done
 * (R1 -> A1 of tag.h).
 *
 * A receive is posted as the host's own are, and goes on until a kernel has asked for its result and the result is
 * delivered. The engine counts it as complete once it is posted, so that no fence or quiet waits for a message.
 *
 * A probe looks at the messages that have arrived and, where a sender keeps messages, asks it (tag_claim.c) and looks for the
 * answer in each round. It never waits. Its request is in progress meanwhile; the sender's progress engine answers.
 */
#include "proxy/message.h"

#include <errno.h>

#include "host/tag/tag.h"
#include "proxy/ongoing.h"

struct send {
    struct shi_proxy_ongoing ongoing; /* its op holds an inline payload */
    struct shmemx_tag_request request;
};

struct receive {
    struct shi_proxy_ongoing ongoing;
    uint64_t ticket;
    int asked; /* the result goes to the slot of `answer` */
    uint64_t answer;
    struct shmemx_tag_request request;
};

struct probe {
    struct shi_proxy_ongoing ongoing;
    struct shi_tag_params params;
    struct shi_tag_search search;
    int ended, found;
    shmemx_tag_status_t status;
};

/* ---- sends ------------------------------------------------------------------------------------------------------- */

static int is_sent(const struct shi_proxy_ring *p, struct shi_proxy_ongoing *o)
{
    (void)p;
    return shi_tag_is_done(&((struct send *)o)->request);
}

int shi_proxy_send(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    const void *source = v->payload ? v->payload : (const void *)v->local;
    const struct shi_tag_data data = {.one = {(void *)source, v->bytes}, .n = 1, .bytes = v->bytes};
    int pe = (int)op->request.pe;
    shi_tag_start("shmemxg_tag_send");
    if (shi_tag_send_now(&shi_team_world, &data, v->tag, pe))
        return 0;
    struct send *s = shi_proxy_ongoing_get(&(const struct shi_proxy_ongoing){.bytes = sizeof *s, .op = op, .advance = is_sent});
    if (!s)
        return -ENOMEM;
    s->request.is_send = 1;
    shi_proxy_ongoing_add(p, &s->ongoing);
    shi_tag_send(&s->request, &shi_team_world, &data, v->tag, pe, 0);
    return -EINPROGRESS;
}

/* ---- receives ---------------------------------------------------------------------------------------------------- */

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

static int advance_receive(const struct shi_proxy_ring *p, struct shi_proxy_ongoing *o)
{
    struct receive *r = (struct receive *)o;
    if (!r->asked || !shi_tag_is_done(&r->request) || !shi_result_free(p, r->answer))
        return 0;
    publish(p, r->answer, &r->request.status);
    return 1;
}

/* A receive that kernels have left. */
static int leave_receive(struct shi_proxy_ongoing *o)
{
    struct receive *r = (struct receive *)o;
    shi_tag_cancel(&r->request);
    return shi_tag_is_done(&r->request); /* else its message is on the way and refers to it */
}

int shi_proxy_receive(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v)
{
    const struct shi_tag_data data = {.one = {(void *)v->local, v->bytes}, .n = 1, .bytes = v->bytes};
    struct shi_tag_params params;
    if (accepts(v, &params))
        return -EINVAL;
    struct receive *r = shi_proxy_ongoing_get(
        &(const struct shi_proxy_ongoing){.bytes = sizeof *r, .advance = advance_receive, .leave = leave_receive});
    if (!r)
        return -ENOMEM;
    r->ticket = r->answer = ticket;
    r->asked = v->result == SHI_RESULT_SLOT;
    shi_proxy_ongoing_add(p, &r->ongoing);
    shi_tag_start("shmemxg_tag_recv");
    shi_tag_recv(&r->request, &params, &data);
    return 0;
}

/* The receive of this ticket, whose result nobody has asked for; or NULL. */
static struct receive *find(const struct shi_proxy_ring *p, uint64_t ticket)
{
    for (struct shi_proxy_ongoing *o = p->ongoing; o; o = o->next) {
        struct receive *r = (struct receive *)o;
        if (o->advance == advance_receive && r->ticket == ticket && !r->asked)
            return r;
    }
    return NULL;
}

int shi_proxy_receive_test(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v)
{
    struct receive *r = find(p, v->ticket);
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

/* ---- probes ------------------------------------------------------------------------------------------------------ */

static int advance_probe(const struct shi_proxy_ring *p, struct shi_proxy_ongoing *o)
{
    struct probe *x = (struct probe *)o;
    if (!x->ended) {
        x->found = shi_tag_probe_step(&x->search, &x->params, &x->status);
        x->ended = x->found != -EAGAIN;
    }
    if (!x->ended || !shi_result_free(p, o->op->ticket))
        return 0;
    publish(p, o->op->ticket, x->found ? &x->status : NULL);
    return 1;
}

int shi_proxy_probe(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    struct shi_tag_params params;
    if (accepts(v, &params))
        return -EINVAL;
    struct probe *x = shi_proxy_ongoing_get(&(const struct shi_proxy_ongoing){.bytes = sizeof *x, .op = op, .advance = advance_probe});
    if (!x)
        return -ENOMEM;
    x->params = params;
    shi_proxy_ongoing_add(p, &x->ongoing);
    shi_tag_start("shmemxg_tag_probe");
    return -EINPROGRESS;
}
