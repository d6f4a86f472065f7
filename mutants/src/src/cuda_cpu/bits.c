/* bits.c - functions of PTX on integers: operands zero extended from `width` bytes, the result truncated to them. */
#include "cuda_cpu/bits.h"

#include <string.h>

#include "ze_cpu/module.h"

#define FN(name, expr)                                                                                                \
    uint64_t name(uint64_t a, uint64_t b, uint64_t c, unsigned width)                                                 \
    {                                                                                                                 \
        (void)a, (void)b, (void)c, (void)width;                                                                       \
        return (uint64_t)(expr);                                                                                      \
    }

/* ---- products and sums ------------------------------------------------------------------------------------------ */

FN(cc_mulhi_u, ((unsigned __int128)a * b) >> 64)
FN(cc_mulhi_s, ((__int128)(int64_t)a * (int64_t)b) >> 64)

static int64_t s24(uint64_t v)
{
    return (int64_t)(v << 40) >> 40;
}

FN(cc_mad24_lo_u, (a & 0xffffff) * (b & 0xffffff) + c)
FN(cc_mad24_lo_s, (uint64_t)(s24(a) * s24(b)) + c)
FN(cc_mad24_hi_u, ((a & 0xffffff) * (b & 0xffffff) >> 16) + c)
FN(cc_mad24_hi_s, (uint64_t)((s24(a) * s24(b)) >> 16) + c)
FN(cc_sad_u, c + (a < b ? b - a : a - b))
FN(cc_sad_s, c + (zc_sign(a, width) < zc_sign(b, width) ? b - a : a - b))
FN(cc_inc, a >= b ? 0 : a + 1)
FN(cc_dec, a == 0 || a > b ? b : a - 1)

/* A float (4 bytes) or double. */
uint64_t cc_fadd(uint64_t a, uint64_t b, uint64_t c, unsigned width)
{
    double x, y;
    float f, g;
    (void)c;
    if (width == 4) {
        memcpy(&f, &a, 4);
        memcpy(&g, &b, 4);
        f += g;
        a = 0;
        memcpy(&a, &f, 4);
        return a;
    }
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    x += y;
    memcpy(&a, &x, 8);
    return a;
}

/* Sum of the products of n pairs of bytes, or of 16-bit parts of a and bytes of b from byte `first` on. */
static uint64_t dot(uint64_t a, uint64_t b, uint64_t c, bool sa, bool sb, unsigned n, unsigned first)
{
    unsigned wa = n == 4 ? 1 : 2;
    for (unsigned k = 0; k < n; k++) {
        uint64_t x = zc_mask(a >> (8 * wa * k), wa), y = zc_mask(b >> (8 * (first + k)), 1);
        c += (uint64_t)((sa ? zc_sign(x, wa) : (int64_t)x) * (sb ? zc_sign(y, 1) : (int64_t)y));
    }
    return c;
}
#define DOTS(name, n, first)                                                                                          \
    FN(name##_uu, dot(a, b, c, false, false, n, first)) FN(name##_us, dot(a, b, c, false, true, n, first))            \
    FN(name##_su, dot(a, b, c, true, false, n, first)) FN(name##_ss, dot(a, b, c, true, true, n, first))
DOTS(cc_dp4a, 4, 0)
DOTS(cc_dp2a_lo, 2, 0)
DOTS(cc_dp2a_hi, 2, 2)

#define PAIR(name, T, expr)                                                                                           \
    static uint64_t name##_one(T a, T b)                                                                              \
    {                                                                                                                 \
        return (uint16_t)(expr);                                                                                      \
    }                                                                                                                 \
    FN(name##_pair, name##_one((T)a, (T)b) | name##_one((T)(a >> 16), (T)(b >> 16)) << 16)
PAIR(cc_add, uint16_t, a + b)
PAIR(cc_umin, uint16_t, a < b ? a : b)
PAIR(cc_umax, uint16_t, a > b ? a : b)
PAIR(cc_smin, int16_t, a < b ? a : b)
PAIR(cc_smax, int16_t, a > b ? a : b)

/* ---- bits ------------------------------------------------------------------------------------------------------- */

FN(cc_cnot, a == 0)
FN(cc_shift_left, (b & 255) < width * 8 ? a << (b & 255) : 0) /* the amount has 8 bits, as in bfi */
FN(cc_popc, __builtin_popcountll(a))
FN(cc_clz, a ? (unsigned)__builtin_clzll(a) - (64 - width * 8) : width * 8)

/* The highest 1; b: as the distance from the top. */
static uint64_t highest(uint64_t a, uint64_t b, unsigned width)
{
    if (!a)
        return UINT32_MAX;
    unsigned at = 63u - (unsigned)__builtin_clzll(a);
    return b ? width * 8 - 1 - at : at;
}
FN(cc_bfind_u, highest(a, b, width))
FN(cc_bfind_s, highest(zc_sign(a, width) < 0 ? zc_mask(~a, width) : a, b, width))

uint64_t cc_brev(uint64_t a, uint64_t b, uint64_t c, unsigned width)
{
    uint64_t r = 0;
    (void)b, (void)c;
    for (unsigned k = 0; k < width * 8; k++)
        r |= (a >> k & 1) << (width * 8 - 1 - k);
    return r;
}

/* The field of `len` bits at `at`; bits above the operand are 0, or for a signed field its sign. */
static uint64_t field(uint64_t a, uint64_t at, uint64_t len, unsigned width, bool sign)
{
    unsigned bits = width * 8;
    at &= 255;
    len &= 255;
    if (!len)
        return 0;
    uint64_t last = at + len - 1 < bits ? at + len - 1 : bits - 1;
    uint64_t fill = sign && a >> last & 1 ? UINT64_MAX : 0, v = at < bits ? a >> at : 0;
    uint64_t n = at < bits ? bits - at : 0;
    n = n < len ? n : len;
    return n >= 64 ? v : (v & ((1ull << n) - 1)) | (fill << n);
}
FN(cc_bfe_u, field(a, b, c, width, false))
FN(cc_bfe_s, field(a, b, c, width, true))

uint64_t cc_bmsk(uint64_t a, uint64_t b, uint64_t c, unsigned width)
{
    (void)c;
    a &= 255;
    b &= 255;
    uint64_t ones = b >= 64 ? UINT64_MAX : (1ull << b) - 1;
    return a >= width * 8 ? 0 : ones << a;
}

/* Funnel shifts by c: a is the low word, b the high one. */
FN(cc_shf_l_wrap, (b << 32 | a) << (c & 31) >> 32)
FN(cc_shf_l_clamp, c >= 32 ? a : (b << 32 | a) << c >> 32)
FN(cc_shf_r_wrap, (b << 32 | a) >> (c & 31))
FN(cc_shf_r_clamp, c >= 32 ? b : (b << 32 | a) >> c)

static uint64_t permute(uint64_t a, uint64_t b, uint64_t selectors)
{
    uint64_t all = b << 32 | a, r = 0;
    for (unsigned k = 0; k < 4; k++) {
        uint64_t s = selectors >> (4 * k) & 15, byte = all >> (8 * (s & 7)) & 255;
        r |= (s & 8 ? byte & 128 ? 255u : 0u : byte) << (8 * k);
    }
    return r;
}

/* The selectors of a mode: one row for each value of c modulo 4. */
static uint64_t by_mode(uint64_t a, uint64_t b, uint64_t c, const uint16_t *row)
{
    return permute(a, b, row[c & 3]);
}
FN(cc_prmt, permute(a, b, c))
FN(cc_prmt_f4e, by_mode(a, b, c, (const uint16_t[]){0x3210, 0x4321, 0x5432, 0x6543}))
FN(cc_prmt_b4e, by_mode(a, b, c, (const uint16_t[]){0x5670, 0x6701, 0x7012, 0x0123}))
FN(cc_prmt_rc8, by_mode(a, b, c, (const uint16_t[]){0x0000, 0x1111, 0x2222, 0x3333}))
FN(cc_prmt_ecl, by_mode(a, b, c, (const uint16_t[]){0x3210, 0x3211, 0x3222, 0x3333}))
FN(cc_prmt_ecr, by_mode(a, b, c, (const uint16_t[]){0x0000, 0x1110, 0x2210, 0x3210}))
FN(cc_prmt_rc16, by_mode(a, b, c, (const uint16_t[]){0x1010, 0x3232, 0x1010, 0x3232}))
