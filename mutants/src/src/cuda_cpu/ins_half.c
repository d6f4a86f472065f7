/* ins_half.c - PTX instructions on f16, bf16 and packed pairs of them. */
#include <string.h>

#include "cuda_cpu/half.h"
#include "cuda_cpu/lower.h"

static bool is_bf16(struct ptx_type t)
{
    return t.name[0] == 'b';
}

static const void *function(struct ptx_type t, const struct cc_row *r)
{
    return is_bf16(t) ? r->f64 : r->f32;
}

/* Up to three sources of the type; f32: the function for f16, f64: for bf16. */
static void emit(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    uint32_t v[3] = {0, 0, 0};
    cc_has(p, "rn");
    cc_has(p, "ftz");
    cc_has(p, "approx");
    bool sat = cc_has(p, "sat"), relu = cc_has(p, "relu");
    for (unsigned k = 0; k < 3 && k + 1 < p->ins->nop; k++)
        v[k] = cc_source(p, k + 1, t);
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t s = cc_into(p, d, t.width);
    cc_call_bits(p, function(t, r), t.width, s, v[0], v[1], v[2]);
    if (sat)
        cc_call_bits(p, is_bf16(t) ? (const void *)cc_bf16_sat : (const void *)cc_f16_sat, t.width, s, s, s, s);
    if (relu)
        cc_call_bits(p, is_bf16(t) ? (const void *)cc_bf16_relu : (const void *)cc_f16_relu, t.width, s, s, s, s);
    cc_done(p, d, s, t.width, false);
}

/* ---- comparisons ------------------------------------------------------------------------------------------------ */

static unsigned comparison(struct ptx *p)
{
    enum { L = HALF_LESS, E = HALF_EQUAL, G = HALF_GREATER, U = HALF_UNORDERED };
    static const unsigned bits[] = {E, L | G, L, L | E, G, G | E, E | U, L | G | U, L | U, L | E | U, G | U, G | E | U, L | E | G, U};
    int k = cc_which(p, "eq ne lt le gt ge equ neu ltu leu gtu geu num nan");
    if (k < 0)
        ptx_fail(p, "%s: no comparison", p->ins->op);
    return bits[k];
}

/* The comparison of operands 1 and 2; that of a pair has two results, of 2 bytes each. */
static uint32_t compare(struct ptx *p, struct ptx_type t, unsigned yes)
{
    uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t), d = cc_temp(p, 4);
    uint32_t how = cc_constant(p, comparison(p) | yes, t.width);
    cc_has(p, "ftz");
    zc_move(p->m, d, cc_constant(p, 0, 4), 4);
    struct zc_ins *i = cc_emit(p, OP_CALL_INT, d, a, b);
    i->c = how;
    i->w = t.width;
    i->ptr = is_bf16(t) ? (const void *)cc_bf16_set : (const void *)cc_f16_set;
    return d;
}

/* Predicates of one number, or p|q of a pair, combined with a third operand if there is one. */
static void emit_setp(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    static const uint16_t combine[] = {OP_AND_1, OP_OR_1, OP_XOR_1};
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *o = cc_operand(p, 0);
    uint32_t both = compare(p, t, HALF_TRUE), low = both, high = both + 2;
    int with = cc_which(p, "and or xor");
    uint32_t c = with < 0 ? 0 : cc_predicate(p, cc_operand(p, 3));
    if (o->pair && t.width == 2) {
        high = cc_temp(p, 1);
        cc_emit(p, OP_LNOT, high, low, 0);
    }
    for (unsigned k = 0; k < 1u + (o->pair != 0); k++) {
        uint32_t d = k ? cc_register(p, o->pair - 1) : cc_into(p, o, 1), s = k ? high : low;
        if (with < 0)
            zc_move(p->m, d, s, 1);
        else
            cc_emit(p, combine[with], d, s, c);
    }
}

/* set.CMP.to.from: 1.0 in the type `to`, or all bits. */
static void emit_set(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type to = p->ins->type[0], from = p->ins->type[1];
    const struct ptx_operand *d = cc_operand(p, 0);
    if (p->ins->ntype != 2 || (to.class == PTX_H ? to.width != from.width : to.width < from.width) || to.class == PTX_F)
        ptx_fail(p, "set: no result of type %s", to.name);
    uint32_t v = compare(p, from, to.class != PTX_H ? HALF_ONES : is_bf16(to) ? HALF_BF16 : HALF_F16), s = cc_into(p, d, to.width);
    if (to.class != PTX_H && to.width > from.width)
        v = zc_resize(p->m, v, 2, to.width, true);
    zc_move(p->m, s, v, to.width);
    cc_done(p, d, s, to.width, false);
}

static bool on_halves(const struct ptx *p)
{
    const struct ptx_ins *i = p->ins;
    return i->ntype == 2 && strcmp(i->op, "set") == 0 && i->type[1].class == PTX_H;
}

#define ROW(op, mods, name) {op, mods, PTX_H, emit, 0, (const void *)cc_f16_##name, (const void *)cc_bf16_##name}
static const struct cc_row rows[] = {
    ROW("add", "", add), ROW("sub", "", sub), ROW("mul", "", mul), ROW("fma", "", fma), ROW("min", "NaN", min_nan),
    ROW("max", "NaN", max_nan), ROW("min", "", min), ROW("max", "", max), ROW("neg", "", neg), ROW("abs", "", abs),
    ROW("ex2", "", ex2), ROW("tanh", "", tanh),
    {"setp", "", PTX_H, emit_setp, 0, NULL, NULL},
};
static const struct cc_row sets[] = {{"set", "", PTX_H | PTX_INT | PTX_F, emit_set, 0, NULL, NULL}};

bool cc_half(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows) || (on_halves(p) && cc_by_rows(p, sets, 1));
}
