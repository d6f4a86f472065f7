/*
 * combine.h - the operators of reductions, one function for each operator and kind of number.
 *
 * TYPENAMEs of equal representation share one: sums of signed integers are those of unsigned ones (and so wrap),
 * bitwise operators depend on bytes only.
 */
#ifndef SHI_COMBINE_H
#define SHI_COMBINE_H

#include <stddef.h>
#include <stdint.h>

/* N(KIND, TYPE): kinds that add and multiply, and kinds that compare. */
#define SHI_SUM_KINDS(N)                                                                                             \
    N(u8, uint8_t) N(u16, uint16_t) N(u32, uint32_t) N(u64, uint64_t) N(f32, float) N(f64, double)                   \
    N(ld, long double) N(c32, float _Complex) N(c64, double _Complex)
#define SHI_MAX_KINDS(N)                                                                                             \
    N(u8, uint8_t) N(u16, uint16_t) N(u32, uint32_t) N(u64, uint64_t) N(s8, int8_t) N(s16, int16_t) N(s32, int32_t)  \
    N(s64, int64_t) N(f32, float) N(f64, double) N(ld, long double)

#define SHI_DECLARE(OP, KIND) void shi_##OP##_##KIND(void *acc, const void *in, size_t n);
#define SHI_DECLARE_SUM(KIND, T) SHI_DECLARE(sum, KIND) SHI_DECLARE(prod, KIND)
#define SHI_DECLARE_MAX(KIND, T) SHI_DECLARE(max, KIND) SHI_DECLARE(min, KIND)
SHI_SUM_KINDS(SHI_DECLARE_SUM)
SHI_MAX_KINDS(SHI_DECLARE_MAX)
#define SHI_DECLARE_BIT(KIND, T) SHI_DECLARE(and, KIND) SHI_DECLARE(or, KIND) SHI_DECLARE(xor, KIND)
#define SHI_BIT_KINDS(N) N(u8, uint8_t) N(u16, uint16_t) N(u32, uint32_t) N(u64, uint64_t)
SHI_BIT_KINDS(SHI_DECLARE_BIT)

/* The function for OP on the type of x. Integers go by width, and by signedness where it matters. */
#define SHI_BY_WIDTH(T, OP, P)                                                                                       \
    (sizeof(T) == 1 ? shi_##OP##_##P##8 : sizeof(T) == 2 ? shi_##OP##_##P##16 : sizeof(T) == 4 ? shi_##OP##_##P##32  \
                                                                                               : shi_##OP##_##P##64)
#define SHI_COMBINE_SUM(OP, T)                                                                                       \
    _Generic((T)0, float: shi_##OP##_f32, double: shi_##OP##_f64, long double: shi_##OP##_ld,                        \
             float _Complex: shi_##OP##_c32, double _Complex: shi_##OP##_c64, default: SHI_BY_WIDTH(T, OP, u))
#define SHI_COMBINE_MAX(OP, T)                                                                                       \
    _Generic((T)0, float: shi_##OP##_f32, double: shi_##OP##_f64, long double: shi_##OP##_ld,                        \
             default: (T)-1 > (T)0 ? SHI_BY_WIDTH(T, OP, u) : SHI_BY_WIDTH(T, OP, s))
#define SHI_COMBINE_BIT(OP, T) SHI_BY_WIDTH(T, OP, u)

#endif
