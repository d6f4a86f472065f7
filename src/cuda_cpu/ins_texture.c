/* ins_texture.c - PTX instructions that read textures, and read and write surfaces. */
#include <stddef.h>
#include <string.h>

#include "cuda_cpu/lower.h"
#include "cuda_cpu/texture.h"

/* The access as a constant, and its place as far as the operand in brackets says: a handle and coordinates. */
struct fetch {
    uint32_t access, place;
};

static struct fetch fetch_of(struct ptx *p, struct cc_access a, const struct ptx_operand *o, struct ptx_type coordinate)
{
    static const uint8_t coordinates[CC_GEOMETRIES] = {[CC_1D] = 1, [CC_2D] = 2, [CC_3D] = 4, [CC_A1D] = 2, [CC_A2D] = 4, [CC_CUBE] = 4, [CC_ACUBE] = 4};
    const struct ptx_operand *part = &p->operands.v[o->index];
    if (o->kind != O_VECTOR || !o->memory || o->n != 1 + coordinates[a.geometry])
        ptx_fail(p, "%s: a handle and %u coordinates expected", p->ins->op, coordinates[a.geometry]);
    uint32_t bits = 0;
    memcpy(&bits, &a, sizeof bits);
    struct fetch f = {cc_constant(p, bits, sizeof bits), zc_slot_new(p->m, sizeof(struct cc_place), 8)};
    zc_move(p->m, f.place, cc_value(p, &part[0], cc_u64), 8);
    for (unsigned k = 0; k < coordinates[a.geometry]; k++) {
        bool is_layer = k == 0 && (a.geometry == CC_A1D || a.geometry == CC_A2D || a.geometry == CC_ACUBE);
        zc_move(p->m, f.place + offsetof(struct cc_place, c) + 4 * k, cc_value(p, &part[1 + k], is_layer ? cc_u32 : coordinate), 4);
    }
    return f;
}

static void call(struct ptx *p, const void *fn, struct fetch f, uint32_t d)
{
    struct zc_ins *i = cc_emit(p, OP_CALL_PTR, d, f.place, f.access);
    i->c = d;
    i->n = 1;
    i->w = 0;
    i->ptr = fn;
}

static int geometry(struct ptx *p)
{
    return cc_which(p, "1d 2d 3d a1d a2d cube acube");
}

static void results(struct ptx *p, const struct ptx_operand *o, unsigned n, struct ptx_type t, uint32_t from)
{
    if ((o->kind == O_VECTOR ? o->n : 1) != n)
        ptx_fail(p, "%s: a vector of %u elements expected", p->ins->op, n);
    for (unsigned k = 0; k < n; k++) {
        const struct ptx_operand *e = o->kind == O_VECTOR ? &p->operands.v[o->index + k] : o;
        if (e->kind == O_NONE)
            continue;
        uint32_t d = cc_into(p, e, t.width);
        zc_move(p->m, d, from + k * t.width, t.width);
        cc_done(p, e, d, t.width, false);
    }
}

/* All textures have one level, which counts whatever level is named. */
static void emit_tex(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    int g = geometry(p);
    struct ptx_type t = p->ins->type[0], coordinate = p->ins->type[1];
    cc_has(p, "level");
    if (g < 0 || p->ins->ntype != 2 || t.width != 4 || coordinate.width != 4)
        ptx_fail(p, "this form of tex is not supported");
    if (coordinate.class != PTX_F && g != CC_1D)
        ptx_fail(p, "tex with integer coordinates is supported for one dimension only");
    struct cc_access a = {.geometry = (uint8_t)g, .index = coordinate.class != PTX_F};
    struct fetch f = fetch_of(p, a, cc_operand(p, 1), coordinate);
    uint32_t d = zc_slot_new(p->m, 16, 8);
    call(p, (const void *)cc_texture_fetch, f, d);
    results(p, cc_operand(p, 0), 4, t, d);
}

/* The access of suld and sust, of n elements. */
static struct cc_access surface(struct ptx *p, unsigned *n)
{
    static const uint8_t lengths[] = {2, 4};
    int g = geometry(p), outside = cc_which(p, "trap clamp zero"), many = cc_which(p, "v2 v4");
    *n = many < 0 ? 1 : lengths[many];
    if (g < 0 || g >= CC_CUBE || outside < 0 || p->ins->type[0].width * *n > sizeof ((struct cc_place *)0)->data)
        ptx_fail(p, "this form of %s is not supported", p->ins->op);
    return (struct cc_access){.geometry = (uint8_t)g, .outside = (uint8_t)outside, .bytes = (uint8_t)(p->ins->type[0].width * *n)};
}

static void emit_suld(struct ptx *p, const struct cc_row *r)
{
    unsigned n;
    (void)r;
    struct cc_access a = surface(p, &n);
    struct fetch f = fetch_of(p, a, cc_operand(p, 1), cc_u32);
    uint32_t d = zc_slot_new(p->m, sizeof ((struct cc_place *)0)->data, 8);
    call(p, (const void *)cc_surface_load, f, d);
    results(p, cc_operand(p, 0), n, p->ins->type[0], d);
}

static void emit_sust(struct ptx *p, const struct cc_row *r)
{
    unsigned n;
    (void)r;
    struct ptx_type t = p->ins->type[0];
    struct cc_access a = surface(p, &n);
    struct fetch f = fetch_of(p, a, cc_operand(p, 0), cc_u32);
    const struct ptx_operand *o = cc_operand(p, 1);
    if ((o->kind == O_VECTOR ? o->n : 1) != n)
        ptx_fail(p, "sust: a vector of %u elements expected", n);
    for (unsigned k = 0; k < n; k++) {
        uint32_t v = cc_value(p, o->kind == O_VECTOR ? &p->operands.v[o->index + k] : o, t);
        zc_move(p->m, f.place + offsetof(struct cc_place, data) + k * t.width, v, t.width);
    }
    call(p, (const void *)cc_surface_store, f, zc_slot_new(p->m, 8, 8));
}

static const struct cc_row rows[] = {
    {"tex", "v4", PTX_INT | PTX_F, emit_tex, 0, NULL, NULL},
    {"suld", "b", PTX_B, emit_suld, 0, NULL, NULL},
    {"sust", "b", PTX_B, emit_sust, 0, NULL, NULL},
};

bool cc_texture(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}
