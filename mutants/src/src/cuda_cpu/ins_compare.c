/* ins_compare.c - PTX comparisons and selections: setp, set, selp, slct. */
#include <string.h>

#include "cuda_cpu/lower.h"

/* VM operations of a comparison: unsigned and bits, signed, floating point. 0: none. */
static const struct {
    const char *name;
    uint16_t u, s, f;
} comparisons[] = {
    {"eq", OP_EQ_1, OP_EQ_1, OP_FOEQ_4}, {"ne", OP_NE_1, OP_NE_1, OP_FONE_4}, {"lt", OP_ULT_1, OP_SLT_1, OP_FOLT_4},
    {"le", OP_ULE_1, OP_SLE_1, OP_FOLE_4}, {"gt", OP_UGT_1, OP_SGT_1, OP_FOGT_4}, {"ge", OP_UGE_1, OP_SGE_1, OP_FOGE_4},
    {"lo", OP_ULT_1, 0, 0}, {"ls", OP_ULE_1, 0, 0}, {"hi", OP_UGT_1, 0, 0}, {"hs", OP_UGE_1, 0, 0},
    {"equ", 0, 0, OP_FUEQ_4}, {"neu", 0, 0, OP_FUNE_4}, {"ltu", 0, 0, OP_FULT_4}, {"leu", 0, 0, OP_FULE_4},
    {"gtu", 0, 0, OP_FUGT_4}, {"geu", 0, 0, OP_FUGE_4}, {"num", 0, 0, OP_FORD_4}, {"nan", 0, 0, OP_FUNO_4},
};

static unsigned comparison(struct ptx *p, struct ptx_type t)
{
    for (unsigned k = 0; k < sizeof comparisons / sizeof *comparisons; k++) {
        unsigned vm = t.class == PTX_F ? comparisons[k].f : t.class == PTX_S ? comparisons[k].s : comparisons[k].u;
        if (vm && t.class & (PTX_INT | PTX_F) && cc_has(p, comparisons[k].name))
            return vm + (t.class == PTX_F ? t.width == 8 : zc_log2(t.width));
    }
    ptx_fail(p, "%s: no comparison of type %s", p->ins->op, t.name);
}

/* Compare operands 1 and 2, combine with predicate 3; *other: the same with the negated comparison, if not NULL. */
static void compare(struct ptx *p, struct ptx_type t, uint32_t d, const uint32_t *other)
{
    static const uint16_t combine[] = {OP_AND_1, OP_OR_1, OP_XOR_1};
    unsigned vm = comparison(p, t);
    int with = cc_which(p, "and or xor");
    uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t), c = with < 0 ? 0 : cc_predicate(p, cc_operand(p, 3));
    uint32_t first = with < 0 && !other ? d : cc_temp(p, 1), negated = other ? cc_temp(p, 1) : 0;
    cc_has(p, "ftz");
    cc_emit(p, vm, first, a, b);
    if (other)
        cc_emit(p, OP_LNOT, negated, first, 0);
    if (with >= 0) {
        cc_emit(p, combine[with], d, first, c);
        if (other)
            cc_emit(p, combine[with], *other, negated, c);
    } else if (other) {
        zc_move(p->m, d, first, 1);
        zc_move(p->m, *other, negated, 1);
    }
}

static void emit_setp(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    const struct ptx_operand *o = cc_operand(p, 0);
    uint32_t q = o->pair ? cc_register(p, o->pair - 1) : 0;
    compare(p, p->ins->type[0], cc_into(p, o, 1), o->pair ? &q : NULL);
}

/* The first type is that of the result: all bits or 1.0, and 0. */
static void emit_set(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type to = p->ins->type[0];
    if (p->ins->ntype != 2 || to.width != 4)
        ptx_fail(p, "set needs two types, the first of 32 bits");
    uint32_t flag = cc_temp(p, 1), d = cc_into(p, cc_operand(p, 0), 4);
    compare(p, p->ins->type[1], flag, NULL);
    uint32_t yes = cc_constant(p, to.class == PTX_F ? 0x3f800000 : UINT32_MAX, 4);
    cc_emit(p, OP_SEL_4, d, flag, yes)->c = cc_constant(p, 0, 4);
}

static void emit_selp(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t), flag = cc_predicate(p, cc_operand(p, 3));
    uint32_t s = cc_into(p, d, t.width);
    cc_emit(p, OP_SEL_1 + zc_log2(t.width), s, flag, a)->c = b;
    cc_done(p, d, s, t.width, t.class == PTX_S);
}

/* a if operand 3 >= 0, else b. */
static void emit_slct(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type t = p->ins->type[0], sign = p->ins->type[1];
    if (p->ins->ntype != 2)
        ptx_fail(p, "slct needs two types");
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t), c = cc_source(p, 3, sign), flag = cc_temp(p, 1);
    uint32_t s = cc_into(p, d, t.width);
    cc_has(p, "ftz");
    cc_emit(p, sign.class == PTX_F ? OP_FOGE_4 : OP_SGE_4, flag, c, cc_constant(p, 0, 4));
    cc_emit(p, OP_SEL_1 + zc_log2(t.width), s, flag, a)->c = b;
    cc_done(p, d, s, t.width, false);
}

static const struct cc_row rows[] = {
    {"setp", "", PTX_INT | PTX_F, emit_setp, 0, NULL, NULL},
    {"set", "", PTX_INT | PTX_F, emit_set, 0, NULL, NULL},
    {"selp", "", PTX_INT | PTX_F, emit_selp, 0, NULL, NULL},
    {"slct", "", PTX_INT | PTX_F, emit_slct, 0, NULL, NULL},
};

bool cc_compare(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}
