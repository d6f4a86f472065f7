/*
 * soak_rma.c - the random puts, gets and atomics of the soak test, with fences and quiets between them.
 *
 * Puts fill the writer's area at the target from begin to end, with gaps, and then start again after a fence or a
 * quiet. One put in eight is followed by a fence and a second put over it. So puts overlap only across a fence, and
 * then the later one must win.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { PUT, PUT_NBI, P, IPUT, IBPUT, GET, GET_NBI, G, IGET, IBGET, AMO, FENCE, QUIET };

void soak_rma_up(struct worker *w)
{
    size_t all = (size_t)soak.n * AREA_BYTES;
    w->at.area = shmem_calloc(1, all);
    w->at.in = shmem_calloc(1, AREA_BYTES);
    w->sent = calloc(1, all);
    w->due = calloc(1, all);
    w->in = malloc(AREA_BYTES);
    w->want = malloc(AREA_BYTES);
    for (int i = 0; i < PENDING; i++)
        w->pending[i].buffer = malloc(SLOT_BYTES);
}

/* ---- operations ------------------------------------------------------------------------------------------------------ */

static int kind_of(struct dice *d)
{
    static const unsigned char weight[] = {[PUT] = 16, [PUT_NBI] = 22, [P] = 10, [IPUT] = 4, [IBPUT] = 3, [GET] = 5,
                                           [GET_NBI] = 7, [G] = 3, [IGET] = 2, [IBGET] = 2, [AMO] = 24, [FENCE] = 1,
                                           [QUIET] = 1};
    int left = (int)roll(d, 100), kind = PUT;
    while (left >= weight[kind])
        left -= weight[kind++];
    return kind;
}

static size_t span(const struct shape *s, ptrdiff_t stride)
{
    return ((s->count - 1) * (size_t)stride + s->block) * s->elem;
}

static struct shape shape_of(struct dice *d, int kind)
{
    struct shape s = {1, 1, 1, 1, 1};
    if (kind == P || kind == G) {
        s.elem = (size_t)1 << roll(d, 4);
    } else if (kind == IPUT || kind == IGET || kind == IBPUT || kind == IBGET) {
        int blocks = kind == IBPUT || kind == IBGET;
        s.elem = (size_t)1 << roll(d, 5);
        s.block = blocks ? 1 + roll(d, roll(d, 8) ? 16 : 700) : 1;
        s.count = 1 + roll(d, roll(d, 8) ? 12 : 600) / (s.block > 50 ? 8 : 1);
        s.dst = (ptrdiff_t)(s.block + (roll(d, 3) ? roll(d, 4) : 0));
        s.sst = (ptrdiff_t)(s.block + (roll(d, 3) ? roll(d, 4) : 0));
    } else {
        s.block = soak_length(d, soak.longest);
    }
    return s;
}

static size_t aligned(size_t at, size_t to)
{
    return (at + to - 1) & ~(to - 1);
}

/* A second put: a short one within a longer first one, or of any length over it. */
static void put_over(struct dice *d, struct op *op, size_t first)
{
    struct over *o = &op->over;
    o->nbi = (int)roll(d, 2);
    o->bytes = roll(d, 2) ? 1 + roll(d, 64) : 1 + roll(d, SLOT_BYTES);
    o->to = o->bytes < first ? roll(d, first - o->bytes) : 0;
    o->from = roll(d, PATTERN_BYTES - SLOT_BYTES);
}

/* Place the put after the previous one in the area. */
static void place(struct dice *d, struct op *op, struct reach *r)
{
    size_t bytes = span(&op->shape, op->shape.dst), gap = roll(d, 4) ? 0 : roll(d, 24);
    int how = 1 + (roll(d, 4) == 0);
    if (roll(d, 8) == 0)
        put_over(d, op, bytes);
    bytes = bytes > op->over.bytes + op->over.to ? bytes : op->over.bytes + op->over.to;
    size_t at = aligned(r->cursor + gap, op->shape.elem);
    op->wraps = at + bytes > AREA_BYTES ? how : 0;
    op->to = op->wraps ? aligned(gap, op->shape.elem) : at;
    r->cursor = op->to + bytes;
    r->wrapped |= op->wraps != 0;
}

/* Compute operation k of a writer. `to` holds its position at each PE; or `to` is NULL and `only` holds its position at
 * PE `pe`: then operations on other PEs are not computed. */
static void make(struct op *op, int writer, int thread, uint64_t k, struct reach *to, struct reach *only, int pe)
{
    struct dice d = dice(ROLL_OP, writer, thread, k);
    *op = (struct op){.k = k, .kind = kind_of(&d)};
    op->pe = (int)roll(&d, (size_t)soak.n);
    op->spin = (int)roll(&d, 4);
    if (op->kind >= FENCE || (only && op->pe != pe))
        return;
    if (op->kind == AMO) {
        soak_amo_make(&d, op);
        return;
    }
    op->shape = shape_of(&d, op->kind);
    op->from = aligned(roll(&d, PATTERN_BYTES - span(&op->shape, op->shape.sst) - 16), op->shape.elem);
    if (op->kind < GET) {
        place(&d, op, only ? only : &to[op->pe]);
    } else {
        op->own = (int)roll(&d, 2);
        op->value = any(&d);
    }
}

void soak_copy(char *to, const char *from, const struct shape *s)
{
    for (size_t i = 0; i < s->count; i++)
        memcpy(to + i * (size_t)s->dst * s->elem, from + i * (size_t)s->sst * s->elem, s->block * s->elem);
}

/* ---- the calls ------------------------------------------------------------------------------------------------------ */

static void put_one(struct worker *w, void *to, const void *from, const struct op *op)
{
    switch (op->shape.elem) {
    case 1: shmem_ctx_char_p(w->ctx, to, *(const char *)from, op->pe); break;
    case 2: shmem_ctx_uint16_p(w->ctx, to, *(const uint16_t *)from, op->pe); break;
    case 4: shmem_ctx_int_p(w->ctx, to, *(const int *)from, op->pe); break;
    default: shmem_ctx_long_p(w->ctx, to, *(const long *)from, op->pe);
    }
}

static void get_one(struct worker *w, void *to, const void *from, const struct op *op)
{
    switch (op->shape.elem) {
    case 1: *(char *)to = shmem_ctx_char_g(w->ctx, from, op->pe); break;
    case 2: *(uint16_t *)to = shmem_ctx_uint16_g(w->ctx, from, op->pe); break;
    case 4: *(int *)to = shmem_ctx_int_g(w->ctx, from, op->pe); break;
    default: *(long *)to = shmem_ctx_long_g(w->ctx, from, op->pe);
    }
}

#define BY_SIZE(CALL, ...)                                                                                           \
    switch (s->elem) {                                                                                               \
    case 1: shmem_ctx_##CALL##8(__VA_ARGS__); break;                                                                 \
    case 2: shmem_ctx_##CALL##16(__VA_ARGS__); break;                                                                \
    case 4: shmem_ctx_##CALL##32(__VA_ARGS__); break;                                                                \
    case 8: shmem_ctx_##CALL##64(__VA_ARGS__); break;                                                                \
    default: shmem_ctx_##CALL##128(__VA_ARGS__);                                                                     \
    }

static void call(struct worker *w, void *to, const void *from, const struct op *op)
{
    const struct shape *s = &op->shape;
    switch (op->kind) {
    case PUT: shmem_ctx_putmem(w->ctx, to, from, s->block, op->pe); break;
    case PUT_NBI: shmem_ctx_putmem_nbi(w->ctx, to, from, s->block, op->pe); break;
    case P: put_one(w, to, from, op); break;
    case IPUT: BY_SIZE(iput, w->ctx, to, from, s->dst, s->sst, s->count, op->pe) break;
    case IBPUT: BY_SIZE(ibput, w->ctx, to, from, s->dst, s->sst, s->block, s->count, op->pe) break;
    case GET: shmem_ctx_getmem(w->ctx, to, from, s->block, op->pe); break;
    case GET_NBI: shmem_ctx_getmem_nbi(w->ctx, to, from, s->block, op->pe); break;
    case G: get_one(w, to, from, op); break;
    case IGET: BY_SIZE(iget, w->ctx, to, from, s->dst, s->sst, s->count, op->pe) break;
    case IBGET: BY_SIZE(ibget, w->ctx, to, from, s->dst, s->sst, s->block, s->count, op->pe) break;
    }
}

static void fence(struct worker *w)
{
    shmem_ctx_fence(w->ctx);
    w->fences++;
}

/* Complete all operations, and check the results of nonblocking ones. */
void soak_quiet(struct worker *w)
{
    shmem_ctx_quiet(w->ctx);
    w->fences++;
    w->quiets++;
    for (int pe = 0; pe < soak.n; pe++) {
        w->to[pe].low = 0;
        w->to[pe].high = w->to[pe].cursor;
    }
    for (int i = 0; i < w->n_pending; i++) {
        struct pending *p = &w->pending[i];
        if (p->kind == 1) {
            soak_same(w, "get_nbi", p->k, p->buffer, soak.pattern[p->op.pe] + p->op.from, p->op.shape.block);
        } else if (p->kind) {
            uint64_t got = p->kind == 2 ? p->got64 : p->got32;
            soak_same(w, "a fetching atomic, nbi", p->k, &got, &p->want, sizeof got);
        }
    }
    w->n_pending = 0;
}

static void do_put_over(struct worker *w, const struct op *op, char *to)
{
    const struct over *o = &op->over;
    const char *from = soak.pattern[soak.me] + o->from;
    memcpy(w->sent + (size_t)op->pe * AREA_BYTES + op->to + o->to, from, o->bytes);
    if (o->nbi)
        shmem_ctx_putmem_nbi(w->ctx, to, from, o->bytes, op->pe);
    else
        shmem_ctx_putmem(w->ctx, to, from, o->bytes, op->pe);
    w->ops++;
}

static void do_put(struct worker *w, const struct op *op)
{
    struct reach *r = &w->to[op->pe];
    char *area = w->at.area + (size_t)soak.me * AREA_BYTES;
    if (op->wraps == 2) {
        soak_quiet(w);
        r->high = AREA_BYTES;
    } else if (op->wraps) {
        fence(w);
        r->high = r->low ? 0 : r->high; /* the second restart without a quiet */
    }
    if (op->wraps || r->low)
        r->low = r->cursor;
    const char *from = (op->spin % 2 ? soak.constant : soak.pattern[soak.me]) + op->from;
    size_t bytes = span(&op->shape, op->shape.sst);
    soak_copy(w->sent + (size_t)op->pe * AREA_BYTES + op->to, soak.pattern[soak.me] + op->from, &op->shape);
    if (op->spin == 2 && op->kind != PUT_NBI) { /* overwrite the source as soon as the call returns */
        memcpy(w->in, from, bytes);
        call(w, area + op->to, w->in, op);
        memset(w->in, 0x33, bytes);
    } else {
        call(w, area + op->to, from, op);
    }
    if (op->over.bytes) {
        fence(w);
        do_put_over(w, op, area + op->to + op->over.to);
    }
}

static void do_get_nbi(struct worker *w, const struct op *op)
{
    if (w->n_pending == PENDING)
        soak_quiet(w);
    struct pending *p = &w->pending[w->n_pending++];
    p->kind = 1;
    p->k = op->k;
    p->op = *op;
    memset(p->buffer, 0x5a, op->shape.block);
    call(w, p->buffer, soak.constant + op->from, op);
}

/* A blocking get of constant data, or of data that this writer put before its last quiet. */
static void do_get(struct worker *w, struct op *op)
{
    const struct reach *r = &w->to[op->pe];
    size_t reads = span(&op->shape, op->shape.sst), bytes = span(&op->shape, op->shape.dst);
    const char *at = soak.constant + op->from, *truth = soak.pattern[op->pe] + op->from;
    size_t low = aligned(r->low, op->shape.elem);
    if (op->own && r->high > low && reads <= r->high - low) {
        size_t off = low + (op->value % (r->high - low - reads + 1) & ~(op->shape.elem - 1));
        at = w->at.area + (size_t)soak.me * AREA_BYTES + off;
        truth = w->sent + (size_t)op->pe * AREA_BYTES + off;
    }
    char *in = op->spin % 2 ? w->at.in : w->in;
    memset(in, 0x5a, bytes);
    memset(w->want, 0x5a, bytes);
    soak_copy(w->want, truth, &op->shape);
    call(w, in, at, op);
    if (op->kind == GET_NBI)
        soak_quiet(w);
    soak_same(w, at == soak.constant + op->from ? "a get of constant data" : "a get of data completed by quiet", op->k,
              in, w->want, bytes);
}

/* Begin or end a session of the context; data that has been put must arrive with either. */
static void turn_session(struct worker *w)
{
    w->session = !w->session;
    if (w->session)
        shmem_ctx_session_start(w->ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    else
        shmem_ctx_session_stop(w->ctx);
}

static void issue(struct worker *w, struct op *op)
{
    w->k = op->k;
    switch (op->kind) {
    case FENCE:
        fence(w);
        if (op->spin == 0)
            turn_session(w);
        break;
    case QUIET: soak_quiet(w); break;
    case AMO: soak_amo_issue(w, op); break;
    case GET_NBI:
        if (op->shape.block <= SLOT_BYTES)
            do_get_nbi(w, op);
        else
            do_get(w, op);
        break;
    case GET: case G: case IGET: case IBGET: do_get(w, op); break;
    default: do_put(w, op);
    }
    w->ops++;
}

/* ---- a step ---------------------------------------------------------------------------------------------------------- */

static uint64_t operations(int writer, int thread)
{
    struct dice d = dice(ROLL_STEP, writer, thread, 0);
    size_t most = roll(&d, 3) ? 3000 : 30;
    return roll(&d, most);
}

void soak_rma_issue(struct worker *w)
{
    uint64_t n = operations(soak.me, w->id);
    struct op op;
    w->doing = "RMA and atomics";
    for (int pe = 0; pe < soak.n; pe++)
        w->to[pe].wrapped = 0;
    for (uint64_t k = 0; k < n; k++) {
        make(&op, soak.me, w->id, k, w->to, NULL, 0);
        issue(w, &op);
        soak_sig_issue(w, (int)k, (int)n);
    }
    soak_sig_issue(w, (int)n, (int)n);
}

static void verify_writer(struct worker *w, int writer)
{
    struct reach *r = &w->by[writer];
    char *due = w->due + (size_t)writer * AREA_BYTES, *area = w->at.area + (size_t)writer * AREA_BYTES;
    uint64_t n = operations(writer, w->id);
    size_t from = r->cursor;
    struct op op;
    r->wrapped = 0;
    for (uint64_t k = 0; k < n; k++) {
        make(&op, writer, w->id, k, NULL, r, soak.me);
        if (op.pe != soak.me)
            continue;
        if (op.kind < GET) {
            soak_copy(due + op.to, soak.pattern[writer] + op.from, &op.shape);
            memcpy(due + op.to + op.over.to, soak.pattern[writer] + op.over.from, op.over.bytes);
        } else if (op.kind == AMO) {
            soak_amo_replay(w, writer, &op);
        }
    }
    size_t to = r->cursor;
    if (r->wrapped || soak.step % 16 == 0) {
        from = 0;
        to = AREA_BYTES;
    }
    char what[64];
    snprintf(what, sizeof what, "the area of PE %d from byte %zu on", writer, from);
    soak_same(w, what, n, area + from, due + from, to - from);
}

void soak_rma_verify(struct worker *w)
{
    w->doing = "verifying";
    for (int writer = 0; writer < soak.n; writer++)
        verify_writer(w, writer);
    soak_amo_verify(w);
}
