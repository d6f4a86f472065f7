/*
 * lanes_vector.c - translates instructions to operations on the vectors of 8 work-items: arithmetic, comparisons, selections,
 * loads and stores of 4 and 8 bytes, and branches. A vector of 8-byte elements is two registers, here called halves.
 *
 * A boolean is an element of 4 bytes of which the lowest bit counts.
 */
#include "ze_cpu/convert.h"
#include "ze_cpu/lanes_operand.h"

#if defined(__x86_64__)

static void shift_left(struct zc_lanes_gen *l, unsigned reg, unsigned bits)
{
    v_reg(&l->g.o, V_SHIFT4_IMM, V_SHIFT_LEFT, reg, reg);
    x_byte(&l->g.o, bits);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

static const uint32_t integer_op[][2] = { /* ADD SUB MUL AND OR XOR SHL SHR UDIV UREM UMIN UMAX ASR SDIV SREM SMOD SMIN SMAX */
    {V_ADD4, V_ADD8}, {V_SUB4, V_SUB8}, {V_MUL4, 0}, {V_AND, V_AND}, {V_OR, V_OR}, {V_XOR, V_XOR}, {V_SHL, V_SHL | V_WIDE},
    {V_SHR, V_SHR | V_WIDE}, {0, 0}, {0, 0}, {V_UMIN4, 0}, {V_UMAX4, 0}, {V_ASR4, 0}, {0, 0}, {0, 0}, {0, 0}, {V_SMIN4, 0},
    {V_SMAX4, 0}};

static bool integer(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    unsigned family = k / 8, width = 1u << k % 4;
    bool logic = width == 1 && family >= 3 && family <= 5, shifts = family == 6 || family == 7 || family == 12;
    uint32_t op = integer_op[family][width == 8];
    if (logic && !(k & 4))
        return zc_vec_flags(l, Y0, i->a) && zc_vec_flags(l, Y1, i->b) && (v_reg(&l->g.o, op, Y0, Y0, Y1), zc_vec_put(l, Y0, i->d, 1, 0));
    if ((k & 4) || width < 4 || !op)
        return false;
    for (unsigned half = 0; half < width / 4; half++) {
        unsigned a = zc_vec_find(l, Y0, i->a, width, half), b = Y1;
        if (shifts && zc_vec_get(l, Y1, i->b, width, half))
            zc_vec_with(l, V_AND, Y1, width, width * 8 - 1);
        else
            b = shifts ? NO_VECTOR : zc_vec_find(l, Y1, i->b, width, half);
        if (a == NO_VECTOR || b == NO_VECTOR || !zc_vec_put_op(l, op, a, b, i->d, width, half))
            return false;
    }
    return true;
}

/* NEG, NOT. */
static bool negate(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    unsigned width = 1u << k % 4;
    if ((k & 4) || width < 4)
        return false;
    for (unsigned half = 0; half < width / 4; half++) {
        if (!zc_vec_get(l, Y1, i->a, width, half))
            return false;
        v_reg(&l->g.o, V_XOR, Y0, Y0, Y0);
        if (k / 8)
            zc_vec_with(l, V_XOR, Y1, width, UINT64_MAX);
        v_reg(&l->g.o, k / 8 ? V_OR : width == 4 ? V_SUB4 : V_SUB8, Y0, Y0, Y1);
        if (!zc_vec_put(l, Y0, i->d, width, half))
            return false;
    }
    return true;
}

/* FADD FSUB FMUL FDIV FMIN FMAX. */
static bool float2(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    static const uint32_t op[] = {V_ADD_F, V_SUB_F, V_MUL_F, V_DIV_F};
    enum { LESS = 1, UNORDERED = 3, GREATER = 14 };
    unsigned width = 4u << k % 2, of = k % 2 ? V_DOUBLE : 0;
    if (k & 2)
        return false;
    for (unsigned half = 0; half < width / 4; half++) {
        unsigned a = zc_vec_find(l, Y0, i->a, width, half), b = zc_vec_find(l, Y1, i->b, width, half);
        if (a == NO_VECTOR || b == NO_VECTOR)
            return false;
        if (k / 4 < 4) {
            if (!zc_vec_put_op(l, op[k / 4] | of, a, b, i->d, width, half))
                return false;
            continue;
        }
        /* b if it is better, or if a is not a number */
        v_reg(&l->g.o, V_COMPARE | of, Y2, b, a);
        x_byte(&l->g.o, k / 4 == 4 ? LESS : GREATER);
        v_reg(&l->g.o, V_COMPARE | of, Y3, a, a);
        x_byte(&l->g.o, UNORDERED);
        v_reg(&l->g.o, V_OR, Y2, Y2, Y3);
        v_reg(&l->g.o, width == 4 ? V_BLEND4 : V_BLEND8, Y0, a, b);
        x_byte(&l->g.o, Y2 << 4);
        if (!zc_vec_put(l, Y0, i->d, width, half))
            return false;
    }
    return true;
}

/* FNEG, FSQRT, FABS. */
static bool float1(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    unsigned width = 4u << k % 2, kind = k / 4;
    uint64_t sign = width == 4 ? 1ull << 31 : 1ull << 63;
    if (k & 2)
        return false;
    for (unsigned half = 0; half < width / 4; half++) {
        unsigned a = kind == 1 ? zc_vec_find(l, Y0, i->a, width, half) : zc_vec_get(l, Y0, i->a, width, half) ? Y0 : NO_VECTOR;
        if (a == NO_VECTOR)
            return false;
        if (kind != 1)
            zc_vec_with(l, kind ? V_AND : V_XOR, Y0, width, kind ? sign - 1 : sign);
        if (kind == 1 ? !zc_vec_put_op(l, V_SQRT | (width == 8 ? V_DOUBLE : 0), 0, a, i->d, width, half) : !zc_vec_put(l, Y0, i->d, width, half))
            return false;
    }
    return true;
}

/* FMAD, FMA. */
static bool float3(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    unsigned width = 4u << k % 2, of = k % 2 ? V_DOUBLE : 0;
    if (k & 2)
        return false;
    for (unsigned half = 0; half < width / 4; half++) {
        unsigned a = k / 4 ? zc_vec_get(l, Y0, i->a, width, half) ? Y0 : NO_VECTOR : zc_vec_find(l, Y0, i->a, width, half);
        unsigned b = zc_vec_find(l, Y1, i->b, width, half), c = zc_vec_find(l, Y2, i->c, width, half);
        if (a == NO_VECTOR || b == NO_VECTOR || c == NO_VECTOR)
            return false;
        if (k / 4) {
            v_reg(&l->g.o, V_FMA | (width == 8 ? V_WIDE : 0), Y0, b, c);
            if (!zc_vec_put(l, Y0, i->d, width, half))
                return false;
            continue;
        }
        v_reg(&l->g.o, V_MUL_F | of, Y0, a, b);
        if (!zc_vec_put_op(l, V_ADD_F | of, Y0, c, i->d, width, half))
            return false;
    }
    return true;
}

/* ---- comparisons ------------------------------------------------------------------------------------------------ */

/* reg = mask of a compared with b, for EQ NE UGT UGE ULT ULE SGT SGE SLT SLE; *not: its opposite. */
static bool compare_half(struct zc_lanes_gen *l, unsigned reg, unsigned how, uint32_t a, uint32_t b, unsigned width, unsigned half,
                         bool *not)
{
    bool swap = how == 3 || how == 4 || how == 7 || how == 8, unsign = how >= 2 && how <= 5;
    unsigned op = how < 2 ? (width == 4 ? V_EQ4 : V_EQ8) : width == 4 ? V_GT4 : V_GT8;
    *not = how == 1 || how == 3 || how == 5 || how == 7 || how == 9;
    if (!zc_vec_get(l, reg, swap ? b : a, width, half) || !zc_vec_get(l, Y2, swap ? a : b, width, half))
        return false;
    if (unsign) {
        zc_vec_with(l, V_XOR, reg, width, 1ull << (width * 8 - 1));
        zc_vec_with(l, V_XOR, Y2, width, 1ull << (width * 8 - 1));
    }
    v_reg(&l->g.o, op, reg, reg, Y2);
    return true;
}

/* Y0 = mask in 8 elements of 4 bytes. */
static bool compare_all(struct zc_lanes_gen *l, unsigned how, uint32_t a, uint32_t b, unsigned width, bool *not)
{
    for (unsigned half = 0; half < width / 4; half++)
        if (!compare_half(l, half ? Y1 : Y0, how, a, b, width, half, not))
            return false;
    if (width == 8)
        zc_vec_narrow(l, Y0, Y0, Y1, LOW_WORDS);
    return true;
}

/* Store the mask in Y0 as booleans. */
static bool put_mask(struct zc_lanes_gen *l, uint32_t slot, bool not)
{
    if (not) {
        zc_vec_with(l, V_ADD4, Y0, 4, 1);
    } else {
        v_reg(&l->g.o, V_SHIFT4_IMM, V_SHIFT_RIGHT, Y0, Y0);
        x_byte(&l->g.o, 31);
    }
    return zc_vec_put(l, Y0, slot, 1, 0);
}

static bool compare(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    bool not;
    return !(k & 4) && k % 4 >= 2 && compare_all(l, k / 8, i->a, i->b, 1u << k % 4, &not) && put_mask(l, i->d, not);
}

static bool float_compare(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    /* Predicates of vcmpps, for FOEQ FUEQ FONE FUNE FOLT FULT FOGT FUGT FOLE FULE FOGE FUGE FORD FUNO. */
    static const uint8_t predicate[] = {0, 8, 12, 4, 1, 9, 14, 6, 2, 10, 13, 5, 7, 3};
    unsigned width = 4u << k % 2;
    if (k & 2)
        return false;
    for (unsigned half = 0; half < width / 4; half++) {
        unsigned reg = half ? Y1 : Y0;
        if (!zc_vec_get(l, reg, i->a, width, half) || !zc_vec_get(l, Y2, i->b, width, half))
            return false;
        v_reg(&l->g.o, V_COMPARE | (width == 8 ? V_DOUBLE : 0), reg, reg, Y2);
        x_byte(&l->g.o, predicate[k / 4]);
    }
    if (width == 8)
        zc_vec_narrow(l, Y0, Y0, Y1, LOW_WORDS);
    return put_mask(l, i->d, false);
}

static bool logical_not(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->n != 1 || !zc_vec_flags(l, Y0, i->a))
        return false;
    zc_vec_with(l, V_XOR, Y0, 4, 1);
    return zc_vec_put(l, Y0, i->d, 1, 0);
}

static bool select_one(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    if (k != 2 || !zc_vec_flags(l, Y2, i->a) || !zc_vec_get(l, Y0, i->c, 4, 0) || !zc_vec_get(l, Y1, i->b, 4, 0))
        return false;
    shift_left(l, Y2, 31);
    v_reg(&l->g.o, V_BLEND4, Y0, Y0, Y1);
    x_byte(&l->g.o, Y2 << 4);
    return zc_vec_put(l, Y0, i->d, 4, 0);
}

/* ---- conversions, moves ----------------------------------------------------------------------------------------- */

static bool move(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    unsigned width = 1u << k;
    if (k == 0)
        return zc_vec_flags(l, Y0, i->a) && zc_vec_put(l, Y0, i->d, 1, 0);
    if (k < 2)
        return false;
    for (unsigned half = 0; half < width / 4; half++)
        if (!zc_vec_get(l, Y0, i->a, width, half) || !zc_vec_put(l, Y0, i->d, width, half))
            return false;
    return true;
}

/* ZX_1_4 of a boolean, ZX_4_8, SX_4_8. */
static bool extend(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    bool zero = i->op <= OP_ZX_4_8;
    if (i->op == OP_ZX_1_4) {
        if (!zc_vec_flags(l, Y0, i->a))
            return false;
        zc_vec_with(l, V_AND, Y0, 4, 255);
        return zc_vec_put(l, Y0, i->d, 4, 0);
    }
    if (k % 6 != 5 || !zc_vec_get(l, Y0, i->a, 4, 0))
        return false;
    v_reg(&l->g.o, zero ? V_ZX_4_8 : V_SX_4_8, Y1, 0, Y0);
    v_reg(&l->g.o, V_HALF, Y0, 0, Y0);
    x_byte(&l->g.o, 1);
    v_reg(&l->g.o, zero ? V_ZX_4_8 : V_SX_4_8, Y2, 0, Y0);
    return zc_vec_put(l, Y1, i->d, 8, 0) && zc_vec_put(l, Y2, i->d, 8, 1);
}

static bool convert(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->n != 1 || i->w != 4 || i->c != 4 ||
        i->ptr != (const void *)zc_math_converter(NUMBER_SIGNED, 4, NUMBER_FLOAT, 4, false) || !zc_vec_get(l, Y0, i->a, 4, 0))
        return false;
    v_reg(&l->g.o, V_FLOAT_OF_INT, Y0, 0, Y0);
    return zc_vec_put(l, Y0, i->d, 4, 0);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* The stride of the address of a load or store; false: it varies. */
static bool address_stride(const struct zc_lanes_gen *l, const struct zc_ins *i, bool indexed, int64_t *s)
{
    struct zc_value a = zc_lanes_value(&l->p, i->a, 8), b = {LANES_UNIFORM, 0};
    if (indexed)
        b = zc_lanes_value(&l->p, i->b, 8);
    if (a.kind == LANES_VARYING || b.kind == LANES_VARYING || i->c > 1 << 16)
        return false;
    *s = a.stride + b.stride * (indexed ? i->c : 0);
    return *s < INT32_MAX / ZC_LANES && *s > INT32_MIN / ZC_LANES;
}

static bool load_from(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k, bool indexed)
{
    unsigned width = 1u << k;
    int64_t s;
    if (k < 2 || !address_stride(l, i, indexed, &s) || (k == 3 && s != 8))
        return false;
    uint32_t disp = zc_native_address(&l->g, i, indexed);
    for (unsigned half = 0; half < width / 4; half++) {
        unsigned d = zc_vec_later(l, i->d, width, half);
        if (d == NO_VECTOR)
            return false;
        if (s == width) {
            v_mem(&l->g.o, V_MOV, d, 0, R10, disp + half * VECTOR_BYTES);
        } else if (s == 8) { /* the second 4 start one word early, so that the last one's neighbour is not read */
            v_mem(&l->g.o, V_MOV, Y0, 0, R10, disp);
            v_mem(&l->g.o, V_MOV, Y1, 0, R10, disp + VECTOR_BYTES - 4);
            zc_vec_narrow(l, d, Y0, Y1, LOW_HIGH_WORDS);
        } else {
            v_mem(&l->g.o, V_MOV, Y1, 0, RBX, zc_vec_constant(l, 4, 0, (uint64_t)s));
            v_reg(&l->g.o, V_EQ4, Y2, Y2, Y2);
            v_gather(&l->g.o, Y0, Y1, Y2, R10, disp);
            v_reg(&l->g.o, V_MOV, d, 0, Y0);
        }
        zc_vec_done(l, d, i->d);
    }
    return true;
}

static bool store_to(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k, bool indexed)
{
    unsigned width = 1u << k;
    int64_t s;
    if (k < 2 || !address_stride(l, i, indexed, &s) || s != width)
        return false;
    uint32_t disp = zc_native_address(&l->g, i, indexed);
    for (unsigned half = 0; half < width / 4; half++) {
        unsigned reg = zc_vec_find(l, Y0, i->d, width, half);
        if (reg == NO_VECTOR)
            return false;
        v_mem(&l->g.o, V_STORE, reg, 0, R10, disp + half * VECTOR_BYTES);
    }
    return true;
}

static bool load(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    return load_from(l, i, k, false);
}

static bool load_indexed(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    return i->c <= INT32_MAX && load_from(l, i, k, true);
}

static bool store(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    return store_to(l, i, k, false);
}

static bool store_indexed(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k)
{
    return i->c <= INT32_MAX && store_to(l, i, k, true);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

bool zc_lanes_vector(struct zc_lanes_gen *l, const struct zc_ins *i)
{
    static const struct {
        uint16_t first, last;
        bool (*translate)(struct zc_lanes_gen *l, const struct zc_ins *i, unsigned k);
    } rows[] = {
        {OP_ADD_1, OP_SMAX_8V, integer}, {OP_EQ_1, OP_SLE_8V, compare},      {OP_NEG_1, OP_NOT_8V, negate},
        {OP_FADD_4, OP_FMAX_8V, float2}, {OP_FOEQ_4, OP_FUNO_8V, float_compare}, {OP_FNEG_4, OP_FABS_8V, float1},
        {OP_FMAD_4, OP_FMA_8V, float3},  {OP_LD_1, OP_LD_8, load},           {OP_LDX_1, OP_LDX_8, load_indexed},
        {OP_ST_1, OP_ST_8, store},       {OP_STX_1, OP_STX_8, store_indexed}, {OP_MOV_1, OP_MOV_8, move},
        {OP_ZX_1_2, OP_SX_4_8, extend},  {OP_CONVERT, OP_CONVERT, convert},  {OP_LNOT, OP_LNOT, logical_not},
        {OP_SEL_1, OP_SEL_8, select_one},
    };
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++)
        if (i->op >= rows[k].first && i->op <= rows[k].last)
            return rows[k].translate(l, i, i->op - rows[k].first);
    return false;
}

bool zc_lanes_branch(struct zc_lanes_gen *l, const struct zc_ins *i)
{
    struct zc_x86_out *o = &l->g.o;
    uint32_t yes = i->c, no = i->d;
    bool not = false;
    if (i->op == OP_BRC) {
        if (!zc_vec_flags(l, Y0, i->a))
            return false;
        shift_left(l, Y0, 31);
        yes = i->b;
        no = i->c;
    } else if (i->op == OP_SWITCH) {
        l_leave(l, l->g.pc); /* as if they differed */
        return true;
    } else if (!compare_all(l, (i->op - OP_BR_EQ_4) / 2, i->a, i->b, (i->op - OP_BR_EQ_4) % 2 ? 8 : 4, &not)) {
        return false;
    }
    v_reg(o, V_MASK4, RAX, 0, Y0);
    x_reg(o, X_IMM, false, IMM_CMP, RAX);
    x_u32(o, ALL_LANES);
    uint8_t *some = x_branch_later(o, CC_NE);
    n_go(&l->g, not ? no : yes);
    x_set_distance(some, o->at);
    x_reg(o, X_TEST, false, RAX, RAX);
    uint8_t *none = x_branch_later(o, CC_E);
    l_leave(l, l->g.pc);
    x_set_distance(none, o->at);
    n_jump(&l->g, not ? yes : no);
    return true;
}

#endif
