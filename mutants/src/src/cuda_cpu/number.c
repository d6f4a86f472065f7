/* number.c - conversions of PTX: with directed rounding, of NaN to integers, from and to the 16-bit formats. */
#include "cuda_cpu/number.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "cuda_cpu/real.h"
#include "ze_cpu/module.h"

const void *cc_saturated(unsigned width)
{
    return width == 8 ? (const void *)cc_sat_64 : (const void *)cc_sat_32;
}

/* ---- 16 bits ---------------------------------------------------------------------------------------------------- */

static void from_f16(void *d, const void *s)
{
    *(f32 *)d = (float)zc_half_to(*(const u16 *)s);
}

static void from_bf16(void *d, const void *s)
{
    *(u32 *)d = (uint32_t)*(const u16 *)s << 16;
}

zc_converter cc_from_half(const char *format)
{
    return strcmp(format, "f16") == 0 ? from_f16 : strcmp(format, "bf16") == 0 ? from_bf16 : NULL;
}

#define TO_F16(name, T, how)                                                                                          \
    static void name(void *d, const void *s)                                                                          \
    {                                                                                                                 \
        *(u16 *)d = zc_half_from((double)*(const T *)s, how);                                                         \
    }
TO_F16(f16_rn_32, f32, 0) TO_F16(f16_rz_32, f32, ZC_ROUND_RTZ) TO_F16(f16_rm_32, f32, ZC_ROUND_RTN)
TO_F16(f16_rp_32, f32, ZC_ROUND_RTP) TO_F16(f16_rn_64, f64, 0) TO_F16(f16_rz_64, f64, ZC_ROUND_RTZ)
TO_F16(f16_rm_64, f64, ZC_ROUND_RTN) TO_F16(f16_rp_64, f64, ZC_ROUND_RTP)

/* The upper half of a float; to nearest even, or to zero. */
static void bf16_rn(void *d, const void *s)
{
    uint32_t v = *(const u32 *)s;
    *(u16 *)d = isnan(*(const f32 *)s) ? 0x7fff : (uint16_t)((v + 0x7fff + (v >> 16 & 1)) >> 16);
}

static void bf16_rz(void *d, const void *s)
{
    *(u16 *)d = isnan(*(const f32 *)s) ? 0x7fff : (uint16_t)(*(const u32 *)s >> 16);
}

zc_converter cc_to_half(const char *format, unsigned from, unsigned rounding)
{
    static const zc_converter f16[][2] = {{f16_rn_32, f16_rn_64}, {f16_rz_32, f16_rz_64}, {f16_rm_32, f16_rm_64},
                                          {f16_rp_32, f16_rp_64}};
    if (format[0] == 'f')
        return f16[rounding][from == 8];
    return from == 8 ? NULL : rounding == CC_RN ? bf16_rn : rounding == CC_RZ ? bf16_rz : NULL;
}

/* ---- directed rounding ------------------------------------------------------------------------------------------ */

/* The neighbours of the value nearest to v decide: r is v rounded to nearest, c compares v with r. */
static double directed(double r, double down, double up, int c, unsigned rounding)
{
    bool lower = rounding == CC_RM || (rounding == CC_RZ && r > 0) || (rounding == CC_RZ && r == 0 && c > 0);
    return lower ? (c < 0 ? down : r) : (c > 0 ? up : r);
}

static int compare_wide(__int128 a, __int128 b)
{
    return (a > b) - (a < b);
}

/* An integer v; r is integral, as is every float or double this large, or exact. */
static double from_integer(__int128 v, unsigned to, unsigned rounding)
{
    double r = to == 4 ? (double)(float)v : (double)v;
    int c = compare_wide(v, (__int128)r);
    return to == 4 ? directed(r, (double)nextafterf((float)r, -INFINITY), (double)nextafterf((float)r, INFINITY), c, rounding)
                   : directed(r, nextafter(r, -INFINITY), nextafter(r, INFINITY), c, rounding);
}

static float narrow(double v, unsigned rounding)
{
    float r = (float)v;
    if (v != v || isinf(v))
        return r;
    int c = (v > (double)r) - (v < (double)r);
    bool up = rounding == CC_RP || (rounding == CC_RZ && v < 0);
    return up ? (c > 0 ? nextafterf(r, INFINITY) : r) : (c < 0 ? nextafterf(r, -INFINITY) : r);
}

#define NARROW(mode)                                                                                                  \
    static void narrow_##mode(void *d, const void *s)                                                                 \
    {                                                                                                                 \
        *(f32 *)d = narrow(*(const f64 *)s, mode);                                                                    \
    }
NARROW(CC_RZ)
NARROW(CC_RM)
NARROW(CC_RP)

#define FROM(T, mode)                                                                                                 \
    static void T##_##mode##_4(void *d, const void *s)                                                                \
    {                                                                                                                 \
        *(f32 *)d = (float)from_integer(*(const T *)s, 4, mode);                                                      \
    }                                                                                                                 \
    static void T##_##mode##_8(void *d, const void *s)                                                                \
    {                                                                                                                 \
        *(f64 *)d = from_integer(*(const T *)s, 8, mode);                                                             \
    }
#define FROM_EACH(T) FROM(T, CC_RZ) FROM(T, CC_RM) FROM(T, CC_RP)
FROM_EACH(u8) FROM_EACH(u16) FROM_EACH(u32) FROM_EACH(u64) FROM_EACH(s8) FROM_EACH(s16) FROM_EACH(s32) FROM_EACH(s64)

zc_converter cc_to_real(enum zc_number kind, unsigned from, unsigned to, unsigned rounding)
{
#define ROW(T)                                                                                                        \
    {{T##_CC_RZ_4, T##_CC_RM_4, T##_CC_RP_4}, {T##_CC_RZ_8, T##_CC_RM_8, T##_CC_RP_8}}
    static const zc_converter integers[2][4][2][3] = {{ROW(u8), ROW(u16), ROW(u32), ROW(u64)},
                                                      {ROW(s8), ROW(s16), ROW(s32), ROW(s64)}};
    static const zc_converter narrowing[] = {narrow_CC_RZ, narrow_CC_RM, narrow_CC_RP};
    if (kind == NUMBER_FLOAT)
        return from == 8 && to == 4 ? narrowing[rounding - CC_RZ] : zc_math_converter(kind, from, NUMBER_FLOAT, to, false);
    return integers[kind == NUMBER_SIGNED][zc_log2(from)][to == 8][rounding - CC_RZ];
}

/* ---- to integers ------------------------------------------------------------------------------------------------ */

/* Out of range: the nearest value. NaN: 0; with a source or result of 64 bits the top bit alone. */
#define TO_INTEGER(F, T, least, most)                                                                                 \
    static void F##_to_##T##_nan(void *d, const void *s)                                                              \
    {                                                                                                                 \
        double v = (double)*(const F *)s;                                                                             \
        *(T *)d = v != v                 ? (T)((T)1 << (sizeof(T) * 8 - 1))                                           \
                  : v <= (double)(least) ? (T)(least)                                                                 \
                  : v >= (double)(most)  ? (T)(most)                                                                  \
                                         : (T)v;                                                                      \
    }
#define TO_INTEGERS(F)                                                                                                \
    TO_INTEGER(F, u8, 0, UINT8_MAX) TO_INTEGER(F, u16, 0, UINT16_MAX) TO_INTEGER(F, u32, 0, UINT32_MAX)               \
    TO_INTEGER(F, u64, 0, UINT64_MAX) TO_INTEGER(F, s8, INT8_MIN, INT8_MAX) TO_INTEGER(F, s16, INT16_MIN, INT16_MAX)  \
    TO_INTEGER(F, s32, INT32_MIN, INT32_MAX) TO_INTEGER(F, s64, INT64_MIN, INT64_MAX)
TO_INTEGERS(f32)
TO_INTEGERS(f64)

zc_converter cc_real_to_integer(unsigned from, enum zc_number kind, unsigned to, bool wide)
{
#define TO_ROW(F, s) {F##_to_##s##8_nan, F##_to_##s##16_nan, F##_to_##s##32_nan, F##_to_##s##64_nan}
    static const zc_converter fns[2][2][4] = {{TO_ROW(f32, u), TO_ROW(f32, s)}, {TO_ROW(f64, u), TO_ROW(f64, s)}};
    if (!wide)
        return zc_math_converter(NUMBER_FLOAT, from, kind, to, true);
    return fns[from == 8][kind == NUMBER_SIGNED][zc_log2(to)];
}
