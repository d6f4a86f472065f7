/* convert.c - conversions between number types, one component each; VM instructions hold pointers to these functions. */
#include "ze_cpu/convert.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "ze_cpu/module.h"

/* ---- half precision --------------------------------------------------------------------------------------------- */

typedef u16 __attribute__((aligned(1))) half; /* in memory of the kernel */

double zc_half_to(uint16_t h)
{
    int e = h >> 10 & 31, f = h & 1023;
    double v = e == 31 ? (f ? NAN : INFINITY) : e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);
    return h & 0x8000 ? -v : v;
}

/* Round v >= 0 to an integral value; `negative`: the sign that it had. */
static double last_place(double v, int how, bool negative)
{
    switch (how) {
    case ZC_ROUND_RTZ:
        return floor(v);
    case ZC_ROUND_RTP:
        return negative ? floor(v) : ceil(v);
    case ZC_ROUND_RTN:
        return negative ? ceil(v) : floor(v);
    }
    return nearbyint(v);
}

uint16_t zc_half_from(double v, int how)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    bool negative = sign;
    v = fabs(v);
    if (v != v)
        return sign | 0x7e00;
    if (isinf(v))
        return sign | 0x7c00;
    int e = 0;
    frexp(v, &e);
    e = e < -13 ? -13 : e; /* v < 2^e; subnormals share the smallest exponent */
    double m = last_place(ldexp(v, 11 - e), how, negative);
    if (m >= 2048) {
        m /= 2;
        e++;
    }
    if (e > 16) {
        bool down = how == ZC_ROUND_RTZ || (how == ZC_ROUND_RTP && negative) ||
                    (how == ZC_ROUND_RTN && !negative);
        return sign | (down ? 0x7bff : 0x7c00);
    }
    int f = (int)m;
    return (uint16_t)(sign | (f < 1024 ? f : (e + 14) << 10 | (f - 1024)));
}

void zc_half_load(void *to, unsigned width, const void *from, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        double v = zc_half_to(((const half *)from)[k]);
        if (width == 8)
            ((f64 *)to)[k] = v;
        else
            ((f32 *)to)[k] = (float)v;
    }
}

void zc_half_store(void *to, const void *from, unsigned width, unsigned n, int how)
{
    for (unsigned k = 0; k < n; k++)
        ((half *)to)[k] = zc_half_from(width == 8 ? ((const f64 *)from)[k] : (double)((const f32 *)from)[k], how);
}

/* ---- conversions ------------------------------------------------------------------------------------------------ */

#define TYPES(X, ...) X(u8, ##__VA_ARGS__) X(u16, ##__VA_ARGS__) X(u32, ##__VA_ARGS__) X(u64, ##__VA_ARGS__)          \
    X(s8, ##__VA_ARGS__) X(s16, ##__VA_ARGS__) X(s32, ##__VA_ARGS__) X(s64, ##__VA_ARGS__)
#define TYPES_AGAIN(X, ...) X(u8, ##__VA_ARGS__) X(u16, ##__VA_ARGS__) X(u32, ##__VA_ARGS__) X(u64, ##__VA_ARGS__)    \
    X(s8, ##__VA_ARGS__) X(s16, ##__VA_ARGS__) X(s32, ##__VA_ARGS__) X(s64, ##__VA_ARGS__)

/* Limits of each type, for comparison in 128 bits. */
typedef __int128 wide;
#define MIN_u8 0
#define MIN_u16 0
#define MIN_u32 0
#define MIN_u64 0
#define MAX_u8 UINT8_MAX
#define MAX_u16 UINT16_MAX
#define MAX_u32 UINT32_MAX
#define MAX_u64 UINT64_MAX
#define MIN_s8 INT8_MIN
#define MIN_s16 INT16_MIN
#define MIN_s32 INT32_MIN
#define MIN_s64 INT64_MIN
#define MAX_s8 INT8_MAX
#define MAX_s16 INT16_MAX
#define MAX_s32 INT32_MAX
#define MAX_s64 INT64_MAX

#define INT_TO_INT(T, F)                                                                                              \
    static void F##_##T(void *d, const void *s)                                                                       \
    {                                                                                                                 \
        *(T *)d = (T) * (const F *)s;                                                                                 \
    }                                                                                                                 \
    static void F##_sat_##T(void *d, const void *s)                                                                   \
    {                                                                                                                 \
        wide v = *(const F *)s;                                                                                       \
        *(T *)d = (T)(v < (wide)MIN_##T ? (wide)MIN_##T : v > (wide)MAX_##T ? (wide)MAX_##T : v);                     \
    }
#define TO_FLOATS(F, VALUE)                                                                                           \
    static void F##_f16(void *d, const void *s)                                                                       \
    {                                                                                                                 \
        *(u16 *)d = zc_half_from((double)VALUE, 0);                                                                   \
    }                                                                                                                 \
    static void F##_f32(void *d, const void *s)                                                                       \
    {                                                                                                                 \
        *(f32 *)d = (float)VALUE;                                                                                     \
    }                                                                                                                 \
    static void F##_f64(void *d, const void *s)                                                                       \
    {                                                                                                                 \
        *(f64 *)d = (double)VALUE;                                                                                    \
    }
#define INT_FROM(F)                                                                                                   \
    TYPES_AGAIN(INT_TO_INT, F)                                                                                        \
    TO_FLOATS(F, *(const F *)s)
TYPES(INT_FROM)

static double read_f16(const void *s)
{
    return zc_half_to(*(const u16 *)s);
}

static double read_f32(const void *s)
{
    return (double)*(const f32 *)s;
}

static double read_f64(const void *s)
{
    return *(const f64 *)s;
}

/* OpenCL leaves values out of range undefined; here they saturate. */
#define FLOAT_TO_INT(T, F)                                                                                            \
    static void F##_##T(void *d, const void *s)                                                                       \
    {                                                                                                                 \
        double v = read_##F(s);                                                                                       \
        *(T *)d = v != v                      ? 0                                                                     \
                  : v <= (double)MIN_##T      ? (T)MIN_##T                                                            \
                  : v >= (double)MAX_##T      ? (T)MAX_##T                                                            \
                                              : (T)v;                                                                 \
    }
#define FLOAT_FROM(F)                                                                                                 \
    TYPES_AGAIN(FLOAT_TO_INT, F)                                                                                      \
    TO_FLOATS(F, read_##F(s))
FLOAT_FROM(f16)
FLOAT_FROM(f32)
FLOAT_FROM(f64)

#define CELL(T, F) F##_##T,
#define ROW(F) {TYPES_AGAIN(CELL, F) F##_f16, F##_f32, F##_f64},
#define SAT_CELL(T, F) F##_sat_##T,
#define SAT_ROW(F) {TYPES_AGAIN(SAT_CELL, F)},
static const zc_converter convert[11][11] = {TYPES(ROW) ROW(f16) ROW(f32) ROW(f64)};
static const zc_converter saturate[8][8] = {TYPES(SAT_ROW)};

static unsigned place(enum zc_number kind, unsigned width)
{
    unsigned lg = zc_log2(width);
    return kind == NUMBER_UNSIGNED ? lg : kind == NUMBER_SIGNED ? 4 + lg : 7 + lg;
}

zc_converter zc_math_converter(enum zc_number from, unsigned from_width, enum zc_number to, unsigned to_width,
                               bool saturates)
{
    if ((from == NUMBER_FLOAT && from_width == 1) || (to == NUMBER_FLOAT && to_width == 1))
        return NULL;
    unsigned f = place(from, from_width), t = place(to, to_width);
    if (saturates && from != NUMBER_FLOAT && to != NUMBER_FLOAT)
        return saturate[f][t];
    return convert[f][t];
}

/* ---- classification --------------------------------------------------------------------------------------------- */

#define CLASS(name, T, expr)                                                                                          \
    static void name##_##T(void *d, const void *s)                                                                    \
    {                                                                                                                 \
        T x = *(const T *)s;                                                                                          \
        *(u8 *)d = (expr) != 0;                                                                                       \
    }
#define CLASSES(T)                                                                                                    \
    CLASS(is_nan, T, isnan(x))                                                                                        \
    CLASS(is_inf, T, isinf(x))                                                                                        \
    CLASS(is_finite, T, isfinite(x)) CLASS(is_normal, T, isnormal(x)) CLASS(sign, T, signbit(x))
CLASSES(f32)
CLASSES(f64)

const void *zc_math_classify(uint32_t op, unsigned width)
{
    static const zc_converter fn[5][2] = {{is_nan_f32, is_nan_f64},
                                          {is_inf_f32, is_inf_f64},
                                          {is_finite_f32, is_finite_f64},
                                          {is_normal_f32, is_normal_f64},
                                          {sign_f32, sign_f64}};
    return (const void *)fn[op - OpIsNan][width == 8];
}
