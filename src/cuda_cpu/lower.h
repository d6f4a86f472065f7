/*
 * lower.h - what the tables of instructions (ins_*.c) use: rows, modifiers, operands, constants. lower.c has them, and the
 * control flow.
 */
#ifndef CC_LOWER_H
#define CC_LOWER_H

#include "cuda_cpu/ptx.h"
#include "ze_cpu/emit.h"
#include "ze_cpu/op.h"

/*
 * An instruction and what it becomes. A row matches if the name is equal, the first type belongs to one of `classes` (0: the
 * instruction has no type) and all words of `mods` are among the modifiers. The first match counts.
 */
struct cc_row {
    const char *op, *mods;
    uint8_t classes;
    void (*emit)(struct ptx *p, const struct cc_row *row);
    uint16_t vm;     /* first VM instruction of its family */
    const void *f32; /* a function of floats or, for integers, a zc_bits; f64: the same for doubles */
    const void *f64;
};

/* Lower the current instruction by the first row that matches. false: there is none. */
bool cc_by_rows(struct ptx *p, const struct cc_row *rows, unsigned n);
bool cc_arith(struct ptx *p);   /* ins_arith.c */
bool cc_float(struct ptx *p);   /* ins_float.c */
bool cc_compare(struct ptx *p); /* ins_compare.c */
bool cc_convert(struct ptx *p); /* ins_convert.c */
bool cc_mbarrier(struct ptx *p); /* ins_mbarrier.c: before cc_memory and cc_group */
bool cc_memory(struct ptx *p);  /* ins_memory.c */
bool cc_atomic(struct ptx *p);  /* ins_atomic.c */
bool cc_half(struct ptx *p);    /* ins_half.c: before cc_compare */
bool cc_group(struct ptx *p);   /* ins_group.c */
bool cc_texture(struct ptx *p); /* ins_texture.c */

/* Whether the instruction has a modifier; marks it as read. */
bool cc_has(struct ptx *p, const char *mod);
/* The index in `mods`, words between blanks, of the first one that the instruction has, or -1. */
int cc_which(struct ptx *p, const char *mods);
struct ptx_operand *cc_operand(struct ptx *p, unsigned k); /* refuses an instruction with fewer operands */

/* The slot of a constant with this width. */
uint32_t cc_constant(struct ptx *p, uint64_t v, unsigned width);
/* The slot of a source operand, at least as wide as the type. */
uint32_t cc_value(struct ptx *p, const struct ptx_operand *o, struct ptx_type t);
uint32_t cc_source(struct ptx *p, unsigned k, struct ptx_type t);
uint32_t cc_predicate(struct ptx *p, const struct ptx_operand *o); /* with its negation */
/* Where to write a result of `width` bytes; cc_done extends it if the register is wider. */
uint32_t cc_into(struct ptx *p, const struct ptx_operand *o, unsigned width);
void cc_done(struct ptx *p, const struct ptx_operand *o, uint32_t slot, unsigned width, bool sign);
uint32_t cc_register(struct ptx *p, uint32_t reg);      /* its slot */
uint32_t cc_variable(struct ptx *p, struct ptx_var *v); /* the slot of a PARAM or LOCAL */
/* One access of 16 bytes or an update of them, an enum zc_wide_op; v: the operand, cond: of CAS. */
void cc_wide(struct ptx *p, unsigned what, uint32_t d, struct zc_addr a, uint32_t v, uint32_t cond);
/* An address operand: base + index + imm; index ZC_NONE: none. */
struct zc_addr cc_address(struct ptx *p, const struct ptx_operand *o, uint8_t space);
uint32_t cc_shared_base(struct ptx *p);

static inline struct zc_ins *cc_emit(struct ptx *p, unsigned op, uint32_t d, uint32_t a, uint32_t b)
{
    return zc_emit(p->m, op, d, a, b);
}

static inline uint32_t cc_temp(struct ptx *p, unsigned width)
{
    return zc_temp(p->m, width);
}

/* d = fn(a, b, c) of `width` bytes; unused operands: any slot. */
static inline void cc_call_bits(struct ptx *p, const void *fn, unsigned width, uint32_t d, uint32_t a, uint32_t b, uint32_t c)
{
    struct zc_ins *i = cc_emit(p, OP_CALL_INT, d, a, b);
    i->c = c;
    i->w = (uint8_t)width;
    i->ptr = fn;
}

/* d = fn(a, b, c), floats (width 4) or doubles; n operands. */
static inline void cc_call_float(struct ptx *p, const void *fn, unsigned n, unsigned width, uint32_t d, uint32_t a,
                                 uint32_t b, uint32_t c)
{
    struct zc_ins *i = cc_emit(p, OP_CALL_1 + n - 1, d, a, b);
    i->c = c;
    i->w = (uint8_t)width;
    i->ptr = fn;
}

static const struct ptx_type cc_u32 __attribute__((unused)) = {PTX_U, 4, "u32"}, cc_u64 __attribute__((unused)) = {PTX_U, 8, "u64"},
                             cc_pred __attribute__((unused)) = {PTX_P, 1, "pred"};

#endif
