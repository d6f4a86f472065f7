/* lower_arith.c - lowers arithmetic, comparisons, selection and composites. */
#include "ze_cpu/lower.h"

#include <string.h>

#include "ze_cpu/builtin.h"
#include "ze_cpu/convert.h"
#include "ze_cpu/emit.h"
#include "ze_cpu/op.h"
#include "ze_cpu/phi.h"

/* ---- one operation for one instruction -------------------------------------------------------------------------- */

enum rule { RULE_NONE, INT2, BOOL2, SHIFT, ICMP, FLT2, FCMP, INT1, FLT1 };

struct arith {
    uint8_t rule;
    uint16_t vm; /* the first operation of its family, for the smallest width */
};

/* clang-format off */
static const struct arith table[] = {
    [OpIAdd] = {INT2, OP_ADD_1}, [OpISub] = {INT2, OP_SUB_1}, [OpIMul] = {INT2, OP_MUL_1},
    [OpUDiv] = {INT2, OP_UDIV_1}, [OpSDiv] = {INT2, OP_SDIV_1}, [OpUMod] = {INT2, OP_UREM_1},
    [OpSRem] = {INT2, OP_SREM_1}, [OpSMod] = {INT2, OP_SMOD_1}, [OpBitwiseAnd] = {INT2, OP_AND_1},
    [OpBitwiseOr] = {INT2, OP_OR_1}, [OpBitwiseXor] = {INT2, OP_XOR_1},
    [OpLogicalAnd] = {BOOL2, OP_AND_1}, [OpLogicalOr] = {BOOL2, OP_OR_1},
    [OpLogicalEqual] = {BOOL2, OP_EQ_1}, [OpLogicalNotEqual] = {BOOL2, OP_XOR_1},
    [OpShiftLeftLogical] = {SHIFT, OP_SHL_1}, [OpShiftRightLogical] = {SHIFT, OP_SHR_1},
    [OpShiftRightArithmetic] = {SHIFT, OP_ASR_1},
    [OpIEqual] = {ICMP, OP_EQ_1}, [OpINotEqual] = {ICMP, OP_NE_1}, [OpUGreaterThan] = {ICMP, OP_UGT_1},
    [OpSGreaterThan] = {ICMP, OP_SGT_1}, [OpUGreaterThanEqual] = {ICMP, OP_UGE_1},
    [OpSGreaterThanEqual] = {ICMP, OP_SGE_1}, [OpULessThan] = {ICMP, OP_ULT_1}, [OpSLessThan] = {ICMP, OP_SLT_1},
    [OpULessThanEqual] = {ICMP, OP_ULE_1}, [OpSLessThanEqual] = {ICMP, OP_SLE_1},
    [OpPtrEqual] = {ICMP, OP_EQ_1}, [OpPtrNotEqual] = {ICMP, OP_NE_1},
    [OpFAdd] = {FLT2, OP_FADD_4}, [OpFSub] = {FLT2, OP_FSUB_4}, [OpFMul] = {FLT2, OP_FMUL_4},
    [OpFDiv] = {FLT2, OP_FDIV_4},
    [OpFOrdEqual] = {FCMP, OP_FOEQ_4}, [OpFUnordEqual] = {FCMP, OP_FUEQ_4}, [OpFOrdNotEqual] = {FCMP, OP_FONE_4},
    [OpFUnordNotEqual] = {FCMP, OP_FUNE_4}, [OpFOrdLessThan] = {FCMP, OP_FOLT_4},
    [OpFUnordLessThan] = {FCMP, OP_FULT_4}, [OpFOrdGreaterThan] = {FCMP, OP_FOGT_4},
    [OpFUnordGreaterThan] = {FCMP, OP_FUGT_4}, [OpFOrdLessThanEqual] = {FCMP, OP_FOLE_4},
    [OpFUnordLessThanEqual] = {FCMP, OP_FULE_4}, [OpFOrdGreaterThanEqual] = {FCMP, OP_FOGE_4},
    [OpFUnordGreaterThanEqual] = {FCMP, OP_FUGE_4}, [OpLessOrGreater] = {FCMP, OP_FONE_4},
    [OpOrdered] = {FCMP, OP_FORD_4}, [OpUnordered] = {FCMP, OP_FUNO_4},
    [OpSNegate] = {INT1, OP_NEG_1}, [OpNot] = {INT1, OP_NOT_1}, [OpFNegate] = {FLT1, OP_FNEG_4},
};
/* clang-format on */

static bool same(struct zc_shape a, struct zc_shape b)
{
    return a.width == b.width && a.n == b.n && (a.kind == KIND_FLOAT) == (b.kind == KIND_FLOAT) &&
           (a.kind == KIND_BOOL) == (b.kind == KIND_BOOL);
}

static void need(struct zc_module *m, bool so)
{
    if (!so)
        zc_fail(m, "the types of result and operands do not match");
}

static unsigned family(unsigned vm, struct zc_shape s)
{
    if (s.kind == KIND_FLOAT)
        return vm + (s.width == 8) + 2u * (s.n > 1);
    return vm + zc_log2(s.width) + 4u * (s.n > 1);
}

/* The slot of a shift amount, converted to the width of the value. */
static uint32_t shift_amount(struct zc_module *m, uint32_t id, struct zc_shape to)
{
    struct zc_shape s = zc_shape_of(m, id);
    uint32_t slot = zc_value(m, id);
    if (s.width == to.width)
        return slot;
    if (s.n > 1)
        zc_fail(m, "vector shift amounts of a different width are not supported");
    return zc_resize(m, slot, s.width, to.width, false);
}

static void check_rule(struct zc_module *m, enum rule rule, struct zc_shape r, struct zc_shape a, struct zc_shape b)
{
    bool flt = a.kind == KIND_FLOAT, boolean = a.kind == KIND_BOOL;
    need(m, a.n == b.n && r.n == a.n);
    switch (rule) {
    case INT2:
    case INT1:
        need(m, !flt && !boolean && same(a, b) && same(r, a));
        return;
    case BOOL2:
        need(m, boolean && b.kind == KIND_BOOL && r.kind == KIND_BOOL);
        return;
    case SHIFT:
        need(m, !flt && !boolean && b.kind == KIND_INT && same(r, a));
        return;
    case ICMP:
        need(m, !flt && same(a, b) && r.kind == KIND_BOOL);
        return;
    case FLT2:
    case FLT1:
        need(m, flt && same(a, b) && same(r, a));
        break;
    default:
        need(m, flt && same(a, b) && r.kind == KIND_BOOL);
    }
    if (a.width == 2)
        zc_fail(m, "arithmetic on half is not supported");
}

static void by_rule(struct zc_module *m, const uint32_t *p, struct arith how)
{
    bool one = how.rule == INT1 || how.rule == FLT1;
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]), b = one ? a : zc_shape_of(m, p[4]);
    check_rule(m, how.rule, r, a, b);
    uint32_t sa = zc_value(m, p[3]), sb = one ? 0 : how.rule == SHIFT ? shift_amount(m, p[4], a) : zc_value(m, p[4]);
    uint32_t d = r.n == 1 ? zc_result_phi(m, p) : zc_result(m, p);
    zc_emit(m, family(how.vm, a), d, sa, sb)->n = a.n;
}

/* ---- operations that call a function for each component --------------------------------------------------------- */

static void classify(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    need(m, a.kind == KIND_FLOAT && a.width >= 4 && r.kind == KIND_BOOL && r.n == a.n);
    uint32_t s = zc_value(m, p[3]);
    struct zc_ins *i = zc_emit(m, OP_CONVERT, zc_result(m, p), s, 0);
    i->n = a.n;
    i->w = a.width;
    i->c = 1;
    i->ptr = zc_math_classify(ZC_OP(p), a.width);
}

static void remainder_of(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    need(m, a.kind == KIND_FLOAT && a.width >= 4 && same(r, a) && same(a, zc_shape_of(m, p[4])));
    uint32_t sa = zc_value(m, p[3]), sb = zc_value(m, p[4]);
    struct zc_ins *i = zc_emit(m, OP_CALL_2, zc_result(m, p), sa, sb);
    i->n = a.n;
    i->w = a.width;
    i->ptr = zc_math_remainder(ZC_OP(p) == OpFMod, a.width);
}

static void bits(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    need(m, a.kind == KIND_INT && same(r, a));
    uint32_t s = zc_value(m, p[3]);
    struct zc_ins *i = zc_emit(m, OP_CALL_INT, zc_result(m, p), s, s);
    i->c = s;
    i->n = a.n;
    i->w = a.width;
    i->ptr = (const void *)zc_math_bits(ZC_OP(p));
}

static void select_value(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type(m, p[1]);
    struct zc_shape c = zc_shape_of(m, p[3]);
    need(m, c.kind == KIND_BOOL && m->id[p[4]].type == p[1] && m->id[p[5]].type == p[1]);
    uint32_t sc = zc_value(m, p[3]), a = zc_value(m, p[4]), b = zc_value(m, p[5]), d = zc_result(m, p);
    struct zc_ins *i;
    if (c.n > 1) {
        struct zc_shape r = zc_shape(m, p[1]);
        need(m, r.n == c.n);
        i = zc_emit(m, OP_SEL_V, d, sc, a);
        i->n = c.n;
        i->w = r.width;
    } else {
        bool plain = t->size <= 8 && !(t->size & (t->size - 1));
        i = zc_emit(m, plain ? OP_SEL_1 + zc_log2((unsigned)t->size) : OP_SEL_N, d, sc, a);
        i->u[0] = (uint32_t)t->size;
    }
    i->c = b;
}

static void any_all(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape a = zc_shape_of(m, p[3]);
    need(m, a.kind == KIND_BOOL && zc_type(m, p[1])->kind == KIND_BOOL);
    uint32_t s = zc_value(m, p[3]);
    zc_emit(m, ZC_OP(p) == OpAny ? OP_ANY : OP_ALL, zc_result(m, p), s, 0)->n = a.n;
}

static void logical_not(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape a = zc_shape_of(m, p[3]), r = zc_shape(m, p[1]);
    need(m, a.kind == KIND_BOOL && r.kind == KIND_BOOL && a.n == r.n);
    uint32_t s = zc_value(m, p[3]);
    zc_emit(m, OP_LNOT, zc_result(m, p), s, 0)->n = a.n;
}

/* Vector times scalar, dot product: one operation per component. */
static void times_scalar(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]), b = zc_shape_of(m, p[4]);
    need(m, a.kind == KIND_FLOAT && a.width >= 4 && same(r, a) && b.n == 1 && b.kind == KIND_FLOAT &&
                b.width == a.width);
    uint32_t sa = zc_value(m, p[3]), sb = zc_value(m, p[4]), d = zc_result(m, p);
    for (uint32_t i = 0; i < a.n; i++)
        zc_emit(m, OP_FMUL_4 + (a.width == 8), d + i * a.width, sa + i * a.width, sb);
}

static void dot(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    need(m, a.kind == KIND_FLOAT && a.width >= 4 && same(a, zc_shape_of(m, p[4])) && r.n == 1 && r.kind == KIND_FLOAT &&
                r.width == a.width);
    uint32_t sa = zc_value(m, p[3]), sb = zc_value(m, p[4]), d = zc_result(m, p), t = zc_temp(m, a.width);
    unsigned wide = a.width == 8;
    zc_emit(m, OP_FMUL_4 + wide, d, sa, sb);
    for (uint32_t i = 1; i < a.n; i++) {
        zc_emit(m, OP_FMUL_4 + wide, t, sa + i * a.width, sb + i * a.width);
        zc_emit(m, OP_FADD_4 + wide, d, d, t);
    }
}

/* Instructions with two results, in a structure: low and high part, or value and carry. */
static void extended(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type(m, p[1]);
    struct zc_shape a = zc_shape_of(m, p[3]);
    need(m, t->kind == KIND_STRUCT && t->n == 2 && same(a, zc_shape_of(m, p[4])) && same(a, zc_shape(m, t->member[0])) &&
                same(a, zc_shape(m, t->member[1])) && a.kind == KIND_INT);
    uint32_t sa = zc_value(m, p[3]), sb = zc_value(m, p[4]), d = zc_result(m, p);
    static const uint16_t low[] = {OP_ADD_1, OP_SUB_1, OP_MUL_1, OP_MUL_1};
    zc_emit(m, family(low[ZC_OP(p) - OpIAddCarry], a), d, sa, sb)->n = a.n;
    struct zc_ins *i = zc_emit(m, OP_CALL_INT, d + (uint32_t)t->offset[1], sa, sb);
    i->c = sa;
    i->n = a.n;
    i->w = a.width;
    i->ptr = (const void *)zc_math_bits(ZC_OP(p));
}

bool zc_lower_arith(struct zc_module *m, const uint32_t *p)
{
    uint32_t op = ZC_OP(p);
    if (op < sizeof table / sizeof *table && table[op].rule) {
        by_rule(m, p, table[op]);
        return true;
    }
    switch (op) {
    case OpIsNan:
    case OpIsInf:
    case OpIsFinite:
    case OpIsNormal:
    case OpSignBitSet:
        classify(m, p);
        return true;
    case OpFRem:
    case OpFMod:
        remainder_of(m, p);
        return true;
    case OpBitCount:
    case OpBitReverse:
        bits(m, p);
        return true;
    case OpSelect:
        select_value(m, p);
        return true;
    case OpAny:
    case OpAll:
        any_all(m, p);
        return true;
    case OpLogicalNot:
        logical_not(m, p);
        return true;
    case OpVectorTimesScalar:
        times_scalar(m, p);
        return true;
    case OpDot:
        dot(m, p);
        return true;
    case OpIAddCarry:
    case OpISubBorrow:
    case OpUMulExtended:
    case OpSMulExtended:
        extended(m, p);
        return true;
    }
    return false;
}

/* ---- composites ------------------------------------------------------------------------------------------------- */

/* Follow the literal indices from word `first` on. Returns the member's type; its byte offset is added to *off. */
static uint32_t member(struct zc_module *m, const uint32_t *p, uint32_t type, uint32_t first, uint64_t *off)
{
    for (uint32_t i = first; i < ZC_WORDS(p); i++)
        type = zc_member(m, type, p[i], off);
    return type;
}

static void construct(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type(m, p[1]);
    uint32_t d = zc_result(m, p), n = 0;
    for (uint32_t i = 3; i < ZC_WORDS(p); i++) {
        struct zc_shape part = {0, 0, 1};
        uint64_t off = 0, size = zc_type_of(m, p[i])->size;
        if (t->kind == KIND_VECTOR) { /* parts may be vectors */
            part = zc_shape_of(m, p[i]);
            size = (uint64_t)part.n * part.width;
        }
        uint64_t room = zc_type(m, zc_member(m, p[1], n, &off))->size;
        need(m, t->kind == KIND_VECTOR ? part.width == room && n + part.n <= t->n : size == room);
        zc_move(m, d + (uint32_t)off, zc_value(m, p[i]), size);
        n += part.n;
    }
    need(m, n == t->n);
}

static void extract(struct zc_module *m, const uint32_t *p)
{
    uint64_t off = 0;
    zc_type_of(m, p[3]);
    uint32_t type = member(m, p, m->id[p[3]].type, 4, &off);
    need(m, zc_type(m, type)->size == zc_type(m, p[1])->size);
    zc_alias(m, p, zc_value(m, p[3]) + (uint32_t)off);
}

static void insert(struct zc_module *m, const uint32_t *p)
{
    uint64_t off = 0;
    uint32_t type = member(m, p, p[1], 5, &off);
    uint64_t size = zc_type(m, p[1])->size, part = zc_type(m, type)->size;
    need(m, zc_type_of(m, p[4])->size == size && zc_type_of(m, p[3])->size == part);
    uint32_t whole = zc_value(m, p[4]), s = zc_value(m, p[3]), d = zc_result(m, p);
    zc_move(m, d, whole, size);
    zc_move(m, d + (uint32_t)off, s, part);
}

static void shuffle(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]), b = zc_shape_of(m, p[4]);
    need(m, r.width == a.width && r.width == b.width && r.n > 1 && ZC_WORDS(p) == 5u + r.n);
    uint32_t sa = zc_value(m, p[3]), sb = zc_value(m, p[4]), d = zc_result(m, p);
    for (uint32_t i = 0; i < r.n; i++) {
        uint32_t k = p[5 + i];
        if (k == UINT32_MAX)
            continue;
        need(m, k < (uint32_t)a.n + b.n);
        zc_move(m, d + i * r.width, k < a.n ? sa + k * r.width : sb + (k - a.n) * r.width, r.width);
    }
}

static void dynamic(struct zc_module *m, const uint32_t *p)
{
    bool put = ZC_OP(p) == OpVectorInsertDynamic;
    struct zc_shape v = zc_shape_of(m, p[3]), x = zc_shape_of(m, p[put ? 5 : 4]),
                    e = put ? zc_shape_of(m, p[4]) : zc_shape(m, p[1]);
    need(m, v.n > 1 && x.kind == KIND_INT && x.n == 1 && e.n == 1 && e.width == v.width);
    need(m, !put || m->id[p[3]].type == p[1]);
    uint32_t s = zc_value(m, p[3]), at = zc_resize(m, zc_value(m, p[put ? 5 : 4]), x.width, 8, false);
    uint32_t elem = put ? zc_value(m, p[4]) : 0, d = zc_result(m, p);
    if (put)
        zc_move(m, d, s, zc_type(m, p[1])->size);
    struct zc_ins *i = zc_emit(m, put ? OP_INSERT : OP_EXTRACT, d, put ? elem : s, at);
    i->n = v.n;
    i->w = v.width;
}

bool zc_lower_composite(struct zc_module *m, const uint32_t *p)
{
    switch (ZC_OP(p)) {
    case OpUndef: {
        uint32_t d = zc_result(m, p);
        zc_emit(m, OP_ZERO, d, 0, (uint32_t)zc_type(m, p[1])->size);
        return true;
    }
    case OpCopyObject:
    case OpExpectKHR:
        need(m, zc_type_of(m, p[3])->size == zc_type(m, p[1])->size);
        zc_alias(m, p, zc_value(m, p[3]));
        return true;
    case OpCompositeConstruct:
        construct(m, p);
        return true;
    case OpCompositeExtract:
        extract(m, p);
        return true;
    case OpCompositeInsert:
        insert(m, p);
        return true;
    case OpVectorShuffle:
        shuffle(m, p);
        return true;
    case OpVectorExtractDynamic:
    case OpVectorInsertDynamic:
        dynamic(m, p);
        return true;
    }
    return false;
}
