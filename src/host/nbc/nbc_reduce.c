/*
 * nbc_reduce.c - nonblocking reductions and prefix sums: their steps.
 *
 * Short reductions by doubling, long ones by halves, of all members, so that tree.h's order holds whichever nodes they are on. In a
 * reduction whose parts stay with their members, each gets its part from all, and combines in the same order. Elements are combined in memory
 * of the host.
 */
#include <string.h>

#include "host/coll/share.h"
#include "host/coll/tree.h"
#include "host/nbc/nbc.h"
#include "host/ops/rma.h"
#include "host/ops/span.h"
#include "host/policy/schedule.h"

/* ---- reductions -------------------------------------------------------------------------------------------------------- */

/* room: what comes in a round, `bytes` at most, then, where the result is not made in dest, the elements combined so far. */
static char *acc_of(const struct shi_nbc *q)
{
    size_t in = shi_round_up(q->c.bytes, 16);
    return q->c.room_bytes > in ? q->c.room + in : q->c.dest;
}

static enum shi_plan plan_of(const struct shi_nbc *q)
{
    return q->c.halves ? SHI_PLAN_HALVING : SHI_PLAN_DOUBLING;
}

static struct shi_range range_of(const struct shi_nbc *q, const struct shi_run *run)
{
    const struct shi_range all = {0, q->c.n};
    int blocks = shi_plan_blocks(plan_of(q), q->as.n);
    return (struct shi_range){shi_coll_cut(all, blocks, run->first, q->c.op.elem).first,
                              shi_coll_cut(all, blocks, run->first + run->n - 1, q->c.op.elem).last};
}

/* What has come in a round joins the elements of this PE. */
static void take_round(struct shi_nbc *q, int r)
{
    struct shi_round x = shi_plan_round(plan_of(q), q->as.n, q->as.me, r);
    if (x.from < 0 || x.take == SHI_TAKE_STORE)
        return;
    struct shi_range of = range_of(q, &x.recv);
    size_t n = of.last - of.first, elem = q->c.op.elem;
    char *mine = acc_of(q) + of.first * elem;
    if (x.take == SHI_TAKE_OVER) {
        q->c.op.combine(mine, q->c.room, n);
    } else {
        q->c.op.combine(q->c.room, mine, n);
        memcpy(mine, q->c.room, n * elem);
    }
}

static enum shi_nbc_step reduce_step(struct shi_nbc *q)
{
    int r = q->round, rounds = shi_plan_rounds(plan_of(q), q->as.n);
    size_t elem = q->c.op.elem;
    if (r > 0)
        take_round(q, r - 1);
    if (r == rounds && q->c.narrow) /* the elements combined so far are not in dest */
        q->c.narrow->narrow((uint16_t *)q->c.room, (float *)acc_of(q), q->c.n);
    if (r == rounds) {
        shi_coll_copy(q->c.dest, q->c.narrow ? q->c.room : acc_of(q), q->c.result_bytes);
        return SHI_NBC_OVER;
    }
    struct shi_round x = shi_plan_round(plan_of(q), q->as.n, q->as.me, r);
    if (x.from >= 0) {
        struct shi_range of = range_of(q, &x.recv);
        char *to = x.take == SHI_TAKE_STORE ? acc_of(q) + of.first * elem : q->c.room;
        shi_nbc_recv(q, x.from, r, to, (of.last - of.first) * elem);
    }
    if (x.to >= 0) {
        struct shi_range of = range_of(q, &x.send);
        shi_nbc_send(q, x.to, r, acc_of(q) + of.first * elem, (of.last - of.first) * elem);
    }
    return SHI_NBC_NEXT;
}

/* The schedule that policy chooses for nodes of one member each. */
static int is_long(int members, size_t bytes)
{
    const struct shi_schedule_facts f = {.nodes = members, .pes = 1, .bytes = bytes};
    return shi_schedule_choose(SHI_COLL_REDUCE, &f, NULL, 0) == SHI_BY_HALVING;
}

/* Nothing is to be done. */
static void none(shmemx_req_t *req)
{
    *req = (shmemx_req_t)SHMEMX_REQ_NULL;
}

static struct shi_nbc_call reduction(const char *routine, struct shmem_team *t, void *dest, size_t n, const struct shi_reduction *r)
{
    size_t bytes = shi_bytes(n, r->elem);
    return (struct shi_nbc_call){.routine = routine, .team = t, .step = reduce_step, .dest = dest, .bytes = bytes, .n = n, .op = *r,
                                 .halves = is_long(t->n, bytes), .result_bytes = bytes};
}

void shi_nbc_reduce(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r,
                    shmemx_req_t *req)
{
    size_t bytes = shi_bytes(n, r->elem), in = shi_round_up(bytes, 16);
    shi_coll_check_both(routine, t, dest, bytes, source, bytes);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    if (n == 0) {
        none(req);
        return;
    }
    struct shi_nbc_call c = reduction(routine, t, dest, n, r);
    int in_dest = !shi_dheap_is_private(dest);
    char *room = shi_nbc_room(&c, in_dest ? in : 2 * in);
    shi_coll_copy(in_dest ? (char *)dest : room + in, source, bytes);
    shi_nbc_begin(&c, req);
}

/* *r has the operator of float. */
void shi_nbc_reduce_narrow(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r,
                           const struct shi_nbc_narrow *as, shmemx_req_t *req)
{
    size_t bytes = shi_bytes(n, sizeof(uint16_t)), in = shi_round_up(shi_bytes(n, r->elem), 16);
    shi_coll_check_both(routine, t, dest, bytes, source, bytes);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    if (n == 0) {
        none(req);
        return;
    }
    struct shi_nbc_call c = reduction(routine, t, dest, n, r);
    c.narrow = as;
    c.result_bytes = bytes;
    char *room = shi_nbc_room(&c, 2 * in);
    as->widen((float *)(room + in), shi_coll_readable(room, source, bytes), n);
    shi_nbc_begin(&c, req);
}

/* ---- prefix sums ------------------------------------------------------------------------------------------------------- */

/* room: this PE's elements, those of the members below that it has heard of, what comes, what goes. */
struct scan {
    char *own, *below, *in, *out;
};

static struct scan scan_of(const struct shi_nbc_call *c)
{
    size_t each = shi_round_up(c->bytes, 16);
    return (struct scan){c->room, c->room + each, c->room + 2 * each, c->room + 3 * each};
}

/* out = below op own. */
static void add_own(const struct shi_nbc *q, const struct scan *s, int some)
{
    memcpy(s->out, some ? s->below : s->own, q->c.bytes);
    if (some)
        q->c.op.combine(s->out, s->own, q->c.n);
}

static enum shi_nbc_step scan_step(struct shi_nbc *q)
{
    int n = q->as.n, me = q->as.me, r = q->round, rounds = shi_plan_rounds(SHI_PLAN_SCAN, n);
    const struct scan s = scan_of(&q->c);
    if (r > 0 && shi_plan_round(SHI_PLAN_SCAN, n, me, r - 1).recv.n) {
        if (r > 1)
            q->c.op.combine(s.in, s.below, q->c.n);
        memcpy(s.below, s.in, q->c.bytes);
    }
    if (r == rounds) {
        add_own(q, &s, me > 0);
        if (q->c.exclusive && me == 0)
            memset(s.below, 0, q->c.bytes); /* all-zero bytes are zero in every type of the table */
        shi_coll_copy(q->c.dest, q->c.exclusive ? s.below : s.out, q->c.bytes);
        return SHI_NBC_OVER;
    }
    struct shi_round x = shi_plan_round(SHI_PLAN_SCAN, n, me, r);
    if (x.recv.n)
        shi_nbc_recv(q, x.from, r, s.in, q->c.bytes);
    if (x.send.n) {
        add_own(q, &s, me > 0 && r > 0);
        shi_nbc_send(q, x.to, r, s.out, q->c.bytes);
    }
    return SHI_NBC_NEXT;
}

void shi_nbc_scan(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r,
                  int exclusive, shmemx_req_t *req)
{
    size_t bytes = shi_bytes(n, r->elem);
    shi_coll_check_both(routine, t, dest, bytes, source, bytes);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    if (n == 0) {
        none(req);
        return;
    }
    struct shi_nbc_call c = {.routine = routine, .team = t, .step = scan_step, .dest = dest, .bytes = bytes, .n = n, .op = *r,
                             .exclusive = exclusive};
    shi_coll_copy(shi_nbc_room(&c, 4 * shi_round_up(bytes, 16)), source, bytes);
    shi_nbc_begin(&c, req);
}

/* ---- reductions whose parts stay with their members ---------------------------------------------------------------------- */

/* room: where the members' parts begin in source, then a place for this PE's part from each member. */
static size_t bytes_of_places(int n)
{
    return shi_round_up(((size_t)n + 1) * sizeof(size_t), 16);
}

static char *parts_of(const struct shi_nbc_call *c)
{
    return c->room + bytes_of_places(c->team->n);
}

static enum shi_nbc_step scatter_step(struct shi_nbc *q)
{
    char *parts = parts_of(&q->c);
    size_t bytes = q->c.in.each;
    if (q->round < shi_nbc_exchange_steps(q)) {
        shi_nbc_exchange(q, parts, q->c.source);
        return SHI_NBC_NEXT;
    }
    struct shi_tree tree;
    shi_tree_begin(&tree, &q->c.op, bytes / q->c.op.elem, q->as.n);
    for (int i = 0; i < q->as.n && bytes; i++)
        shi_tree_add(&tree, parts + bytes * (size_t)i);
    shi_coll_copy(q->c.dest, parts, bytes);
    return SHI_NBC_OVER;
}

static void begin_parts(struct shi_nbc_call c, size_t n, const size_t *counts, shmemx_req_t *req)
{
    int members = c.team->n, me = c.team->me;
    size_t own = c.in.each;
    size_t *at = (size_t *)shi_nbc_room(&c, bytes_of_places(members) + shi_bytes(own, (size_t)members));
    at[0] = 0;
    for (int i = 0; i < members; i++)
        at[i + 1] = at[i] + (counts ? counts[i] : n) * c.op.elem;
    c.out.at = at;
    shi_coll_copy(parts_of(&c) + own * (size_t)me, (const char *)c.source + at[me], own);
    shi_nbc_begin(&c, req);
}

void shi_nbc_reduce_scatter(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n, const size_t *counts,
                            const struct shi_reduction *r, shmemx_req_t *req)
{
    shi_coll_check(routine, t, SHI_READ, "", NULL, 0);
    size_t own = shi_bytes(counts ? counts[t->me] : n, r->elem), all = 0;
    for (int i = 0; i < t->n; i++)
        all += shi_bytes(counts ? counts[i] : n, r->elem);
    shi_coll_check(routine, t, SHI_READ, "source", source, all);
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, own);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, all);
    begin_parts((struct shi_nbc_call){.routine = routine, .team = t, .step = scatter_step, .dest = dest, .source = source, .op = *r,
                                      .in.each = own}, n, counts, req);
}
