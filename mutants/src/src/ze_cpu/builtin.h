/* builtin.h - functions that VM instructions call by pointer: OpenCL.std and bit operations. */
#ifndef ZC_BUILTIN_H
#define ZC_BUILTIN_H

#include <stdbool.h>
#include <stdint.h>

typedef float (*zc_f1)(float);
typedef float (*zc_f2)(float, float);
typedef float (*zc_f3)(float, float, float);
typedef double (*zc_d1)(double);
typedef double (*zc_d2)(double, double);
typedef double (*zc_d3)(double, double, double);
/* Integers of `width` bytes, zero extended; the result is truncated to that width. */
typedef uint64_t (*zc_bits)(uint64_t a, uint64_t b, uint64_t c, unsigned width);
/* One component of a function with two results (*d, *out) or with an int operand or result. */
typedef void (*zc_split)(void *d, const void *a, const void *b, void *out);

const void *zc_math_round(int mode, unsigned width);         /* zc_f1 or zc_d1, to an integer */
const void *zc_math_remainder(bool floored, unsigned width); /* zc_f2 or zc_d2 */
zc_bits zc_math_bits(uint32_t op);                           /* of instructions of SPIR-V itself */

/* Kinds of functions: 1 to 3 floating-point operands, 10 + 1 to 3 integer operands; the others are a zc_split. */
enum {
    ZC_SPLIT = 20, /* second result of the same type */
    ZC_SPLIT_INT,  /* second result int */
    ZC_SPLIT2_INT, /* two operands, second result int */
    ZC_WITH_INT,   /* second operand int */
    ZC_TO_INT,     /* result int */
    ZC_FROM_INT,   /* operand an integer of the same width */
};

struct zc_math {
    const void *f32, *f64; /* zc_f1 ... zc_d3; of integers only f32: a zc_bits */
    uint8_t args;
};
/* NULL unless instruction n of OpenCL.std is such a function. */
const struct zc_math *zc_math_find(uint32_t n);

zc_bits zc_math_select(void); /* c ? b : a, for scalars */

#endif
