/* builtin.c - functions of OpenCL.std and bit operations, one component each; VM instructions hold pointers to these functions. */
#include "ze_cpu/builtin.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "ze_cpu/convert.h"
#include "ze_cpu/spirv.h"

/* ---- floating point --------------------------------------------------------------------------------------------- */

/* name(args) in both precisions; F(f) is the C function f of that precision. */
#define F32(f) f##f
#define F64(f) f
#define FN1(name, expr32, expr64)                                                                                     \
    static float name##_32(float x)                                                                                   \
    {                                                                                                                 \
        return expr32;                                                                                                \
    }                                                                                                                 \
    static double name##_64(double x)                                                                                 \
    {                                                                                                                 \
        return expr64;                                                                                                \
    }
#define FN2(name, expr32, expr64)                                                                                     \
    static float name##_32(float x, float y)                                                                          \
    {                                                                                                                 \
        return expr32;                                                                                                \
    }                                                                                                                 \
    static double name##_64(double x, double y)                                                                       \
    {                                                                                                                 \
        return expr64;                                                                                                \
    }
#define FN3(name, expr32, expr64)                                                                                     \
    static float name##_32(float x, float y, float z)                                                                 \
    {                                                                                                                 \
        return expr32;                                                                                                \
    }                                                                                                                 \
    static double name##_64(double x, double y, double z)                                                             \
    {                                                                                                                 \
        return expr64;                                                                                                \
    }

#define PI 3.14159265358979323846
#define PIF ((float)PI)

/* sin and cos of a multiple of pi, exact where the result is. */
static double sin_pi(double x)
{
    double r = fmod(x, 2);
    if (r > 1)
        r -= 2;
    else if (r < -1)
        r += 2;
    if (r == 1 || r == -1)
        return copysign(0, x);
    return fabs(r) == 0.5 ? r * 2 : sin(PI * (fabs(r) > 0.5 ? copysign(1, r) - r : r));
}

static double cos_pi(double x)
{
    double r = fabs(fmod(x, 2));
    return r == 0.5 || r == 1.5 ? 0 : cos(PI * r);
}

FN1(acospi, (float)(acos((double)x) / PI), acos(x) / PI)
FN1(asinpi, (float)(asin((double)x) / PI), asin(x) / PI)
FN1(atanpi, (float)(atan((double)x) / PI), atan(x) / PI)
FN2(atan2pi, (float)(atan2((double)x, (double)y) / PI), atan2(x, y) / PI)
FN1(cospi, (float)cos_pi((double)x), cos_pi(x))
FN1(sinpi, (float)sin_pi((double)x), sin_pi(x))
FN1(tanpi, (float)(sin_pi((double)x) / cos_pi((double)x)), sin_pi(x) / cos_pi(x))
FN1(exp10_, (float)pow(10, (double)x), pow(10, x))
FN1(rsqrt, (float)(1 / sqrt((double)x)), 1 / sqrt(x))
FN1(recip, 1 / x, 1 / x)
FN2(divide, x / y, x / y)
FN2(maxmag,
    fabsf(x) > fabsf(y)   ? x
    : fabsf(y) > fabsf(x) ? y
                          : fmaxf(x, y),
    fabs(x) > fabs(y)   ? x
    : fabs(y) > fabs(x) ? y
                        : fmax(x, y))
FN2(minmag,
    fabsf(x) < fabsf(y)   ? x
    : fabsf(y) < fabsf(x) ? y
                          : fminf(x, y),
    fabs(x) < fabs(y)   ? x
    : fabs(y) < fabs(x) ? y
                        : fmin(x, y))
FN1(degrees, 180 / PIF * x, 180 / PI * x)
FN1(radians, PIF / 180 * x, PI / 180 * x)
FN1(sign, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? x : 0, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? x : 0)
FN2(step, y < x ? 0 : 1, y < x ? 0 : 1)
FN3(clamp, fminf(fmaxf(x, y), z), fmin(fmax(x, y), z))
FN3(mix, x + (y - x) * z, x + (y - x) * z)
FN2(floored, x - y * floorf(x / y), x - y *floor(x / y))

static double hermite(double e0, double e1, double x)
{
    double t = fmin(fmax((x - e0) / (e1 - e0), 0), 1);
    return t * t * (3 - 2 * t);
}
FN3(smoothstep, (float)hermite((double)x, (double)y, (double)z), hermite(x, y, z))

const void *zc_math_round(int mode, unsigned width)
{
    switch (mode) {
    case ZC_ROUND_RTP:
        return width == 8 ? (const void *)ceil : (const void *)ceilf;
    case ZC_ROUND_RTN:
        return width == 8 ? (const void *)floor : (const void *)floorf;
    }
    return width == 8 ? (const void *)rint : (const void *)rintf;
}

const void *zc_math_remainder(bool is_floored, unsigned width)
{
    if (is_floored)
        return width == 8 ? (const void *)floored_64 : (const void *)floored_32;
    return width == 8 ? (const void *)fmod : (const void *)fmodf;
}

/* ---- with a second result, or operands of another type ---------------------------------------------------------- */

#define SPLIT(name, T, body)                                                                                          \
    static void name(void *d, const void *a, const void *b, void *out)                                                \
    {                                                                                                                 \
        T x, y = 0, r, second = 0;                                                                                    \
        int n = 0;                                                                                                    \
        memcpy(&x, a, sizeof x);                                                                                      \
        (void)b, (void)y, (void)n;                                                                                    \
        body;                                                                                                         \
        memcpy(d, &r, sizeof r);                                                                                      \
        (void)out, (void)second;                                                                                      \
    }
#define OUT memcpy(out, &second, sizeof second)
#define OUT_INT memcpy(out, &n, sizeof n)
#define Y memcpy(&y, b, sizeof y)
#define N memcpy(&n, b, sizeof n)
SPLIT(fract_32, float, second = floorf(x); r = isinf(x) ? 0 : fminf(x - second, 0x1.fffffep-1f); OUT)
SPLIT(fract_64, double, second = floor(x); r = isinf(x) ? 0 : fmin(x - second, 0x1.fffffffffffffp-1); OUT)
SPLIT(modf_32, float, r = modff(x, &second); OUT)
SPLIT(modf_64, double, r = modf(x, &second); OUT)
SPLIT(sincos_32, float, r = sinf(x); second = cosf(x); OUT)
SPLIT(sincos_64, double, r = sin(x); second = cos(x); OUT)
SPLIT(frexp_32, float, r = frexpf(x, &n); OUT_INT)
SPLIT(frexp_64, double, r = frexp(x, &n); OUT_INT)
SPLIT(lgamma_r_32, float, r = lgammaf_r(x, &n); OUT_INT)
SPLIT(lgamma_r_64, double, r = lgamma_r(x, &n); OUT_INT)
SPLIT(remquo_32, float, Y; r = remquof(x, y, &n); OUT_INT)
SPLIT(remquo_64, double, Y; r = remquo(x, y, &n); OUT_INT)
SPLIT(ldexp_32, float, N; r = ldexpf(x, n))
SPLIT(ldexp_64, double, N; r = ldexp(x, n))
SPLIT(pown_32, float, N; r = (float)pow((double)x, n))
SPLIT(pown_64, double, N; r = pow(x, n))

static double nth_root(double x, int n)
{
    if (x < 0 && n & 1)
        return -pow(-x, 1.0 / n);
    return pow(x, 1.0 / n);
}
SPLIT(rootn_32, float, N; r = (float)nth_root((double)x, n))
SPLIT(rootn_64, double, N; r = nth_root(x, n))

static void ilogb_32(void *d, const void *a, const void *b, void *out)
{
    float x;
    memcpy(&x, a, sizeof x);
    int r = ilogbf(x);
    memcpy(d, &r, sizeof r);
    (void)b, (void)out;
}

static void ilogb_64(void *d, const void *a, const void *b, void *out)
{
    double x;
    memcpy(&x, a, sizeof x);
    int r = ilogb(x);
    memcpy(d, &r, sizeof r);
    (void)b, (void)out;
}

static void nan_32(void *d, const void *a, const void *b, void *out)
{
    uint32_t x;
    memcpy(&x, a, sizeof x);
    x = 0x7fc00000u | (x & 0x3fffffu);
    memcpy(d, &x, sizeof x);
    (void)b, (void)out;
}

static void nan_64(void *d, const void *a, const void *b, void *out)
{
    uint64_t x;
    memcpy(&x, a, sizeof x);
    x = 0x7ff8000000000000u | (x & 0x7ffffffffffffu);
    memcpy(d, &x, sizeof x);
    (void)b, (void)out;
}

/* ---- integers --------------------------------------------------------------------------------------------------- */

#define BITS(name, expr)                                                                                              \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c, unsigned width)                                          \
    {                                                                                                                 \
        unsigned n = 8 * width, s = 64 - n;                                                                           \
        int64_t sa = (int64_t)(a << s) >> s, sb = (int64_t)(b << s) >> s, sc = (int64_t)(c << s) >> s;                \
        (void)sa, (void)sb, (void)sc;                                                                                 \
        return (uint64_t)(expr);                                                                                      \
    }
typedef __int128 wide;
typedef unsigned __int128 uwide;

static uint64_t cut(wide v, unsigned n)
{
    wide most = ((wide)1 << (n - 1)) - 1;
    return (uint64_t)(v > most ? most : v < -most - 1 ? -most - 1 : v);
}

static uint64_t ucut(wide v, unsigned n)
{
    wide most = ((wide)1 << n) - 1;
    return (uint64_t)(v > most ? most : v < 0 ? 0 : v);
}

static uint64_t reverse(uint64_t a, unsigned n)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < n; i++)
        r |= (a >> i & 1) << (n - 1 - i);
    return r;
}

BITS(s_abs, sa < 0 ? 0 - (uint64_t)sa : (uint64_t)sa)
BITS(u_abs, a)
BITS(s_abs_diff, sa > sb ? (uint64_t)sa - (uint64_t)sb : (uint64_t)sb - (uint64_t)sa)
BITS(u_abs_diff, a > b ? a - b : b - a)
BITS(s_add_sat, cut((wide)sa + sb, n))
BITS(u_add_sat, ucut((wide)a + b, n))
BITS(s_sub_sat, cut((wide)sa - sb, n))
BITS(u_sub_sat, ucut((wide)a - b, n))
BITS(s_hadd, ((wide)sa + sb) >> 1)
BITS(u_hadd, ((uwide)a + b) >> 1)
BITS(s_rhadd, ((wide)sa + sb + 1) >> 1)
BITS(u_rhadd, ((uwide)a + b + 1) >> 1)
BITS(s_clamp, sa < sb ? sb : sa > sc ? sc : sa)
BITS(u_clamp, a < b ? b : a > c ? c : a)
BITS(clz, a ? (unsigned)__builtin_clzll(a) - s : n)
BITS(ctz, a ? (unsigned)__builtin_ctzll(a) : n)
BITS(popcount, __builtin_popcountll(a))
BITS(s_mul_hi, ((wide)sa * sb) >> n)
BITS(u_mul_hi, ((uwide)a * b) >> n)
BITS(s_mad_hi, (uint64_t)(((wide)sa * sb) >> n) + c)
BITS(u_mad_hi, (uint64_t)(((uwide)a * b) >> n) + c)
BITS(s_mad_sat, cut((wide)sa * sb + sc, n))
BITS(u_mad_sat, ((uwide)a * b + c) >> n ? UINT64_MAX : (uint64_t)((uwide)a * b + c))
BITS(rotate, b % n ? a << b % n | a >> (n - b % n) : a)
BITS(mad24, a *b + c)
BITS(mul24, a *b)
BITS(bitselect, (a & ~c) | (b & c))
BITS(select_msb, c >> (n - 1) & 1 ? b : a)
BITS(select_any, c ? b : a)
BITS(bit_reverse, reverse(a, n))
BITS(carry, ((uwide)a + b) >> n)
BITS(borrow, a < b)

zc_bits zc_math_bits(uint32_t op)
{
    switch (op) {
    case OpBitCount:
        return popcount;
    case OpBitReverse:
        return bit_reverse;
    case OpIAddCarry:
        return carry;
    case OpISubBorrow:
        return borrow;
    case OpUMulExtended:
        return u_mul_hi;
    default: /* OpSMulExtended */
        return s_mul_hi;
    }
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

#define LIB(n, name) {(const void *)name##f, (const void *)name, n}
#define OWN(n, name) {(const void *)name##_32, (const void *)name##_64, n}
#define INT(n, name) {(const void *)name, NULL, 10 + n}

/* clang-format off */
static const struct zc_math functions[] = {
    [0] = LIB(1, acos), LIB(1, acosh), OWN(1, acospi), LIB(1, asin), LIB(1, asinh), OWN(1, asinpi), LIB(1, atan),
    LIB(2, atan2), LIB(1, atanh), OWN(1, atanpi), OWN(2, atan2pi), LIB(1, cbrt), LIB(1, ceil), LIB(2, copysign),
    LIB(1, cos), LIB(1, cosh), OWN(1, cospi), LIB(1, erfc), LIB(1, erf), LIB(1, exp), LIB(1, exp2), OWN(1, exp10_),
    LIB(1, expm1), LIB(1, fabs), LIB(2, fdim), LIB(1, floor), LIB(3, fma), LIB(2, fmax), LIB(2, fmin), LIB(2, fmod),
    OWN(ZC_SPLIT, fract), OWN(ZC_SPLIT_INT, frexp), LIB(2, hypot), OWN(ZC_TO_INT, ilogb), OWN(ZC_WITH_INT, ldexp),
    LIB(1, lgamma), OWN(ZC_SPLIT_INT, lgamma_r), LIB(1, log), LIB(1, log2), LIB(1, log10), LIB(1, log1p),
    LIB(1, logb), LIB(3, fma), OWN(2, maxmag), OWN(2, minmag), OWN(ZC_SPLIT, modf), OWN(ZC_FROM_INT, nan),
    LIB(2, nextafter), LIB(2, pow), OWN(ZC_WITH_INT, pown), LIB(2, pow), LIB(2, remainder),
    OWN(ZC_SPLIT2_INT, remquo), LIB(1, rint), OWN(ZC_WITH_INT, rootn), LIB(1, round), OWN(1, rsqrt), LIB(1, sin),
    OWN(ZC_SPLIT, sincos), LIB(1, sinh), OWN(1, sinpi), LIB(1, sqrt), LIB(1, tan), LIB(1, tanh), OWN(1, tanpi),
    LIB(1, tgamma), LIB(1, trunc),
    [67] = LIB(1, cos), OWN(2, divide), LIB(1, exp), LIB(1, exp2), OWN(1, exp10_), LIB(1, log), LIB(1, log2),
    LIB(1, log10), LIB(2, pow), OWN(1, recip), OWN(1, rsqrt), LIB(1, sin), LIB(1, sqrt), LIB(1, tan),
    [81] = LIB(1, cos), OWN(2, divide), LIB(1, exp), LIB(1, exp2), OWN(1, exp10_), LIB(1, log), LIB(1, log2),
    LIB(1, log10), LIB(2, pow), OWN(1, recip), OWN(1, rsqrt), LIB(1, sin), LIB(1, sqrt), LIB(1, tan),
    [95] = OWN(3, clamp), OWN(1, degrees), LIB(2, fmax), LIB(2, fmin), OWN(3, mix), OWN(1, radians), OWN(2, step),
    OWN(3, smoothstep), OWN(1, sign),
    [141] = INT(1, s_abs), INT(2, s_abs_diff), INT(2, s_add_sat), INT(2, u_add_sat), INT(2, s_hadd), INT(2, u_hadd),
    INT(2, s_rhadd), INT(2, u_rhadd), INT(3, s_clamp), INT(3, u_clamp), INT(1, clz), INT(1, ctz), INT(3, s_mad_hi),
    INT(3, u_mad_sat), INT(3, s_mad_sat),
    [160] = INT(2, s_mul_hi), INT(2, rotate), INT(2, s_sub_sat), INT(2, u_sub_sat),
    [166] = INT(1, popcount), INT(3, mad24), INT(3, mad24), INT(2, mul24), INT(2, mul24),
    [186] = INT(3, bitselect), INT(3, select_msb),
    [201] = INT(1, u_abs), INT(2, u_abs_diff), INT(2, u_mul_hi), INT(3, u_mad_hi),
};
/* clang-format on */

const struct zc_math *zc_math_find(uint32_t n)
{
    return n < sizeof functions / sizeof *functions && functions[n].args ? &functions[n] : NULL;
}

zc_bits zc_math_select(void)
{
    return select_any;
}
