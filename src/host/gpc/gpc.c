/*
 * gpc.c - run a GPC at one PE: received, func, children, callbacks, answered. Its state is in gpc_call.h.
 *
 *   step                                          by                    then
 *   received  START arrives, is assembled         progress              task, once the team is made here
 *   func      INIT, PROBE while PENDING           dispatcher            children sent, or answered
 *   open      a child's REPLY is assembled        progress              task
 *   callback  once for each REPLY                 dispatcher            the last: answered
 *   failed    REPLYs are discarded                dispatcher            freed with the last of them
 *
 * A plain GPC has no func at its root: progress stores its one REPLY straight into the caller's buffers, so that a long
 * function at the root does not delay it.
 */
#include "host/gpc/gpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/gpc/gpc_call.h"
#include "host/gpc/gpc_handle.h"
#include "host/util/log.h"

/* A child's REPLY, until the callback has seen it. */
struct reply {
    struct shi_gpc_task task;
    struct shi_gpc_child *child;
    size_t block;       /* bytes of this memory */
    int status, failed; /* failed: with a status, the PE of the world */
    uint64_t fin;
    size_t rhsize, rdsize;
    char *rhdr, *rdata;
    struct shi_gpc_in in;
    struct shi_gpc_out out; /* FIN */
};

static int up;
static uint64_t serial;
/* The call whose func this thread is in. */
static _Thread_local struct shi_gpc_call *in_func __attribute__((tls_model("initial-exec")));

/* ---- messages are checked ---------------------------------------------------------------------------------------- */

/* Check the length of the data after a head: `whole` bytes in total, `fetched` of them by a fetch. */
static int fits(uint8_t flags, const void *rest, size_t bytes, size_t whole, size_t fetched)
{
    const struct shi_am_src *src = rest;
    if (flags & ~SHI_GPC_FETCH)
        return 0;
    if (!(flags & SHI_GPC_FETCH))
        return bytes <= whole + fetched;
    return bytes >= sizeof *src && bytes - sizeof *src <= whole && fetched > 0 && src->bytes == fetched;
}

static int has_own_tree(const struct shi_gpc_start *s)
{
    return s->tree != SHI_GPC_NO_HANDLE && s->tree >= SHI_GPC_FIRST_HANDLE;
}

static void check_start(int pe, const struct shi_gpc_start *s, size_t bytes)
{
    if (bytes < sizeof *s || s->hlen > SHI_GPC_HLEN || s->rhlen > SHI_GPC_HLEN || s->dlen > SHI_GPC_DLEN ||
        s->rdlen > SHI_GPC_DLEN || s->idlen >= (uint32_t)shi_world.n_pes ||
        !fits(s->flags, s + 1, bytes - sizeof *s, s->hlen + s->idlen * sizeof(int) * (has_own_tree(s) ? 2 : 1), s->dlen))
        shi_am_refuse(pe, "a GPC of invalid length");
    if ((s->tree == SHI_GPC_NO_HANDLE && s->idlen) || s->id >> 40 >= (uint64_t)shi_world.n_pes)
        shi_am_refuse(pe, "a GPC without a tree or a root");
}

/* Ids and tree of a GPC that another PE has sent, once its team is known. */
static void check_lists(const struct shi_gpc_call *g)
{
    const shmemx_gpc_call_t *c = &g->call;
    for (int i = 0; i < c->idlen; i++)
        if ((unsigned)c->idlst[i] >= (unsigned)g->team->n || (g->below && (unsigned)g->below[i] >= (unsigned)(c->idlen - i)))
            shi_am_refuse(g->pe, "a GPC with ids that do not fit its team or its tree");
}

/* The child that has sent this reply. */
static struct shi_gpc_child *check_reply(int pe, const struct shi_gpc_reply *m, size_t bytes)
{
    struct shi_gpc_child *k = bytes >= sizeof *m ? (struct shi_gpc_child *)(uintptr_t)m->token : NULL;
    if (!k || k->out.pe != pe)
        shi_am_refuse(pe, "a reply to no GPC of this PE");
    const shmemx_gpc_call_t *c = &k->parent->call;
    if (m->rhsize > c->rhlen || m->rdsize > c->rdlen || (m->status && (m->rhsize || m->rdsize)) ||
        m->failed >= (uint32_t)shi_world.n_pes ||
        !fits(m->flags, m + 1, bytes - sizeof *m, m->rhsize, m->rdsize))
        shi_am_refuse(pe, "a reply to a GPC of invalid length");
    return k;
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* pe: of the world, the one that failed. */
static void fail(struct shi_gpc_call *g, int pe)
{
    g->failed = 1;
    g->failed_pe = pe;
    shi_gpc_call_answer(g, -EIO);
}

static int sizes_fit(const shmemx_gpc_call_t *c)
{
    return c->rhsize <= c->rhlen && c->rdsize <= c->rdlen;
}

/* Look the team up now: after a failure elsewhere the program may have destroyed it. */
static int find_team(struct shi_gpc_call *g)
{
    int later;
    g->team = shi_team_find(g->task.team, &later);
    return g->team != NULL;
}

/* Look up team and function, when the task runs. 0 when this PE does not have them. */
static int find_func(struct shi_gpc_call *g, union shi_gpc_entry *e)
{
    shmemx_gpc_call_t *c = &g->call;
    if (g->err || !find_team(g))
        return 0;
    if (c->stage == SHMEMX_GPC_INIT && !g->is_root) {
        check_lists(g);
        c->team = shi_team_handle(g->team);
        c->root = shi_team_member(g->team, (int)(c->id >> 40));
        c->from = shi_team_member(g->team, g->pe);
    }
    return shi_gpc_find(c->func, SHI_GPC_FUNC, e);
}

static int run_func(struct shi_gpc_task *t)
{
    struct shi_gpc_call *g = shi_container_of(t, struct shi_gpc_call, task);
    union shi_gpc_entry e;
    shi_gpc_fetched(&g->in);
    struct shi_gpc_call *outer = in_func;
    in_func = g;
    int rc = find_func(g, &e) ? e.func(&g->call) : -EINVAL;
    in_func = outer;
    if (rc == SHMEMX_GPC_PENDING) {
        int went_on = g->call.stage == SHMEMX_GPC_INIT;
        g->call.stage = SHMEMX_GPC_PROBE;
        shi_gpc_post_pending(t);
        return went_on;
    }
    if (rc < 0 || !sizes_fit(&g->call)) {
        fail(g, shi_world.pe);
        return 1;
    }
    int n = shi_gpc_call_children(g);
    if (n <= 0)
        n ? fail(g, shi_world.pe) : shi_gpc_call_answer(g, 0);
    return 1;
}

static int run_callback(struct shi_gpc_call *g, const struct reply *r)
{
    shmemx_gpc_call_t *c = &g->call;
    union shi_gpc_entry e;
    if (!find_team(g))
        return 0;
    int found = c->callback == SHMEMX_GPC_NONE ? shi_gpc_find(c->func, SHI_GPC_FUNC, &e)
                                               : shi_gpc_find(c->callback, SHI_GPC_CALLBACK, &e);
    c->stage = SHMEMX_GPC_WAIT;
    c->from = shi_team_member(g->team, r->child->out.pe);
    c->chdr = r->rhdr;
    c->cdata = r->rdata;
    c->chlen = r->rhsize;
    c->cdlen = r->rdsize;
    struct shi_gpc_call *outer = in_func;
    in_func = NULL;
    int good = found && e.func(c) >= 0 && sizes_fit(c);
    in_func = outer;
    return good;
}

/* Because of which PE a message has not come completely: this one, without memory, or its sender. */
static int failed_of(const struct shi_gpc_in *in)
{
    return in->err == -ENOMEM ? shi_world.pe : in->pe;
}

static void forget_reply(struct shi_gpc_out *o)
{
    struct reply *r = shi_container_of(o, struct reply, out);
    shi_gpc_free(r, r->block);
}

static void send_fin(struct shi_gpc_out *o, int pe, uint64_t fin, void (*sent)(struct shi_gpc_out *))
{
    *o = (struct shi_gpc_out){.pe = pe, .sent = sent, .head.fin = {.kind = SHI_GPC_FIN, .fin = fin}};
    shi_gpc_send(o);
}

/* The callback has returned: post the replies that arrived meanwhile, in their order. */
static void post_later(struct shi_gpc_call *g)
{
    struct shi_gpc_task *in_order = NULL, *t;
    while ((t = g->later)) {
        g->later = t->next;
        t->next = in_order;
        in_order = t;
    }
    while ((t = in_order)) {
        in_order = t->next;
        shi_gpc_post(t);
    }
}

static int run_reply(struct shi_gpc_task *t)
{
    struct reply *r = shi_container_of(t, struct reply, task);
    struct shi_gpc_call *g = r->child->parent;
    int fetched = r->in.src.bytes > 0;
    shi_gpc_fetched(&r->in);
    if (g->called_back) { /* a callback waits for a GPC: functions of one id share its call object */
        t->next = g->later;
        g->later = t;
        return 1;
    }
    g->open--;
    if (!g->failed) {
        g->called_back = 1;
        int good = !r->status && !r->in.err && run_callback(g, r);
        g->called_back = 0;
        post_later(g);
        if (!good)
            fail(g, r->status ? r->failed : r->in.err ? failed_of(&r->in) : shi_world.pe);
        else if (g->open == 0)
            shi_gpc_call_answer(g, 0);
    }
    if (fetched)
        send_fin(&r->out, r->in.pe, r->fin, forget_reply);
    else
        shi_gpc_free(r, r->block);
    shi_gpc_call_drop(g);
    return 1;
}

/* ---- messages arrive, in progress -------------------------------------------------------------------------------- */

static void start_whole(struct shi_gpc_in *in)
{
    struct shi_gpc_call *g = shi_container_of(in, struct shi_gpc_call, in);
    g->err = g->err ? g->err : in->err;
    shi_gpc_post_on_team(&g->task);
}

static void on_start(int pe, const struct shi_gpc_start *s, size_t bytes)
{
    check_start(pe, s, bytes);
    size_t list = s->idlen * sizeof(int);
    int own_tree = has_own_tree(s), err = 0;
    char *body;
    size_t lists = 2 * shi_gpc_padded(list), replies = shi_gpc_padded(s->rhlen) + s->rdlen;
    size_t all = shi_gpc_padded(s->hlen) + lists + shi_gpc_padded(s->dlen) + replies;
    struct shi_gpc_call *g = shi_gpc_call_new((int)s->idlen, all, &body, &err);
    void *hdr = shi_gpc_carve(&body, s->hlen);
    int *ids = shi_gpc_carve(&body, list), *below = shi_gpc_carve(&body, own_tree ? list : 0);
    void *data = shi_gpc_carve(&body, s->dlen), *rhdr = shi_gpc_carve(&body, s->rhlen);
    g->call = (shmemx_gpc_call_t){
        .stage = SHMEMX_GPC_INIT, .func = s->func, .tree = s->tree == SHI_GPC_NO_HANDLE ? SHMEMX_GPC_NONE : s->tree,
        .callback = s->callback == SHI_GPC_NO_HANDLE ? SHMEMX_GPC_NONE : s->callback, .id = s->id, .hdr = hdr,
        .hlen = s->hlen, .data = data, .dlen = s->dlen, .rhdr = rhdr, .rhlen = s->rhlen, .rdata = body,
        .rdlen = s->rdlen, .idlst = ids, .idlen = (int)s->idlen};
    g->below = own_tree ? below : NULL;
    g->task.run = run_func;
    g->err = err;
    g->pe = pe;
    g->token = s->token;
    g->task.team = s->team;
    g->in = (struct shi_gpc_in){.token = s->token, .pe = pe, .of = SHI_GPC_START, .data = data, .whole = start_whole};
    shi_gpc_iov_add(&g->in.iov, hdr, s->hlen);
    shi_gpc_iov_add(&g->in.iov, ids, list);
    shi_gpc_iov_add(&g->in.iov, below, own_tree ? list : 0);
    shi_gpc_iov_add(&g->in.iov, data, s->flags & SHI_GPC_FETCH ? 0 : s->dlen);
    shi_gpc_receive(&g->in, s->flags, s + 1, bytes - sizeof *s);
}

static void fin_sent(struct shi_gpc_out *o)
{
    shi_gpc_call_drop(shi_container_of(o, struct shi_gpc_child, out)->parent);
}

/* A plain GPC's answer is in the caller's buffers. */
static void plain_whole(struct shi_gpc_in *in)
{
    struct shi_gpc_call *g = shi_container_of(in, struct shi_gpc_call, in);
    int fetched = in->src.bytes > 0;
    shi_gpc_fetched(in);
    if (in->err && !g->failed)
        g->failed_pe = failed_of(in);
    shi_gpc_call_complete(g, g->failed || in->err ? -EIO : 0);
    if (fetched)
        send_fin(&g->one.out, g->pe, g->token, fin_sent);
    else
        shi_gpc_call_drop(g);
    shi_gpc_call_drop(g);
}

static void reply_whole(struct shi_gpc_in *in)
{
    struct reply *r = shi_container_of(in, struct reply, in);
    shi_gpc_post(&r->task);
}

static void on_plain_reply(struct shi_gpc_call *g, int pe, const struct shi_gpc_reply *m, size_t bytes)
{
    g->call.rhsize = m->rhsize;
    g->call.rdsize = m->rdsize;
    g->failed = m->status != 0;
    g->failed_pe = (int)m->failed;
    g->token = m->fin;
    g->in = (struct shi_gpc_in){.token = m->token, .pe = pe, .of = SHI_GPC_REPLY, .data = g->call.rdata,
                                .whole = plain_whole};
    shi_gpc_iov_add(&g->in.iov, g->call.rhdr, m->rhsize);
    shi_gpc_iov_add(&g->in.iov, g->call.rdata, m->flags & SHI_GPC_FETCH ? 0 : m->rdsize);
    shi_gpc_receive(&g->in, m->flags, m + 1, bytes - sizeof *m);
}

static void on_reply(int pe, const struct shi_gpc_reply *m, size_t bytes)
{
    struct shi_gpc_child *k = check_reply(pe, m, bytes);
    k->answered = 1;
    if (k->exposed)
        shi_gpc_withdraw(&k->out);
    if (k->parent->plain) {
        on_plain_reply(k->parent, pe, m, bytes);
        return;
    }
    int err = 0;
    char *body;
    size_t block;
    struct reply *r = shi_gpc_alloc(sizeof *r, shi_gpc_padded(m->rhsize) + m->rdsize, &body, &block, &err);
    r->block = block;
    r->task.run = run_reply;
    r->child = k;
    r->status = m->status;
    r->failed = (int)m->failed;
    r->fin = m->fin;
    r->rhsize = m->rhsize;
    r->rdsize = m->rdsize;
    r->rhdr = shi_gpc_carve(&body, m->rhsize);
    r->rdata = body;
    r->in = (struct shi_gpc_in){.token = m->token, .pe = pe, .of = SHI_GPC_REPLY, .data = r->rdata, .err = err,
                                .whole = reply_whole};
    shi_gpc_iov_add(&r->in.iov, r->rhdr, m->rhsize);
    shi_gpc_iov_add(&r->in.iov, r->rdata, m->flags & SHI_GPC_FETCH ? 0 : m->rdsize);
    shi_gpc_receive(&r->in, m->flags, m + 1, bytes - sizeof *m);
}

static void on_fin(int pe, const struct shi_gpc_fin *m, size_t bytes)
{
    struct shi_gpc_call *g = bytes == sizeof *m ? (struct shi_gpc_call *)(uintptr_t)m->fin : NULL;
    if (!g || g->pe != pe)
        shi_am_refuse(pe, "an answer to no reply of this PE");
    shi_gpc_call_fetched(g);
}

/* A child is dead: as if it had failed. No reply of it comes (shi_am_loses). */
static void lost(struct shi_gpc_child *k)
{
    const struct shi_gpc_reply m = {.kind = SHI_GPC_REPLY, .status = -EIO, .token = (uint64_t)(uintptr_t)k, .failed = (uint32_t)k->out.pe};
    if (!__atomic_exchange_n(&k->answered, 1, __ATOMIC_ACQ_REL))
        on_reply(k->out.pe, &m, sizeof m);
}

static void on_loss(int pe)
{
    shi_gpc_forget_pieces(pe);
    shi_gpc_call_lose(pe);
}

static void on_message(int pe, const void *msg, size_t bytes)
{
    const union shi_gpc_head *h = msg;
    shi_gpc_count_received();
    switch (h->kind) {
    case SHI_GPC_START: on_start(pe, &h->start, bytes); break;
    case SHI_GPC_REPLY: on_reply(pe, &h->reply, bytes); break;
    case SHI_GPC_PIECE: shi_gpc_receive_piece(pe, &h->piece, bytes); break;
    case SHI_GPC_FIN: on_fin(pe, &h->fin, bytes); break;
    default: shi_am_refuse(pe, "a message of GPCs of unknown kind");
    }
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

int shi_gpc_start(const struct shi_gpc_params *w)
{
    size_t list = (size_t)w->idlen * sizeof(int);
    int err = 0;
    char *body;
    struct shi_gpc_call *g = shi_gpc_call_new(w->idlen, shi_gpc_padded(w->hlen) + 2 * shi_gpc_padded(list), &body, &err);
    if (err) {
        shi_gpc_call_drop(g);
        return err;
    }
    void *hdr = shi_gpc_carve(&body, w->hlen), *ids = shi_gpc_carve(&body, list);
    uint64_t number = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    memcpy(hdr, w->hlen ? w->hdr : "", w->hlen);
    if (list)
        memcpy(ids, w->ids, list);
    if (w->below)
        g->below = memcpy(body, w->below, list);
    g->call = (shmemx_gpc_call_t){
        .stage = SHMEMX_GPC_INIT, .team = shi_team_handle(w->team), .root = w->team->me, .from = w->team->me,
        .func = w->func, .callback = w->callback,
        .tree = w->tree, .id = (uint64_t)shi_world.pe << 40 | (number & ((1ull << 40) - 1)), .hdr = hdr,
        .hlen = w->hlen, .data = w->data, .dlen = w->dlen, .rhdr = w->rhdr, .rhlen = w->rhlen, .rdata = w->rdata,
        .rdlen = w->rdlen, .idlst = ids, .idlen = w->idlen};
    g->task.run = run_func;
    g->team = w->team;
    g->task.team = w->team->number;
    g->is_root = 1;
    g->plain = w->plain;
    g->pe = w->plain ? shi_team_world_pe(w->team, w->pe) : shi_world.pe;
    g->nbh = w->nbh;
    w->nbh->busy = 1;
    g->starter = in_func;
    if (in_func)
        __atomic_add_fetch(&in_func->pins, 1, __ATOMIC_RELAXED);
    if (w->nested)
        shi_gpc_call_begin(g);
    else
        shi_gpc_call_begin_in_turn(g);
    return 0;
}

/* ---- up and down ------------------------------------------------------------------------------------------------- */

int shi_gpc_up(void)
{
    if (up)
        return 0;
    shi_am_handle(SHI_AM_GPC, on_message);
    shi_am_on_loss(SHI_AM_GPC, on_loss);
    shi_gpc_lost = shi_world.config.faults == SHI_FAULTS_CONTINUE ? lost : NULL;
    int err = shi_am_start();
    if (!err)
        err = shi_gpc_run_up();
    up = !err;
    return err;
}

static void wait_for_own(void)
{
    SHI_WAIT_LOOP(shi_gpc_wait_step, shi_gpc_calls() == 0, .routine = "shmem_finalize",
                  .kind = SHI_FOR_OTHER, .words = "GPCs of this PE have not been answered");
}

void shi_gpc_finish(void)
{
    if (!up)
        return;
    shi_wait_allow("shmem_finalize");
    shi_gpc_settle(wait_for_own);
}

void shi_gpc_stop(void)
{
    if (!up)
        return;
    shi_gpc_run_down();
    shi_gpc_forget();
    shi_gpc_wire_stop();
    serial = 0;
    up = 0;
}
