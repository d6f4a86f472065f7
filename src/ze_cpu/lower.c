/*
 * lower.c - lowers the functions of a parsed module: control flow, phis, calls and the layout of frames. What a single
 * instruction becomes is in lower_*.c.
 */
#include <stdlib.h>
#include <string.h>

#include "ze_cpu/module.h"
#include "ze_cpu/op.h"

enum { FIX_D, FIX_B, FIX_C, FIX_EXTRA };
enum { PHIS_MAX = 512, SCAN_MAX = 200 };

unsigned zc_log2(unsigned width)
{
    return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;
}

struct zc_ins *zc_emit(struct zc_module *m, unsigned op, uint32_t d, uint32_t a, uint32_t b)
{
    struct zc_ins *i = zc_push(m, m->code);
    i->op = (uint16_t)op;
    i->n = 1;
    i->d = d;
    i->a = a;
    i->b = b;
    return i;
}

uint32_t zc_temp(struct zc_module *m, unsigned width)
{
    return zc_slot_new(m, width, width);
}

void zc_move(struct zc_module *m, uint32_t d, uint32_t s, uint64_t size)
{
    if (d == s)
        return;
    bool plain = (size == 1 || size == 2 || size == 4 || size == 8) && !((d | s) % size);
    zc_emit(m, plain ? OP_MOV_1 + zc_log2((unsigned)size) : OP_MOV_N, d, s, (uint32_t)size);
}

/* ---- slots of values -------------------------------------------------------------------------------------------- */

uint32_t zc_value(struct zc_module *m, uint32_t id)
{
    zc_type_of(m, id);
    struct zc_id *v = &m->id[id];
    if (v->builtin && v->what == ID_CONSTANT) {
        uint32_t t = zc_temp(m, 8);
        zc_emit(m, OP_LEA, t, v->slot, 0);
        return t;
    }
    if (v->what == ID_VALUE && v->fn != m->cur_fn)
        zc_fail(m, "id %u belongs to another function", id);
    if (v->folded) {
        int64_t imm;
        uint32_t t = zc_temp(m, 8), base = zc_flat(m, id, &imm);
        zc_emit(m, OP_PADD, t, base, 0)->imm = imm;
        return t;
    }
    if (!v->slotted)
        zc_fail(m, "id %u is used before its definition", id);
    return v->slot;
}

uint32_t zc_result(struct zc_module *m, const uint32_t *p)
{
    struct zc_id *v = &m->id[p[2]];
    if (!v->slotted) {
        struct zc_type *t = zc_type(m, p[1]);
        v->slot = zc_slot_new(m, t->size, t->align);
        v->slotted = true;
    }
    return v->slot;
}

void zc_alias(struct zc_module *m, const uint32_t *p, uint32_t slot)
{
    struct zc_type *t = zc_type(m, p[1]);
    if (m->id[p[2]].slotted || slot % (t->align > 16 ? 16 : t->align)) {
        zc_move(m, zc_result(m, p), slot, t->size);
        return;
    }
    m->id[p[2]].slot = slot;
    m->id[p[2]].slotted = true;
}

/* Does the value of word w, if it is an id, lie in or depend on the bytes of slot s? */
static bool depends(struct zc_module *m, uint32_t w, uint32_t s, uint32_t size)
{
    if (!w || w >= m->bound)
        return false;
    struct zc_id *v = &m->id[w];
    if (v->what != ID_VALUE || v->fn != m->cur_fn)
        return false;
    if (v->folded)
        return (v->addr.base + 8 > s && v->addr.base < s + size) ||
               (v->addr.index != ZC_NONE && v->addr.index + 8 > s && v->addr.index < s + size);
    return v->slotted && v->slot + zc_type(m, v->type)->size > s && v->slot < s + size;
}

static bool is_phi_or_line(const uint32_t *q)
{
    return ZC_OP(q) == OpPhi || ZC_OP(q) == OpLine || ZC_OP(q) == OpNoLine;
}

/* The value that phi q takes when control comes from the current block, or 0. */
static uint32_t incoming(struct zc_module *m, const uint32_t *q)
{
    for (uint32_t i = 3; i + 1 < ZC_WORDS(q); i += 2)
        if (q[i + 1] == m->block)
            return q[i];
    return 0;
}

static const uint32_t *label(struct zc_module *m, uint32_t id)
{
    if (id >= m->bound || m->id[id].what != ID_LABEL || m->id[id].fn != m->cur_fn)
        zc_fail(m, "id %u is no label of this function", id);
    return m->w + m->id[id].def;
}

/* The next instruction; every function ends with OpFunctionEnd, so inside one there is always a next. */
static const uint32_t *next(const uint32_t *q)
{
    return q + ZC_WORDS(q);
}

/*
 * The slot of p's result. When the block jumps back to a loop head whose phi takes this very value, and nothing between
 * here and the jump needs the phi's old value, both share one slot and the jump needs no move: after the jump the value
 * is the phi's. (A jump forward is another matter: the loop changes its phi, and others may need the value it began
 * with.) Only for results that are written by one instruction after it has read its operands.
 */
uint32_t zc_result_phi(struct zc_module *m, const uint32_t *p)
{
    struct zc_id *v = &m->id[p[2]];
    const uint32_t *q = next(p), *phi = NULL;
    int left = SCAN_MAX;
    for (; ZC_OP(q) < OpLoopMerge && ZC_OP(q) != OpFunctionEnd && left; q = next(q))
        left--;
    while (ZC_OP(q) == OpLoopMerge || ZC_OP(q) == OpSelectionMerge)
        q = next(q);
    if (v->slotted || ZC_OP(q) != OpBranch)
        return zc_result(m, p);
    const uint32_t *head = next(label(m, q[1]));
    for (const uint32_t *r = head; is_phi_or_line(r); r = next(r))
        if (ZC_OP(r) == OpPhi && r[1] == p[1] && incoming(m, r) == p[2])
            phi = r;
    if (!phi || !zc_dominates(m, q[1], m->block) || !m->id[phi[2]].slotted)
        return zc_result(m, p);
    uint32_t s = m->id[phi[2]].slot, size = (uint32_t)zc_type(m, p[1])->size;
    for (const uint32_t *r = next(p); r < q; r = next(r))
        for (uint32_t i = 1; i < ZC_WORDS(r); i++)
            if (depends(m, r[i], s, size))
                return zc_result(m, p);
    for (const uint32_t *r = head; is_phi_or_line(r); r = next(r))
        if (ZC_OP(r) == OpPhi && r != phi && depends(m, incoming(m, r), s, size))
            return zc_result(m, p);
    v->slot = s;
    v->slotted = true;
    return s;
}

/* ---- edges ------------------------------------------------------------------------------------------------------ */

struct move {
    uint32_t d, s, size;
};

static bool overlap(const struct move *w, const struct move *r)
{
    return w->d < r->s + r->size && r->s < w->d + w->size;
}

/* Emit moves that happen all at once: first those that overwrite no other's source; a cycle is cut by a copy. */
static void parallel(struct zc_module *m, struct move *mv, uint32_t n)
{
    while (n) {
        uint32_t pick = ZC_NONE;
        for (uint32_t i = 0; i < n && pick == ZC_NONE; i++) {
            bool free = true;
            for (uint32_t j = 0; j < n && free; j++)
                free = j == i || !overlap(&mv[i], &mv[j]);
            if (free)
                pick = i;
        }
        if (pick == ZC_NONE) {
            uint32_t t = zc_slot_new(m, mv[0].size, 16);
            zc_move(m, t, mv[0].s, mv[0].size);
            mv[0].s = t;
            continue;
        }
        zc_move(m, mv[pick].d, mv[pick].s, mv[pick].size);
        mv[pick] = mv[--n];
    }
}

/* The moves into the phis of a block, from the current one. Returns how many. */
static uint32_t phi_moves(struct zc_module *m, uint32_t to, struct move *mv)
{
    uint32_t n = 0;
    for (const uint32_t *q = next(label(m, to)); is_phi_or_line(q); q = next(q)) {
        if (ZC_OP(q) != OpPhi)
            continue;
        uint32_t v = incoming(m, q);
        if (!v)
            zc_fail(m, "phi %u has no value for the jump from %u", q[2], m->block);
        uint32_t size = (uint32_t)zc_type(m, q[1])->size;
        if (zc_type_of(m, v)->size != size)
            zc_fail(m, "phi %u takes a value of another size", q[2]);
        struct move one = {zc_result(m, q), zc_value(m, v), size};
        if (one.d == one.s)
            continue;
        if (n == PHIS_MAX)
            zc_fail(m, "more than %d phis", PHIS_MAX);
        mv[n++] = one;
    }
    return n;
}

static void fix(struct zc_module *m, uint32_t to, uint32_t at, uint8_t field)
{
    *zc_push(m, m->fixes) = (struct zc_fix){to, at, field};
}

static void jump(struct zc_module *m, uint32_t to)
{
    fix(m, to, m->code.n, FIX_D);
    zc_emit(m, OP_BR, 0, 0, 0);
}

static void set_target(struct zc_module *m, uint32_t at, uint8_t field, uint32_t pc)
{
    switch (field) {
    case FIX_D:
        m->code.v[at].d = pc;
        break;
    case FIX_B:
        m->code.v[at].b = pc;
        break;
    case FIX_C:
        m->code.v[at].c = pc;
        break;
    default:
        m->extra.v[at] = pc;
    }
}

/* A target of an instruction that has several: straight to the label, or to the moves that come first. */
static void edge(struct zc_module *m, uint32_t to, uint32_t at, uint8_t field)
{
    struct move mv[PHIS_MAX];
    uint32_t stub = m->code.n, n = phi_moves(m, to, mv);
    if (!n && stub == m->code.n) {
        fix(m, to, at, field);
        return;
    }
    parallel(m, mv, n);
    jump(m, to);
    set_target(m, at, field, stub);
}

static void branch(struct zc_module *m, const uint32_t *p)
{
    struct move mv[PHIS_MAX];
    parallel(m, mv, phi_moves(m, p[1], mv));
    if (p[1] != m->next_block)
        jump(m, p[1]);
}

static void branch_conditional(struct zc_module *m, const uint32_t *p)
{
    if (zc_type_of(m, p[1])->kind != KIND_BOOL)
        zc_fail(m, "the condition is no boolean");
    uint32_t cond = zc_value(m, p[1]), at = m->code.n;
    struct zc_ins *last = at > m->block_pc ? &m->code.v[at - 1] : NULL;
    if (last && last->d == cond && m->id[p[1]].uses == 1 && last->op >= OP_EQ_1 && last->op <= OP_SLE_8V &&
        ((last->op - OP_EQ_1) % 8 == 2 || (last->op - OP_EQ_1) % 8 == 3)) {
        /* compare and branch at once: a and b compared, targets in c and d */
        last->op = (uint16_t)(OP_BR_EQ_4 + (last->op - OP_EQ_1) / 8 * 2 + ((last->op - OP_EQ_1) % 8 == 3));
        at--;
        edge(m, p[2], at, FIX_C);
        edge(m, p[3], at, FIX_D);
        return;
    }
    zc_emit(m, OP_BRC, 0, cond, 0);
    edge(m, p[2], at, FIX_B);
    edge(m, p[3], at, FIX_C);
}

static void branch_switch(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type_of(m, p[1]);
    uint32_t each, n = zc_cases(m, p, &each), lit = each - 1, at = m->code.n;
    struct zc_ins *i = zc_emit(m, OP_SWITCH, 0, zc_value(m, p[1]), n);
    i->w = (uint8_t)t->size;
    uint32_t e = m->extra.n;
    m->code.v[at].c = e;
    zc_push_n(m, m->extra, n * 3 + 1);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t *c = p + 3 + k * each;
        uint64_t v = zc_mask(c[0] | (lit == 2 ? (uint64_t)c[1] << 32 : 0), (unsigned)t->size);
        m->extra.v[e + k * 3] = (uint32_t)v;
        m->extra.v[e + k * 3 + 1] = (uint32_t)(v >> 32);
        edge(m, c[lit], e + k * 3 + 2, FIX_EXTRA);
    }
    edge(m, p[2], e + n * 3, FIX_EXTRA);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static struct zc_call *call_at(struct zc_module *m, uint32_t word)
{
    struct zc_fn *f = &m->fns.v[m->cur_fn - 1];
    uint32_t lo = f->call, hi = f->call + f->ncalls;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (m->calls.v[mid].word <= word)
            lo = mid;
        else
            hi = mid;
    }
    return &m->calls.v[lo];
}

/* Arguments: triples of target slot (filled in by link_calls), source slot, size. */
static void call(struct zc_module *m, const uint32_t *p)
{
    struct zc_call *c = call_at(m, m->cur);
    struct zc_fn f = m->fns.v[c->callee];
    uint32_t n = ZC_WORDS(p) - 4, e = m->extra.n;
    if (n != f.nparam || p[1] != f.type)
        zc_fail(m, "the call does not fit function %u", f.id);
    zc_push_n(m, m->extra, n * 3);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = (uint32_t)zc_type_of(m, p[4 + i])->size, s = zc_value(m, p[4 + i]);
        if (zc_type_of(m, m->params.v[f.param + i])->size != size)
            zc_fail(m, "argument %u has another size", i);
        m->extra.v[e + i * 3 + 1] = s;
        m->extra.v[e + i * 3 + 2] = size;
    }
    uint32_t d = zc_type(m, p[1])->size ? zc_result(m, p) : 0;
    if (!f.body) { /* no kernel that gets here can be created */
        zc_emit(m, OP_TRAP, 0, 0, 0);
        return;
    }
    c->ins = m->code.n;
    zc_emit(m, OP_CALL, d, 0, e)->c = n;
}

static void link_calls(struct zc_module *m)
{
    for (uint32_t i = 0; i < m->calls.n; i++) {
        if (m->calls.v[i].ins == ZC_NONE)
            continue;
        struct zc_ins *c = &m->code.v[m->calls.v[i].ins];
        struct zc_fn *f = &m->fns.v[m->calls.v[i].callee];
        c->a = f->pc;
        for (uint32_t k = 0; k < f->nparam; k++)
            m->extra.v[c->b + k * 3] = m->id[m->params.v[f->param + k]].slot;
    }
}

static void return_value(struct zc_module *m, const uint32_t *p)
{
    if (m->id[p[1]].type != m->fns.v[m->cur_fn - 1].type || !zc_type_of(m, p[1])->size)
        zc_fail(m, "the function returns another type");
    zc_emit(m, OP_RETV, 0, zc_value(m, p[1]), (uint32_t)zc_type_of(m, p[1])->size);
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

static bool control(struct zc_module *m, const uint32_t *p)
{
    switch (ZC_OP(p)) {
    case OpLabel:
        m->block = p[1];
        m->block_pc = m->code.n;
        m->id[p[1]].at = m->code.n;
        return true;
    case OpBranch:
        branch(m, p);
        return true;
    case OpBranchConditional:
        branch_conditional(m, p);
        return true;
    case OpSwitch:
        branch_switch(m, p);
        return true;
    case OpReturn:
        zc_emit(m, OP_RET, 0, 0, 0);
        return true;
    case OpReturnValue:
        return_value(m, p);
        return true;
    case OpFunctionCall:
        call(m, p);
        return true;
    case OpKill:
    case OpUnreachable:
        zc_emit(m, OP_TRAP, 0, 0, 0);
        return true;
    case OpNop:
    case OpLine:
    case OpNoLine:
    case OpPhi:
    case OpLoopMerge:
    case OpSelectionMerge:
    case OpLifetimeStart:
    case OpLifetimeStop:
    case OpAssumeTrueKHR:
        return true;
    }
    return false;
}

static void instruction(struct zc_module *m, const uint32_t *p)
{
    m->cur = (uint32_t)(p - m->w);
    if (!control(m, p) && !zc_lower_arith(m, p) && !zc_lower_memory(m, p) && !zc_lower_atomic(m, p) &&
        !zc_lower_composite(m, p) && !zc_lower_convert(m, p) && !zc_lower_ext(m, p) && !zc_lower_group(m, p))
        zc_fail(m, "this instruction is not supported in a function");
}

static void function(struct zc_module *m, uint32_t index)
{
    struct zc_fn *f = &m->fns.v[index];
    m->cur_fn = index + 1;
    m->fixes.n = 0;
    m->frame = f->base;
    f->pc = m->code.n;
    zc_cfg(m, f);
    for (const uint32_t *p = m->w + f->def; p < m->w + f->end; p = next(p))
        if (ZC_OP(p) == OpFunctionParameter || ZC_OP(p) == OpPhi) {
            m->cur = (uint32_t)(p - m->w);
            zc_result(m, p);
        }
    for (uint32_t i = 0; i < m->ranked.n; i++) {
        struct zc_block b = m->ranked.v[i];
        m->next_block = i + 1 < m->ranked.n ? m->ranked.v[i + 1].label : 0;
        for (const uint32_t *p = m->w + b.first; p <= m->w + b.last; p = next(p))
            instruction(m, p);
    }
    m->cur = f->end;
    zc_emit(m, OP_TRAP, 0, 0, 0);
    for (uint32_t i = 0; i < m->fixes.n; i++) {
        struct zc_fix *x = &m->fixes.v[i];
        label(m, x->label);
        set_target(m, x->at, x->field, m->id[x->label].at);
    }
    f->size = m->frame - f->base;
    for (uint32_t i = 0; i < f->ncalls; i++) {
        struct zc_fn *g = &m->fns.v[m->calls.v[f->call + i].callee];
        uint32_t end = (m->frame + 127) & ~127u;
        if (g->base < end)
            g->base = end;
    }
}

static void resolve_calls(struct zc_module *m)
{
    for (uint32_t i = 0; i < m->calls.n; i++) {
        struct zc_call *c = &m->calls.v[i];
        m->cur = c->word;
        struct zc_id *id = &m->id[c->callee];
        if (id->what != ID_FUNCTION)
            zc_fail(m, "id %u is no function", c->callee);
        c->callee = id->at;
        c->ins = ZC_NONE;
    }
}

/* Callees before callers into order; the depth of calls is bounded, so this recursion is too. */
static void walk(struct zc_module *m, uint32_t index, uint32_t *order, uint32_t *n, unsigned depth)
{
    struct zc_fn *f = &m->fns.v[index];
    if (f->mark == 2)
        return;
    m->cur = f->def;
    if (f->mark == 1)
        zc_fail(m, "function %u calls itself", f->id);
    if (depth > ZC_CALLS)
        zc_fail(m, "calls nest deeper than %d", ZC_CALLS);
    f->mark = 1;
    for (uint32_t i = 0; i < f->ncalls; i++) {
        uint32_t g = m->calls.v[f->call + i].callee;
        if (!m->fns.v[g].body) {
            f->lacks = m->fns.v[g].id;
            continue;
        }
        walk(m, g, order, n, depth + 1);
        if (m->fns.v[g].lacks)
            f->lacks = m->fns.v[g].lacks;
        if (m->fns.v[g].depth + 1 > f->depth)
            f->depth = m->fns.v[g].depth + 1;
    }
    if (f->depth > ZC_CALLS)
        zc_fail(m, "calls nest deeper than %d", ZC_CALLS);
    f->mark = 2;
    order[(*n)++] = index;
}

static void kernel(struct zc_module *m, struct zc_kernel_info *k)
{
    if (k->fn >= m->bound || m->id[k->fn].what != ID_FUNCTION || !m->fns.v[m->id[k->fn].at].body)
        zc_fail(m, "kernel %s has no body", k->name);
    struct zc_fn *f = &m->fns.v[m->id[k->fn].at];
    k->fn = (uint32_t)(f - m->fns.v);
    if (f->lacks)
        k->lacks = m->id[f->lacks].name ? m->id[f->lacks].name : "a function without a name";
    k->nargs = f->nparam;
    if (k->nargs > ZC_ARGS)
        zc_fail(m, "kernel %s has more than %d arguments", k->name, ZC_ARGS);
    for (uint32_t i = 0; i < k->nargs; i++) {
        uint32_t id = m->params.v[f->param + i];
        struct zc_type *t = zc_type_of(m, id);
        k->arg[i].slot = m->id[id].slot;
        k->arg[i].local = t->kind == KIND_POINTER && t->storage == STORAGE_LOCAL;
        k->arg[i].byval = t->kind == KIND_POINTER && m->id[id].byval;
        k->arg[i].size = (uint32_t)(k->arg[i].byval ? zc_type(m, t->elem)->size : t->size);
    }
    m->frame = f->reach;
    for (uint32_t i = 0; i < k->nargs; i++)
        if (k->arg[i].byval)
            k->arg[i].copy = zc_slot_new(m, k->arg[i].size, 128);
    k->frame = (m->frame + 63) & ~63u;
}

void zc_lower(struct zc_module *m)
{
    resolve_calls(m);
    uint32_t n = 0, *order = zc_keep(m, m->fns.n * sizeof *order), start = (m->frame + 127) & ~127u;
    for (uint32_t i = 0; i < m->fns.n; i++) {
        m->fns.v[i].base = start;
        if (m->fns.v[i].body)
            walk(m, i, order, &n, 0);
    }
    for (uint32_t i = n; i-- > 0;)
        function(m, order[i]);
    m->cur = 0;
    link_calls(m);
    for (uint32_t i = 0; i < n; i++) {
        struct zc_fn *f = &m->fns.v[order[i]];
        f->reach = f->base + f->size;
        for (uint32_t k = 0; k < f->ncalls; k++) {
            uint32_t r = m->fns.v[m->calls.v[f->call + k].callee].reach;
            f->reach = r > f->reach ? r : f->reach;
        }
    }
    for (uint32_t i = 0; i < m->kernels.n; i++)
        kernel(m, &m->kernels.v[i]);
}
