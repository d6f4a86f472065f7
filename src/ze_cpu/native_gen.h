/*
 * native_gen.h - what the files share that translate lowered code into that of x86-64 (native.c says how it is used): where
 * values are, how a turn ends. Each file translates the instructions it knows, by a table of rows.
 */
#ifndef ZC_NATIVE_GEN_H
#define ZC_NATIVE_GEN_H

#include "ze_cpu/launch.h"
#include "ze_cpu/op.h"
#include "ze_cpu/x86.h"

enum { ZC_COPY_MAX = 128 }; /* bytes that are moved without a loop */

struct zc_gen {
    struct zc_x86_out o;
    struct zc_module *m;
    uint8_t *end;
    uint8_t **native; /* of each instruction; where it is not translated, code that goes to the machine */
    bool *is_target;  /* something jumps here */
    bool *is_native;  /* translated */
    struct fix {
        uint8_t *place;
        uint32_t to;
    } *fix;
    uint32_t fixes;
    uint8_t *poll, *stop; /* what all code shares: native.c */
    struct held {
        uint32_t slot, width; /* of what rax holds; width 0: nothing */
    } was, held;              /* before and after the instruction being translated */
    bool quiet;               /* the item's spins are 0 */
    uint32_t pc;              /* of the instruction being translated */
};

#define ITEM(field) ((uint32_t)offsetof(struct zc_item, field))

/* Operations [first, last] and what translates the k-th of them, or returns false. */
struct zc_row {
    uint16_t first, last;
    bool (*translate)(struct zc_gen *g, const struct zc_ins *i, unsigned k);
};
#define ZC_TRANSLATES(first, last, fn) {OP_##first, OP_##last, fn}

static inline bool n_translate(struct zc_gen *g, const struct zc_ins *i, const struct zc_row *rows, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        if (i->op >= rows[k].first && i->op <= rows[k].last)
            return rows[k].translate(g, i, i->op - rows[k].first);
    return false;
}

/* native_arith.c, native_mem.c: translate i, or return false. */
bool zc_native_arith(struct zc_gen *g, const struct zc_ins *i);
bool zc_native_memory(struct zc_gen *g, const struct zc_ins *i);

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* The value of a slot into a register. */
static inline void n_get(struct zc_gen *g, enum zc_reg reg, uint32_t slot, unsigned width, bool sign)
{
    bool have = g->was.width == width && g->was.slot == slot && width >= 4;
    if (!have)
        x_load(&g->o, reg, RDI, slot, width, sign);
    else if (reg != RAX)
        x_reg(&g->o, X_MOV, width == 8, reg, RAX);
    if (reg == RAX && !have)
        g->was.width = 0;
}

static inline void n_put(struct zc_gen *g, enum zc_reg reg, uint32_t slot, unsigned width)
{
    x_store(&g->o, reg, RDI, slot, width);
    g->was.width = 0;
    g->held = (struct held){slot, reg == RAX ? width : 0};
}

/* Whether all frames have the same integer there, and which. */
static inline bool n_is_constant(const struct zc_gen *g, uint32_t slot, unsigned width, int64_t *v)
{
    const struct zc_module *m = g->m;
    if (slot + width > m->image.n)
        return false;
    for (uint32_t k = 0; k < m->builtins.n; k++)
        if (m->builtins.v[k].slot < slot + width && slot < m->builtins.v[k].slot + ZC_BUILTIN_BYTES)
            return false;
    for (uint32_t k = 0; k < m->locals.n; k++)
        if (m->locals.v[k].slot < slot + width && slot < m->locals.v[k].slot + 8)
            return false;
    uint64_t bits = 0;
    memcpy(&bits, m->image.v + slot, width);
    *v = zc_sign(bits, width);
    return true;
}

/* To and from xmm0. */
static inline void n_get_float(struct zc_gen *g, uint32_t slot, unsigned width)
{
    x_mem(&g->o, width == 4 ? 0xf30f10 : 0xf20f10, false, 0, RDI, slot);
}

static inline void n_put_float(struct zc_gen *g, uint32_t slot, unsigned width)
{
    x_mem(&g->o, width == 4 ? 0xf30f11 : 0xf20f11, false, 0, RDI, slot);
}

/* Whoever writes does not only poll. */
static inline void n_writes(struct zc_gen *g)
{
    if (g->quiet)
        return;
    x_mem(&g->o, X_MOV8_IMM, false, 0, RSI, ITEM(spins));
    x_byte(&g->o, 0);
    g->quiet = true;
}

static inline uint64_t n_address_of(const struct zc_gen *g, uint32_t pc)
{
    return (uint64_t)(uintptr_t)&g->m->code.v[pc];
}

/* Compares a byte with 0. */
static inline void n_compare_zero(struct zc_gen *g, uint32_t slot)
{
    x_mem(&g->o, X_IMM8, false, IMM_CMP, RDI, slot);
    x_byte(&g->o, 0);
}

/* a op b in rax. */
static inline void n_combine(struct zc_gen *g, unsigned op, uint32_t a, uint32_t b, unsigned width, bool sign)
{
    if (width < 4) {
        n_get(g, RAX, a, width, sign);
        x_load(&g->o, RCX, RDI, b, width, sign);
        x_reg(&g->o, op, false, RAX, RCX);
        return;
    }
    int64_t v;
    if (n_is_constant(g, b, width, &v) && v == (int32_t)v) {
        n_get(g, RAX, a, width, false);
        x_reg(&g->o, op == X_IMUL ? X_IMUL_IMM : X_IMM, width == 8, op == X_IMUL ? RAX : op >> 3, RAX);
        x_u32(&g->o, (uint32_t)v);
        return;
    }
    bool swap = op != X_SUB && op != X_CMP && g->was.width == width && g->was.slot == b;
    n_get(g, RAX, swap ? b : a, width, sign);
    x_mem(&g->o, op, width == 8, RAX, RDI, swap ? a : b);
}

/* ---- jumps and calls -------------------------------------------------------------------------------------------- */

static inline void n_fix(struct zc_gen *g, uint8_t *place, uint32_t to)
{
    g->fix[g->fixes++] = (struct fix){place, to};
}

/* Goes there; behind it nothing runs. */
static inline void n_go(struct zc_gen *g, uint32_t to)
{
    if (to > g->pc) {
        n_fix(g, x_jump_later(&g->o), to);
        return;
    }
    x_reg(&g->o, X_GROUP5, false, GROUP5_DEC, RDX);
    n_fix(g, x_branch_later(&g->o, CC_G), to);
    x_imm64(&g->o, RAX, n_address_of(g, to));
    x_jump(&g->o, X_JUMP, g->stop);
}

/* The same, if it is not the next instruction anyway. */
static inline void n_jump(struct zc_gen *g, uint32_t to)
{
    if (to != g->pc + 1)
        n_go(g, to);
}

static inline bool n_branch(struct zc_gen *g, enum zc_cc cc, uint32_t yes, uint32_t no)
{
    if (yes > g->pc) {
        n_fix(g, x_branch_later(&g->o, cc), yes);
    } else {
        uint8_t *over = x_branch_later(&g->o, cc ^ 1);
        n_jump(g, yes);
        x_set_distance(over, g->o.at);
    }
    n_jump(g, no);
    return true;
}

/* Ends the turn if the value in rax, polled by this instruction, says so. */
static inline void n_polled(struct zc_gen *g)
{
    x_imm64(&g->o, R8, n_address_of(g, g->pc));
    x_jump(&g->o, X_CALL, g->poll);
    g->held.width = 0;
    g->quiet = false;
}

static inline void n_push(struct zc_gen *g)
{
    x_byte(&g->o, X_PUSH + RDI);
    x_byte(&g->o, X_PUSH + RSI);
    x_byte(&g->o, X_PUSH + RDX);
}

static inline void n_pop(struct zc_gen *g)
{
    x_byte(&g->o, X_POP + RDX);
    x_byte(&g->o, X_POP + RSI);
    x_byte(&g->o, X_POP + RDI);
}

static inline void n_call(struct zc_gen *g, const void *fn)
{
    x_imm64(&g->o, RAX, (uint64_t)(uintptr_t)fn);
    x_reg(&g->o, X_GROUP5, false, GROUP5_CALL, RAX);
}

#endif
