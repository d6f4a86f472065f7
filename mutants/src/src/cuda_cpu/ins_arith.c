/* ins_arith.c - PTX instructions on integers, bits and predicates. */
#include <string.h>

#include "cuda_cpu/bits.h"
#include "cuda_cpu/lower.h"

/* Result and sources all of the first type. */
static void emit_two(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    bool logic = t.class == PTX_P;
    uint32_t a = logic ? cc_predicate(p, cc_operand(p, 1)) : cc_source(p, 1, t);
    uint32_t b = logic ? cc_predicate(p, cc_operand(p, 2)) : cc_source(p, 2, t);
    uint32_t s = cc_into(p, d, t.width);
    cc_emit(p, r->vm + zc_log2(t.width), s, a, b);
    cc_done(p, d, s, t.width, t.class == PTX_S);
}

static void emit_one(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, t), s = cc_into(p, d, t.width);
    cc_emit(p, r->vm + zc_log2(t.width), s, a, 0);
    cc_done(p, d, s, t.width, t.class == PTX_S);
}

static void emit_not_predicate(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    uint32_t a = cc_source(p, 1, cc_pred);
    cc_emit(p, OP_LNOT, cc_into(p, cc_operand(p, 0), 1), a, 0);
}

static void emit_abs(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, t), n = cc_temp(p, t.width), s = cc_into(p, d, t.width);
    cc_emit(p, OP_NEG_1 + zc_log2(t.width), n, a, 0);
    cc_emit(p, OP_SMAX_1 + zc_log2(t.width), s, a, n);
    cc_done(p, d, s, t.width, true);
}

/* A function of up to three integers of the first type. f64: its form for signed types, or NULL. */
static void emit_bits(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t v[3] = {0, 0, 0};
    for (unsigned k = 0; k < 3 && k + 1 < p->ins->nop; k++)
        v[k] = cc_source(p, k + 1, t);
    uint32_t s = cc_into(p, d, t.width);
    cc_call_bits(p, t.class == PTX_S && r->f64 ? r->f64 : r->f32, t.width, s, v[0], v[1], v[2]);
    cc_done(p, d, s, t.width, t.class == PTX_S);
}

/* The same with two integers of 16 bits. */
static void emit_pair(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t);
    cc_call_bits(p, t.name[0] == 's' ? r->f64 : r->f32, 4, cc_into(p, cc_operand(p, 0), 4), a, b, 0);
}

/* The result has 32 bits whatever the width of the source. */
static void emit_count(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    bool shift = cc_has(p, "shiftamt");
    uint32_t a = cc_source(p, 1, t), wide = cc_temp(p, t.width), s = cc_into(p, d, 4);
    cc_call_bits(p, t.class == PTX_S && r->f64 ? r->f64 : r->f32, t.width, wide, a, cc_constant(p, shift, t.width), 0);
    zc_move(p->m, s, wide, 4);
    cc_done(p, d, s, 4, false);
}

/* The amount of a shift has 32 bits; from the width on, the result is 0 or the sign. */
static void emit_shift(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0), *o = cc_operand(p, 2);
    unsigned bits = t.width * 8u, lg = zc_log2(t.width);
    bool sign = t.class == PTX_S && r->vm == OP_SHR_1, fixed = o->kind == O_INT && (uint32_t)o->value < bits;
    uint32_t a = cc_source(p, 1, t), s = cc_into(p, d, t.width), n = fixed ? 0 : cc_source(p, 2, cc_u32), c, plain;
    unsigned vm = (sign ? OP_ASR_1 : r->vm) + lg;
    if (fixed) {
        cc_emit(p, vm, s, a, cc_constant(p, (uint64_t)o->value, t.width));
    } else if (sign) {
        c = cc_temp(p, 4);
        cc_emit(p, OP_UMIN_4, c, n, cc_constant(p, bits - 1, 4));
        cc_emit(p, vm, s, a, zc_resize(p->m, c, 4, t.width, false));
    } else {
        c = cc_temp(p, 1);
        plain = cc_temp(p, t.width);
        cc_emit(p, vm, plain, a, zc_resize(p->m, n, 4, t.width, false));
        cc_emit(p, OP_ULT_4, c, n, cc_constant(p, bits, 4));
        cc_emit(p, OP_SEL_1 + lg, s, c, plain)->c = cc_constant(p, 0, t.width);
    }
    cc_done(p, d, s, t.width, sign);
}

/* ---- products --------------------------------------------------------------------------------------------------- */

/* The product of operands 1 and 2 with twice their width. */
static uint32_t wide_product(struct ptx *p, struct ptx_type t)
{
    bool sign = t.class == PTX_S;
    uint32_t a = zc_resize(p->m, cc_source(p, 1, t), t.width, t.width * 2u, sign);
    uint32_t b = zc_resize(p->m, cc_source(p, 2, t), t.width, t.width * 2u, sign);
    uint32_t d = cc_temp(p, t.width * 2u);
    cc_emit(p, OP_MUL_1 + zc_log2(t.width * 2u), d, a, b);
    return d;
}

/* The upper half of the product. */
static uint32_t high_product(struct ptx *p, struct ptx_type t)
{
    uint32_t d = cc_temp(p, t.width);
    if (t.width == 8) {
        uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t);
        cc_call_bits(p, t.class == PTX_S ? (const void *)cc_mulhi_s : (const void *)cc_mulhi_u, 8, d, a, b, 0);
        return d;
    }
    uint32_t both = wide_product(p, t), high = cc_temp(p, t.width * 2u);
    cc_emit(p, OP_SHR_1 + zc_log2(t.width * 2u), high, both, cc_constant(p, t.width * 8u, t.width * 2u));
    zc_move(p->m, d, high, t.width);
    return d;
}

/* mul and mad: mul has two sources, mad adds a third. vm: OP_MUL_1 low half, OP_SHR_1 high half, OP_ZX_1_2 wide. */
static void emit_product(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0], whole = t;
    const struct ptx_operand *d = cc_operand(p, 0);
    bool add = strcmp(p->ins->op, "mad") == 0;
    uint32_t product;
    if (r->vm == OP_ZX_1_2) {
        whole.width = (uint8_t)(t.width * 2);
        product = wide_product(p, t);
    } else if (r->vm == OP_SHR_1) {
        product = high_product(p, t);
    } else {
        uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t);
        product = add ? cc_temp(p, t.width) : cc_into(p, d, t.width);
        cc_emit(p, OP_MUL_1 + zc_log2(t.width), product, a, b);
        if (!add) {
            cc_done(p, d, product, t.width, t.class == PTX_S);
            return;
        }
    }
    uint32_t c = add ? cc_source(p, 3, whole) : 0, s = cc_into(p, d, whole.width);
    if (add)
        cc_emit(p, OP_ADD_1 + zc_log2(whole.width), s, product, c);
    else
        zc_move(p->m, s, product, whole.width);
    cc_done(p, d, s, whole.width, t.class == PTX_S);
}

/* Bits 0 to 47 of the product of 24-bit integers: .lo is its low 32 bits, .hi the high ones. */
static void emit_24(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t), s = cc_into(p, d, 4);
    bool add = strcmp(p->ins->op, "mad24") == 0;
    uint32_t c = add ? cc_source(p, 3, t) : cc_constant(p, 0, 4);
    cc_call_bits(p, t.class == PTX_S ? r->f64 : r->f32, 4, s, a, b, c);
    cc_done(p, d, s, 4, t.class == PTX_S);
}

/* ---- bit fields ------------------------------------------------------------------------------------------------- */

static void emit_bfe(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, t), at = zc_resize(p->m, cc_source(p, 2, cc_u32), 4, t.width, false);
    uint32_t n = zc_resize(p->m, cc_source(p, 3, cc_u32), 4, t.width, false), s = cc_into(p, d, t.width);
    cc_call_bits(p, t.class == PTX_S ? r->f64 : r->f32, t.width, s, a, at, n);
    cc_done(p, d, s, t.width, t.class == PTX_S);
}

/* d = b with the low bits of a in its field: the field's mask first. */
static void emit_bfi(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    unsigned lg = zc_log2(t.width);
    uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t);
    uint32_t at = zc_resize(p->m, cc_source(p, 3, cc_u32), 4, t.width, false);
    uint32_t n = zc_resize(p->m, cc_source(p, 4, cc_u32), 4, t.width, false), s = cc_into(p, d, t.width);
    uint32_t mask = cc_temp(p, t.width), moved = cc_temp(p, t.width), diff = cc_temp(p, t.width);
    cc_call_bits(p, r->f32, t.width, mask, at, n, 0);
    cc_call_bits(p, (const void *)cc_shift_left, t.width, moved, a, at, 0);
    cc_emit(p, OP_XOR_1 + lg, diff, moved, b); /* b ^ ((b ^ moved) & mask) */
    cc_emit(p, OP_AND_1 + lg, moved, diff, mask);
    cc_emit(p, OP_XOR_1 + lg, s, b, moved);
    cc_done(p, d, s, t.width, false);
}

static void emit_bmsk(struct ptx *p, const struct cc_row *r)
{
    cc_has(p, "clamp");
    emit_bits(p, r);
}

static void emit_prmt(struct ptx *p, const struct cc_row *r)
{
    static const zc_bits modes[] = {cc_prmt_f4e, cc_prmt_b4e, cc_prmt_rc8, cc_prmt_ecl, cc_prmt_ecr, cc_prmt_rc16};
    int mode = cc_which(p, "f4e b4e rc8 ecl ecr rc16");
    struct cc_row own = *r;
    if (mode >= 0)
        own.f32 = (const void *)modes[mode];
    emit_bits(p, &own);
}

/* The table as a sum of products of a, b and c. */
static void emit_lop3(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0), *lut = cc_operand(p, 4);
    uint32_t v[3], not[3], sum = cc_temp(p, 4), term = cc_temp(p, 4);
    if (lut->kind != O_INT)
        ptx_fail(p, "lop3 without a constant table");
    for (unsigned k = 0; k < 3; k++) {
        v[k] = cc_source(p, k + 1, t);
        not[k] = cc_temp(p, 4);
        cc_emit(p, OP_NOT_4, not[k], v[k], 0);
    }
    zc_move(p->m, sum, cc_constant(p, 0, 4), 4);
    for (unsigned k = 0; k < 8; k++) {
        if (!(lut->value >> k & 1))
            continue;
        cc_emit(p, OP_AND_4, term, k & 4 ? v[0] : not[0], k & 2 ? v[1] : not[1]);
        cc_emit(p, OP_AND_4, term, term, k & 1 ? v[2] : not[2]);
        cc_emit(p, OP_OR_4, sum, sum, term);
    }
    zc_move(p->m, cc_into(p, d, 4), sum, 4);
}

/* dp4a, dp2a: the types are those of a and b; c and the result have 32 bits. */
static void emit_dp(struct ptx *p, const struct cc_row *r)
{
    const struct ptx_ins *i = p->ins;
    bool sa = i->type[0].class == PTX_S, sb = i->ntype > 1 && i->type[1].class == PTX_S;
    uint32_t a = cc_source(p, 1, cc_u32), b = cc_source(p, 2, cc_u32), c = cc_source(p, 3, cc_u32);
    const zc_bits *fn = r->f32;
    cc_call_bits(p, (const void *)fn[sa * 2 + sb], 4, cc_into(p, cc_operand(p, 0), 4), a, b, c);
}

/* ---- carries ---------------------------------------------------------------------------------------------------- */

static uint32_t low_product(struct ptx *p, struct ptx_type t)
{
    uint32_t a = cc_source(p, 1, t), b = cc_source(p, 2, t), d = cc_temp(p, t.width);
    cc_emit(p, OP_MUL_1 + zc_log2(t.width), d, a, b);
    return d;
}

/* add.cc, addc, sub.cc, subc, mad.cc, madc: the carry or borrow is a variable of the function. */
static void emit_carry(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    bool in = p->ins->op[3] == 'c', sub = p->ins->op[0] == 's', mad = p->ins->op[0] == 'm', out = cc_has(p, "cc");
    unsigned lg = zc_log2(t.width);
    uint32_t a = !mad ? cc_source(p, 1, t) : cc_has(p, "hi") ? high_product(p, t) : low_product(p, t);
    uint32_t b = cc_source(p, mad ? 3 : 2, t), s = cc_into(p, d, t.width);
    cc_has(p, "lo");
    uint32_t one = cc_temp(p, t.width), two = cc_temp(p, t.width), c1 = cc_temp(p, 1), c2 = cc_temp(p, 1);
    if (p->carry == ZC_NONE)
        p->carry = cc_temp(p, 1);
    cc_emit(p, r->vm + lg, one, a, b);
    cc_emit(p, OP_ULT_1 + lg, c1, sub ? a : one, sub ? b : a);
    uint32_t carry = in ? t.width == 1 ? p->carry : zc_resize(p->m, p->carry, 1, t.width, false) : cc_constant(p, 0, t.width);
    cc_emit(p, r->vm + lg, two, one, carry);
    cc_emit(p, OP_ULT_1 + lg, c2, sub ? one : two, sub ? carry : one);
    if (out)
        cc_emit(p, OP_OR_1, p->carry, c1, c2);
    zc_move(p->m, s, two, t.width);
    cc_done(p, d, s, t.width, false);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

#define FN(f) (const void *)(f)
static const zc_bits dp4a[] = {cc_dp4a_uu, cc_dp4a_us, cc_dp4a_su, cc_dp4a_ss};
static const zc_bits dp2a_lo[] = {cc_dp2a_lo_uu, cc_dp2a_lo_us, cc_dp2a_lo_su, cc_dp2a_lo_ss};
static const zc_bits dp2a_hi[] = {cc_dp2a_hi_uu, cc_dp2a_hi_us, cc_dp2a_hi_su, cc_dp2a_hi_ss};

static const struct cc_row rows[] = {
    {"add", "cc", PTX_INT, emit_carry, OP_ADD_1, NULL, NULL},
    {"addc", "", PTX_INT, emit_carry, OP_ADD_1, NULL, NULL},
    {"sub", "cc", PTX_INT, emit_carry, OP_SUB_1, NULL, NULL},
    {"subc", "", PTX_INT, emit_carry, OP_SUB_1, NULL, NULL},
    {"mad", "cc", PTX_INT, emit_carry, OP_ADD_1, NULL, NULL},
    {"madc", "", PTX_INT, emit_carry, OP_ADD_1, NULL, NULL},
    {"add", "", PTX_PAIR, emit_pair, 0, FN(cc_add_pair), FN(cc_add_pair)},
    {"min", "", PTX_PAIR, emit_pair, 0, FN(cc_umin_pair), FN(cc_smin_pair)},
    {"max", "", PTX_PAIR, emit_pair, 0, FN(cc_umax_pair), FN(cc_smax_pair)},
    {"add", "", PTX_INT, emit_two, OP_ADD_1, NULL, NULL},
    {"sub", "", PTX_INT, emit_two, OP_SUB_1, NULL, NULL},
    {"mul", "lo", PTX_INT, emit_product, OP_MUL_1, NULL, NULL},
    {"mul", "hi", PTX_INT, emit_product, OP_SHR_1, NULL, NULL},
    {"mul", "wide", PTX_INT, emit_product, OP_ZX_1_2, NULL, NULL},
    {"mad", "lo", PTX_INT, emit_product, OP_MUL_1, NULL, NULL},
    {"mad", "hi", PTX_INT, emit_product, OP_SHR_1, NULL, NULL},
    {"mad", "wide", PTX_INT, emit_product, OP_ZX_1_2, NULL, NULL},
    {"mul24", "lo", PTX_INT, emit_24, 0, FN(cc_mad24_lo_u), FN(cc_mad24_lo_s)},
    {"mul24", "hi", PTX_INT, emit_24, 0, FN(cc_mad24_hi_u), FN(cc_mad24_hi_s)},
    {"mad24", "lo", PTX_INT, emit_24, 0, FN(cc_mad24_lo_u), FN(cc_mad24_lo_s)},
    {"mad24", "hi", PTX_INT, emit_24, 0, FN(cc_mad24_hi_u), FN(cc_mad24_hi_s)},
    {"div", "", PTX_U, emit_two, OP_UDIV_1, NULL, NULL},
    {"div", "", PTX_S, emit_two, OP_SDIV_1, NULL, NULL},
    {"rem", "", PTX_U, emit_two, OP_UREM_1, NULL, NULL},
    {"rem", "", PTX_S, emit_two, OP_SREM_1, NULL, NULL},
    {"min", "", PTX_U, emit_two, OP_UMIN_1, NULL, NULL},
    {"min", "", PTX_S, emit_two, OP_SMIN_1, NULL, NULL},
    {"max", "", PTX_U, emit_two, OP_UMAX_1, NULL, NULL},
    {"max", "", PTX_S, emit_two, OP_SMAX_1, NULL, NULL},
    {"abs", "", PTX_S, emit_abs, 0, NULL, NULL},
    {"neg", "", PTX_INT, emit_one, OP_NEG_1, NULL, NULL},
    {"sad", "", PTX_INT, emit_bits, 0, FN(cc_sad_u), FN(cc_sad_s)},
    {"and", "", PTX_B | PTX_P, emit_two, OP_AND_1, NULL, NULL},
    {"or", "", PTX_B | PTX_P, emit_two, OP_OR_1, NULL, NULL},
    {"xor", "", PTX_B | PTX_P, emit_two, OP_XOR_1, NULL, NULL},
    {"not", "", PTX_B, emit_one, OP_NOT_1, NULL, NULL},
    {"not", "", PTX_P, emit_not_predicate, 0, NULL, NULL},
    {"cnot", "", PTX_B, emit_bits, 0, FN(cc_cnot), NULL},
    {"lop3", "", PTX_B, emit_lop3, 0, NULL, NULL},
    {"shl", "", PTX_B, emit_shift, OP_SHL_1, NULL, NULL},
    {"shr", "", PTX_INT, emit_shift, OP_SHR_1, NULL, NULL},
    {"shf", "l wrap", PTX_B, emit_bits, 0, FN(cc_shf_l_wrap), NULL},
    {"shf", "l clamp", PTX_B, emit_bits, 0, FN(cc_shf_l_clamp), NULL},
    {"shf", "r wrap", PTX_B, emit_bits, 0, FN(cc_shf_r_wrap), NULL},
    {"shf", "r clamp", PTX_B, emit_bits, 0, FN(cc_shf_r_clamp), NULL},
    {"popc", "", PTX_B, emit_count, 0, FN(cc_popc), NULL},
    {"clz", "", PTX_B, emit_count, 0, FN(cc_clz), NULL},
    {"bfind", "", PTX_INT, emit_count, 0, FN(cc_bfind_u), FN(cc_bfind_s)},
    {"brev", "", PTX_B, emit_bits, 0, FN(cc_brev), NULL},
    {"bfe", "", PTX_INT, emit_bfe, 0, FN(cc_bfe_u), FN(cc_bfe_s)},
    {"bfi", "", PTX_B, emit_bfi, 0, FN(cc_bmsk), NULL},
    {"bmsk", "", PTX_B, emit_bmsk, 0, FN(cc_bmsk), NULL},
    {"prmt", "", PTX_B, emit_prmt, 0, FN(cc_prmt), NULL},
    {"dp4a", "", PTX_INT, emit_dp, 0, dp4a, NULL},
    {"dp2a", "lo", PTX_INT, emit_dp, 0, dp2a_lo, NULL},
    {"dp2a", "hi", PTX_INT, emit_dp, 0, dp2a_hi, NULL},
};

bool cc_arith(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}
