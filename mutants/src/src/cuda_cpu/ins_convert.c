/* ins_convert.c - PTX conversions: cvt between numbers, with rounding and saturation. */
#include <math.h>
#include <string.h>

#include "cuda_cpu/half.h"
#include "cuda_cpu/lower.h"
#include "cuda_cpu/number.h"

enum { INTEGRAL = 4 }; /* from here on the roundings to an integral value */

static enum zc_number kind(struct ptx_type t)
{
    return t.class & (PTX_F | PTX_H) ? NUMBER_FLOAT : t.class == PTX_S ? NUMBER_SIGNED : NUMBER_UNSIGNED;
}

static bool is_real(struct ptx_type t)
{
    return t.class == PTX_F || t.class == PTX_H;
}

static void convert(struct ptx *p, zc_converter fn, uint32_t d, unsigned to, uint32_t s, unsigned from)
{
    if (!fn)
        ptx_fail(p, "this conversion is not supported");
    struct zc_ins *i = cc_emit(p, OP_CONVERT, d, s, 0);
    i->c = to;
    i->w = (uint8_t)from;
    i->ptr = (const void *)fn;
}

/* To an integral value, rounding `mode` (rni, rzi, rmi, rpi). */
static uint32_t integral(struct ptx *p, uint32_t s, unsigned width, int mode)
{
    static const void *const fns[][2] = {{(const void *)rintf, (const void *)rint}, {(const void *)truncf, (const void *)trunc},
                                         {(const void *)floorf, (const void *)floor}, {(const void *)ceilf, (const void *)ceil}};
    uint32_t d = cc_temp(p, width);
    cc_call_float(p, fns[mode - INTEGRAL][width == 8], 1, width, d, s, 0, 0);
    return d;
}

/* The value as a float or double: half formats become float. */
static uint32_t real_source(struct ptx *p, uint32_t s, struct ptx_type *t)
{
    if (t->class != PTX_H)
        return s;
    uint32_t d = cc_temp(p, 4);
    convert(p, cc_from_half(t->name), d, 4, s, 2);
    *t = (struct ptx_type){PTX_F, 4, "f32"};
    return d;
}

static void to_real(struct ptx *p, uint32_t d, struct ptx_type to, uint32_t s, struct ptx_type from, int mode, bool sat)
{
    if (is_real(from))
        s = real_source(p, s, &from);
    if (is_real(from) && mode >= INTEGRAL)
        s = integral(p, s, from.width, mode);
    if (sat && is_real(from)) {
        uint32_t clamped = cc_temp(p, from.width);
        cc_call_float(p, cc_saturated(from.width), 1, from.width, clamped, s, 0, 0);
        s = clamped;
    }
    if (from.class == to.class && from.width == to.width)
        zc_move(p->m, d, s, to.width);
    else if (to.class == PTX_H && !is_real(from))
        convert(p, mode > 0 ? NULL : cc_half_from_integer(to.name, kind(from), from.width), d, 2, s, from.width);
    else if (to.class == PTX_H)
        convert(p, cc_to_half(to.name, from.width, mode < 0 ? 0 : (unsigned)mode % INTEGRAL), d, 2, s, from.width);
    else if (mode > 0 && mode < INTEGRAL)
        convert(p, cc_to_real(kind(from), from.width, to.width, (unsigned)mode), d, to.width, s, from.width);
    else
        convert(p, zc_math_converter(kind(from), from.width, NUMBER_FLOAT, to.width, false), d, to.width, s, from.width);
}

static void to_integer(struct ptx *p, uint32_t d, struct ptx_type to, uint32_t s, struct ptx_type from, int mode, bool sat)
{
    if (is_real(from)) {
        bool wide = from.width == 8 || to.width == 8;
        s = real_source(p, s, &from);
        if (mode >= INTEGRAL)
            s = integral(p, s, from.width, mode);
        convert(p, cc_real_to_integer(from.width, kind(to), to.width, wide), d, to.width, s, from.width);
    } else if (sat) {
        convert(p, zc_math_converter(kind(from), from.width, kind(to), to.width, true), d, to.width, s, from.width);
    } else if (from.width >= to.width) {
        zc_move(p->m, d, s, to.width);
    } else {
        zc_move(p->m, d, zc_resize(p->m, s, from.width, to.width, from.class == PTX_S), to.width);
    }
}

/* Two numbers into a packed one: the first operand becomes the upper half. */
static void packed(struct ptx *p, struct ptx_type to, struct ptx_type from, int mode)
{
    const struct ptx_operand *o = cc_operand(p, 0);
    uint32_t high = cc_source(p, 1, from), low = cc_source(p, 2, from), d = cc_into(p, o, 4), both = cc_temp(p, 4);
    if (from.width != 4 || from.class != PTX_F)
        ptx_fail(p, "this conversion is not supported");
    zc_converter fn = cc_to_half(to.name, 4, mode < 0 ? 0 : (unsigned)mode % INTEGRAL);
    convert(p, fn, both, 2, low, 4);
    convert(p, fn, both + 2, 2, high, 4);
    zc_move(p->m, d, both, 4);
}

static void emit_cvt(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    if (p->ins->ntype != 2)
        ptx_fail(p, "cvt needs two types");
    struct ptx_type to = p->ins->type[0], from = p->ins->type[1];
    int mode = cc_which(p, "rn rz rm rp rni rzi rmi rpi");
    bool sat = cc_has(p, "sat");
    cc_has(p, "ftz");
    if (to.class == PTX_H && to.width == 4) {
        packed(p, to, from, mode);
        return;
    }
    const struct ptx_operand *o = cc_operand(p, 0);
    uint32_t s = cc_source(p, 1, from), d = cc_into(p, o, to.width);
    if (is_real(to))
        to_real(p, d, to, s, from, mode, sat);
    else
        to_integer(p, d, to, s, from, mode, sat);
    cc_done(p, o, d, to.width, to.class == PTX_S);
}

static const struct cc_row rows[] = {
    {"cvt", "", PTX_INT | PTX_F | PTX_H, emit_cvt, 0, NULL, NULL},
};

bool cc_convert(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}
