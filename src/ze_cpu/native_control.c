/* native_control.c - branches, calls and returns as x86-64. */
#include "ze_cpu/native_gen.h"

#if defined(__x86_64__)

enum { ARGS_MAX = 16, ARG_MAX = 64, CASES_MAX = 32 };

static bool jump_always(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    n_jump(g, i->d);
    return true;
}

static bool jump_if(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    n_compare_zero(g, i->a);
    return n_branch(g, CC_NE, i->b, i->c);
}

/* One comparison per case. The table has low word, high word and target for each case, then the default target. */
static bool jump_by_value(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    const uint32_t *t = g->m->extra.v + i->c;
    if (i->b > CASES_MAX)
        return false;
    for (uint32_t n = 0; n < i->b; n++)
        if (i->w == 8 && t[n * 3 + 1] != ((int32_t)t[n * 3] < 0 ? UINT32_MAX : 0)) /* no sign-extended 32-bit immediate */
            return false;
    n_get(g, RAX, i->a, i->w, false);
    for (uint32_t n = 0; n < i->b; n++, t += 3) {
        x_reg(&g->o, X_IMM, i->w == 8, IMM_CMP, RAX);
        x_u32(&g->o, t[0]);
        uint8_t *other = x_branch_later(&g->o, CC_NE);
        n_go(g, t[2]);
        x_set_distance(other, g->o.at);
    }
    n_jump(g, t[0]);
    return true;
}

/* Load the call stack of the work-item: its depth into rcx, its address into r10. */
static void load_calls(struct zc_gen *g)
{
    x_load(&g->o, RCX, RSI, ITEM(sp), 4, false);
    x_load(&g->o, R10, RSI, ITEM(stack), 8, false);
}

static bool call_function(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    const uint32_t *x = g->m->extra.v + i->b;
    if (i->c > ARGS_MAX)
        return false;
    for (uint32_t n = 0; n < i->c; n++)
        if (x[n * 3 + 2] > ARG_MAX)
            return false;
    for (uint32_t n = 0; n < i->c; n++, x += 3)
        x_copy(&g->o, RDI, x[0], RDI, x[1], x[2]);
    load_calls(g);
    x_imm64(&g->o, RAX, n_address_of(g, g->pc));
    x_mem_indexed(&g->o, X_STORE, RAX, R10, RCX);
    x_reg(&g->o, X_IMM, false, IMM_ADD, RCX);
    x_u32(&g->o, 1);
    x_store(&g->o, RCX, RSI, ITEM(sp), 4);
    n_fix(g, x_jump_later(&g->o), i->a);
    g->quiet = false;
    return true;
}

/* RET, RETV. */
static bool return_from(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    if (k && i->b > ZC_COPY_MAX)
        return false;
    load_calls(g);
    x_reg(&g->o, X_IMM, false, IMM_SUB, RCX);
    x_u32(&g->o, 1);
    uint8_t *inner = x_branch_later(&g->o, CC_AE);
    n_stop(g, STOP_DONE);
    x_set_distance(inner, g->o.at);
    x_store(&g->o, RCX, RSI, ITEM(sp), 4);
    x_mem_indexed(&g->o, X_MOV, R11, R10, RCX); /* the call */
    if (k) {
        x_load(&g->o, R10, R11, offsetof(struct zc_ins, d), 4, false);
        x_reg(&g->o, X_ADD, true, R10, RDI);
        x_copy(&g->o, R10, 0, RDI, i->a, i->b);
    }
    x_mem(&g->o, X_LEA, true, RAX, R11, sizeof *i);
    x_load(&g->o, RCX, RAX, offsetof(struct zc_ins, op), 2, false);
    x_reg(&g->o, X_IMM, false, IMM_CMP, RCX);
    x_u32(&g->o, OP_NATIVE);
    uint8_t *machine = x_branch_later(&g->o, CC_NE);
    x_mem(&g->o, X_GROUP5, false, GROUP5_JUMP, RAX, offsetof(struct zc_ins, ptr));
    x_set_distance(machine, g->o.at);
    x_byte(&g->o, X_RET);
    return true;
}

static const struct zc_row rows[] = {
    ZC_TRANSLATES(BR, BR, jump_always), ZC_TRANSLATES(BRC, BRC, jump_if),
    ZC_TRANSLATES(SWITCH, SWITCH, jump_by_value),
    ZC_TRANSLATES(CALL, CALL, call_function), ZC_TRANSLATES(RET, RETV, return_from),
};

bool zc_native_control(struct zc_gen *g, const struct zc_ins *i)
{
    return n_translate(g, i, rows, sizeof rows / sizeof *rows);
}

void zc_native_targets(struct zc_gen *g)
{
    const struct zc_module *m = g->m;
    for (uint32_t k = 0; k < m->fns.n; k++)
        if (m->fns.v[k].body)
            g->is_target[m->fns.v[k].pc] = true;
    for (const struct zc_ins *i = m->code.v; i < m->code.v + m->code.n; i++)
        if (i->op >= OP_BR_EQ_4 && i->op <= OP_BR_SLE_8)
            g->is_target[i->c] = g->is_target[i->d] = true;
        else if (i->op == OP_BRC)
            g->is_target[i->b] = g->is_target[i->c] = true;
        else if (i->op == OP_BR)
            g->is_target[i->d] = true;
        else if (i->op == OP_SWITCH)
            for (uint32_t k = 0; k <= i->b; k++)
                g->is_target[m->extra.v[i->c + k * 3 + (k < i->b ? 2 : 0)]] = true;
}

#endif
