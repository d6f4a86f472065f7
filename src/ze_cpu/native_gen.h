/*
 * native_gen.h - the state of the translation to x86-64 and the helpers of native*.c: values, jumps, calls (native.c has the
 * conventions). Each native*.c translates one family of instructions, by a table of rows.
 */
#ifndef ZC_NATIVE_GEN_H
#define ZC_NATIVE_GEN_H

#include "ze_cpu/launch.h"
#include "ze_cpu/op.h"
#include "ze_cpu/x86.h"

enum { ZC_COPY_MAX = 128 }; /* larger copies are not translated */

struct zc_gen {
    struct zc_x86_out o;
    struct zc_module *m;
    uint8_t *end;
    uint8_t **native; /* code of each instruction; one that is not translated has code that returns to the interpreter */
    bool *is_target;  /* the instruction is a jump target */
    bool *is_native;  /* the instruction is translated */
    struct fix {
        uint8_t *place;
        uint32_t to;
    } *fix;
    uint32_t fixes;
    uint8_t *poll, *stop; /* routines that all code uses: native.c */
    struct held {
        uint32_t slot, width; /* the slot that rax has the value of; width 0: none */
    } was, held;              /* before and after the instruction being translated */
    bool quiet;               /* spins of the work-item is known to be 0 */
    uint32_t pc;              /* index of the instruction being translated */
};

#define ITEM(field) ((uint32_t)offsetof(struct zc_item, field))

/* Operations first to last, and the function that translates the k-th of them or returns false. */
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

/* Translate i or return false: native_arith.c, native_mem.c, native_control.c. */
bool zc_native_arith(struct zc_gen *g, const struct zc_ins *i);
bool zc_native_memory(struct zc_gen *g, const struct zc_ins *i);
bool zc_native_control(struct zc_gen *g, const struct zc_ins *i);
/* Load the address of a load or store, a + imm or a + b * c + imm, into r10, but for a displacement, which it returns. */
uint32_t zc_native_address(struct zc_gen *g, const struct zc_ins *i, bool indexed);
/* Mark the instructions that are jump targets. */
void zc_native_targets(struct zc_gen *g);

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* Load the value of a slot into a register. */
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

/* Load a slot into xmm0, store xmm0 to a slot. */
static inline void n_get_float(struct zc_gen *g, uint32_t slot, unsigned width)
{
    x_mem(&g->o, width == 4 ? 0xf30f10 : 0xf20f10, false, 0, RDI, slot);
}

static inline void n_put_float(struct zc_gen *g, uint32_t slot, unsigned width)
{
    x_mem(&g->o, width == 4 ? 0xf30f11 : 0xf20f11, false, 0, RDI, slot);
}

/* A work-item that writes does more than poll: reset its spins. */
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

/* Return and report that the work-item stopped. */
static inline void n_stop(struct zc_gen *g, enum zc_stop why)
{
    x_reg(&g->o, X_XOR, false, RAX, RAX);
    x_byte(&g->o, X_MOV_IMM + RDX);
    x_u32(&g->o, why);
    x_byte(&g->o, X_RET);
}

/* Compare a byte with 0. */
static inline void n_compare_zero(struct zc_gen *g, uint32_t slot)
{
    x_mem(&g->o, X_IMM8, false, IMM_CMP, RDI, slot);
    x_byte(&g->o, 0);
}

/* rax = a op b. */
static inline void n_combine(struct zc_gen *g, unsigned op, uint32_t a, uint32_t b, unsigned width, bool sign)
{
    if (width < 4) {
        n_get(g, RAX, a, width, sign);
        x_load(&g->o, RCX, RDI, b, width, sign);
        x_reg(&g->o, op, false, RAX, RCX);
        return;
    }
    int64_t v;
    if (zc_constant_in(g->m, b, width, &v) && v == (int32_t)v) {
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

/* Jump to instruction `to`; a backward jump decrements the quantum. */
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

/* Jump unless `to` is the next instruction. */
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

/* This instruction polled the value in rax; the work-item may yield. */
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
