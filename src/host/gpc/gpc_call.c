/* gpc_call.c - a GPC at one PE: its memory, children, answer, and the limit on roots. */
#include "host/gpc/gpc_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/gpc/gpc_tree.h"
#include "host/net/am/am.h"
#include "host/util/log.h"
#include "host/util/spin.h"

static int live; /* calls at this PE */
static uint8_t lock;
static struct shi_gpc_call *newest;
void (*shi_gpc_lost)(struct shi_gpc_child *k);
static struct shi_limit roots = SHI_LIMIT_INIT(roots, SHI_GPC_IN_FLIGHT);

void *shi_gpc_alloc(size_t head, size_t body, char **body_at, size_t *block, int *err)
{
    char *p = shi_gpc_malloc(*block = shi_gpc_padded(head) + body);
    *body_at = p ? p + shi_gpc_padded(head) : NULL;
    if (!p) {
        *err = -ENOMEM;
        p = shi_gpc_malloc(*block = head);
    }
    if (!p)
        shi_die("shmemx_gpc_exec", "out of memory for a call");
    return memset(p, 0, head);
}

static void list(struct shi_gpc_call *g)
{
    shi_spin_lock(&lock);
    g->older = newest;
    if (newest)
        newest->newer = g;
    newest = g;
    shi_spin_unlock(&lock);
}

static void unlist(struct shi_gpc_call *g)
{
    shi_spin_lock(&lock);
    if (g->older)
        g->older->newer = g->newer;
    *(g->newer ? &g->newer->older : &newest) = g->older;
    shi_spin_unlock(&lock);
}

struct shi_gpc_call *shi_gpc_call_new(int ids, size_t body, char **body_at, int *err)
{
    int n_few = ids < 2 ? ids : 2;
    size_t block;
    struct shi_gpc_call *g = shi_gpc_alloc(sizeof *g + (size_t)n_few * sizeof *g->few, body, body_at, &block, err);
    g->block = block;
    g->n_few = n_few;
    g->child = g->few;
    g->holds = g->pins = 1;
    __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
    if (shi_unlikely(shi_gpc_lost != NULL))
        list(g);
    return g;
}

void *shi_gpc_carve(char **body, size_t bytes)
{
    char *p = *body;
    if (p)
        *body = p + shi_gpc_padded(bytes);
    return p;
}

/* ---- the end, and the limit on roots ----------------------------------------------------------------------------- */

static void unpin(struct shi_gpc_call *g)
{
    if (__atomic_load_n(&g->pins, __ATOMIC_ACQUIRE) > 1 && __atomic_sub_fetch(&g->pins, 1, __ATOMIC_ACQ_REL))
        return; /* none is added any more */
    if (g->has_more)
        free(g->child);
    shi_gpc_free(g, g->block);
}

void shi_gpc_call_complete(struct shi_gpc_call *g, int status)
{
    shmemx_gpc_nbh_t *nbh = g->nbh;
    struct shi_gpc_call *starter = g->starter;
    g->nbh = NULL;
    nbh->status = status;
    nbh->failed = status && g->team ? shi_team_member(g->team, g->failed_pe) : -1;
    nbh->rhsize = status ? 0 : g->call.rhsize;
    nbh->rdsize = status ? 0 : g->call.rdsize;
    __atomic_store_n(&nbh->busy, 0, __ATOMIC_RELEASE); /* R1 */
    if (starter) {
        g->starter = NULL;
        shi_gpc_wake(&starter->task); /* the func may be pending until this GPC ends */
        unpin(starter);
    }
}

void shi_gpc_call_drop(struct shi_gpc_call *g)
{
    if (__atomic_sub_fetch(&g->holds, 1, __ATOMIC_ACQ_REL))
        return;
    if (shi_unlikely(shi_gpc_lost != NULL))
        unlist(g);
    struct shi_limited root = g->root;
    if (g->nbh)
        shi_gpc_call_complete(g, -EIO); /* it failed, and data was still in use */
    unpin(g);
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELEASE);
    struct shi_limited *next = shi_limit_end(&roots, &root);
    if (next)
        shi_gpc_call_begin(shi_container_of(next, struct shi_gpc_call, root));
}

void shi_gpc_call_begin(struct shi_gpc_call *g)
{
    if (!g->plain) {
        shi_gpc_post(&g->task);
        return;
    }
    shi_gpc_call_children(g); /* one, for which there is room */
}

void shi_gpc_call_begin_in_turn(struct shi_gpc_call *g)
{
    if (shi_limit_begin(&roots, &g->root))
        shi_gpc_call_begin(g);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void reply_sent(struct shi_gpc_out *o)
{
    shi_gpc_call_drop(shi_container_of(o, struct shi_gpc_call, out));
}

/* With FETCH the reply stays until the parent's FIN. */
static void send_reply(struct shi_gpc_call *g, int status)
{
    struct shi_gpc_out *o = &g->out;
    const shmemx_gpc_call_t *c = &g->call;
    o->pe = g->pe;
    o->head.reply = (struct shi_gpc_reply){.kind = SHI_GPC_REPLY, .status = status, .token = g->token,
                                         .failed = status ? (uint32_t)g->failed_pe : 0};
    if (!status) {
        o->head.reply.rhsize = (uint16_t)c->rhsize;
        o->head.reply.rdsize = (uint32_t)c->rdsize;
        o->head.reply.fin = (uint64_t)(uintptr_t)g;
        shi_gpc_iov_add(&o->iov, c->rhdr, c->rhsize);
    }
    int fetched = !status && shi_gpc_out_data(o, c->rdata, c->rdsize);
    o->sent = fetched ? NULL : reply_sent;
    if (!fetched || !shi_gpc_lost) {
        shi_gpc_send(o);
        return;
    }
    __atomic_fetch_add(&g->holds, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&g->awaits_fin, 1, __ATOMIC_SEQ_CST);
    shi_gpc_send(o);
    if (shi_am_loses(g->pe))
        shi_gpc_call_fetched(g);
    shi_gpc_call_drop(g);
}

void shi_gpc_call_fetched(struct shi_gpc_call *g)
{
    if (shi_gpc_lost && !__atomic_exchange_n(&g->awaits_fin, 0, __ATOMIC_RELAXED))
        return;
    shi_gpc_withdraw(&g->out);
    shi_gpc_call_drop(g);
}

void shi_gpc_call_answer(struct shi_gpc_call *g, int status)
{
    if (!g->is_root) {
        send_reply(g, status); /* releases the hold */
        return;
    }
    if (!status || (!g->exposed && !__atomic_load_n(&g->unsent, __ATOMIC_RELAXED)))
        shi_gpc_call_complete(g, status);
    shi_gpc_call_drop(g);
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

static void child_sent(struct shi_gpc_out *o)
{
    struct shi_gpc_child *k = shi_container_of(o, struct shi_gpc_child, out);
    __atomic_sub_fetch(&k->parent->unsent, 1, __ATOMIC_RELAXED);
    if (shi_likely(!shi_gpc_lost))
        return;
    __atomic_store_n(&k->sent, 1, __ATOMIC_SEQ_CST);
    if (shi_am_loses(o->pe))
        shi_gpc_lost(k);
}

/* part: the child's part of the list; plain: NULL, and the child is g->pe. */
static void fill_child(struct shi_gpc_call *g, struct shi_gpc_child *k, const struct shi_gpc_part *part)
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
    shi_gpc_iov_add(&o->iov, c->hdr, c->hlen);
    if (part) {
        shi_gpc_iov_add(&o->iov, c->idlst + part->at + 1, (size_t)part->n * sizeof(int));
        if (g->below)
            shi_gpc_iov_add(&o->iov, g->below + part->at + 1, (size_t)part->n * sizeof(int));
    }
    k->exposed = shi_gpc_out_data(o, c->data, c->dlen);
    g->exposed += k->exposed;
}

static int count_children(const struct shi_gpc_call *g)
{
    int n = g->plain;
    for (struct shi_gpc_part p = SHI_GPC_PART_INIT; shi_gpc_part_next(g->call.tree, g->below, g->call.idlen, &p);)
        n++;
    return n;
}

int shi_gpc_call_children(struct shi_gpc_call *g)
{
    int n = count_children(g);
    if (g->plain) {
        g->child = &g->one;
    } else if (n > g->n_few) {
        struct shi_gpc_child *more = calloc((size_t)n, sizeof *more);
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
    __atomic_store_n(&g->called, n, __ATOMIC_RELEASE); /* R2 */
    for (int i = 0; i < n; i++)
        shi_gpc_send(&g->child[i].out);
    shi_gpc_call_drop(g);
    return n;
}

/* ---- PEs that die ------------------------------------------------------------------------------------------------------ */

/* Under the lock: the next call from g on that has not ended, held; NULL: there is none. */
static struct shi_gpc_call *next_held(struct shi_gpc_call *g)
{
    for (; g; g = g->older)
        for (int holds = __atomic_load_n(&g->holds, __ATOMIC_RELAXED); holds;)
            if (__atomic_compare_exchange_n(&g->holds, &holds, holds + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return g;
    return NULL;
}

static void lose(struct shi_gpc_call *g, int pe)
{
    int n = __atomic_load_n(&g->called, __ATOMIC_ACQUIRE); /* A2 */
    for (int i = 0; i < n; i++)
        if (g->child[i].out.pe == pe && __atomic_load_n(&g->child[i].sent, __ATOMIC_SEQ_CST))
            shi_gpc_lost(&g->child[i]);
    if (!g->is_root && g->pe == pe)
        shi_gpc_call_fetched(g);
}

/* A call that is held stays in the list, so its older ones can be found. */
void shi_gpc_call_lose(int pe)
{
    shi_spin_lock(&lock);
    struct shi_gpc_call *g = next_held(newest);
    shi_spin_unlock(&lock);
    while (g) {
        struct shi_gpc_call *was = g;
        lose(g, pe);
        shi_spin_lock(&lock);
        g = next_held(g->older);
        shi_spin_unlock(&lock);
        shi_gpc_call_drop(was);
    }
}

int shi_gpc_calls(void)
{
    return __atomic_load_n(&live, __ATOMIC_ACQUIRE);
}
