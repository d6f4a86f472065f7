/*
 * lower.c - lowers the functions of a parsed module: control flow, calls and the layout of frames. lower_*.c lower the other
 * instructions.
 */
#include "ze_cpu/lower.h"

#include <string.h>

#include "ze_cpu/cfg.h"
#include "ze_cpu/emit.h"
#include "ze_cpu/lines.h"
#include "ze_cpu/op.h"
#include "ze_cpu/phi.h"

enum { FIX_D, FIX_B, FIX_C, FIX_EXTRA };

/* ---- edges ------------------------------------------------------------------------------------------------------ */

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

/* Set one target of an instruction that has several: the label, or code that makes the moves of the edge and jumps there. */
static void edge(struct zc_module *m, uint32_t to, uint32_t at, uint8_t field)
{
    uint32_t stub = m->code.n;
    zc_phi_moves(m, to);
    if (stub == m->code.n) {
        fix(m, to, at, field);
        return;
    }
    jump(m, to);
    set_target(m, at, field, stub);
}

static void branch(struct zc_module *m, const uint32_t *p)
{
    zc_phi_moves(m, p[1]);
    if (p[1] != m->next_block)
        jump(m, p[1]);
}

static void branch_conditional(struct zc_module *m, const uint32_t *p)
{
    if (zc_type_of(m, p[1])->kind != KIND_BOOL)
        zc_fail(m, "the condition is not a boolean");
    uint32_t cond = zc_value(m, p[1]), at = m->code.n;
    struct zc_ins *last = at > m->block_pc ? &m->code.v[at - 1] : NULL;
    if (last && last->d == cond && m->id[p[1]].uses == 1 && last->op >= OP_EQ_1 && last->op <= OP_SLE_8V &&
        ((last->op - OP_EQ_1) % 8 == 2 || (last->op - OP_EQ_1) % 8 == 3)) {
        /* fuse compare and branch: a and b are the operands, c and d the targets */
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

/* What assert calls: SYCL and OpenCL C have no definition of it. Here it ends the kernel. */
static bool is_assertion(const struct zc_module *m, const struct zc_fn *f)
{
    const char *name = m->id[f->id].name;
    return !f->body && name && !strcmp(name, "__assert_fail");
}

/* In module.extra: for each argument its parameter's slot (link_calls fills it in), its slot, its size. */
static void call(struct zc_module *m, const uint32_t *p)
{
    struct zc_call *c = call_at(m, m->cur);
    struct zc_fn f = m->fns.v[c->callee];
    uint32_t n = ZC_WORDS(p) - 4, e = m->extra.n;
    if (n != f.nparam || p[1] != f.type)
        zc_fail(m, "the call does not match function %u", f.id);
    zc_push_n(m, m->extra, n * 3);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = (uint32_t)zc_type_of(m, p[4 + i])->size, s = zc_value(m, p[4 + i]);
        if (zc_type_of(m, m->params.v[f.param + i])->size != size)
            zc_fail(m, "argument %u has a different size", i);
        m->extra.v[e + i * 3 + 1] = s;
        m->extra.v[e + i * 3 + 2] = size;
    }
    uint32_t d = zc_type(m, p[1])->size ? zc_result(m, p) : 0;
    if (!f.body) { /* zeKernelCreate refuses the kernels that call another one */
        zc_emit(m, OP_TRAP, 0, 0, 0)->ptr = is_assertion(m, &f) ? "an assertion failed" : NULL;
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
        zc_fail(m, "the function has a different return type");
    zc_emit(m, OP_RETV, 0, zc_value(m, p[1]), (uint32_t)zc_type_of(m, p[1])->size);
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

static void line(struct zc_module *m, const uint32_t *p)
{
    const uint32_t *file = m->w + m->id[p[1]].def;
    bool named = m->id[p[1]].def && ZC_OP(file) == OpString;
    zc_lines_add(m, named ? (const char *)(file + 2) : NULL, p[2]);
}

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
    case OpLine:
        line(m, p);
        return true;
    case OpNoLine:
        zc_lines_add(m, NULL, 0);
        return true;
    case OpNop:
    case OpPhi:
    case OpLoopMerge:
    case OpSelectionMerge:
    case OpLifetimeStart:
    case OpLifetimeStop:
    case OpAssumeTrueKHR:
    case OpLoopControlINTEL:
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
    zc_lines_add(m, NULL, 0);
    zc_cfg(m, f);
    for (const uint32_t *p = m->w + f->def; p < m->w + f->end; p = zc_next(p))
        if (ZC_OP(p) == OpFunctionParameter || ZC_OP(p) == OpPhi) {
            m->cur = (uint32_t)(p - m->w);
            zc_result(m, p);
        }
    for (uint32_t i = 0; i < m->ranked.n; i++) {
        struct zc_block b = m->ranked.v[i];
        m->next_block = i + 1 < m->ranked.n ? m->ranked.v[i + 1].label : 0;
        for (const uint32_t *p = m->w + b.first; p <= m->w + b.last; p = zc_next(p))
            instruction(m, p);
    }
    m->cur = f->end;
    zc_emit(m, OP_TRAP, 0, 0, 0);
    for (uint32_t i = 0; i < m->fixes.n; i++) {
        struct zc_fix *x = &m->fixes.v[i];
        zc_label(m, x->label);
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
            zc_fail(m, "id %u is not a function", c->callee);
        c->callee = id->at;
        c->ins = ZC_NONE;
    }
}

/* Append the function after its callees to `order`. The recursion is as deep as the calls, at most ZC_CALLS. */
static void order_calls(struct zc_module *m, uint32_t index, uint32_t *order, uint32_t *n, unsigned depth)
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
            if (!is_assertion(m, &m->fns.v[g]))
                f->missing = m->fns.v[g].id;
            continue;
        }
        order_calls(m, g, order, n, depth + 1);
        if (m->fns.v[g].missing)
            f->missing = m->fns.v[g].missing;
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
    if (f->missing)
        k->missing = m->id[f->missing].name ? m->id[f->missing].name : "a function without a name";
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
            order_calls(m, i, order, &n, 0);
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
