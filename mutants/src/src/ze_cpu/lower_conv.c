/* lower_conv.c - lowers conversions; those that keep the bits emit no instruction. */
#include "ze_cpu/lower.h"

#include "ze_cpu/builtin.h"
#include "ze_cpu/convert.h"
#include "ze_cpu/emit.h"
#include "ze_cpu/op.h"

/* Round components to integral values first, in a mode that the conversion does not have. Returns their slot. */
static uint32_t rounded(struct zc_module *m, uint32_t slot, struct zc_shape a, int mode)
{
    uint32_t t = zc_slot_new(m, 16u * a.width, a.width);
    struct zc_ins *i = zc_emit(m, OP_CALL_1, t, slot, 0);
    i->n = a.n;
    i->w = a.width;
    i->ptr = zc_math_round(mode, a.width);
    return t;
}

static void convert(struct zc_module *m, const uint32_t *p, enum zc_number from, enum zc_number to)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    if (r.n != a.n)
        zc_fail(m, "the types of result and operand do not match");
    bool sat = m->id[p[2]].saturate || ZC_OP(p) == OpSatConvertSToU || ZC_OP(p) == OpSatConvertUToS;
    int mode = m->id[p[2]].rounding;
    zc_converter fn = zc_math_converter(from, a.width, to, r.width, sat);
    if (!fn)
        zc_fail(m, "this conversion is not supported");
    if (to == NUMBER_FLOAT && mode > ZC_ROUND_RTE)
        zc_fail(m, "conversions to floating point round to nearest even only");
    uint32_t s = zc_value(m, p[3]);
    if (from == NUMBER_FLOAT && to != NUMBER_FLOAT && mode && mode != ZC_ROUND_RTZ && a.width > 2)
        s = rounded(m, s, a, mode);
    struct zc_ins *i = zc_emit(m, OP_CONVERT, zc_result(m, p), s, 0);
    i->n = r.n;
    i->w = a.width;
    i->c = r.width;
    i->ptr = (const void *)fn;
}

/* Between integers. */
static void resize(struct zc_module *m, const uint32_t *p, bool sign)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    if (r.kind != KIND_INT || a.kind != KIND_INT)
        zc_fail(m, "not integers");
    if (m->id[p[2]].saturate || r.n > 1 || a.n > 1) {
        enum zc_number kind = sign ? NUMBER_SIGNED : NUMBER_UNSIGNED;
        convert(m, p, kind, kind);
        return;
    }
    zc_alias(m, p, zc_resize(m, zc_value(m, p[3]), a.width, r.width, sign));
}

static void kinds(struct zc_module *m, const uint32_t *p, bool from_float, bool to_float)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    if ((a.kind == KIND_FLOAT) != from_float || (r.kind == KIND_FLOAT) != to_float || a.kind == KIND_BOOL ||
        r.kind == KIND_BOOL)
        zc_fail(m, "the types of result and operand do not match");
}

static void bitcast(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    if (r.width * r.n != a.width * a.n)
        zc_fail(m, "the sizes differ");
    zc_alias(m, p, zc_value(m, p[3]));
}

/* Pointers are 64 bits wide; an integer of another width is extended or truncated. */
static void pointer(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[3]);
    if (r.n > 1 || a.n > 1 || r.kind == KIND_FLOAT || a.kind == KIND_FLOAT)
        zc_fail(m, "not a pointer");
    zc_alias(m, p, zc_resize(m, zc_value(m, p[3]), a.width, r.width, false));
}

bool zc_lower_convert(struct zc_module *m, const uint32_t *p)
{
    switch (ZC_OP(p)) {
    case OpConvertFToU:
        kinds(m, p, true, false);
        convert(m, p, NUMBER_FLOAT, NUMBER_UNSIGNED);
        return true;
    case OpConvertFToS:
        kinds(m, p, true, false);
        convert(m, p, NUMBER_FLOAT, NUMBER_SIGNED);
        return true;
    case OpConvertSToF:
        kinds(m, p, false, true);
        convert(m, p, NUMBER_SIGNED, NUMBER_FLOAT);
        return true;
    case OpConvertUToF:
        kinds(m, p, false, true);
        convert(m, p, NUMBER_UNSIGNED, NUMBER_FLOAT);
        return true;
    case OpFConvert:
        kinds(m, p, true, true);
        convert(m, p, NUMBER_FLOAT, NUMBER_FLOAT);
        return true;
    case OpUConvert:
        resize(m, p, false);
        return true;
    case OpSConvert:
        resize(m, p, true);
        return true;
    case OpSatConvertSToU:
        kinds(m, p, false, false);
        convert(m, p, NUMBER_SIGNED, NUMBER_UNSIGNED);
        return true;
    case OpSatConvertUToS:
        kinds(m, p, false, false);
        convert(m, p, NUMBER_UNSIGNED, NUMBER_SIGNED);
        return true;
    case OpBitcast:
        bitcast(m, p);
        return true;
    case OpConvertPtrToU:
    case OpConvertUToPtr:
    case OpPtrCastToGeneric:
    case OpGenericCastToPtr:
        pointer(m, p);
        return true;
    case OpGenericCastToPtrExplicit: {
        pointer(m, p);
        uint32_t s = zc_value(m, p[3]), d = zc_slot_new(m, 8, 8);
        zc_emit(m, OP_TO_SPACE, d, s, p[4]);
        m->id[p[2]].slot = d;
        return true;
    }
    }
    return false;
}
