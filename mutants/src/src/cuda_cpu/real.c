/* real.c - functions of PTX on float and double, and arithmetic in other roundings than to nearest. */
#include "cuda_cpu/real.h"

#include <fenv.h>
#include <math.h>
#include <stddef.h>

#include "ze_cpu/module.h"

/* ---- rounding --------------------------------------------------------------------------------------------------- */

#ifdef FE_TOWARDZERO
static const int modes[] = {[CC_RN] = FE_TONEAREST, [CC_RZ] = FE_TOWARDZERO, [CC_RM] = FE_DOWNWARD, [CC_RP] = FE_UPWARD};
#else
static const int modes[4];
#endif

/* The volatile copies keep the operation between the two changes of the mode. */
#define WITH_MODE(name, T, suffix, mode, params, copies, expr)                                                        \
    static T name##_##mode##suffix params                                                                             \
    {                                                                                                                 \
        copies;                                                                                                       \
        int before = fegetround();                                                                                    \
        fesetround(modes[mode]);                                                                                      \
        volatile T r = expr;                                                                                          \
        fesetround(before);                                                                                           \
        return r;                                                                                                     \
    }
#define EACH_MODE(name, T, suffix, params, copies, expr)                                                              \
    WITH_MODE(name, T, suffix, CC_RZ, params, copies, expr) WITH_MODE(name, T, suffix, CC_RM, params, copies, expr)   \
    WITH_MODE(name, T, suffix, CC_RP, params, copies, expr)
#define ONE(T) (T a), volatile T x = a
#define TWO(T) (T a, T b), volatile T x = a; volatile T y = b
#define THREE(T) (T a, T b, T c), volatile T x = a; volatile T y = b; volatile T z = c
#define BOTH_(name, n32, n64, e32, e64) EACH_MODE(name, float, _32, n32, e32) EACH_MODE(name, double, _64, n64, e64)
#define BOTH(name, N, e32, e64) BOTH_(name, N(float), N(double), e32, e64)
BOTH(add, TWO, x + y, x + y)
BOTH(sub, TWO, x - y, x - y)
BOTH(mul, TWO, x * y, x * y)
BOTH(div, TWO, x / y, x / y)
BOTH(fma, THREE, fmaf(x, y, z), fma(x, y, z))
BOTH(rcp, ONE, 1 / x, 1 / x)
BOTH(root, ONE, sqrtf(x), sqrt(x))

const void *cc_rounded(int op, unsigned rounding, unsigned width)
{
#define ROW(name)                                                                                                     \
    {{(const void *)name##_CC_RZ_32, (const void *)name##_CC_RM_32, (const void *)name##_CC_RP_32},                   \
     {(const void *)name##_CC_RZ_64, (const void *)name##_CC_RM_64, (const void *)name##_CC_RP_64}}
    static const void *const fns[][2][3] = {ROW(add), ROW(sub), ROW(mul), ROW(div), ROW(fma), ROW(rcp), ROW(root)};
    return fns[op][width == 8][rounding - CC_RZ];
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

#define REAL_1(name, expr)                                                                                            \
    float name##_32(float a)                                                                                          \
    {                                                                                                                 \
        return (float)(expr);                                                                                         \
    }                                                                                                                 \
    double name##_64(double a)                                                                                        \
    {                                                                                                                 \
        return expr;                                                                                                  \
    }
#define REAL_2(name, expr)                                                                                            \
    float name##_32(float a, float b)                                                                                 \
    {                                                                                                                 \
        return (float)(expr);                                                                                         \
    }                                                                                                                 \
    double name##_64(double a, double b)                                                                              \
    {                                                                                                                 \
        return expr;                                                                                                  \
    }
REAL_1(cc_sat, a > 0 ? (a < 1 ? a : 1) : 0)
REAL_1(cc_rcp, 1 / a)
REAL_2(cc_min, a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b)
REAL_2(cc_max, a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b)
REAL_2(cc_min_nan, a != a || b != b ? NAN : a < b || (a == b && signbit(a)) ? a : b)
REAL_2(cc_max_nan, a != a || b != b ? NAN : a > b || (a == b && !signbit(a)) ? a : b)

/* The sign of a on b. */
float cc_copysign_32(float a, float b)
{
    return copysignf(b, a);
}

double cc_copysign_64(double a, double b)
{
    return copysign(b, a);
}

float cc_rsqrt_32(float a)
{
    return (float)(1 / sqrt((double)a));
}

double cc_rsqrt_64(double a)
{
    return 1 / sqrt(a);
}

float cc_sin(float a)
{
    return (float)sin((double)a);
}

float cc_cos(float a)
{
    return (float)cos((double)a);
}

#define CLASS(name, expr)                                                                                             \
    void name##_32(void *d, const void *s)                                                                            \
    {                                                                                                                 \
        float a = *(const f32 *)s;                                                                                  \
        *(uint8_t *)d = (expr) != 0;                                                                                  \
    }                                                                                                                 \
    void name##_64(void *d, const void *s)                                                                            \
    {                                                                                                                 \
        double a = *(const f64 *)s;                                                                                \
        *(uint8_t *)d = (expr) != 0;                                                                                  \
    }
CLASS(cc_finite, isfinite(a))
CLASS(cc_infinite, isinf(a))
CLASS(cc_number, !isnan(a))
CLASS(cc_nan, isnan(a))
CLASS(cc_normal, isnormal(a))
CLASS(cc_subnormal, fpclassify(a) == FP_SUBNORMAL)
