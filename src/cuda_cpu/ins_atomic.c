/* ins_atomic.c - PTX atomics and fences. Every scope is the system: threads of the CPU see one memory. */
#include <string.h>

#include "cuda_cpu/bits.h"
#include "cuda_cpu/half.h"
#include "cuda_cpu/lower.h"

static int order(struct ptx *p, int otherwise)
{
    static const int orders[] = {__ATOMIC_RELAXED, __ATOMIC_ACQUIRE, __ATOMIC_RELEASE, __ATOMIC_ACQ_REL, __ATOMIC_SEQ_CST};
    int k = cc_which(p, "relaxed acquire release acq_rel sc");
    cc_which(p, "cta cluster gpu sys gl");
    return k < 0 ? otherwise : orders[k];
}

static uint8_t space(struct ptx *p)
{
    return cc_which(p, "shared shared::cta shared::cluster") >= 0 ? SPACE_SHARED : cc_has(p, "global") ? SPACE_GLOBAL : SPACE_GENERIC;
}

/* 16 bits: an update of the 8 bytes around them. */
static void emit_short(struct ptx *p, const struct cc_row *r, int how)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand none = {.kind = O_NONE};
    bool atom = p->ins->op[0] == 'a', cas = r->vm == OP_ACAS_4;
    const struct ptx_operand *d = atom ? cc_operand(p, 0) : &none;
    const void *fn = cas                  ? (const void *)cc_cas_at
                     : r->vm == OP_AXCHG_4 ? (const void *)cc_exch_at
                     : r->f32 != (const void *)cc_fadd   ? NULL
                     : t.name[0] == 'b'    ? (const void *)cc_bf16_add_at
                                           : (const void *)cc_f16_add_at;
    if (t.width != 2 || !fn || (t.class != PTX_H && r->f32))
        ptx_fail(p, "atomics on %s are not supported", t.name);
    struct zc_addr a = cc_address(p, cc_operand(p, atom), space(p));
    if (a.index != ZC_NONE)
        a = zc_settle(p->m, a, cc_temp(p, 8));
    uint32_t at = cc_temp(p, 8), place = cc_temp(p, 8), v = cc_temp(p, 8), old = cc_temp(p, 8), s = cc_into(p, d, 2);
    cc_emit(p, OP_PADD, at, a.base, 0)->imm = a.imm;
    cc_emit(p, OP_SHR_8, place, at, cc_constant(p, 1, 8));
    cc_emit(p, OP_AND_8, place, place, cc_constant(p, 3, 8));
    cc_emit(p, OP_AND_8, at, at, cc_constant(p, ~7ull, 8));
    zc_move(p->m, v, cc_constant(p, 0, 8), 8);
    zc_move(p->m, v, cc_source(p, atom + 1u + cas, t), 2);
    if (cas)
        zc_move(p->m, v + 2, cc_source(p, atom + 1u, t), 2);
    struct zc_ins *i = cc_emit(p, OP_AUPDATE_8, old, at, v);
    i->c = place;
    i->w = (uint8_t)how;
    i->ptr = fn;
    cc_emit(p, OP_SHL_8, place, place, cc_constant(p, 4, 8));
    cc_emit(p, OP_SHR_8, old, old, place);
    zc_move(p->m, s, old, 2);
    cc_done(p, d, s, 2, false);
}

/* vm: the VM operation for types of 4 and 8 bytes; or f32: a function of the old value and the operand. red has no result. */
static void emit_atom(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand none = {.kind = O_NONE};
    bool atom = p->ins->op[0] == 'a', cas = r->vm == OP_ACAS_4;
    unsigned first = atom;
    const struct ptx_operand *d = atom ? cc_operand(p, 0) : &none;
    int how = order(p, __ATOMIC_RELAXED);
    cc_has(p, "noftz");
    if (t.width < 4) {
        emit_short(p, r, how);
        return;
    }
    struct zc_addr a = cc_address(p, cc_operand(p, first), space(p));
    if (a.index != ZC_NONE)
        a = zc_settle(p->m, a, cc_temp(p, 8));
    uint32_t v = cc_source(p, first + 1 + cas, t), s = cc_into(p, d, t.width);
    if (r->f32) {
        uint32_t at = cc_temp(p, 8);
        cc_emit(p, OP_PADD, at, a.base, 0)->imm = a.imm;
        struct zc_ins *i = cc_emit(p, t.width == 8 ? OP_AUPDATE_8 : OP_AUPDATE_4, s, at, v);
        i->w = (uint8_t)how;
        i->ptr = r->f32;
    } else {
        uint32_t old = cas ? cc_source(p, first + 1, t) : 0;
        struct zc_ins *i = cc_emit(p, r->vm + (t.width == 8), s, a.base, v);
        i->c = old;
        i->imm = a.imm;
        i->w = (uint8_t)how;
    }
    cc_done(p, d, s, t.width, t.class == PTX_S);
}

/* vm: an enum zc_wide_op. */
static void emit_wide(struct ptx *p, const struct cc_row *r)
{
    const struct ptx_operand *d = cc_operand(p, 0);
    struct ptx_type t = p->ins->type[0];
    bool cas = r->vm == WIDE_CAS;
    order(p, __ATOMIC_RELAXED);
    uint32_t v = cc_source(p, 2u + cas, t), cond = cas ? cc_source(p, 2, t) : v;
    struct zc_addr a = cc_address(p, cc_operand(p, 1), space(p));
    uint32_t s = cc_into(p, d, t.width);
    cc_wide(p, r->vm, s, a, v, cond);
    cc_done(p, d, s, t.width, false);
}

/* f16 and bf16, one or a pair. */
static void emit_half(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    struct cc_row own = *r;
    own.f32 = t.width == 2 ? (const void *)cc_fadd : t.name[0] == 'b' ? (const void *)cc_bf16_add : (const void *)cc_f16_add;
    emit_atom(p, &own);
}

/* fence, membar: membar is as strong as fence.sc. r->vm: the order when the instruction names none. */
static void emit_fence(struct ptx *p, const struct cc_row *r)
{
    int how = order(p, r->vm);
    cc_which(p, "mbarrier_init"); /* memory that asynchronous copies access is the same memory */
    if (cc_has(p, "proxy")) {
        cc_which(p, "async alias");
        cc_which(p, "global shared::cta shared::cluster");
    }
    cc_emit(p, OP_FENCE, 0, 0, 0)->w = (uint8_t)how;
}

#define ATOM(name, classes, vm)                                                                                       \
    {"atom", name, classes, emit_atom, OP_##vm##_4, NULL, NULL}, {"red", name, classes, emit_atom, OP_##vm##_4, NULL, NULL}
#define UPDATE(name, classes, fn)                                                                                     \
    {"atom", name, classes, emit_atom, 0, (const void *)fn, NULL}, {"red", name, classes, emit_atom, 0, (const void *)fn, NULL}
static const struct cc_row rows[] = {
    ATOM("add", PTX_INT, AADD), UPDATE("add", PTX_F, cc_fadd), {"atom", "add", PTX_H, emit_half, 0, NULL, NULL},
    {"red", "add", PTX_H, emit_half, 0, NULL, NULL},
    ATOM("and", PTX_B, AAND), ATOM("or", PTX_B, AOR), ATOM("xor", PTX_B, AXOR), ATOM("exch", PTX_B, AXCHG),
    ATOM("cas", PTX_B, ACAS), ATOM("min", PTX_U, AUMIN), ATOM("min", PTX_S, ASMIN), ATOM("max", PTX_U, AUMAX),
    ATOM("max", PTX_S, ASMAX), UPDATE("inc", PTX_U, cc_inc), UPDATE("dec", PTX_U, cc_dec),
    {"atom", "exch", PTX_WIDE, emit_wide, WIDE_EXCHANGE, NULL, NULL}, {"atom", "cas", PTX_WIDE, emit_wide, WIDE_CAS, NULL, NULL},
    {"fence", "", 0, emit_fence, __ATOMIC_ACQ_REL, NULL, NULL},
    {"membar", "", 0, emit_fence, __ATOMIC_SEQ_CST, NULL, NULL},
};

bool cc_atomic(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}
