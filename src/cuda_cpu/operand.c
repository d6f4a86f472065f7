/* operand.c - operands of PTX instructions: constants, registers, special registers, addresses, and their slots. */
#include <string.h>

#include "cuda_cpu/lower.h"
#include "ze_cpu/builtin.h"
#include "ze_cpu/config.h"

/* ---- modifiers -------------------------------------------------------------------------------------------------- */

bool cc_has(struct ptx *p, const char *mod)
{
    bool found = false;
    struct ptx_ins *i = p->ins;
    for (unsigned k = 0; k < i->nmod; k++)
        if (strcmp(i->mod[k], mod) == 0) {
            i->used |= 1u << k;
            found = true;
        }
    return found;
}

int cc_which(struct ptx *p, const char *mods)
{
    char word[24];
    for (int n = 0; *mods; n++) {
        size_t len = strcspn(mods, " ");
        memcpy(word, mods, len);
        word[len] = 0;
        if (cc_has(p, word))
            return n;
        mods += len + (mods[len] == ' ');
    }
    return -1;
}

static bool matches(struct ptx *p, const struct cc_row *r)
{
    const struct ptx_ins *i = p->ins;
    if (strcmp(r->op, i->op) || (r->classes ? !i->ntype || !(i->type[0].class & r->classes) : i->ntype))
        return false;
    char word[24];
    uint32_t used = i->used;
    for (const char *mods = r->mods; *mods;) {
        size_t len = strcspn(mods, " ");
        memcpy(word, mods, len);
        word[len] = 0;
        if (!cc_has(p, word)) {
            p->ins->used = used;
            return false;
        }
        mods += len + (mods[len] == ' ');
    }
    return true;
}

bool cc_by_rows(struct ptx *p, const struct cc_row *rows, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        if (matches(p, &rows[k])) {
            rows[k].emit(p, &rows[k]);
            return true;
        }
    return false;
}

struct ptx_operand *cc_operand(struct ptx *p, unsigned k)
{
    if (k >= p->ins->nop)
        ptx_fail(p, "%s needs more than %u operands", p->ins->op, p->ins->nop);
    return &p->operands.v[p->ins->op1 + k];
}

/* ---- constants -------------------------------------------------------------------------------------------------- */

/* Bytes at the begin of every frame: the first pass assigns them, in the second one all are known. */
static uint32_t reserve(struct ptx *p, uint32_t bytes, uint32_t align)
{
    struct zc_module *m = p->m;
    uint32_t at = (m->image.n + align - 1) & ~(align - 1);
    if (p->second_pass)
        ptx_fail(p, "internal error: a constant that the first pass did not find");
    zc_push_n(m, m->image, at + bytes - m->image.n);
    return at;
}

uint32_t cc_constant(struct ptx *p, uint64_t v, unsigned width)
{
    v = zc_mask(v, width);
    for (uint32_t k = p->hash[(v * 31 + width) % CC_HASH]; k; k = p->constants.v[k - 1].next)
        if (p->constants.v[k - 1].v == v && p->constants.v[k - 1].width == width)
            return p->constants.v[k - 1].slot;
    uint32_t slot = reserve(p, width, width);
    memcpy(p->m->image.v + slot, &v, width);
    uint32_t *head = &p->hash[(v * 31 + width) % CC_HASH];
    *zc_push(p->m, p->constants) = (struct ptx_constant){v, slot, width, *head};
    *head = p->constants.n;
    return slot;
}

uint32_t cc_shared_base(struct ptx *p)
{
    if (p->shared_base == ZC_NONE) {
        p->shared_base = reserve(p, 8, 8);
        *zc_push(p->m, p->m->locals) = (struct zc_slot_of){p->shared_base, 0};
    }
    return p->shared_base;
}

/* ---- special registers ------------------------------------------------------------------------------------------ */

static uint64_t now_ns(uint64_t a, uint64_t b, uint64_t c, unsigned width)
{
    (void)b, (void)width;
    return (zc_now_ns() - c) >> a;
}

/* A built-in variable of ze_cpu, a component of it; or a constant; or the clock. */
static const struct special {
    const char *name;
    uint16_t builtin, component; /* builtin 0: the constant `component`; 1: the clock, shifted right by `component` */
} specials[] = {
    {"%tid.x", BUILTIN_LOCAL_ID, 0}, {"%tid.y", BUILTIN_LOCAL_ID, 1}, {"%tid.z", BUILTIN_LOCAL_ID, 2},
    {"%ntid.x", BUILTIN_GROUP_SIZE, 0}, {"%ntid.y", BUILTIN_GROUP_SIZE, 1}, {"%ntid.z", BUILTIN_GROUP_SIZE, 2},
    {"%ctaid.x", BUILTIN_GROUP_ID, 0}, {"%ctaid.y", BUILTIN_GROUP_ID, 1}, {"%ctaid.z", BUILTIN_GROUP_ID, 2},
    {"%nctaid.x", BUILTIN_GROUPS, 0}, {"%nctaid.y", BUILTIN_GROUPS, 1}, {"%nctaid.z", BUILTIN_GROUPS, 2},
    {"%laneid", BUILTIN_SUBGROUP_LOCAL_ID, 0}, {"%warpid", BUILTIN_SUBGROUP_ID, 0},
    {"%nwarpid", BUILTIN_SUBGROUPS, 0}, {"%lanemask_eq", BUILTIN_SUBGROUP_EQ_MASK, 0},
    {"%lanemask_ge", BUILTIN_SUBGROUP_GE_MASK, 0}, {"%lanemask_gt", BUILTIN_SUBGROUP_GT_MASK, 0},
    {"%lanemask_le", BUILTIN_SUBGROUP_LE_MASK, 0}, {"%lanemask_lt", BUILTIN_SUBGROUP_LT_MASK, 0},
    {"%envreg1", BUILTIN_GRID_BARRIER, 1}, {"%envreg2", BUILTIN_GRID_BARRIER, 0},
    {"%clusterid.x", BUILTIN_GROUP_ID, 0}, {"%clusterid.y", BUILTIN_GROUP_ID, 1}, {"%clusterid.z", BUILTIN_GROUP_ID, 2},
    {"%nclusterid.x", BUILTIN_GROUPS, 0}, {"%nclusterid.y", BUILTIN_GROUPS, 1}, {"%nclusterid.z", BUILTIN_GROUPS, 2},
    {"%cluster_ctaid.x", 0, 0}, {"%cluster_ctaid.y", 0, 0}, {"%cluster_ctaid.z", 0, 0}, {"%cluster_ctarank", 0, 0},
    {"%cluster_nctaid.x", 0, 1}, {"%cluster_nctaid.y", 0, 1}, {"%cluster_nctaid.z", 0, 1}, {"%cluster_nctarank", 0, 1},
    {"%is_explicit_cluster", 0, 0}, {"WARP_SZ", 0, 32}, {"%smid", 0, 0}, {"%nsmid", 0, 1}, {"%gridid", 0, 0},
    {"%clock", 1, 0}, {"%clock_hi", 1, 32}, {"%clock64", 1, 0},
    {"%globaltimer", 1, 0}, {"%globaltimer_lo", 1, 0}, {"%globaltimer_hi", 1, 32},
};
_Static_assert(sizeof specials / sizeof *specials <= CC_SPECIALS, "p->special has a place for each");

static uint32_t special(struct ptx *p, const struct ptx_operand *o)
{
    for (unsigned k = 0; k < sizeof specials / sizeof *specials; k++) {
        const struct special *s = &specials[k];
        if (strcmp(s->name, o->name))
            continue;
        if (!s->builtin)
            return cc_constant(p, s->component, 8);
        if (s->builtin == 1) {
            uint32_t d = cc_temp(p, 8);
            cc_call_bits(p, (const void *)now_ns, 8, d, cc_constant(p, s->component, 8), 0, cc_constant(p, 0, 8));
            return d;
        }
        if (p->special[k] == ZC_NONE) {
            p->special[k] = reserve(p, ZC_BUILTIN_BYTES, 8);
            *zc_push(p->m, p->m->builtins) = (struct zc_slot_of){p->special[k], s->builtin};
        }
        return p->special[k] + 8u * s->component;
    }
    ptx_fail(p, "the special register %s is not supported", o->name);
}

/* ---- sources ---------------------------------------------------------------------------------------------------- */

uint32_t cc_register(struct ptx *p, uint32_t reg)
{
    struct ptx_reg *r = &p->regs.v[reg];
    if (r->slot == ZC_NONE)
        r->slot = zc_slot_new(p->m, r->width, r->width);
    return r->slot;
}

uint32_t cc_variable(struct ptx *p, struct ptx_var *v)
{
    if (v->slot == ZC_NONE)
        v->slot = zc_slot_new(p->m, v->size, v->align > 8 ? v->align : 8);
    return v->slot;
}

static uint64_t float_bits(const struct ptx_operand *o, unsigned width)
{
    double d;
    float f;
    uint64_t bits = 0;
    if (o->n == width)
        return (uint64_t)o->value;
    if (width == 4) {
        memcpy(&d, &o->value, sizeof d);
        f = (float)d;
        memcpy(&bits, &f, sizeof f);
    } else {
        memcpy(&f, &o->value, sizeof f);
        d = (double)f;
        memcpy(&bits, &d, sizeof d);
    }
    return bits;
}

/* The address of a variable as a value: of shared memory its offset. */
static uint32_t address_of(struct ptx *p, const struct ptx_operand *o)
{
    struct ptx_var *v = &p->vars.v[o->index];
    if (v->space == SPACE_LOCAL || v->space == SPACE_PARAM) {
        uint32_t d = cc_temp(p, 8);
        cc_emit(p, OP_LEA, d, cc_variable(p, v) + (uint32_t)o->value, 0);
        return d;
    }
    if (v->linkage == LINK_EXTERN && !v->dynamic)
        ptx_fail(p, "%s is not defined%s", v->name, p->nunits > 1 ? " in any of the linked modules" : " in this module");
    uint64_t at = v->dynamic ? (p->m->local_bytes + 63) & ~63ull : v->at;
    return cc_constant(p, at + (uint64_t)o->value, 8);
}

uint32_t cc_value(struct ptx *p, const struct ptx_operand *o, struct ptx_type t)
{
    double d;
    uint64_t bits;
    switch (o->kind) {
    case O_REG:
        if (p->regs.v[o->index].width < t.width)
            ptx_fail(p, "a register of %u bytes as operand of type %s", p->regs.v[o->index].width, t.name);
        return cc_register(p, o->index);
    case O_INT:
        if (t.class != PTX_F)
            return cc_constant(p, (uint64_t)o->value, t.width);
        d = (double)o->value;
        memcpy(&bits, &d, sizeof d);
        return cc_constant(p, float_bits(&(struct ptx_operand){.n = 8, .value = (int64_t)bits}, t.width), t.width);
    case O_FLOAT:
        return cc_constant(p, float_bits(o, t.width), t.width);
    case O_SPECIAL:
        return special(p, o);
    case O_VAR:
        return address_of(p, o);
    default:
        ptx_fail(p, "%s: an operand of the wrong kind", p->ins->op);
    }
}

uint32_t cc_source(struct ptx *p, unsigned k, struct ptx_type t)
{
    return cc_value(p, cc_operand(p, k), t);
}

uint32_t cc_predicate(struct ptx *p, const struct ptx_operand *o)
{
    uint32_t s = o->kind == O_INT ? cc_constant(p, o->value != 0, 1) : cc_value(p, o, cc_pred), d;
    if (!o->negated)
        return s;
    d = cc_temp(p, 1);
    cc_emit(p, OP_LNOT, d, s, 0);
    return d;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

uint32_t cc_into(struct ptx *p, const struct ptx_operand *o, unsigned width)
{
    if (o->kind == O_NONE)
        return cc_temp(p, width);
    if (o->kind != O_REG)
        ptx_fail(p, "%s: the result is not a register", p->ins->op);
    unsigned have = p->regs.v[o->index].width;
    if (have < width)
        ptx_fail(p, "%s: a result of %u bytes in a register of %u", p->ins->op, width, have);
    return have == width ? cc_register(p, o->index) : cc_temp(p, width);
}

void cc_done(struct ptx *p, const struct ptx_operand *o, uint32_t slot, unsigned width, bool sign)
{
    if (o->kind != O_REG || p->regs.v[o->index].width == width)
        return;
    unsigned have = p->regs.v[o->index].width;
    static const uint8_t nth[4][4] = {{0, 0, 1, 2}, {0, 0, 3, 4}, {0, 0, 0, 5}, {0, 0, 0, 0}};
    cc_emit(p, (sign ? OP_SX_1_2 : OP_ZX_1_2) + nth[zc_log2(width)][zc_log2(have)], cc_register(p, o->index), slot, 0);
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

struct zc_addr cc_address(struct ptx *p, const struct ptx_operand *o, uint8_t space)
{
    struct zc_addr a = {.index = ZC_NONE, .scale = 1};
    if (!o->memory)
        ptx_fail(p, "%s: an address in brackets expected", p->ins->op);
    if (o->kind == O_VAR) {
        struct ptx_operand bare = *o;
        uint8_t of = p->vars.v[o->index].space;
        bare.value = 0;
        a.imm = o->value;
        a.base = address_of(p, &bare);
        if (of == SPACE_SHARED && space == SPACE_SHARED) {
            uint64_t at;
            memcpy(&at, p->m->image.v + a.base, sizeof at);
            a.imm += (int64_t)at;
            a.base = cc_shared_base(p);
        }
        return a;
    }
    if (o->kind == O_INT) {
        a.base = space == SPACE_SHARED ? cc_shared_base(p) : cc_constant(p, 0, 8);
        a.imm = o->value;
        return a;
    }
    if (o->kind != O_REG || p->regs.v[o->index].width < 4)
        ptx_fail(p, "%s: no address", p->ins->op);
    uint32_t s = cc_register(p, o->index);
    if (p->regs.v[o->index].width == 4) {
        if (space != SPACE_SHARED)
            ptx_fail(p, "%s: an address of 32 bits in a state space other than .shared", p->ins->op);
        s = zc_resize(p->m, s, 4, 8, true); /* the sum with the offset wraps: nvcc writes [register+68] for a register of -64 */
    }
    a.imm = o->value;
    a.base = space == SPACE_SHARED ? cc_shared_base(p) : s;
    a.index = space == SPACE_SHARED ? s : ZC_NONE;
    return a;
}
