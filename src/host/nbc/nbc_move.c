/* nbc_move.c - nonblocking collectives that move data, and those that only synchronise: their steps. */
#include <string.h>

#include "host/nbc/nbc.h"
#include "host/net/node/doorbell.h"
#include "host/net/stream/stream.h"
#include "host/ops/dheap.h"
#include "host/ops/rma.h"
#include "host/ops/span.h"
#include "host/util/log.h"

/* ---- synchronisation --------------------------------------------------------------------------------------------------- */

static enum shi_nbc_step sync_step(struct shi_nbc *q)
{
    int n = q->as.n, me = q->as.me, r = q->round - 1;
    if (q->round == 0) /* the operations of this PE are complete */
        return !q->c.n || shi_stream_quiet(shi_world.lane, -1, &q->c.quiet) ? SHI_NBC_NEXT : SHI_NBC_LATER;
    if (r == shi_plan_rounds(SHI_PLAN_BARRIER, n))
        return SHI_NBC_OVER;
    struct shi_round x = shi_plan_round(SHI_PLAN_BARRIER, n, me, r);
    shi_nbc_recv(q, x.from, r, NULL, 0);
    shi_nbc_send(q, x.to, r, NULL, 0);
    return SHI_NBC_NEXT;
}

void shi_nbc_sync(const char *routine, struct shmem_team *t, int quiet, shmemx_req_t *req)
{
    shi_coll_check(routine, t, SHI_READ, "", NULL, 0);
    SHI_SPAN(span, SHI_BARRIERS, routine, NULL, SHI_TO_NONE, 0);
    struct shi_nbc_call c = {.routine = routine, .team = t, .step = sync_step};
    if (quiet) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        shi_doorbell_ring_words();
        c.n = shi_world.lane && !shi_stream_quiet(shi_world.lane, -1, &c.quiet);
    }
    shi_nbc_begin(&c, req);
}

/* ---- broadcast --------------------------------------------------------------------------------------------------------- */

/* Down a binomial tree, whose rank 0 is the root: receive, then send to all children, the largest subtree first. */
static enum shi_nbc_step broadcast_step(struct shi_nbc *q)
{
    int n = q->as.n, root = q->c.root, rank = (q->as.me - root + n) % n;
    if (q->round == 2)
        return SHI_NBC_OVER;
    for (int r = 0; r < shi_plan_rounds(SHI_PLAN_TREE, n); r++) {
        struct shi_round x = shi_plan_round(SHI_PLAN_TREE, n, rank, r);
        if (q->round == 0 && x.from >= 0)
            shi_nbc_recv(q, (x.from + root) % n, 0, q->c.dest, q->c.bytes);
        if (q->round == 1 && x.to >= 0)
            shi_nbc_send(q, (x.to + root) % n, 0, rank ? q->c.dest : q->c.source, q->c.bytes);
    }
    return SHI_NBC_NEXT;
}

void shi_nbc_broadcast(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes, int root, shmemx_req_t *req)
{
    shi_coll_check_both(routine, t, dest, bytes, source, bytes);
    shi_coll_check_root(routine, t, root);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, t->me == root ? bytes : 0);
    if (t->me == root)
        shi_coll_copy(dest, source, bytes);
    shi_nbc_begin(&(const struct shi_nbc_call){.routine = routine, .team = t, .step = broadcast_step, .dest = dest, .source = source,
                                               .bytes = bytes, .root = root}, req);
}

/* ---- collects ---------------------------------------------------------------------------------------------------------- */

/* The blocks of a run of ranks, modulo their number, as one message or two. */
static void post_run(struct shi_nbc *q, int sends, int pe, int part, char *base, const struct shi_nbc_blocks *b, const struct shi_run *run)
{
    int n = q->as.n, first = run->first, end = first + run->n, last = end < n ? end : n;
    for (int k = 0; k < 2 && first < last; k++, first = 0, last = end - n) {
        size_t at = shi_nbc_start(b, first), bytes = shi_nbc_start(b, last) - at;
        if (sends)
            shi_nbc_send(q, pe, part, base + at, bytes);
        else
            shi_nbc_recv(q, pe, part, base + at, bytes);
    }
}

static void gather_round(struct shi_nbc *q, int r, int part, void *base, const struct shi_nbc_blocks *b)
{
    struct shi_round x = shi_plan_round(SHI_PLAN_GATHER, q->as.n, q->as.me, r);
    post_run(q, 0, x.from, part, base, b, &x.recv);
    post_run(q, 1, x.to, part, base, b, &x.send);
}

static enum shi_nbc_step fcollect_step(struct shi_nbc *q)
{
    if (q->round == shi_plan_rounds(SHI_PLAN_GATHER, q->as.n))
        return SHI_NBC_OVER;
    gather_round(q, q->round, q->round, q->c.dest, &q->c.in);
    return SHI_NBC_NEXT;
}

void shi_nbc_fcollect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes, shmemx_req_t *req)
{
    shi_coll_check(routine, t, SHI_READ, "source", source, bytes);
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, shi_bytes(bytes, (size_t)t->n));
    shi_coll_check_apart(routine, dest, bytes * (size_t)t->n, source, bytes);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    shi_coll_copy((char *)dest + bytes * (size_t)t->me, source, bytes);
    shi_nbc_begin(&(const struct shi_nbc_call){.routine = routine, .team = t, .step = fcollect_step, .dest = dest, .in.each = bytes}, req);
}

/* On any thread, which does not look at the program's blocks. */
static void check_dest(const struct shi_nbc *q, size_t bytes)
{
    if (bytes && !shi_reach(&shi_world.peer[shi_world.pe], q->c.dest, bytes) && !shi_dheap_hides(q->c.dest, bytes))
        shi_resolve_slow(q->c.routine, SHI_CTX_DEFAULT, SHI_WRITE, "dest", q->c.dest, bytes, shi_world.pe);
}

/* The members' lengths, then their blocks. room: the lengths, then the blocks' places. */
static enum shi_nbc_step collect_step(struct shi_nbc *q)
{
    int n = q->as.n, rounds = shi_plan_rounds(SHI_PLAN_GATHER, n);
    size_t *length = (size_t *)q->c.room, *at = length + n;
    if (q->round < rounds) {
        gather_round(q, q->round, q->round, length, &(const struct shi_nbc_blocks){.each = sizeof *length});
        return SHI_NBC_NEXT;
    }
    if (q->round == rounds) {
        at[0] = 0;
        for (int i = 0; i < n; i++)
            at[i + 1] = at[i] + length[i];
        check_dest(q, at[n]);
        shi_coll_check_apart(q->c.routine, q->c.dest, at[n], q->c.source, q->c.bytes);
        shi_coll_copy((char *)q->c.dest + at[q->as.me], q->c.source, q->c.bytes);
        q->c.in.at = at;
    }
    if (q->round == 2 * rounds)
        return SHI_NBC_OVER;
    gather_round(q, q->round - rounds, q->round, q->c.dest, &q->c.in);
    return SHI_NBC_NEXT;
}

void shi_nbc_collect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes, shmemx_req_t *req)
{
    shi_coll_check(routine, t, SHI_READ, "source", source, bytes);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    struct shi_nbc_call c = {.routine = routine, .team = t, .step = collect_step, .dest = dest, .source = source, .bytes = bytes};
    size_t *length = (size_t *)shi_nbc_room(&c, (2 * (size_t)t->n + 1) * sizeof *length);
    length[t->me] = bytes;
    shi_nbc_begin(&c, req);
}

/* ---- alltoalls --------------------------------------------------------------------------------------------------------- */

int shi_nbc_exchange_steps(const struct shi_nbc *q)
{
    return (q->as.n - 1 + SHI_NBC_PARTNERS - 1) / SHI_NBC_PARTNERS;
}

void shi_nbc_exchange(struct shi_nbc *q, char *dest, const char *source)
{
    int n = q->as.n, me = q->as.me;
    for (int i = 0, k = 1 + q->round * SHI_NBC_PARTNERS; i < SHI_NBC_PARTNERS && k < n; i++, k++) {
        int from = (me - k + n) % n;
        if (shi_nbc_length(&q->c.in, from))
            shi_nbc_recv(q, from, 0, dest + shi_nbc_start(&q->c.in, from), shi_nbc_length(&q->c.in, from));
    }
    for (int i = 0, k = 1 + q->round * SHI_NBC_PARTNERS; i < SHI_NBC_PARTNERS && k < n; i++, k++) {
        int to = (me + k) % n;
        if (shi_nbc_length(&q->c.out, to))
            shi_nbc_send(q, to, 0, source + shi_nbc_start(&q->c.out, to), shi_nbc_length(&q->c.out, to));
    }
}

static enum shi_nbc_step alltoall_step(struct shi_nbc *q)
{
    if (q->round == shi_nbc_exchange_steps(q))
        return SHI_NBC_OVER;
    shi_nbc_exchange(q, q->c.dest, q->c.source);
    return SHI_NBC_NEXT;
}

static void copy_own(const struct shi_nbc_call *c)
{
    int me = c->team->me;
    if (shi_nbc_length(&c->in, me) != shi_nbc_length(&c->out, me))
        shi_die(c->routine, "this PE, number %d of the team, sends itself %zu bytes and expects %zu", me, shi_nbc_length(&c->out, me),
                shi_nbc_length(&c->in, me));
    shi_coll_copy((char *)c->dest + shi_nbc_start(&c->in, me), (const char *)c->source + shi_nbc_start(&c->out, me),
                  shi_nbc_length(&c->in, me));
}

void shi_nbc_alltoall(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes, shmemx_req_t *req)
{
    size_t all = t ? shi_bytes(bytes, (size_t)t->n) : 0;
    shi_coll_check(routine, t, SHI_READ, "source", source, all);
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, all);
    shi_coll_check_apart(routine, dest, all, source, all);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    struct shi_nbc_call c = {.routine = routine, .team = t, .step = alltoall_step, .dest = dest, .source = source, .in.each = bytes,
                             .out.each = bytes};
    copy_own(&c);
    shi_nbc_begin(&c, req);
}

/* With strides: the elements travel packed, through room. */
static enum shi_nbc_step alltoalls_step(struct shi_nbc *q)
{
    char *in = q->c.room, *out = in + q->c.in.each * (size_t)q->as.n;
    if (q->round < shi_nbc_exchange_steps(q)) {
        shi_nbc_exchange(q, in, out);
        return SHI_NBC_NEXT;
    }
    for (size_t i = 0, n = q->c.n * (size_t)q->as.n; i < n; i++)
        shi_coll_copy((char *)q->c.dest + (ptrdiff_t)i * q->c.dst * (ptrdiff_t)q->c.bytes, in + i * q->c.bytes, q->c.bytes);
    return SHI_NBC_OVER;
}

void shi_nbc_alltoalls(const char *routine, struct shmem_team *t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                       size_t elem, shmemx_req_t *req)
{
    size_t n = t ? nelems * (size_t)t->n : 0;
    if (dst < 1 || sst < 1)
        shi_die(routine, "dst = %td, sst = %td: strides must be at least 1", dst, sst);
    shi_coll_check(routine, t, SHI_READ, "source", source, n ? shi_bytes((n - 1) * (size_t)sst + 1, elem) : 0);
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, n ? shi_bytes((n - 1) * (size_t)dst + 1, elem) : 0);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, nelems * elem);
    struct shi_nbc_call c = {.routine = routine, .team = t, .step = alltoalls_step, .dest = dest, .bytes = elem, .n = nelems, .dst = dst,
                             .sst = sst, .in.each = nelems * elem, .out.each = nelems * elem};
    char *in = shi_nbc_room(&c, 2 * n * elem), *out = in + n * elem;
    for (size_t i = 0; i < n; i++)
        shi_coll_copy(out + i * elem, (const char *)source + (ptrdiff_t)i * sst * (ptrdiff_t)elem, elem);
    memcpy(in + nelems * elem * (size_t)t->me, out + nelems * elem * (size_t)t->me, nelems * elem);
    shi_nbc_begin(&c, req);
}

/* In bytes, in the call's memory, and where the last block ends. */
static struct shi_nbc_blocks in_bytes(const char *routine, struct shi_nbc_vector v, size_t *room, int n, size_t elem, size_t *end)
{
    size_t *at = room, *of = room + n;
    *end = 0;
    for (int i = 0; i < n; i++) {
        at[i] = shi_bytes(v.at[i], elem);
        of[i] = shi_bytes(v.of[i], elem);
        if (of[i] && at[i] + of[i] < at[i])
            shi_die(routine, "the block of PE %d of the team is outside of any memory", i);
        if (of[i] && at[i] + of[i] > *end)
            *end = at[i] + of[i];
    }
    return (struct shi_nbc_blocks){.at = at, .of = of};
}

void shi_nbc_alltoallv(const char *routine, struct shmem_team *t, void *dest, struct shi_nbc_vector in, const void *source, struct shi_nbc_vector out,
                       size_t elem, shmemx_req_t *req)
{
    shi_coll_check(routine, t, SHI_READ, "source", NULL, 0);
    struct shi_nbc_call c = {.routine = routine, .team = t, .step = alltoall_step, .dest = dest, .source = source};
    size_t in_end, out_end, *room = (size_t *)shi_nbc_room(&c, 4 * (size_t)t->n * sizeof *room);
    c.in = in_bytes(routine, in, room, t->n, elem, &in_end);
    c.out = in_bytes(routine, out, room + 2 * t->n, t->n, elem, &out_end);
    shi_coll_check(routine, t, SHI_READ, "source", source, out_end);
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, in_end);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, out_end);
    copy_own(&c);
    shi_nbc_begin(&c, req);
}
