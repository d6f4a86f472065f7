/*
 * gpc.c - one GPC at one PE: received, func, children, callbacks, answered.
 *
 *   step                                          by                    then
 *   received  START arrives, is put together      progress              task, once the team is made here
 *   func      INIT, PROBE while PENDING           dispatcher            children sent, or answered
 *   open      a child's REPLY is put together     progress              task
 *   callback  once for each REPLY                 dispatcher            the last: answered
 *   failed    a tombstone: REPLYs are dropped     dispatcher            freed with the last of them
 *
 * A plain GPC has no func at its root: its one REPLY goes straight to the caller's buffers, in progress, and a long
 * function at the root does not delay it.
 *
 *   word            written by                        read by               order
 *   call, failed,   progress before the task is       dispatcher            queue.lock of gpc_run.c
 *   open            posted, then the dispatcher
 *   child[i].out    dispatcher (plain: exec) until    progress              a child answers after the last byte only
 *                   sent, progress from its reply on
 *   holds, pins     all                               all                   acq_rel: the last one ends it, frees it
 *   unsent          senders                           dispatcher            relaxed: sent means that progress is done
 *   nbh->busy       whoever completes                 the program           R1 -> A1 status and reply are there
 *   roots.*         whoever starts or ends one        the same              roots.lock
 *   called_back,    dispatcher                        dispatcher            `running` of gpc_run.c
 *   later
 *
 * Allocation: of every size the programs ask for, so malloc's cache serves as the free list. It keeps blocks of at most
 * 1032 bytes, which a struct gpc with few children and a short header stays below.
 */
#include "host/gpc/gpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/gpc/gpc_handle.h"
#include "host/gpc/gpc_run.h"
#include "host/gpc/gpc_tree.h"
#include "host/gpc/gpc_wire.h"
#include "host/util/log.h"
#include "host/util/spin.h"

struct gpc;

struct child {
    struct gpc *parent;
    int exposed;
    struct shi_gpc_out out;
};

/* A GPC at this PE, as root or on behalf of a parent. */
struct gpc {
    struct shi_gpc_task task; /* func */
    shmemx_gpc_call_t call;
    struct shmem_team *team;  /* NULL: not known here, or destroyed */
    int *below;
    int is_root, plain, has_turn;
    int err;                  /* it was not received whole */
    int failed, open;         /* children that have not answered */
    int called_back;          /* a callback is on some thread's stack */
    struct shi_gpc_task *later; /* replies that came meanwhile, the last one first */
    int holds;                /* 1 until answered, and 1 for each child, message or fetch that needs this */
    int pins;                 /* 1 until holds is 0, and 1 for each GPC that func has started: the memory stays */
    int unsent, exposed;      /* children that have not been sent all, that may fetch our data */
    shmemx_gpc_nbh_t *nbh;    /* root, until complete */
    struct gpc *starter;      /* root: the GPC whose func started it, until complete */
    int pe;                   /* of the world: the parent; plain root: the child */
    uint64_t token;           /* the parent's */
    struct gpc *next;         /* roots that wait for their turn */
    struct shi_gpc_in in;     /* START; plain root: REPLY */
    union {
        struct shi_gpc_out out; /* REPLY */
        struct child one;       /* plain root: its child, and then FIN to it */
    };
    int n_few, has_more;      /* room in few; whether child[] is elsewhere, in memory of its own */
    struct child *child, few[];
};

/* A child's REPLY, until the callback has seen it. */
struct reply {
    struct shi_gpc_task task;
    struct child *child;
    int status;
    uint64_t fin;
    size_t rhsize, rdsize;
    char *rhdr, *rdata;
    struct shi_gpc_in in;
    struct shi_gpc_out out; /* FIN */
};

static int up, live; /* live: parts of GPCs that are here */
static uint64_t serial;
static struct {
    uint8_t lock;
    int n;
    struct gpc *first, **last; /* they wait */
} roots = {.last = &roots.first};
/* Whose func this thread is in. */
static _Thread_local struct gpc *in_func __attribute__((tls_model("initial-exec")));

static int run_func(struct shi_gpc_task *t);

static size_t padded(size_t bytes)
{
    return shi_round_up(bytes, 16);
}

/* Zeroed head, then a body; *body is NULL, and *err set, when there is no memory for it. */
static void *get(size_t head, size_t body, char **body_at, int *err)
{
    char *p = malloc(padded(head) + body);
    *body_at = p ? p + padded(head) : NULL;
    if (!p) {
        *err = -ENOMEM;
        p = malloc(head);
    }
    if (!p)
        shi_die("shmemx_gpc_exec", "out of memory for a call");
    return memset(p, 0, head);
}

/* A new part of a GPC with so many ids below it, and its body. */
static struct gpc *make(int ids, size_t body, char **body_at, int *err)
{
    int n_few = ids < 2 ? ids : 2;
    struct gpc *g = get(sizeof *g + (size_t)n_few * sizeof *g->few, body, body_at, err);
    g->task.run = run_func;
    g->n_few = n_few;
    g->child = g->few;
    g->holds = g->pins = 1;
    __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
    return g;
}

/* The next piece of a body, NULL without one. */
static void *carve(char **body, size_t bytes)
{
    char *p = *body;
    if (p)
        *body = p + padded(bytes);
    return p;
}

/* ---- the root's end ------------------------------------------------------------------------------------------------ */

static void begin(struct gpc *g);

static void unpin(struct gpc *g)
{
    if (__atomic_load_n(&g->pins, __ATOMIC_ACQUIRE) > 1 && __atomic_sub_fetch(&g->pins, 1, __ATOMIC_ACQ_REL))
        return; /* nobody adds any more */
    if (g->has_more)
        free(g->child);
    free(g);
}

static void complete(struct gpc *g, int status)
{
    shmemx_gpc_nbh_t *nbh = g->nbh;
    struct gpc *starter = g->starter;
    g->nbh = NULL;
    nbh->status = status;
    nbh->rhsize = status ? 0 : g->call.rhsize;
    nbh->rdsize = status ? 0 : g->call.rdsize;
    __atomic_store_n(&nbh->busy, 0, __ATOMIC_RELEASE); /* R1 */
    if (starter) {
        g->starter = NULL;
        shi_gpc_wake(&starter->task); /* it may be what the func is pending for */
        unpin(starter);
    }
}

static void root_ended(void)
{
    shi_spin_lock(&roots.lock);
    struct gpc *g = roots.first;
    roots.n -= !g;
    if (g) {
        roots.first = g->next;
        if (!roots.first)
            roots.last = &roots.first;
    }
    shi_spin_unlock(&roots.lock);
    if (g)
        begin(g);
}

static void drop(struct gpc *g)
{
    if (__atomic_sub_fetch(&g->holds, 1, __ATOMIC_ACQ_REL))
        return;
    int had_turn = g->has_turn;
    if (g->nbh)
        complete(g, -EIO); /* it failed, and data was still in use */
    unpin(g);
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELEASE);
    if (had_turn)
        root_ended();
}

/* ---- answers -------------------------------------------------------------------------------------------------------- */

static void reply_sent(struct shi_gpc_out *o)
{
    drop(shi_container_of(o, struct gpc, out));
}

/* With FETCH the reply stays until the parent's FIN. */
static void send_reply(struct gpc *g, int status)
{
    struct shi_gpc_out *o = &g->out;
    const shmemx_gpc_call_t *c = &g->call;
    o->pe = g->pe;
    o->head.reply = (struct shi_gpc_reply){.kind = SHI_GPC_REPLY, .status = status, .token = g->token};
    if (!status) {
        o->head.reply.rhsize = (uint16_t)c->rhsize;
        o->head.reply.rdsize = (uint32_t)c->rdsize;
        o->head.reply.fin = (uint64_t)(uintptr_t)g;
        shi_gpc_row_add(&o->row, c->rhdr, c->rhsize);
    }
    int fetched = !status && shi_gpc_out_data(o, c->rdata, c->rdsize);
    o->sent = fetched ? NULL : reply_sent;
    shi_gpc_send(o);
}

/* This id has ended, well or not. Its children may still have to answer. */
static void answer(struct gpc *g, int status)
{
    if (!g->is_root) {
        send_reply(g, status); /* takes the hold over */
        return;
    }
    if (!status || (!g->exposed && !__atomic_load_n(&g->unsent, __ATOMIC_RELAXED)))
        complete(g, status);
    drop(g);
}

static void fail(struct gpc *g)
{
    g->failed = 1;
    answer(g, -EIO);
}

/* ---- children ------------------------------------------------------------------------------------------------------- */

static void child_sent(struct shi_gpc_out *o)
{
    struct child *k = shi_container_of(o, struct child, out);
    __atomic_sub_fetch(&k->parent->unsent, 1, __ATOMIC_RELAXED);
}

/* part: the child's, of the list; plain: NULL, and the child is g->pe. */
static void fill_child(struct gpc *g, struct child *k, const struct shi_gpc_part *part)
{
    const shmemx_gpc_call_t *c = &g->call;
    struct shi_gpc_out *o = &k->out;
    k->parent = g;
    o->pe = part ? shi_team_world_pe(g->team, c->idlst[part->at]) : g->pe;
    o->sent = child_sent;
    o->head.start = (struct shi_gpc_start){
        .kind = SHI_GPC_START, .func = (uint16_t)c->func, .callback = (uint16_t)c->callback, .tree = (uint16_t)c->tree,
        .token = (uint64_t)(uintptr_t)k, .id = c->id, .hlen = (uint16_t)c->hlen, .rhlen = (uint16_t)c->rhlen,
        .idlen = part ? (uint32_t)part->n : 0, .dlen = (uint32_t)c->dlen, .rdlen = (uint32_t)c->rdlen,
        .team = g->task.team};
    shi_gpc_row_add(&o->row, c->hdr, c->hlen);
    if (part) {
        shi_gpc_row_add(&o->row, c->idlst + part->at + 1, (size_t)part->n * sizeof(int));
        if (g->below)
            shi_gpc_row_add(&o->row, g->below + part->at + 1, (size_t)part->n * sizeof(int));
    }
    k->exposed = shi_gpc_out_data(o, c->data, c->dlen);
    g->exposed += k->exposed;
}

static int count_children(const struct gpc *g)
{
    int n = g->plain;
    for (struct shi_gpc_part p = SHI_GPC_PART_INIT; shi_gpc_part_next(g->call.tree, g->below, g->call.idlen, &p);)
        n++;
    return n;
}

/* Their number, or -ENOMEM and nothing sent. */
static int call_children(struct gpc *g)
{
    int n = count_children(g);
    if (g->plain) {
        g->child = &g->one;
    } else if (n > g->n_few) {
        struct child *more = calloc((size_t)n, sizeof *more);
        if (!more)
            return -ENOMEM;
        g->child = more;
        g->has_more = 1;
    }
    struct shi_gpc_part p = SHI_GPC_PART_INIT;
    for (int i = 0; i < n; i++)
        fill_child(g, &g->child[i],
                   shi_gpc_part_next(g->call.tree, g->below, g->call.idlen, &p) ? &p : NULL);
    g->open = g->unsent = n;
    __atomic_add_fetch(&g->holds, n + 1, __ATOMIC_RELAXED); /* one while we send */
    for (int i = 0; i < n; i++)
        shi_gpc_send(&g->child[i].out);
    drop(g);
    return n;
}

/* ---- tasks ---------------------------------------------------------------------------------------------------------- */

static int sizes_fit(const shmemx_gpc_call_t *c)
{
    return c->rhsize <= c->rhlen && c->rdsize <= c->rdlen;
}

/* The team of this moment: after a failure elsewhere the program may have destroyed it. */
static int find_team(struct gpc *g)
{
    int later;
    g->team = shi_team_find(g->task.team, &later);
    return g->team != NULL;
}

/* Who the call is for, known when its turn comes. 0 when it is for nobody here. */
static int find_func(struct gpc *g, union shi_gpc_entry *e)
{
    shmemx_gpc_call_t *c = &g->call;
    if (g->err || !find_team(g))
        return 0;
    if (c->stage == SHMEMX_GPC_INIT && !g->is_root) {
        c->team = shi_team_handle(g->team);
        c->root = shi_team_member(g->team, (int)(c->id >> 40));
        c->from = shi_team_member(g->team, g->pe);
    }
    return shi_gpc_find(c->func, SHI_GPC_FUNC, e);
}

static int run_func(struct shi_gpc_task *t)
{
    struct gpc *g = shi_container_of(t, struct gpc, task);
    union shi_gpc_entry e;
    shi_gpc_fetched(&g->in);
    struct gpc *outer = in_func;
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
        fail(g);
        return 1;
    }
    int n = call_children(g);
    if (n <= 0)
        n ? fail(g) : answer(g, 0);
    return 1;
}

static int run_callback(struct gpc *g, const struct reply *r)
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
    struct gpc *outer = in_func;
    in_func = NULL;
    int good = found && e.func(c) >= 0 && sizes_fit(c);
    in_func = outer;
    return good;
}

static void forget_reply(struct shi_gpc_out *o)
{
    free(shi_container_of(o, struct reply, out));
}

static void send_fin(struct shi_gpc_out *o, int pe, uint64_t fin, void (*sent)(struct shi_gpc_out *))
{
    *o = (struct shi_gpc_out){.pe = pe, .sent = sent, .head.fin = {.kind = SHI_GPC_FIN, .fin = fin}};
    shi_gpc_send(o);
}

/* The callback has returned: the replies that came meanwhile, in their order. */
static void post_later(struct gpc *g)
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
    struct gpc *g = r->child->parent;
    int fetched = r->in.src.bytes > 0;
    shi_gpc_fetched(&r->in);
    if (g->called_back) { /* and waits for a GPC: the functions of one id share its call object */
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
            fail(g);
        else if (g->open == 0)
            answer(g, 0);
    }
    if (fetched)
        send_fin(&r->out, r->in.pe, r->fin, forget_reply);
    else
        free(r);
    drop(g);
    return 1;
}

/* ---- setup: messages arrive, in progress ---------------------------------------------------------------------------- */

static void start_whole(struct shi_gpc_in *in)
{
    struct gpc *g = shi_container_of(in, struct gpc, in);
    g->err = g->err ? g->err : in->err;
    shi_gpc_post_on_team(&g->task);
}

static void on_start(int pe, const struct shi_gpc_start *s, size_t bytes)
{
    size_t list = s->idlen * sizeof(int);
    int own_tree = s->tree != SHI_GPC_NOBODY && s->tree >= SHI_GPC_FIRST_HANDLE, err = 0;
    char *body;
    size_t lists = 2 * padded(list), replies = padded(s->rhlen) + s->rdlen;
    struct gpc *g = make((int)s->idlen, padded(s->hlen) + lists + padded(s->dlen) + replies, &body, &err);
    void *hdr = carve(&body, s->hlen);
    int *ids = carve(&body, list), *below = carve(&body, own_tree ? list : 0);
    void *data = carve(&body, s->dlen), *rhdr = carve(&body, s->rhlen);
    g->call = (shmemx_gpc_call_t){
        .stage = SHMEMX_GPC_INIT, .func = s->func, .tree = s->tree == SHI_GPC_NOBODY ? SHMEMX_GPC_NONE : s->tree,
        .callback = s->callback == SHI_GPC_NOBODY ? SHMEMX_GPC_NONE : s->callback, .id = s->id, .hdr = hdr,
        .hlen = s->hlen, .data = data, .dlen = s->dlen, .rhdr = rhdr, .rhlen = s->rhlen, .rdata = body,
        .rdlen = s->rdlen, .idlst = ids, .idlen = (int)s->idlen};
    g->below = own_tree ? below : NULL;
    g->err = err;
    g->pe = pe;
    g->token = s->token;
    g->task.team = s->team;
    g->in = (struct shi_gpc_in){.token = s->token, .pe = pe, .of = SHI_GPC_START, .data = data, .whole = start_whole};
    shi_gpc_row_add(&g->in.row, hdr, s->hlen);
    shi_gpc_row_add(&g->in.row, ids, list);
    shi_gpc_row_add(&g->in.row, below, own_tree ? list : 0);
    shi_gpc_row_add(&g->in.row, data, s->flags & SHI_GPC_FETCH ? 0 : s->dlen);
    shi_gpc_receive(&g->in, s->flags, s + 1, bytes - sizeof *s);
}

static void fin_sent(struct shi_gpc_out *o)
{
    drop(shi_container_of(o, struct child, out)->parent);
}

/* A plain GPC's answer is in the caller's buffers. */
static void plain_whole(struct shi_gpc_in *in)
{
    struct gpc *g = shi_container_of(in, struct gpc, in);
    int fetched = in->src.bytes > 0;
    shi_gpc_fetched(in);
    complete(g, g->failed || in->err ? -EIO : 0);
    if (fetched)
        send_fin(&g->one.out, g->pe, g->token, fin_sent);
    else
        drop(g);
    drop(g);
}

static void reply_whole(struct shi_gpc_in *in)
{
    struct reply *r = shi_container_of(in, struct reply, in);
    shi_gpc_post(&r->task);
}

static void on_plain_reply(struct gpc *g, int pe, const struct shi_gpc_reply *m, size_t bytes)
{
    g->call.rhsize = m->rhsize;
    g->call.rdsize = m->rdsize;
    g->failed = m->status != 0;
    g->token = m->fin;
    g->in = (struct shi_gpc_in){.token = m->token, .pe = pe, .of = SHI_GPC_REPLY, .data = g->call.rdata,
                                .whole = plain_whole};
    shi_gpc_row_add(&g->in.row, g->call.rhdr, m->rhsize);
    shi_gpc_row_add(&g->in.row, g->call.rdata, m->flags & SHI_GPC_FETCH ? 0 : m->rdsize);
    shi_gpc_receive(&g->in, m->flags, m + 1, bytes - sizeof *m);
}

static void on_reply(int pe, const struct shi_gpc_reply *m, size_t bytes)
{
    struct child *k = (struct child *)(uintptr_t)m->token;
    if (k->exposed)
        shi_gpc_withdraw(&k->out);
    if (k->parent->plain) {
        on_plain_reply(k->parent, pe, m, bytes);
        return;
    }
    int err = 0;
    char *body;
    struct reply *r = get(sizeof *r, padded(m->rhsize) + m->rdsize, &body, &err);
    r->task.run = run_reply;
    r->child = k;
    r->status = m->status;
    r->fin = m->fin;
    r->rhsize = m->rhsize;
    r->rdsize = m->rdsize;
    r->rhdr = carve(&body, m->rhsize);
    r->rdata = body;
    r->in = (struct shi_gpc_in){.token = m->token, .pe = pe, .of = SHI_GPC_REPLY, .data = r->rdata, .err = err,
                                .whole = reply_whole};
    shi_gpc_row_add(&r->in.row, r->rhdr, m->rhsize);
    shi_gpc_row_add(&r->in.row, r->rdata, m->flags & SHI_GPC_FETCH ? 0 : m->rdsize);
    shi_gpc_receive(&r->in, m->flags, m + 1, bytes - sizeof *m);
}

static void on_fin(const struct shi_gpc_fin *m)
{
    struct gpc *g = (struct gpc *)(uintptr_t)m->fin;
    shi_gpc_withdraw(&g->out);
    drop(g);
}

static void on_message(int pe, const void *msg, size_t bytes)
{
    const union shi_gpc_head *h = msg;
    shi_gpc_count_received();
    switch (h->kind) {
    case SHI_GPC_START: on_start(pe, &h->start, bytes); break;
    case SHI_GPC_REPLY: on_reply(pe, &h->reply, bytes); break;
    case SHI_GPC_PIECE: shi_gpc_receive_piece(pe, &h->piece, bytes); break;
    default: on_fin(&h->fin);
    }
}

/* ---- starting ------------------------------------------------------------------------------------------------------- */

/* A root's turn has come. */
static void begin(struct gpc *g)
{
    if (!g->plain) {
        shi_gpc_post(&g->task);
        return;
    }
    call_children(g); /* one, for which there is room */
}

static void begin_in_turn(struct gpc *g)
{
    shi_spin_lock(&roots.lock);
    int now = roots.n < SHI_GPC_IN_FLIGHT;
    roots.n += now;
    g->has_turn = 1;
    g->next = NULL;
    if (!now) {
        *roots.last = g;
        roots.last = &g->next;
    }
    shi_spin_unlock(&roots.lock);
    if (now)
        begin(g);
}

int shi_gpc_start(const struct shi_gpc_want *w)
{
    size_t list = (size_t)w->idlen * sizeof(int);
    int err = 0;
    char *body;
    struct gpc *g = make(w->idlen, padded(w->hlen) + 2 * padded(list), &body, &err);
    if (err) {
        drop(g);
        return err;
    }
    void *hdr = carve(&body, w->hlen), *ids = carve(&body, list);
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
        begin(g);
    else
        begin_in_turn(g);
    return 0;
}

/* ---- up and down ---------------------------------------------------------------------------------------------------- */

int shi_gpc_up(void)
{
    if (up)
        return 0;
    shi_am_handle(SHI_AM_GPC, on_message);
    int err = shi_am_start();
    if (!err)
        err = shi_gpc_run_up();
    up = !err;
    return err;
}

static void wait_for_own(void)
{
    SHI_WAIT_LOOP(shi_gpc_wait_step, __atomic_load_n(&live, __ATOMIC_ACQUIRE) == 0, .routine = "shmem_finalize",
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
    up = 0;
}
