/* combine_more.h - the operators of reductions of pairs of a value and its place, and numbers of 16 bits as float and back. */
#ifndef SHI_COMBINE_MORE_H
#define SHI_COMBINE_MORE_H

#include <stddef.h>
#include <stdint.h>

/* N(KIND, TYPE): kinds of values, those of shmemx_coll.h by width. */
#define SHI_LOC_KINDS(N)                                                                                             \
    N(u32, uint32_t) N(u64, uint64_t) N(s32, int32_t) N(s64, int64_t) N(f32, float) N(f64, double)
#define SHI_DECLARE_LOC(KIND, T)                                                                                     \
    void shi_minloc_##KIND(void *acc, const void *in, size_t n);                                                     \
    void shi_maxloc_##KIND(void *acc, const void *in, size_t n);
SHI_LOC_KINDS(SHI_DECLARE_LOC)

/* The function for OP on pairs with values of type T. */
#define SHI_LOC_WIDTH(T, OP, P) (sizeof(T) == 4 ? shi_##OP##_##P##32 : shi_##OP##_##P##64)
#define SHI_COMBINE_LOC(OP, T)                                                                                       \
    _Generic((T)0, float: shi_##OP##_f32, double: shi_##OP##_f64,                                                    \
             default: (T)-1 > (T)0 ? SHI_LOC_WIDTH(T, OP, u) : SHI_LOC_WIDTH(T, OP, s))

/* n numbers as float, and float rounded to the nearest, of two the even one. */
void shi_widen_half(float *to, const uint16_t *from, size_t n);
void shi_narrow_half(uint16_t *to, const float *from, size_t n);
void shi_widen_bfloat16(float *to, const uint16_t *from, size_t n);
void shi_narrow_bfloat16(uint16_t *to, const float *from, size_t n);

#endif
