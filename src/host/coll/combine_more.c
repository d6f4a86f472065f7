/* combine_more.c - see combine_more.h. */
#include "host/coll/combine_more.h"

#include <string.h>

#define LOC(OP, KIND, T, LESS)                                                                                       \
    void shi_##OP##_##KIND(void *acc, const void *in, size_t n)                                                      \
    {                                                                                                                \
        struct pair {                                                                                                \
            T value;                                                                                                 \
            int64_t place;                                                                                           \
        } *x = acc;                                                                                                  \
        const struct pair *y = in;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                                               \
            if (y[i].value LESS x[i].value || (y[i].value == x[i].value && y[i].place < x[i].place))                 \
                x[i] = y[i];                                                                                         \
    }
#define BOTH(KIND, T) LOC(minloc, KIND, T, <) LOC(maxloc, KIND, T, >)
SHI_LOC_KINDS(BOTH)

static inline uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* ---- binary16: 5 bits of exponent, 10 of the fraction ---------------------------------------------------------------------- */

/* The product moves the exponent, and makes subnormal numbers normal; infinity and what is no number keep the highest exponent. */
static inline float from_half(uint16_t h)
{
    uint32_t u = (uint32_t)(h & 0x7fff) << 13, special = u >= 0x0f800000 ? 0x7f800000 : 0;
    return float_of(bits_of(float_of(u) * 0x1p112f) | special | (uint32_t)(h & 0x8000) << 16);
}

static inline uint16_t to_half(float f)
{
    uint32_t u = bits_of(f), sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (u >= 0x477ff000) /* 65520 and more: infinity */
        return (uint16_t)(sign | 0x7c00);
    if (u < 0x38800000) /* below 2^-14: the sum shifts the fraction, and rounds it */
        return (uint16_t)(sign | (bits_of(float_of(u) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (u - 0x38000000 + 0xfff + (u >> 13 & 1)) >> 13);
}

void shi_widen_half(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from_half(from[i]);
}

void shi_narrow_half(uint16_t *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = to_half(from[i]);
}

/* ---- bfloat16: the upper half of a float -------------------------------------------------------------------------------- */

void shi_widen_bfloat16(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = float_of((uint32_t)from[i] << 16);
}

void shi_narrow_bfloat16(uint16_t *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u = bits_of(from[i]), nan = (u & 0x7fffffff) > 0x7f800000;
        to[i] = (uint16_t)(nan ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
}
