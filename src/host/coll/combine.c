/* combine.c - the loops of reductions. A fixed inner count and restrict parameters let the compiler use vector instructions at -O2; with
 * restrict on local pointers alone gcc 12 does not. */
#include "host/coll/combine.h"

enum { UNROLL = 16 };

#define LOOP(OP, KIND, T, EXPR)                                                                                      \
    void shi_##OP##_##KIND(void *restrict acc, const void *restrict in, size_t n)                                    \
    {                                                                                                                \
        T *x = acc;                                                                                                  \
        const T *y = in;                                                                                             \
        size_t i = 0;                                                                                                \
        for (; i + UNROLL <= n; i += UNROLL)                                                                         \
            for (size_t k = 0; k < UNROLL; k++) {                                                                    \
                T a = x[i + k], b = y[i + k];                                                                        \
                x[i + k] = (T)(EXPR);                                                                                \
            }                                                                                                        \
        for (; i < n; i++) {                                                                                         \
            T a = x[i], b = y[i];                                                                                    \
            x[i] = (T)(EXPR);                                                                                        \
        }                                                                                                            \
    }

/* The product of 16-bit operands is taken unsigned: as int it could overflow. */
#define SUM(KIND, T) LOOP(sum, KIND, T, a + b) LOOP(prod, KIND, T, (1 ? a : 0u) * b)
#define MAX(KIND, T) LOOP(max, KIND, T, b > a ? b : a) LOOP(min, KIND, T, b < a ? b : a)
#define BIT(KIND, T) LOOP(and, KIND, T, a & b) LOOP(or, KIND, T, a | b) LOOP(xor, KIND, T, a ^ b)

SHI_SUM_KINDS(SUM)
SHI_MAX_KINDS(MAX)
SHI_BIT_KINDS(BIT)
