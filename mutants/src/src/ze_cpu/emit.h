/* emit.h - emission of instructions, and the frame slots of values, while a function is lowered. */
#ifndef ZC_EMIT_H
#define ZC_EMIT_H

#include "ze_cpu/module.h"

/* Append an instruction. The pointer is valid until the next one is appended. */
struct zc_ins *zc_emit(struct zc_module *m, unsigned op, uint32_t d, uint32_t a, uint32_t b);
uint32_t zc_temp(struct zc_module *m, unsigned width); /* a new slot */
void zc_move(struct zc_module *m, uint32_t d, uint32_t s, uint64_t size);
/* A scalar integer at `slot` in another width; narrowing needs no instruction, as the low bytes come first. */
uint32_t zc_resize(struct zc_module *m, uint32_t slot, unsigned from, unsigned to, bool sign);

uint32_t zc_value(struct zc_module *m, uint32_t id);                  /* slot of an operand */
uint32_t zc_result(struct zc_module *m, const uint32_t *p);           /* slot of p's result, made on first use */
void zc_alias(struct zc_module *m, const uint32_t *p, uint32_t slot); /* p's result has the bytes at slot: no copy if it can */

struct zc_type *zc_pointee(struct zc_module *m, uint32_t id); /* fails unless id is a pointer */
struct zc_addr zc_address(struct zc_module *m, uint32_t id);  /* the pointer id, folded or not */
/* Compute base + index * scale into `slot`, so that an address without index remains. */
struct zc_addr zc_settle(struct zc_module *m, struct zc_addr a, uint32_t slot);
uint32_t zc_flat(struct zc_module *m, uint32_t id, int64_t *imm); /* a slot; the pointer id is its value + imm */

#endif
