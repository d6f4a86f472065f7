/* ins_float.c - PTX instructions on float and double. Subnormal numbers are kept with .ftz, too. */
#include <math.h>

#include "cuda_cpu/lower.h"
#include "cuda_cpu/real.h"

/* Clamp to [0, 1]; NaN becomes 0. */
static uint32_t saturate(struct ptx *p, uint32_t s, unsigned width)
{
    cc_call_float(p, width == 8 ? (const void *)cc_sat_64 : (const void *)cc_sat_32, 1, width, s, s, 0, 0);
    return s;
}

/* Up to three sources of the first type: a VM operation, or for another rounding than to nearest the function of `rounded`. */
static void emit(struct ptx *p, const struct cc_row *r, unsigned n, int rounded)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    bool wide = t.width == 8, sat = cc_has(p, "sat");
    uint32_t v[3] = {0, 0, 0};
    cc_has(p, "ftz");
    int mode = cc_which(p, "rn rz rm rp approx full");
    for (unsigned k = 0; k < n; k++)
        v[k] = cc_source(p, k + 1, t);
    uint32_t s = cc_into(p, d, t.width);
    if (mode >= 1 && mode <= 3) {
        if (rounded < 0)
            ptx_fail(p, "%s: this rounding is not supported", p->ins->op);
        cc_call_float(p, cc_rounded(rounded, (unsigned)mode, t.width), n, t.width, s, v[0], v[1], v[2]);
    } else if (r->f32) {
        cc_call_float(p, wide ? r->f64 : r->f32, n, t.width, s, v[0], v[1], v[2]);
    } else {
        cc_emit(p, r->vm + wide, s, v[0], v[1])->c = v[2];
    }
    if (sat)
        saturate(p, s, t.width);
}

#define ROUNDED(name, n, which)                                                                                       \
    static void emit_##name(struct ptx *p, const struct cc_row *r)                                                    \
    {                                                                                                                 \
        emit(p, r, n, which);                                                                                         \
    }
ROUNDED(add, 2, CC_ADD)
ROUNDED(sub, 2, CC_SUB)
ROUNDED(mul, 2, CC_MUL)
ROUNDED(div, 2, CC_DIV)
ROUNDED(fma, 3, CC_FMA)
ROUNDED(rcp, 1, CC_RCP)
ROUNDED(sqrt, 1, CC_SQRT)
ROUNDED(one, 1, -1)
ROUNDED(two, 2, -1)

/* testp: the class of a number. */
static void emit_testp(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    uint32_t a = cc_source(p, 1, t), s = cc_into(p, cc_operand(p, 0), 1);
    struct zc_ins *i = cc_emit(p, OP_CONVERT, s, a, 0);
    i->c = 1;
    i->w = t.width;
    i->ptr = t.width == 8 ? r->f64 : r->f32;
}

#define FNS(name) (const void *)name##_32, (const void *)name##_64
static const struct cc_row rows[] = {
    {"add", "", PTX_F, emit_add, OP_FADD_4, NULL, NULL},
    {"sub", "", PTX_F, emit_sub, OP_FSUB_4, NULL, NULL},
    {"mul", "", PTX_F, emit_mul, OP_FMUL_4, NULL, NULL},
    {"div", "", PTX_F, emit_div, OP_FDIV_4, NULL, NULL},
    {"fma", "", PTX_F, emit_fma, OP_FMA_4, NULL, NULL},
    {"mad", "", PTX_F, emit_fma, OP_FMA_4, NULL, NULL},
    {"min", "NaN", PTX_F, emit_two, 0, FNS(cc_min_nan)},
    {"max", "NaN", PTX_F, emit_two, 0, FNS(cc_max_nan)},
    {"min", "", PTX_F, emit_two, 0, FNS(cc_min)},
    {"max", "", PTX_F, emit_two, 0, FNS(cc_max)},
    {"abs", "", PTX_F, emit_one, OP_FABS_4, NULL, NULL},
    {"neg", "", PTX_F, emit_one, OP_FNEG_4, NULL, NULL},
    {"copysign", "", PTX_F, emit_two, 0, FNS(cc_copysign)},
    {"sqrt", "", PTX_F, emit_sqrt, OP_FSQRT_4, NULL, NULL},
    {"rcp", "", PTX_F, emit_rcp, 0, FNS(cc_rcp)},
    {"rsqrt", "", PTX_F, emit_one, 0, FNS(cc_rsqrt)},
    {"sin", "", PTX_F, emit_one, 0, (const void *)cc_sin, NULL},
    {"cos", "", PTX_F, emit_one, 0, (const void *)cc_cos, NULL},
    {"lg2", "", PTX_F, emit_one, 0, (const void *)log2f, NULL},
    {"ex2", "", PTX_F, emit_one, 0, (const void *)exp2f, NULL},
    {"tanh", "", PTX_F, emit_one, 0, (const void *)tanhf, NULL},
    {"testp", "finite", PTX_F, emit_testp, 0, FNS(cc_finite)},
    {"testp", "infinite", PTX_F, emit_testp, 0, FNS(cc_infinite)},
    {"testp", "number", PTX_F, emit_testp, 0, FNS(cc_number)},
    {"testp", "notanumber", PTX_F, emit_testp, 0, FNS(cc_nan)},
    {"testp", "normal", PTX_F, emit_testp, 0, FNS(cc_normal)},
    {"testp", "subnormal", PTX_F, emit_testp, 0, FNS(cc_subnormal)},
};

bool cc_float(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}
