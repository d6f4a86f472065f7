/* lower_ext.c - lowers the instructions of the OpenCL.std extended set. */
#include "ze_cpu/lower.h"

#include "ze_cpu/builtin.h"
#include "ze_cpu/constant.h"
#include "ze_cpu/emit.h"
#include "ze_cpu/op.h"
#include "ze_cpu/phi.h"

/* Instructions that are not a function of builtin.c on each component, and those with an operation of their own. */
enum {
    FABS = 23, FMA = 26, FMAX = 27, FMIN = 28, MAD = 42, SQRT = 61, HALF_SQRT = 79, NATIVE_SQRT = 93,
    FMAX_COMMON = 97, FMIN_COMMON = 98, CROSS = 104, DISTANCE, LENGTH, NORMALIZE, FAST_DISTANCE, FAST_LENGTH,
    FAST_NORMALIZE, SMAX = 156, UMAX, SMIN, UMIN, U_UPSAMPLE = 164, S_UPSAMPLE, VLOADN = 171, VSTOREN, VLOAD_HALF,
    VLOAD_HALFN, VSTORE_HALF, VSTORE_HALF_R, VSTORE_HALFN, VSTORE_HALFN_R, VLOADA_HALFN, VSTOREA_HALFN,
    VSTOREA_HALFN_R, SHUFFLE, SHUFFLE2, PRINTF, PREFETCH, BITSELECT, SELECT,
};
enum { FIRST = 5 }; /* word of the first operand */

/* parse.c has not checked that the operands of OpExtInst are ids: zc_type_of does. */
static uint32_t type_id(struct zc_module *m, uint32_t id)
{
    zc_type_of(m, id);
    return m->id[id].type;
}

static void need(struct zc_module *m, bool so)
{
    if (!so)
        zc_fail(m, "OpenCL.std instruction %u: the types of its operands do not match", m->w[m->cur + 4]);
}

static void operands(struct zc_module *m, const uint32_t *p, uint32_t n)
{
    need(m, ZC_WORDS(p) == FIRST + n);
}

/* ---- one component at a time ------------------------------------------------------------------------------------ */

static unsigned fast_op(uint32_t n, struct zc_shape s)
{
    unsigned flt = (s.width == 8) + 2u * (s.n > 1), num = zc_log2(s.width) + 4u * (s.n > 1);
    switch (n) {
    case FABS:
        return OP_FABS_4 + flt;
    case SQRT:
    case HALF_SQRT:
    case NATIVE_SQRT:
        return OP_FSQRT_4 + flt;
    case FMA:
        return OP_FMA_4 + flt;
    case MAD:
        return OP_FMAD_4 + flt;
    case FMAX:
    case FMAX_COMMON:
        return OP_FMAX_4 + flt;
    case FMIN:
    case FMIN_COMMON:
        return OP_FMIN_4 + flt;
    case SMAX:
        return OP_SMAX_1 + num;
    case UMAX:
        return OP_UMAX_1 + num;
    case SMIN:
        return OP_SMIN_1 + num;
    case UMIN:
        return OP_UMIN_1 + num;
    }
    return 0;
}

/* Check that all n operands have the type of the result. */
static void same_shape(struct zc_module *m, const uint32_t *p, uint32_t n, bool flt)
{
    struct zc_shape r = zc_shape(m, p[1]);
    operands(m, p, n);
    need(m, flt ? r.kind == KIND_FLOAT && r.width >= 4 : r.kind == KIND_INT);
    for (uint32_t i = 0; i < n; i++) {
        struct zc_shape a = zc_shape_of(m, p[FIRST + i]);
        need(m, a.width == r.width && a.n == r.n && (a.kind == KIND_FLOAT) == flt && a.kind != KIND_BOOL);
    }
}

static struct zc_ins *each(struct zc_module *m, const uint32_t *p, unsigned op, uint32_t n)
{
    struct zc_shape r = zc_shape(m, p[1]);
    uint32_t a = zc_value(m, p[FIRST]), b = n > 1 ? zc_value(m, p[FIRST + 1]) : a;
    uint32_t c = n > 2 ? zc_value(m, p[FIRST + 2]) : a;
    struct zc_ins *i = zc_emit(m, op, 0, a, b);
    uint32_t at = m->code.n - 1, d = r.n == 1 ? zc_result_phi(m, p) : zc_result(m, p);
    i = &m->code.v[at];
    i->d = d;
    i->c = c;
    i->n = r.n;
    i->w = r.width;
    return i;
}

static uint32_t count_of(uint32_t n)
{
    return n == FMA || n == MAD ? 3 : n == FABS || n == SQRT || n == HALF_SQRT || n == NATIVE_SQRT ? 1 : 2;
}

/* A function with a second result, or with an operand or result of type int. w: bit mask of d, a, b, out with 8 bytes. */
static void split(struct zc_module *m, const uint32_t *p, const struct zc_math *f)
{
    bool ptr = f->args == ZC_SPLIT || f->args == ZC_SPLIT_INT || f->args == ZC_SPLIT2_INT;
    uint32_t n = f->args == ZC_SPLIT || f->args == ZC_SPLIT_INT || f->args == ZC_WITH_INT ? 2 :
                 f->args == ZC_SPLIT2_INT ? 3 : 1;
    operands(m, p, n);
    struct zc_shape r = zc_shape(m, p[1]), a = zc_shape_of(m, p[FIRST]);
    struct zc_shape b = n > 1 + (uint32_t)ptr ? zc_shape_of(m, p[FIRST + 1]) : a;
    bool to_int = f->args == ZC_TO_INT;
    need(m, r.n == a.n && a.n == b.n && (f->args == ZC_FROM_INT ? a.kind == KIND_INT : a.kind == KIND_FLOAT));
    need(m, to_int ? r.kind == KIND_INT && r.width == 4 : r.kind == KIND_FLOAT && r.width == a.width);
    need(m, f->args == ZC_WITH_INT ? b.kind == KIND_INT && b.width == 4 : b.width == a.width && b.kind == a.kind);
    need(m, a.width >= 4);
    unsigned out = f->args == ZC_SPLIT ? a.width : 4;
    uint32_t sa = zc_value(m, p[FIRST]), sb = n > 1 + (uint32_t)ptr ? zc_value(m, p[FIRST + 1]) : sa;
    uint32_t second = zc_slot_new(m, 16u * out, out), d = zc_result(m, p);
    struct zc_ins *i = zc_emit(m, OP_CALL_PTR, d, sa, sb);
    i->c = second;
    i->n = a.n;
    i->w = (uint8_t)((r.width == 8) | (a.width == 8) << 1 | (b.width == 8) << 2 | (out == 8) << 3);
    i->ptr = a.width == 8 ? f->f64 : f->f32;
    if (ptr) {
        uint32_t last = p[FIRST + n - 1];
        int64_t imm;
        uint32_t base = zc_flat(m, last, &imm);
        need(m, zc_type(m, zc_type_of(m, last)->elem)->size >= (uint64_t)a.n * out);
        zc_emit(m, OP_ST_N, second, base, a.n * out)->imm = imm;
    }
}

static void by_table(struct zc_module *m, const uint32_t *p, const struct zc_math *f)
{
    if (f->args >= ZC_SPLIT) {
        split(m, p, f);
        return;
    }
    bool flt = f->args < 10;
    uint32_t n = f->args % 10;
    same_shape(m, p, n, flt);
    struct zc_ins *i = each(m, p, flt ? OP_CALL_1 + n - 1 : OP_CALL_INT, n);
    i->ptr = i->w == 8 && flt ? f->f64 : f->f32;
}

/* bitselect and select take operands of any type of the same width. */
static void choose(struct zc_module *m, const uint32_t *p)
{
    struct zc_shape r = zc_shape(m, p[1]);
    operands(m, p, 3);
    for (uint32_t i = 0; i < 3; i++) {
        struct zc_shape a = zc_shape_of(m, p[FIRST + i]);
        need(m, a.width == r.width && a.n == r.n);
    }
    struct zc_ins *i = each(m, p, OP_CALL_INT, 3);
    i->ptr = p[4] == SELECT && r.n == 1 ? (const void *)zc_math_select() : zc_math_find(p[4])->f32;
}

/* ---- geometry --------------------------------------------------------------------------------------------------- */

static void square_root_of_squares(struct zc_module *m, uint32_t d, uint32_t s, struct zc_shape v)
{
    unsigned wide = v.width == 8;
    uint32_t t = zc_temp(m, v.width), sum = zc_temp(m, v.width);
    zc_emit(m, OP_FMUL_4 + wide, sum, s, s);
    for (uint32_t i = 1; i < v.n; i++) {
        zc_emit(m, OP_FMUL_4 + wide, t, s + i * v.width, s + i * v.width);
        zc_emit(m, OP_FADD_4 + wide, sum, sum, t);
    }
    zc_emit(m, OP_FSQRT_4 + wide, d, sum, 0);
}

static void geometry(struct zc_module *m, const uint32_t *p)
{
    uint32_t n = p[4] == CROSS || p[4] == DISTANCE || p[4] == FAST_DISTANCE ? 2 : 1;
    operands(m, p, n);
    struct zc_shape v = zc_shape_of(m, p[FIRST]), r = zc_shape(m, p[1]);
    bool vector = p[4] == CROSS || p[4] == NORMALIZE || p[4] == FAST_NORMALIZE;
    unsigned wide = v.width == 8;
    need(m, v.kind == KIND_FLOAT && v.width >= 4 && r.kind == KIND_FLOAT && r.width == v.width &&
                r.n == (vector ? v.n : 1) && type_id(m, p[FIRST + n - 1]) == type_id(m, p[FIRST]));
    uint32_t a = zc_value(m, p[FIRST]), b = zc_value(m, p[FIRST + n - 1]), d = zc_result(m, p);
    uint32_t t = zc_slot_new(m, 32u * v.width, v.width);
    if (p[4] == CROSS) {
        need(m, v.n == 3 || v.n == 4);
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t j = (i + 1) % 3 * v.width, k = (i + 2) % 3 * v.width;
            zc_emit(m, OP_FMUL_4 + wide, t, a + j, b + k);
            zc_emit(m, OP_FMUL_4 + wide, t + v.width, a + k, b + j);
            zc_emit(m, OP_FSUB_4 + wide, d + i * v.width, t, t + v.width);
        }
        if (v.n == 4)
            zc_emit(m, OP_ZERO, d + 3u * v.width, 0, v.width);
        return;
    }
    if (p[4] == DISTANCE || p[4] == FAST_DISTANCE) {
        for (uint32_t i = 0; i < v.n; i++)
            zc_emit(m, OP_FSUB_4 + wide, t + i * v.width, a + i * v.width, b + i * v.width);
        a = t;
    }
    uint32_t len = vector ? zc_temp(m, v.width) : d;
    square_root_of_squares(m, len, a, v);
    for (uint32_t i = 0; vector && i < v.n; i++)
        zc_emit(m, OP_FDIV_4 + wide, d + i * v.width, a + i * v.width, len);
}

/* ---- vectors in memory ------------------------------------------------------------------------------------------ */

/* ptr + offset * stride, in a new slot. */
static uint32_t element(struct zc_module *m, uint32_t offset, uint32_t ptr, int64_t stride)
{
    struct zc_shape o = zc_shape_of(m, offset);
    need(m, o.kind == KIND_INT && o.n == 1 && zc_type_of(m, ptr)->kind == KIND_POINTER);
    uint32_t base = zc_value(m, ptr), index = zc_resize(m, zc_value(m, offset), o.width, 8, false), t = zc_temp(m, 8);
    zc_emit(m, OP_PMAD, t, base, index)->imm = stride;
    return t;
}

static void vector_memory(struct zc_module *m, const uint32_t *p)
{
    bool is_load = p[4] == VLOADN;
    operands(m, p, 3);
    uint32_t type = is_load ? p[1] : type_id(m, p[FIRST]);
    struct zc_shape v = zc_shape(m, type);
    uint32_t size = (uint32_t)v.n * v.width;
    uint32_t at = element(m, p[FIRST + !is_load], p[FIRST + 1 + !is_load], size);
    uint32_t slot = is_load ? zc_result(m, p) : zc_value(m, p[FIRST]);
    zc_emit(m, is_load ? OP_LD_N : OP_ST_N, slot, at, size);
}

static void half_memory(struct zc_module *m, const uint32_t *p)
{
    uint32_t op = p[4], words = ZC_WORDS(p);
    bool is_load = op == VLOAD_HALF || op == VLOAD_HALFN || op == VLOADA_HALFN, aligned = op >= VLOADA_HALFN;
    need(m, words >= FIRST + 2u + !is_load);
    uint32_t type = is_load ? p[1] : type_id(m, p[FIRST]);
    struct zc_shape v = zc_shape(m, type);
    need(m, v.kind == KIND_FLOAT && v.width >= 4);
    bool rounds = op == VSTORE_HALF_R || op == VSTORE_HALFN_R || op == VSTOREA_HALFN_R;
    need(m, !rounds || words == FIRST + 4);
    uint32_t step = (aligned && v.n == 3 ? 4u : v.n) * 2;
    uint32_t at = element(m, p[FIRST + !is_load], p[FIRST + 1 + !is_load], step);
    uint32_t slot = is_load ? zc_result(m, p) : zc_value(m, p[FIRST]);
    struct zc_ins *i = zc_emit(m, is_load ? OP_HALF_LD : OP_HALF_ST, slot, at, 0);
    i->n = v.n;
    i->w = v.width;
    i->c = rounds && p[FIRST + 3] < 4 ? p[FIRST + 3] + 1 : 0;
}

/* ---- components rearranged -------------------------------------------------------------------------------------- */

static void shuffle(struct zc_module *m, const uint32_t *p)
{
    bool two = p[4] == SHUFFLE2;
    operands(m, p, 2u + two);
    struct zc_shape r = zc_shape(m, p[1]), x = zc_shape_of(m, p[FIRST]), k = zc_shape_of(m, p[FIRST + 1 + two]);
    need(m, r.width == x.width && k.kind == KIND_INT && k.n == r.n && r.n > 1 && x.n > 1);
    need(m, !two || type_id(m, p[FIRST]) == type_id(m, p[FIRST + 1]));
    uint32_t s = zc_value(m, p[FIRST]), size = (uint32_t)x.n * x.width;
    if (two) {
        uint32_t both = zc_slot_new(m, 2u * size, x.width), s2 = zc_value(m, p[FIRST + 1]);
        zc_move(m, both, s, size);
        zc_move(m, both + size, s2, size);
        s = both;
    }
    uint32_t mask = zc_value(m, p[FIRST + 1 + two]), d = zc_result(m, p);
    for (uint32_t i = 0; i < r.n; i++) {
        uint32_t index = zc_resize(m, mask + i * k.width, k.width, 8, false);
        struct zc_ins *e = zc_emit(m, OP_EXTRACT, d + i * r.width, s, index);
        e->n = (uint8_t)(x.n * (1 + two));
        e->w = r.width;
    }
}

static void upsample(struct zc_module *m, const uint32_t *p)
{
    operands(m, p, 2);
    struct zc_shape r = zc_shape(m, p[1]), hi = zc_shape_of(m, p[FIRST]), lo = zc_shape_of(m, p[FIRST + 1]);
    need(m, r.kind == KIND_INT && r.width == 2 * hi.width && hi.width == lo.width && r.n == hi.n && r.n == lo.n);
    uint32_t sh = zc_value(m, p[FIRST]), sl = zc_value(m, p[FIRST + 1]), d = zc_result(m, p);
    for (uint32_t i = 0; i < r.n; i++) {
        zc_move(m, d + i * r.width, sl + i * lo.width, lo.width);
        zc_move(m, d + i * r.width + lo.width, sh + i * hi.width, hi.width);
    }
}

/* In module.extra: slot, kind, width, components of each argument. */
static void print(struct zc_module *m, const uint32_t *p)
{
    need(m, ZC_WORDS(p) > FIRST && zc_type(m, p[1])->size == 4 && zc_type_of(m, p[FIRST])->kind == KIND_POINTER);
    uint32_t n = ZC_WORDS(p) - FIRST - 1, e = m->extra.n, fmt = zc_value(m, p[FIRST]);
    zc_push_n(m, m->extra, n * 4);
    for (uint32_t i = 0; i < n; i++) {
        struct zc_shape s = zc_shape_of(m, p[FIRST + 1 + i]);
        uint32_t slot = zc_value(m, p[FIRST + 1 + i]), *x = &m->extra.v[e + i * 4];
        x[0] = slot;
        x[1] = s.kind;
        x[2] = s.width;
        x[3] = s.n;
    }
    zc_emit(m, OP_PRINTF, zc_result(m, p), fmt, e)->c = n;
}

/* prefetch() of no elements announces a write (an extension of this driver). Other prefetches are left to the processor. */
static void prefetch(struct zc_module *m, const uint32_t *p)
{
    operands(m, p, 2);
    need(m, zc_type_of(m, p[FIRST])->kind == KIND_POINTER);
    if (m->id[p[FIRST + 1]].what == ID_CONSTANT && zc_constant_u64(m, p[FIRST + 1]) == 0)
        zc_emit(m, OP_PREFETCH, 0, zc_value(m, p[FIRST]), 0);
}

bool zc_lower_ext(struct zc_module *m, const uint32_t *p)
{
    if (ZC_OP(p) != OpExtInst)
        return false;
    if (p[3] != m->ext_opencl || !p[3])
        return zc_type(m, p[1])->kind == KIND_VOID; /* debug information */
    uint32_t n = p[4];
    struct zc_shape r = {0, 4, 1};
    if (zc_type(m, p[1])->kind != KIND_VOID)
        r = zc_shape(m, p[1]);
    if (fast_op(n, r)) {
        same_shape(m, p, count_of(n), n < SMAX);
        each(m, p, fast_op(n, r), count_of(n));
        return true;
    }
    if (n == BITSELECT || n == SELECT)
        choose(m, p);
    else if (zc_math_find(n))
        by_table(m, p, zc_math_find(n));
    else if (n >= CROSS && n <= FAST_NORMALIZE)
        geometry(m, p);
    else if (n == VLOADN || n == VSTOREN)
        vector_memory(m, p);
    else if (n >= VLOAD_HALF && n <= VSTOREA_HALFN_R)
        half_memory(m, p);
    else if (n == SHUFFLE || n == SHUFFLE2)
        shuffle(m, p);
    else if (n == U_UPSAMPLE || n == S_UPSAMPLE)
        upsample(m, p);
    else if (n == PRINTF)
        print(m, p);
    else if (n == PREFETCH)
        prefetch(m, p);
    else
        zc_fail(m, "OpenCL.std instruction %u is not supported", n);
    return true;
}
