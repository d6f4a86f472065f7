/* native_arith.c - translates arithmetic: integers, floating point, comparisons, conversions, selections. */
#include "ze_cpu/native_gen.h"

#include "ze_cpu/vm.h"

#if defined(__x86_64__)

struct shape {
    unsigned family, width, n; /* operation; width of a component; components */
};

static struct shape integers(const struct zc_ins *i, unsigned k)
{
    return (struct shape){k / 8, 1u << k % 4, k & 4 ? i->n : 1};
}

static struct shape floats(const struct zc_ins *i, unsigned k)
{
    return (struct shape){k / 4, 4u << k % 2, k & 2 ? i->n : 1};
}

enum { INT_SHL = 6, INT_SHR, INT_UDIV, INT_UREM, INT_UMIN, INT_UMAX, INT_ASR, INT_SDIV, INT_SREM, INT_SMOD, INT_SMIN };

/* rax = a shifted by b. */
static void shift(struct zc_gen *g, unsigned kind, uint32_t a, uint32_t b, unsigned width, bool sign)
{
    int64_t by;
    bool known = zc_constant_in(g->m, b, width, &by);
    if (!known)
        n_get(g, RCX, b, width, false);
    n_get(g, RAX, a, width, sign);
    if (known) {
        x_reg(&g->o, X_SHIFT_IMM, width == 8, kind, RAX);
        x_byte(&g->o, (unsigned)by & (width * 8 - 1));
        return;
    }
    if (width < 4) {
        x_reg(&g->o, X_IMM, false, IMM_AND, RCX);
        x_u32(&g->o, width * 8 - 1);
    }
    x_reg(&g->o, X_SHIFT, width == 8, kind, RAX);
}

/* rax = quotient or remainder of a and b; 0 if b is 0, without a trap. r8 saves rdx, the quantum. */
static void divide(struct zc_gen *g, uint32_t a, uint32_t b, unsigned width, bool sign, bool rest)
{
    bool wide = width == 8;
    n_get(g, RCX, b, width, false);
    n_get(g, RAX, a, width, false);
    x_reg(&g->o, X_MOV, false, R8, RDX);
    x_reg(&g->o, X_XOR, false, RDX, RDX);
    x_reg(&g->o, X_TEST, wide, RCX, RCX);
    uint8_t *some = x_branch_later(&g->o, CC_NE);
    x_reg(&g->o, X_XOR, false, RAX, RAX);
    uint8_t *none = x_jump_later(&g->o), *negated = none;
    x_set_distance(some, g->o.at);
    if (sign) {
        x_reg(&g->o, X_IMM, wide, IMM_CMP, RCX);
        x_u32(&g->o, UINT32_MAX); /* -1: the division of the minimum would trap */
        uint8_t *other = x_branch_later(&g->o, CC_NE);
        x_reg(&g->o, X_GROUP3, wide, GROUP3_NEG, RAX);
        negated = x_jump_later(&g->o);
        x_set_distance(other, g->o.at);
        x_op(&g->o, X_SIGN_TO_RDX, wide, 0, 0);
    }
    x_reg(&g->o, X_GROUP3, wide, sign ? GROUP3_IDIV : GROUP3_DIV, RCX);
    x_set_distance(none, g->o.at);
    x_set_distance(negated, g->o.at);
    if (rest)
        x_reg(&g->o, X_MOV, wide, RAX, RDX);
    x_reg(&g->o, X_MOV, false, RDX, R8);
}

static bool is_division(unsigned family)
{
    return family == INT_UDIV || family == INT_UREM || family == INT_SDIV || family == INT_SREM;
}

/* rax = the result for one component. */
static void integer_one(struct zc_gen *g, struct shape s, uint32_t a, uint32_t b)
{
    static const unsigned simple[] = {X_ADD, X_SUB, X_IMUL, X_AND, X_OR, X_XOR};
    bool wide = s.width == 8, sign = s.family >= INT_ASR;
    if (s.family < INT_SHL) {
        n_combine(g, simple[s.family], a, b, s.width, false);
        return;
    }
    if (is_division(s.family)) {
        divide(g, a, b, s.width, sign, s.family == INT_UREM || s.family == INT_SREM);
        return;
    }
    if (s.family == INT_SHL || s.family == INT_SHR || s.family == INT_ASR) {
        unsigned kind = s.family == INT_SHL ? SHIFT_LEFT : s.family == INT_SHR ? SHIFT_RIGHT : SHIFT_ARITHMETIC;
        shift(g, kind, a, b, s.width, sign);
        return;
    }
    enum zc_cc worse = s.family == INT_UMIN ? CC_A : s.family == INT_UMAX ? CC_B : s.family == INT_SMIN ? CC_G : CC_L;
    n_get(g, RCX, b, s.width, sign);
    n_get(g, RAX, a, s.width, sign);
    x_reg(&g->o, X_CMP, wide, RAX, RCX);
    x_reg(&g->o, X_CMOV + worse, wide, RAX, RCX);
}

static bool integer(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = integers(i, k);
    if (s.family == INT_SMOD || (is_division(s.family) && s.width < 4))
        return false;
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        integer_one(g, s, i->a + at, i->b + at);
        n_put(g, RAX, i->d + at, s.width);
    }
    return true;
}

/* For EQ NE UGT UGE ULT ULE SGT SGE SLT SLE. */
static const enum zc_cc condition[] = {CC_E, CC_NE, CC_A, CC_AE, CC_B, CC_BE, CC_G, CC_GE, CC_L, CC_LE};

static bool compare(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = integers(i, k);
    for (uint32_t n = 0; n < s.n; n++) {
        n_combine(g, X_CMP, i->a + n * s.width, i->b + n * s.width, s.width, s.family > 5);
        x_reg(&g->o, X_SET + condition[s.family], false, 0, RAX);
        n_put(g, RAX, i->d + n, 1);
    }
    return true;
}

static bool compare_and_branch(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    n_combine(g, X_CMP, i->a, i->b, k % 2 ? 8 : 4, false);
    return n_branch(g, condition[k / 2], i->c, i->d);
}

static bool negate(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = integers(i, k);
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        n_get(g, RAX, i->a + at, s.width, false);
        x_reg(&g->o, X_GROUP3, s.width == 8, s.family ? GROUP3_NOT : GROUP3_NEG, RAX);
        n_put(g, RAX, i->d + at, s.width);
    }
    return true;
}

static unsigned float_op(unsigned width, unsigned op)
{
    return (width == 4 ? 0xf30f00u : 0xf20f00u) | op;
}

static bool float2(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    static const unsigned op[] = {0x58, 0x5c, 0x59, 0x5e};
    struct shape s = floats(i, k);
    if (s.family >= 4) /* FMIN and FMAX differ from minss and maxss for NaN */
        return false;
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        n_get_float(g, i->a + at, s.width);
        x_mem(&g->o, float_op(s.width, op[s.family]), false, 0, RDI, i->b + at);
        n_put_float(g, i->d + at, s.width);
    }
    return true;
}

static bool float_compare(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    /* Predicate of cmpss for FOEQ FUEQ FONE FUNE FOLT FULT FOGT FUGT FOLE FULE FOGE FUGE FORD FUNO; 8: with swapped operands,
     * 16: there is none. */
    static const uint8_t predicate[] = {0, 16, 16, 4, 1, 8 + 6, 8 + 1, 6, 2, 8 + 5, 8 + 2, 5, 7, 3};
    struct shape s = floats(i, k);
    unsigned p = predicate[s.family];
    if (p & 16)
        return false;
    for (uint32_t n = 0; n < s.n; n++) {
        uint32_t a = i->a + n * s.width, b = i->b + n * s.width;
        n_get_float(g, p & 8 ? b : a, s.width);
        x_mem(&g->o, float_op(s.width, 0xc2), false, 0, RDI, p & 8 ? a : b);
        x_byte(&g->o, p & 7);
        x_reg(&g->o, X_MOVD_TO, false, 0, RAX);
        x_reg(&g->o, X_IMM, false, IMM_AND, RAX);
        x_u32(&g->o, 1);
        n_put(g, RAX, i->d + n, 1);
    }
    return true;
}

/* FNEG, FSQRT, FABS; the sign is the highest bit. */
static bool float1(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = floats(i, k);
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        if (s.family == 1) {
            x_mem(&g->o, float_op(s.width, 0x51), false, 0, RDI, i->a + at);
            n_put_float(g, i->d + at, s.width);
            continue;
        }
        n_get(g, RAX, i->a + at, s.width, false);
        x_reg(&g->o, X_BIT, s.width == 8, s.family ? BIT_RESET : BIT_COMPLEMENT, RAX);
        x_byte(&g->o, s.width * 8 - 1);
        n_put(g, RAX, i->d + at, s.width);
    }
    return true;
}

static bool float3(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = floats(i, k);
    if (s.family) /* FMA rounds once */
        return false;
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        n_get_float(g, i->a + at, s.width);
        x_mem(&g->o, float_op(s.width, 0x59), false, 0, RDI, i->b + at);
        x_mem(&g->o, float_op(s.width, 0x58), false, 0, RDI, i->c + at);
        n_put_float(g, i->d + at, s.width);
    }
    return true;
}

static bool convert(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    for (uint32_t n = 0; n < i->n; n++) {
        n_push(g);
        x_mem(&g->o, X_LEA, true, RSI, RDI, i->a + n * i->w);
        x_mem(&g->o, X_LEA, true, RDI, RDI, i->d + n * i->c);
        n_call(g, i->ptr);
        n_pop(g);
    }
    return true;
}

static bool to_space(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    n_get(g, RAX, i->a, 8, false);
    n_push(g);
    x_reg(&g->o, X_MOV, true, RDI, RSI); /* zc_vm_to_space(item, address, storage) */
    x_reg(&g->o, X_MOV, true, RSI, RAX);
    x_imm64(&g->o, RDX, i->b);
    n_call(g, (const void *)(uintptr_t)zc_vm_to_space);
    n_pop(g);
    n_put(g, RAX, i->d, 8);
    return true;
}

static bool extend(struct zc_gen *g, const struct zc_ins *i, unsigned k, bool sign)
{
    static const uint8_t from[] = {1, 1, 1, 2, 2, 4}, to[] = {2, 4, 8, 4, 8, 8};
    n_get(g, RAX, i->a, from[k], sign);
    if (sign && to[k] == 8)
        x_reg(&g->o, X_MOVSXD, true, RAX, RAX);
    n_put(g, RAX, i->d, to[k]);
    return true;
}

static bool extend_zero(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    return extend(g, i, k, false);
}

static bool extend_sign(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    return extend(g, i, k, true);
}

static bool select_one(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    n_get(g, RAX, i->b, 1u << k, false);
    x_load(&g->o, RCX, RDI, i->c, 1u << k, false);
    n_compare_zero(g, i->a);
    x_reg(&g->o, X_CMOV + CC_E, k == 3, RAX, RCX);
    n_put(g, RAX, i->d, 1u << k);
    return true;
}

static bool logical_not(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    for (uint32_t n = 0; n < i->n; n++) {
        n_compare_zero(g, i->a + n);
        x_reg(&g->o, X_SET + CC_E, false, 0, RAX);
        n_put(g, RAX, i->d + n, 1);
    }
    return true;
}

/* LEA, PADD, PMAD. */
static bool pointer(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    if (k && i->imm != (int32_t)i->imm)
        return false;
    if (k == 0) {
        x_mem(&g->o, X_LEA, true, RAX, RDI, i->a);
    } else if (k == 1) {
        n_get(g, RAX, i->a, 8, false);
        x_mem(&g->o, X_LEA, true, RAX, RAX, (uint32_t)i->imm);
    } else {
        n_get(g, RCX, i->b, 8, false);
        n_get(g, RAX, i->a, 8, false);
        x_reg(&g->o, X_IMUL_IMM, true, RCX, RCX);
        x_u32(&g->o, (uint32_t)i->imm);
        x_reg(&g->o, X_ADD, true, RAX, RCX);
    }
    n_put(g, RAX, i->d, 8);
    return true;
}

static const struct zc_row rows[] = {
    ZC_TRANSLATES(ADD_1, SMAX_8V, integer), ZC_TRANSLATES(EQ_1, SLE_8V, compare),
    ZC_TRANSLATES(NEG_1, NOT_8V, negate), ZC_TRANSLATES(FADD_4, FMAX_8V, float2),
    ZC_TRANSLATES(FOEQ_4, FUNO_8V, float_compare), ZC_TRANSLATES(FNEG_4, FABS_8V, float1),
    ZC_TRANSLATES(FMAD_4, FMA_8V, float3), ZC_TRANSLATES(BR_EQ_4, BR_SLE_8, compare_and_branch),
    ZC_TRANSLATES(LEA, PMAD, pointer), ZC_TRANSLATES(ZX_1_2, ZX_4_8, extend_zero),
    ZC_TRANSLATES(SX_1_2, SX_4_8, extend_sign), ZC_TRANSLATES(CONVERT, CONVERT, convert),
    ZC_TRANSLATES(TO_SPACE, TO_SPACE, to_space),
    ZC_TRANSLATES(LNOT, LNOT, logical_not), ZC_TRANSLATES(SEL_1, SEL_8, select_one),
};

bool zc_native_arith(struct zc_gen *g, const struct zc_ins *i)
{
    return n_translate(g, i, rows, sizeof rows / sizeof *rows);
}

#endif
