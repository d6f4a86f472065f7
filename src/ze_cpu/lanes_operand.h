/* lanes_operand.h - operands and results of instructions as vectors of 8 work-items, in registers of the processor. */
#ifndef ZC_LANES_OPERAND_H
#define ZC_LANES_OPERAND_H

#include "ze_cpu/lanes_gen.h"

enum { Y0, Y1, Y2, Y3, NO_VECTOR = 16 };
/* Two words of each register: the first and third, the second and fourth, or one choice each. */
enum { LOW_WORDS = 0x88, HIGH_WORDS = 0xdd, LOW_HIGH_WORDS = 0xd8, IN_ORDER = 0xd8, ALL_LANES = 0xff };

/* The place of a constant vector first, first + step, ... */
uint32_t zc_vec_constant(struct zc_lanes_gen *l, unsigned width, uint64_t first, uint64_t step);

/* Two registers of 8-byte elements to one, d, of their low or high words. Clobbers reg. */
void zc_vec_narrow(struct zc_lanes_gen *l, unsigned d, unsigned reg, unsigned high, unsigned shuffle);

/* Load 8 elements of 4 bytes, or one half of those of 8 bytes, or return false. Clobbers Y3. */
bool zc_vec_get(struct zc_lanes_gen *l, unsigned reg, uint32_t slot, unsigned width, unsigned half);

/* The register that has such a vector already, or `reg` after loading it; NO_VECTOR: zc_vec_get would return false. */
unsigned zc_vec_find(struct zc_lanes_gen *l, unsigned reg, uint32_t slot, unsigned width, unsigned half);

/* The register for a result, which one instruction of the processor writes before zc_vec_done; NO_VECTOR: zc_vec_put would return false. */
unsigned zc_vec_later(struct zc_lanes_gen *l, uint32_t slot, unsigned width, unsigned half);

bool zc_vec_done(struct zc_lanes_gen *l, unsigned reg, uint32_t slot);

bool zc_vec_put(struct zc_lanes_gen *l, unsigned reg, uint32_t slot, unsigned width, unsigned half);

/* A result of one instruction with two operands, which are in registers. */
bool zc_vec_put_op(struct zc_lanes_gen *l, unsigned op, unsigned a, unsigned b, uint32_t slot, unsigned width, unsigned half);

/* Load 8 booleans. */
bool zc_vec_flags(struct zc_lanes_gen *l, unsigned reg, uint32_t slot);

/* reg = reg op a constant. */
void zc_vec_with(struct zc_lanes_gen *l, unsigned op, unsigned reg, unsigned width, uint64_t v);

#endif
