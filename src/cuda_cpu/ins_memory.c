/* ins_memory.c - PTX loads, stores, moves, addresses. */
#include <string.h>

#include "cuda_cpu/lower.h"

enum order { WEAK, VOLATILE, RELAXED, ACQUIRE, RELEASE };

/* The state space that the modifiers name. */
static uint8_t space(struct ptx *p)
{
    static const uint8_t spaces[] = {SPACE_GLOBAL, SPACE_CONST, SPACE_SHARED, SPACE_SHARED, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM,
                                     SPACE_PARAM, SPACE_PARAM};
    int k = cc_which(p, "global const shared shared::cta shared::cluster local param param::entry param::func");
    return k < 0 ? SPACE_GENERIC : spaces[k];
}

/* What changes only the speed: hints for caches. */
static void skip_hints(struct ptx *p)
{
    cc_has(p, "nc");
    cc_which(p, "ca cg cs lu cv wb wt");
    cc_which(p, "unified");
    for (unsigned k = 0; k < p->ins->nmod; k++)
        if (!strncmp(p->ins->mod[k], "L1::", 4) || !strncmp(p->ins->mod[k], "L2::", 4))
            p->ins->used |= 1u << k;
}

static enum order order(struct ptx *p)
{
    static const uint8_t orders[] = {WEAK, VOLATILE, RELAXED, RELAXED, ACQUIRE, RELEASE};
    int k = cc_which(p, "weak volatile relaxed mmio acquire release");
    cc_has(p, "relaxed"); /* .mmio.relaxed */
    cc_which(p, "cta cluster gpu sys");
    return k < 0 ? WEAK : orders[k];
}

/* ---- parameters ------------------------------------------------------------------------------------------------- */

/* The slot of an operand that is a parameter of this function or of a call, else ZC_NONE: an address. */
static uint32_t parameter(struct ptx *p, const struct ptx_operand *o, unsigned bytes)
{
    if (o->kind != O_VAR || p->vars.v[o->index].space != SPACE_PARAM)
        return ZC_NONE;
    struct ptx_var *v = &p->vars.v[o->index];
    if (o->value < 0 || (uint64_t)o->value + bytes > v->size)
        ptx_fail(p, "%s: outside the parameter %s", p->ins->op, v->name);
    return cc_variable(p, v) + (uint32_t)o->value;
}

/* ---- accesses --------------------------------------------------------------------------------------------------- */

static void access_at(struct ptx *p, unsigned plain, unsigned indexed, uint32_t slot, struct zc_addr a, unsigned lg)
{
    struct zc_ins *i = cc_emit(p, (a.index == ZC_NONE ? plain : indexed) + lg, slot, a.base, a.index == ZC_NONE ? 0 : a.index);
    i->imm = a.imm;
    i->c = (uint32_t)a.scale;
}

/* The address without index: base + imm. */
static struct zc_addr flat(struct ptx *p, struct zc_addr a)
{
    return a.index == ZC_NONE ? a : zc_settle(p->m, a, cc_temp(p, 8));
}

static void fence(struct ptx *p, int how)
{
    cc_emit(p, OP_FENCE, 0, 0, 0)->w = (uint8_t)how;
}

static void load(struct ptx *p, uint32_t slot, struct zc_addr a, unsigned width, enum order how)
{
    unsigned lg = zc_log2(width);
    if (how == WEAK)
        access_at(p, OP_LD_1, OP_LDX_1, slot, a, lg);
    else if (how == VOLATILE || width < 4)
        access_at(p, OP_LDV_1, OP_LDV_1, slot, flat(p, a), lg);
    else
        access_at(p, how == ACQUIRE ? OP_ALOAD_ACQ_4 : OP_ALOAD_RLX_4, 0, slot, flat(p, a), lg - 2);
    if (how == ACQUIRE && width < 4)
        fence(p, __ATOMIC_ACQUIRE);
}

void cc_wide(struct ptx *p, unsigned what, uint32_t d, struct zc_addr a, uint32_t v, uint32_t cond)
{
    a = flat(p, a);
    struct zc_ins *i = cc_emit(p, OP_WIDE, d, a.base, v);
    i->c = cond;
    i->n = (uint8_t)what;
    i->imm = a.imm;
}

static void store(struct ptx *p, uint32_t slot, struct zc_addr a, unsigned width, enum order how)
{
    unsigned lg = zc_log2(width);
    if (how == RELEASE && width < 4)
        fence(p, __ATOMIC_RELEASE);
    if (how == WEAK)
        access_at(p, OP_ST_1, OP_STX_1, slot, a, lg);
    else if (how == VOLATILE || width < 4)
        access_at(p, OP_STV_1, OP_STV_1, slot, flat(p, a), lg);
    else
        access_at(p, how == RELEASE ? OP_ASTORE_REL_4 : OP_ASTORE_RLX_4, 0, slot, flat(p, a), lg - 2);
}

/* The elements of a vector operand, or the operand itself. */
static unsigned elements(struct ptx *p, const struct ptx_operand *o, const struct ptx_operand **first)
{
    int many = cc_which(p, "v2 v4 v8");
    unsigned n = many < 0 ? 1 : 2u << many;
    if (n != (o->kind == O_VECTOR ? o->n : 1))
        ptx_fail(p, "%s: a vector of %u elements expected", p->ins->op, n);
    *first = o->kind == O_VECTOR ? &p->operands.v[o->index] : o;
    return n;
}

/* n elements of ld and st, from the first operand on, and their memory: a parameter's slot or, if it has none, an address. */
struct access {
    const struct ptx_operand *element;
    unsigned n;
    enum order how;
    uint32_t param;
    struct zc_addr at;
};

static struct access access_of(struct ptx *p, unsigned memory, unsigned elements_at)
{
    struct access a = {.at = {.index = ZC_NONE}};
    const struct ptx_operand *o = cc_operand(p, memory);
    skip_hints(p);
    a.how = order(p);
    uint8_t in = space(p);
    a.n = elements(p, cc_operand(p, elements_at), &a.element);
    a.param = parameter(p, o, p->ins->type[0].width * a.n);
    if (a.param == ZC_NONE)
        a.at = cc_address(p, o, in);
    return a;
}

/*
 * A vector of up to 16 bytes whose order is named is one access, as on GPUs: CUB keeps a flag and a value in one. whole: the slot of all elements.
 */
static void access_whole(struct ptx *p, struct access a, uint32_t whole, unsigned bytes, bool stores)
{
    unsigned step = bytes < 16 ? bytes : 16;
    a.at = flat(p, a.at);
    for (unsigned k = 0; k < bytes; k += step, a.at.imm += step)
        if (step == 16)
            cc_wide(p, stores ? WIDE_STORE : WIDE_LOAD, whole + k, a.at, whole + k, whole);
        else if (stores)
            store(p, whole + k, a.at, step, a.how);
        else
            load(p, whole + k, a.at, step, a.how);
}

static bool is_whole(const struct access *a, struct ptx_type t)
{
    return a->param == ZC_NONE && (t.width == 16 || (a->n > 1 && a->how != WEAK));
}

static void emit_ld(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type t = p->ins->type[0];
    struct access a = access_of(p, 1, 0);
    uint32_t slot[8], whole = is_whole(&a, t) ? cc_temp(p, t.width * a.n) : ZC_NONE;
    if (whole != ZC_NONE)
        access_whole(p, a, whole, t.width * a.n, false);
    for (unsigned k = 0; k < a.n; k++) { /* all elements before any register: one may have the address */
        if (whole != ZC_NONE) {
            slot[k] = whole + k * t.width;
            continue;
        }
        slot[k] = a.n == 1 ? cc_into(p, &a.element[k], t.width) : cc_temp(p, t.width);
        if (a.param != ZC_NONE) {
            zc_move(p->m, slot[k], a.param + k * t.width, t.width);
            continue;
        }
        load(p, slot[k], a.at, t.width, a.how);
        a.at.imm += t.width;
    }
    for (unsigned k = 0; k < a.n; k++) {
        uint32_t s = a.n == 1 && whole == ZC_NONE ? slot[k] : cc_into(p, &a.element[k], t.width);
        zc_move(p->m, s, slot[k], t.width);
        cc_done(p, &a.element[k], s, t.width, t.class == PTX_S);
    }
}

static void emit_st(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type t = p->ins->type[0];
    struct access a = access_of(p, 0, 1);
    uint32_t whole = is_whole(&a, t) ? cc_temp(p, t.width * a.n) : ZC_NONE;
    for (unsigned k = 0; k < a.n; k++) {
        uint32_t s = cc_value(p, &a.element[k], t);
        if (whole != ZC_NONE) {
            zc_move(p->m, whole + k * t.width, s, t.width);
            continue;
        }
        if (a.param != ZC_NONE) {
            zc_move(p->m, a.param + k * t.width, s, t.width);
            continue;
        }
        store(p, s, a.at, t.width, a.how);
        a.at.imm += t.width;
    }
    if (whole != ZC_NONE)
        access_whole(p, a, whole, t.width * a.n, true);
}

/* ---- moves and addresses ---------------------------------------------------------------------------------------- */

/* Between a register and a vector of parts: the first part has the low bytes. */
static void unpack(struct ptx *p, const struct ptx_operand *parts, struct ptx_type t)
{
    uint32_t s = cc_source(p, 1, t), width = t.width / parts->n;
    const struct ptx_operand *o = &p->operands.v[parts->index];
    for (uint32_t k = 0; k < parts->n; k++) {
        if (o[k].kind == O_NONE)
            continue;
        uint32_t d = cc_into(p, &o[k], width);
        zc_move(p->m, d, s + k * width, width);
        cc_done(p, &o[k], d, width, false);
    }
}

static void pack(struct ptx *p, const struct ptx_operand *parts, struct ptx_type t)
{
    uint32_t d = cc_into(p, cc_operand(p, 0), t.width), whole = cc_temp(p, t.width), width = t.width / parts->n;
    const struct ptx_type part = {PTX_B, (uint8_t)width, "a part"};
    for (uint32_t k = 0; k < parts->n; k++)
        zc_move(p->m, whole + k * width, cc_value(p, &p->operands.v[parts->index + k], part), width);
    zc_move(p->m, d, whole, t.width);
}

static void emit_mov(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0), *o = cc_operand(p, 1);
    unsigned n = d->kind == O_VECTOR ? d->n : o->kind == O_VECTOR ? o->n : 1;
    if (n > t.width || t.width % n)
        ptx_fail(p, "mov: %u parts of %s", n, t.name);
    if (d->kind == O_VECTOR)
        unpack(p, d, t);
    else if (o->kind == O_VECTOR)
        pack(p, o, t);
    else {
        uint32_t a = t.class == PTX_P ? cc_predicate(p, o) : cc_value(p, o, t), s = cc_into(p, d, t.width);
        zc_move(p->m, s, a, t.width);
        cc_done(p, d, s, t.width, t.class == PTX_S);
    }
}

/* Only shared addresses change: cvta adds the base of the group's memory, cvta.to subtracts it. */
static void emit_cvta(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    bool to = cc_has(p, "to");
    uint8_t in = space(p);
    const struct ptx_operand *d = cc_operand(p, 0), *o = cc_operand(p, 1);
    if (p->ins->type[0].width != 8)
        ptx_fail(p, "cvta of addresses of 32 bits is not supported");
    uint32_t a;
    if (o->kind == O_REG && p->regs.v[o->index].width == 4)
        a = zc_resize(p->m, cc_register(p, o->index), 4, 8, false);
    else
        a = cc_value(p, o, cc_u64);
    uint32_t s = cc_into(p, d, 8);
    if (in == SPACE_SHARED)
        cc_emit(p, to ? OP_SUB_8 : OP_ADD_8, s, a, cc_shared_base(p));
    else
        zc_move(p->m, s, a, 8);
}

static void emit_isspacep(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    uint8_t in = space(p);
    uint32_t a = cc_source(p, 1, cc_u64), found = cc_temp(p, 8), d = cc_into(p, cc_operand(p, 0), 1);
    uint32_t storage = in == SPACE_SHARED ? STORAGE_LOCAL : in == SPACE_LOCAL ? STORAGE_FUNCTION : STORAGE_GLOBAL;
    if (in != SPACE_SHARED && in != SPACE_LOCAL && in != SPACE_GLOBAL) {
        zc_move(p->m, d, cc_constant(p, 0, 1), 1);
        return;
    }
    cc_emit(p, OP_TO_SPACE, found, a, storage);
    cc_emit(p, OP_NE_8, d, found, cc_constant(p, 0, 8));
}

static void emit_prefetch(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    skip_hints(p);
    space(p);
    cc_which(p, "L1 L2");
}

/* A copy to shared memory that is complete at once: the groups of copies have nothing to wait for. */
static void emit_cp_async(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    skip_hints(p);
    cc_has(p, "shared");
    cc_has(p, "shared::cta");
    cc_has(p, "global");
    const struct ptx_operand *n = cc_operand(p, 2), *some = p->ins->nop == 4 ? cc_operand(p, 3) : NULL;
    bool sized = some && (some->kind == O_INT || (some->kind == O_REG && p->regs.v[some->index].width == 4));
    if (p->ins->nop > 4 || (some && !sized) || n->kind != O_INT)
        ptx_fail(p, "cp.async with more than addresses and sizes is not supported");
    struct zc_addr to = flat(p, cc_address(p, cc_operand(p, 0), SPACE_SHARED));
    struct zc_addr from = flat(p, cc_address(p, cc_operand(p, 1), SPACE_GLOBAL));
    uint32_t d = cc_temp(p, 8), s = cc_temp(p, 8);
    cc_emit(p, OP_PADD, d, to.base, 0)->imm = to.imm;
    cc_emit(p, OP_PADD, s, from.base, 0)->imm = from.imm;
    if (!sized) {
        cc_emit(p, OP_COPY, d, s, (uint32_t)n->value);
        return;
    }
    for (uint32_t k = 0; k < (uint32_t)n->value; k += 4) /* what the source does not fill is zero */
        cc_emit(p, OP_ST_4, cc_constant(p, 0, 4), d, 0)->imm = k;
    cc_emit(p, OP_COPY_SIZED, d, s, zc_resize(p->m, cc_source(p, 3, cc_u32), 4, 8, false));
}

static void emit_cp_wait(struct ptx *p, const struct cc_row *r)
{
    (void)p, (void)r;
}

static const struct cc_row rows[] = {
    {"ld", "", PTX_INT | PTX_F | PTX_WIDE, emit_ld, 0, NULL, NULL},
    {"ldu", "", PTX_INT | PTX_F, emit_ld, 0, NULL, NULL},
    {"st", "", PTX_INT | PTX_F | PTX_WIDE, emit_st, 0, NULL, NULL},
    {"mov", "", PTX_INT | PTX_F | PTX_P | PTX_H | PTX_WIDE, emit_mov, 0, NULL, NULL},
    {"cvta", "", PTX_INT, emit_cvta, 0, NULL, NULL},
    {"isspacep", "", 0, emit_isspacep, 0, NULL, NULL},
    {"prefetch", "", 0, emit_prefetch, 0, NULL, NULL},
    {"prefetchu", "", 0, emit_prefetch, 0, NULL, NULL},
    {"cp", "async commit_group", 0, emit_cp_wait, 0, NULL, NULL},
    {"cp", "async wait_group", 0, emit_cp_wait, 0, NULL, NULL},
    {"cp", "async wait_all", 0, emit_cp_wait, 0, NULL, NULL},
    {"cp", "async ca", 0, emit_cp_async, 0, NULL, NULL},
    {"cp", "async cg", 0, emit_cp_async, 0, NULL, NULL},
};

bool cc_memory(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}
