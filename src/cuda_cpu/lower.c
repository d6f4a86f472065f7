/*
 * lower.c - lowering of PTX: control flow, calls, the layout of frames, kernels. The other instructions are in ins_*.c.
 *
 * The functions that kernels reach are lowered callers first, so that the frame of each lies above those of all its callers. This
 * is done twice: the first pass finds the constants, which lie below all frames, and its code is dropped.
 */
#include "cuda_cpu/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ze_cpu/lines.h"

enum { FIX_D, FIX_B, FIX_C, FIX_EXTRA };

/* ---- jumps ------------------------------------------------------------------------------------------------------ */

static void set_target(struct zc_module *m, uint32_t at, uint8_t field, uint32_t pc)
{
    uint32_t *to[] = {&m->code.v[at].d, &m->code.v[at].b, &m->code.v[at].c};
    if (field == FIX_EXTRA)
        m->extra.v[at] = pc;
    else
        *to[field] = pc;
}

static void fix(struct ptx *p, uint32_t label, uint32_t at, uint8_t field)
{
    *zc_push(p->m, p->m->fixes) = (struct zc_fix){label, at, field};
}

static uint32_t label(struct ptx *p, const struct ptx_operand *o)
{
    if (o->kind != O_NAME)
        ptx_fail(p, "%s: a label expected", p->ins->op);
    return o->index;
}

/* A jump on a predicate: fused with the comparison right before it, if nothing else reads the predicate. */
static void branch_if(struct ptx *p, uint32_t to)
{
    struct zc_module *m = p->m;
    struct ptx_reg *r = &p->regs.v[p->ins->guard - 1];
    uint32_t cond = cc_register(p, p->ins->guard - 1), at = m->code.n;
    struct zc_ins *last = at > m->block_pc ? &m->code.v[at - 1] : NULL;
    unsigned nth = last ? (last->op - OP_EQ_1) % 8 : 0;
    uint8_t taken = p->ins->unless ? FIX_D : FIX_C, not_taken = p->ins->unless ? FIX_C : FIX_D;
    if (last && last->d == cond && r->uses == 2 && last->op >= OP_EQ_1 && last->op <= OP_SLE_8V && (nth == 2 || nth == 3)) {
        last->op = (uint16_t)(OP_BR_EQ_4 + (last->op - OP_EQ_1) / 8 * 2 + (nth == 3));
        at--;
    } else {
        taken = p->ins->unless ? FIX_C : FIX_B;
        not_taken = p->ins->unless ? FIX_B : FIX_C;
        cc_emit(p, OP_BRC, 0, cond, 0);
    }
    fix(p, to, at, taken);
    set_target(m, at, not_taken, m->code.n);
    m->block_pc = m->code.n; /* a jump target: the instruction that follows is fused with none before it */
}

static void emit_bra(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    cc_has(p, "uni");
    uint32_t to = label(p, cc_operand(p, 0));
    if (p->ins->guard) {
        branch_if(p, to);
        return;
    }
    fix(p, to, p->m->code.n, FIX_D);
    cc_emit(p, OP_BR, 0, 0, 0);
}

/* brx.idx index, list: the list is the .branchtargets behind its label. */
static void emit_brx(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    cc_has(p, "uni");
    const struct ptx_fn *f = &p->fns.v[p->cur_fn];
    uint32_t list = label(p, cc_operand(p, 1)), index = cc_source(p, 0, cc_u32);
    const struct ptx_ins *t = NULL;
    for (uint32_t k = 0; k + 1 < f->body.n; k++)
        if (!f->body.v[k].op && f->body.v[k].label == list)
            t = &f->body.v[k + 1];
    if (!t || !t->op || strcmp(t->op, "branchtargets"))
        ptx_fail(p, "brx.idx without .branchtargets");
    uint32_t e = p->m->extra.n;
    struct zc_ins *i = cc_emit(p, OP_SWITCH, 0, index, t->nop);
    i->w = 4;
    i->c = e;
    uint32_t *x = zc_push_n(p->m, p->m->extra, t->nop * 3u + 1);
    for (uint32_t k = 0; k < t->nop; k++) {
        x[k * 3] = k;
        fix(p, p->operands.v[t->op1 + k].index, e + k * 3 + 2, FIX_EXTRA);
    }
    fix(p, p->operands.v[t->op1].index, e + t->nop * 3u, FIX_EXTRA); /* an index out of range is undefined */
}

static void emit_nothing(struct ptx *p, const struct cc_row *r)
{
    (void)p, (void)r;
}

static void emit_ret(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    const struct ptx_fn *f = &p->fns.v[p->cur_fn];
    cc_has(p, "uni");
    if (!f->result) {
        cc_emit(p, OP_RET, 0, 0, 0);
        return;
    }
    struct ptx_var *v = &p->vars.v[f->result - 1];
    cc_emit(p, OP_RETV, 0, cc_variable(p, v), (uint32_t)v->size);
}

static void emit_exit(struct ptx *p, const struct cc_row *r)
{
    cc_emit(p, r->vm, 0, 0, 0)->ptr = r->f32;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* The function that a call names; the operands before it are results. */
static uint32_t callee(struct ptx *p, const struct ptx_ins *i)
{
    const struct ptx_operand *o = &p->operands.v[i->op1 + i->nret];
    for (uint32_t k = 0; k < p->fns.n && o->kind == O_NAME; k++)
        if (p->fns.v[k].unit == p->unit && strcmp(p->fns.v[k].name, o->name) == 0)
            return p->fns.v[k].definition;
    ptx_fail(p, "call: %s is no function", o->name ? o->name : "the operand");
}

static uint32_t argument(struct ptx *p, const struct ptx_operand *o, uint64_t size)
{
    if (o->kind != O_VAR)
        return cc_value(p, o, (struct ptx_type){PTX_B, (uint8_t)(size > 8 ? 8 : size), "argument"});
    struct ptx_var *v = &p->vars.v[o->index];
    if (v->space != SPACE_PARAM || v->size != size)
        ptx_fail(p, "call: the argument %s does not fit", v->name);
    return cc_variable(p, v);
}

/* Functions of CUDA's device run time. false: it is none. */
static bool call_known(struct ptx *p, const struct ptx_fn *f)
{
    const struct ptx_ins *i = p->ins;
    unsigned nargs = i->nop - i->nret - 1u;
    if (strcmp(f->name, "vprintf") == 0 && nargs == 2 && i->nret == 1) {
        uint32_t fmt = argument(p, cc_operand(p, i->nret + 1u), 8), args = argument(p, cc_operand(p, i->nret + 2u), 8);
        cc_emit(p, OP_PRINTF_PACKED, argument(p, cc_operand(p, 0), 4), fmt, args);
        return true;
    }
    if (strcmp(f->name, "__assertfail") == 0) {
        cc_emit(p, OP_TRAP, 0, 0, 0)->ptr = "an assertion failed";
        return true;
    }
    return false;
}

/* In module.extra: for each argument its parameter's slot (link_calls fills it in), its slot, its size. */
static void emit_call(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    cc_has(p, "uni");
    const struct ptx_ins *i = p->ins;
    const struct ptx_fn *f = &p->fns.v[callee(p, i)];
    uint32_t nargs = i->nop - i->nret - 1u;
    if (!f->defined) {
        if (!call_known(p, f))
            ptx_fail(p, "call: %s is not defined%s", f->name, p->nunits > 1 ? " in any of the linked modules" : " in this module");
        return;
    }
    if (nargs != f->params.n || (i->nret && !f->result) || i->nret > 1)
        ptx_fail(p, "call: the arguments or results are not those of %s", f->name);
    uint32_t slots[ZC_ARGS], d = 0;
    for (uint32_t k = 0; k < nargs; k++)
        slots[k] = argument(p, cc_operand(p, i->nret + 1u + k), p->vars.v[f->params.v[k]].size);
    if (f->result) {
        uint64_t size = p->vars.v[f->result - 1].size;
        d = i->nret ? argument(p, cc_operand(p, 0), size) : zc_slot_new(p->m, size, 8);
    }
    uint32_t e = p->m->extra.n;
    zc_push_n(p->m, p->m->extra, nargs * 3);
    for (uint32_t k = 0; k < nargs; k++) {
        p->m->extra.v[e + k * 3 + 1] = slots[k];
        p->m->extra.v[e + k * 3 + 2] = (uint32_t)p->vars.v[f->params.v[k]].size;
    }
    *zc_push(p->m, p->m->calls) =
        (struct zc_call){.caller = p->cur_fn, .callee = (uint32_t)(f - p->fns.v), .ins = p->m->code.n};
    cc_emit(p, OP_CALL, d, 0, e)->c = nargs;
}

static void link_calls(struct ptx *p)
{
    struct zc_module *m = p->m;
    for (uint32_t k = 0; k < m->calls.n; k++) {
        struct zc_ins *c = &m->code.v[m->calls.v[k].ins];
        const struct ptx_fn *f = &p->fns.v[m->calls.v[k].callee];
        c->a = m->fns.v[m->calls.v[k].callee].pc;
        for (uint32_t n = 0; n < f->params.n; n++)
            m->extra.v[c->b + n * 3] = p->vars.v[f->params.v[n]].slot;
    }
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

static const struct cc_row control[] = {
    {"bra", "", 0, emit_bra, 0, NULL, NULL},
    {"brx", "idx", 0, emit_brx, 0, NULL, NULL},
    {"branchtargets", "", 0, emit_nothing, 0, NULL, NULL},
    {"ret", "", 0, emit_ret, 0, NULL, NULL},
    {"call", "", 0, emit_call, 0, NULL, NULL},
    {"exit", "", 0, emit_exit, OP_EXIT, NULL, NULL},
    {"trap", "", 0, emit_exit, OP_TRAP, "executed trap", NULL},
    {"brkpt", "", 0, emit_exit, OP_TRAP, "executed brkpt", NULL},
    {"pmevent", "", 0, emit_nothing, 0, NULL, NULL},
};

static void refuse(struct ptx *p, const char *why)
{
    const struct ptx_ins *i = p->ins;
    char text[160];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", i->op);
    for (unsigned k = 0; k < i->nmod && n < sizeof text; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, ".%s", i->mod[k]);
    for (unsigned k = 0; k < i->ntype && n < sizeof text; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, ".%s", i->type[k].name);
    ptx_fail(p, "the instruction %s is not supported%s%s", text, *why ? ": " : "", why);
}

static void instruction(struct ptx *p, struct ptx_ins *i)
{
    struct zc_module *m = p->m;
    uint32_t skip = ZC_NONE;
    p->ins = i;
    p->line = i->line;
    i->used = 0;
    if (i->guard && strcmp(i->op, "bra")) {
        skip = m->code.n;
        cc_emit(p, OP_BRC, 0, cc_register(p, i->guard - 1), 0);
        set_target(m, skip, i->unless ? FIX_C : FIX_B, m->code.n);
    }
    if (!cc_by_rows(p, control, sizeof control / sizeof *control) && !cc_arith(p) && !cc_half(p) && !cc_compare(p) && !cc_mbarrier(p) && !cc_memory(p) &&
        !cc_float(p) && !cc_convert(p) && !cc_atomic(p) && !cc_group(p) &&
        !cc_texture(p))
        refuse(p, "");
    for (unsigned k = 0; k < i->nmod; k++)
        if (!(i->used >> k & 1))
            refuse(p, i->mod[k]);
    if (skip != ZC_NONE) {
        set_target(m, skip, i->unless ? FIX_B : FIX_C, m->code.n);
        m->block_pc = m->code.n;
    }
}

/* Tell the module the source's line of the next instruction. */
static void line(struct ptx *p, const struct ptx_source *s)
{
    const char *name = NULL;
    for (uint32_t k = 0; k < p->files.n && s->line; k++)
        if (p->files.v[k].unit == p->unit && p->files.v[k].number == s->file)
            name = p->files.v[k].name;
    zc_lines_add(p->m, name, s->line);
}

static void function(struct ptx *p, uint32_t index)
{
    struct zc_module *m = p->m;
    struct ptx_fn *f = &p->fns.v[index];
    struct zc_fn *z = &m->fns.v[index];
    p->cur_fn = index;
    p->unit = f->unit;
    p->carry = ZC_NONE;
    m->fixes.n = 0;
    m->frame = z->base;
    z->pc = m->block_pc = m->code.n;
    for (uint32_t k = 0; k < f->params.n; k++)
        cc_variable(p, &p->vars.v[f->params.v[k]]);
    p->label_pc.n = 0;
    uint32_t *at = zc_push_n(m, p->label_pc, f->labels);
    memset(at, 0xff, f->labels * sizeof *at);
    const struct ptx_source *last = NULL;
    for (uint32_t k = 0; k < f->body.n; k++) {
        if (!last || memcmp(last, &f->body.v[k].source, sizeof *last)) {
            last = &f->body.v[k].source;
            line(p, last);
        }
        if (f->body.v[k].op)
            instruction(p, &f->body.v[k]);
        else
            p->label_pc.v[f->body.v[k].label] = m->block_pc = m->code.n;
    }
    cc_emit(p, OP_TRAP, 0, 0, 0)->ptr = "reached the end of a function";
    for (uint32_t k = 0; k < m->fixes.n; k++) {
        uint32_t pc = p->label_pc.v[m->fixes.v[k].label];
        if (pc == ZC_NONE)
            ptx_fail(p, "%s: a jump to a label that the function lacks", f->name);
        set_target(m, m->fixes.v[k].at, m->fixes.v[k].field, pc);
    }
    z->size = m->frame - z->base;
    for (uint32_t k = 0; k < f->calls.n; k++) {
        struct zc_fn *g = &m->fns.v[f->calls.v[k]];
        uint32_t end = (m->frame + 127) & ~127u;
        g->base = g->base < end ? end : g->base;
    }
}

/* Append the function after its callees to `order`. */
static void order_calls(struct ptx *p, uint32_t index, uint32_t *order, uint32_t *n, unsigned depth)
{
    struct zc_fn *z = &p->m->fns.v[index];
    struct ptx_fn *f = &p->fns.v[index];
    if (z->mark == 2)
        return;
    p->unit = f->unit;
    p->line = f->line;
    if (z->mark == 1)
        ptx_fail(p, "%s calls itself: recursion is not supported", f->name);
    if (depth > ZC_CALLS)
        ptx_fail(p, "calls nest deeper than %d", ZC_CALLS);
    z->mark = 1;
    for (uint32_t k = 0; k < f->body.n; k++) {
        if (!f->body.v[k].op || strcmp(f->body.v[k].op, "call"))
            continue;
        p->unit = f->unit;
        p->line = f->body.v[k].line;
        uint32_t g = callee(p, &f->body.v[k]);
        if (!p->fns.v[g].defined)
            continue;
        order_calls(p, g, order, n, depth + 1);
        *zc_push(p->m, f->calls) = g;
        if (p->m->fns.v[g].depth + 1 > z->depth)
            z->depth = p->m->fns.v[g].depth + 1;
    }
    z->mark = 2;
    order[(*n)++] = index;
}

static void pass(struct ptx *p, const uint32_t *order, uint32_t n, uint32_t base)
{
    struct zc_module *m = p->m;
    m->code.n = m->extra.n = m->calls.n = m->lines.n = 0;
    for (uint32_t k = 0; k < p->vars.n; k++)
        p->vars.v[k].slot = ZC_NONE;
    for (uint32_t k = 0; k < p->regs.n; k++)
        p->regs.v[k].slot = ZC_NONE;
    for (uint32_t k = 0; k < m->fns.n; k++)
        m->fns.v[k].base = base;
    for (uint32_t k = n; k-- > 0;)
        function(p, order[k]);
}

/* The last argument of every kernel is the dynamic shared memory, behind the static one. */
static void kernel(struct ptx *p, uint32_t index, uint32_t dynamic)
{
    struct zc_module *m = p->m;
    const struct ptx_fn *f = &p->fns.v[index];
    struct zc_kernel_info *k = zc_push(m, m->kernels);
    p->unit = f->unit;
    p->line = f->line;
    if (f->params.n + 1 > ZC_ARGS)
        ptx_fail(p, "kernel %s has more than %d arguments", f->name, ZC_ARGS - 1);
    k->name = f->name;
    k->fn = index;
    k->nargs = f->params.n + 1;
    memcpy(k->group, f->group, sizeof k->group);
    for (uint32_t n = 0; n < f->params.n; n++) {
        const struct ptx_var *v = &p->vars.v[f->params.v[n]];
        k->arg[n].size = (uint32_t)v->size;
        k->arg[n].slot = v->slot;
    }
    k->arg[f->params.n].local = true;
    k->arg[f->params.n].slot = dynamic;
    k->frame = (m->fns.v[index].reach + 63) & ~63u;
}

void ptx_lower(struct ptx *p)
{
    struct zc_module *m = p->m;
    uint32_t n = 0, *order = zc_keep(m, (p->fns.n + 1) * sizeof *order);
    p->shared_base = ZC_NONE;
    memset(p->special, 0xff, sizeof p->special);
    zc_push_n(m, m->fns, p->fns.n);
    for (uint32_t k = 0; k < p->fns.n; k++)
        if (p->fns.v[k].kernel && p->fns.v[k].defined)
            order_calls(p, k, order, &n, 0);
    for (uint32_t k = 0; k < n; k++)
        m->fns.v[order[k]].body = true;
    uint32_t dynamic = cc_constant(p, 0x64796e616d6963, 8); /* a place of its own: no instruction has this constant */
    pass(p, order, n, 0);
    p->second_pass = true;
    pass(p, order, n, (m->image.n + 127) & ~127u);
    link_calls(p);
    for (uint32_t k = 0; k < n; k++) { /* callees come first */
        struct zc_fn *z = &m->fns.v[order[k]];
        z->reach = z->base + z->size;
        for (uint32_t c = 0; c < p->fns.v[order[k]].calls.n; c++) {
            uint32_t r = m->fns.v[p->fns.v[order[k]].calls.v[c]].reach;
            z->reach = r > z->reach ? r : z->reach;
        }
    }
    for (uint32_t k = 0; k < p->fns.n; k++)
        if (p->fns.v[k].kernel && p->fns.v[k].defined)
            kernel(p, k, dynamic);
    zc_lines_done(m);
}
