/* half.h - functions of PTX on f16 and bf16, one number (width 2) or two packed ones (width 4); each but odd() is a zc_bits. */
#ifndef CC_HALF_H
#define CC_HALF_H

#include "ze_cpu/builtin.h"
#include "ze_cpu/convert.h"

/* min_nan, max_nan: NaN if one operand is; set: the comparison `c` (below) of a and b. */
#define CC_HALVES(X)                                                                                                  \
    X(add) X(sub) X(mul) X(fma) X(min) X(max) X(min_nan) X(max_nan) X(neg) X(abs) X(ex2) X(tanh) X(sat) X(relu) X(set)
#define CC_DECLARE(name)                                                                                              \
    uint64_t cc_f16_##name(uint64_t a, uint64_t b, uint64_t c, unsigned width);                                       \
    uint64_t cc_bf16_##name(uint64_t a, uint64_t b, uint64_t c, unsigned width);
CC_HALVES(CC_DECLARE)
#undef CC_DECLARE

/* The operand c of `set`: bits for less, equal, greater, unordered; and what it writes where the comparison holds: the boolean 1,
 * all bits, or 1.0 in bf16 or f16. */
enum { HALF_LESS = 1, HALF_EQUAL = 2, HALF_GREATER = 4, HALF_UNORDERED = 8 };
enum { HALF_TRUE = 0 << 4, HALF_ONES = 1 << 4, HALF_BF16 = 2 << 4, HALF_F16 = 3 << 4 };

/* An update of the 16 bits at place c, 0 to 3, in the 8 bytes `a`: b has the operand in bits 0 to 15, above it the value to
 * compare with. */
uint64_t cc_f16_add_at(uint64_t a, uint64_t b, uint64_t c, unsigned width);
uint64_t cc_bf16_add_at(uint64_t a, uint64_t b, uint64_t c, unsigned width);
uint64_t cc_cas_at(uint64_t a, uint64_t b, uint64_t c, unsigned width);
uint64_t cc_exch_at(uint64_t a, uint64_t b, uint64_t c, unsigned width);

/* Conversions of an integer, rounded once. NULL: there is none. */
zc_converter cc_half_from_integer(const char *format, enum zc_number kind, unsigned from);

#endif
