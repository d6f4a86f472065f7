/*
 * half.c - arithmetic on f16 and bf16: computed in double precision and rounded once.
 *
 * Where a double does not hold the exact result, it is rounded to odd first: the last bit says that something was cut off, so
 * rounding it again gives what rounding the exact result gives.
 */
#include "cuda_cpu/half.h"

#include <math.h>
#include <string.h>

#include "ze_cpu/module.h"

/* ---- formats ---------------------------------------------------------------------------------------------------- */

/* r is the double nearest to r + rest. */
static double odd(double r, double rest)
{
    uint64_t v;
    if (rest == 0 || rest != rest || isinf(r))
        return r;
    memcpy(&v, &r, sizeof v);
    if (!(v & 1))
        v += r == 0 || (rest > 0) == (r > 0) ? 1 : (uint64_t)-1;
    memcpy(&r, &v, sizeof r);
    return r;
}

static double from_f16(uint16_t v)
{
    return zc_half_to(v);
}

static uint16_t to_f16(double v)
{
    return v != v ? 0x7fff : zc_half_from(v, 0);
}

static double from_bf16(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static uint16_t to_bf16(double v)
{
    uint32_t bits;
    float f = (float)v;
    if (v != v)
        return 0x7fff;
    memcpy(&bits, &f, sizeof bits);
    if ((double)f != v) { /* to odd, as above */
        bits -= fabs((double)f) > fabs(v);
        bits |= 1;
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

/* The product of two numbers is exact in a double. */
static double fused(double a, double b, double c)
{
    double p = a * b, s = p + c, part = s - p;
    return odd(s, (p - (s - part)) + (c - part));
}

static double lesser(double a, double b)
{
    return a == b ? (signbit(a) ? a : b) : fmin(a, b);
}

static double greater(double a, double b)
{
    return a == b ? (signbit(a) ? b : a) : fmax(a, b);
}

static double add(double a, double b, double c) { return (void)c, fused(a, 1, b); }
static double sub(double a, double b, double c) { return (void)c, fused(a, 1, -b); }
static double mul(double a, double b, double c) { return (void)c, a * b; }
static double fma_(double a, double b, double c) { return fused(a, b, c); }
static double min_(double a, double b, double c) { return (void)c, lesser(a, b); }
static double max_(double a, double b, double c) { return (void)c, greater(a, b); }
static double min_nan(double a, double b, double c) { return (void)c, a != a || b != b ? (double)NAN : lesser(a, b); }
static double max_nan(double a, double b, double c) { return (void)c, a != a || b != b ? (double)NAN : greater(a, b); }
static double ex2(double a, double b, double c) { return (void)b, (void)c, exp2(a); }
static double tanh_(double a, double b, double c) { return (void)b, (void)c, tanh(a); }
static double sat(double a, double b, double c) { return (void)b, (void)c, a > 0 ? fmin(a, 1) : 0; }
static double relu(double a, double b, double c) { return (void)b, (void)c, a > 0 || a != a ? a : 0; }

static unsigned relation(double a, double b)
{
    return a < b ? HALF_LESS : a == b ? HALF_EQUAL : a > b ? HALF_GREATER : HALF_UNORDERED;
}

#define EACH(k, width) for (unsigned k = 0; k < 8 * (width); k += 16)
#define APPLY(format, name, fn)                                                                                       \
    uint64_t cc_##format##_##name(uint64_t a, uint64_t b, uint64_t c, unsigned width)                                 \
    {                                                                                                                 \
        uint64_t r = 0;                                                                                               \
        EACH(k, width)                                                                                                \
            r |= (uint64_t)to_##format(fn(from_##format((uint16_t)(a >> k)), from_##format((uint16_t)(b >> k)),       \
                                          from_##format((uint16_t)(c >> k)))) << k;                                   \
        return r;                                                                                                     \
    }
#define BITS(format, name, expr)                                                                                      \
    uint64_t cc_##format##_##name(uint64_t a, uint64_t b, uint64_t c, unsigned width)                                 \
    {                                                                                                                 \
        (void)b, (void)c, (void)width;                                                                                \
        return expr;                                                                                                  \
    }
static const uint16_t held[] = {1, 0xffff, 0x3f80, 0x3c00};

#define SET(format)                                                                                                   \
    uint64_t cc_##format##_set(uint64_t a, uint64_t b, uint64_t c, unsigned width)                                    \
    {                                                                                                                 \
        uint64_t r = 0;                                                                                               \
        EACH(k, width)                                                                                                \
            if (c & relation(from_##format((uint16_t)(a >> k)), from_##format((uint16_t)(b >> k))))                   \
                r |= (uint64_t)held[c >> 4 & 3] << k;                                                                 \
        return r;                                                                                                     \
    }
#define FORMAT(f)                                                                                                     \
    APPLY(f, add, add) APPLY(f, sub, sub) APPLY(f, mul, mul) APPLY(f, fma, fma_) APPLY(f, min, min_)                  \
    APPLY(f, max, max_) APPLY(f, min_nan, min_nan) APPLY(f, max_nan, max_nan) APPLY(f, ex2, ex2)                      \
    APPLY(f, tanh, tanh_) APPLY(f, sat, sat) APPLY(f, relu, relu) SET(f)                                              \
    BITS(f, neg, a ^ 0x80008000) BITS(f, abs, a & 0x7fff7fff)
FORMAT(f16)
FORMAT(bf16)

/* ---- updates ---------------------------------------------------------------------------------------------------- */

static uint64_t replaced(uint64_t all, uint64_t v, uint64_t place)
{
    return (all & ~(0xffffull << 16 * place)) | (v & 0xffff) << 16 * place;
}

static uint64_t number_at(uint64_t all, uint64_t place)
{
    return all >> 16 * place & 0xffff;
}

#define UPDATE(name, expr)                                                                                            \
    uint64_t name(uint64_t a, uint64_t b, uint64_t c, unsigned width)                                                 \
    {                                                                                                                 \
        (void)width;                                                                                                  \
        return replaced(a, expr, c);                                                                                  \
    }
UPDATE(cc_f16_add_at, cc_f16_add(number_at(a, c), b & 0xffff, 0, 2))
UPDATE(cc_bf16_add_at, cc_bf16_add(number_at(a, c), b & 0xffff, 0, 2))
UPDATE(cc_cas_at, number_at(a, c) == (b >> 16 & 0xffff) ? b : number_at(a, c))
UPDATE(cc_exch_at, b)

/* ---- integers --------------------------------------------------------------------------------------------------- */

static double of_integer(__int128 v)
{
    double r = (double)v;
    __int128 rest = v - (__int128)r;
    return odd(r, (double)rest);
}

#define FROM(T)                                                                                                       \
    static void f16_##T(void *d, const void *s)                                                                       \
    {                                                                                                                 \
        *(u16 *)d = to_f16(of_integer(*(const T *)s));                                                                \
    }                                                                                                                 \
    static void bf16_##T(void *d, const void *s)                                                                      \
    {                                                                                                                 \
        *(u16 *)d = to_bf16(of_integer(*(const T *)s));                                                               \
    }
FROM(u8) FROM(u16) FROM(u32) FROM(u64) FROM(s8) FROM(s16) FROM(s32) FROM(s64)

zc_converter cc_half_from_integer(const char *format, enum zc_number kind, unsigned from)
{
    static const zc_converter fns[2][2][4] = {{{f16_u8, f16_u16, f16_u32, f16_u64}, {f16_s8, f16_s16, f16_s32, f16_s64}},
                                              {{bf16_u8, bf16_u16, bf16_u32, bf16_u64}, {bf16_s8, bf16_s16, bf16_s32, bf16_s64}}};
    return fns[format[0] == 'b'][kind == NUMBER_SIGNED][zc_log2(from)];
}
