/*
 * instructions.c - each instruction of PTX on random operands has the result that the host computes.
 *
 * Every row becomes a kernel of one module; a thread loads its operands, executes the instruction and stores the result. The
 * rows run interpreted, translated, and with checked addresses. Catches: an operation of the wrong width or sign, a result
 * that is not extended, a shift or rounding as on the host.
 */
#include <fenv.h>
#include <math.h>

#include "ct.h"

enum { THREADS = 256, GROUPS = 4, N = THREADS * GROUPS };

static uint64_t a, b, c, d; /* operands of the row, zero extended */

static float f(uint64_t v)
{
    float x;
    uint32_t w = (uint32_t)v;
    memcpy(&x, &w, sizeof x);
    return x;
}

static double g(uint64_t v)
{
    double x;
    memcpy(&x, &v, sizeof x);
    return x;
}

/* x with so many significant bits, and with fewer below 2^least. */
static float half_of(long double x, int digits, int least, long double most)
{
    int exponent;
    if (!isfinite(x) || x == 0)
        return (float)x;
    frexpl(x, &exponent);
    int shift = exponent > least ? digits - exponent : digits - least - 1;
    long double r = ldexpl(rintl(ldexpl(x, shift)), -shift);
    return fabsl(r) > most ? copysignf(INFINITY, (float)x) : (float)r;
}

static float half(float x)
{
    return half_of((long double)x, 11, -14, 65504);
}

static float brain(float x)
{
    return half_of((long double)x, 8, -126, 0x1.fep127L);
}

static uint64_t bits(float x)
{
    uint32_t w;
    memcpy(&w, &x, sizeof w);
    return w;
}

static uint64_t wide(double x)
{
    uint64_t w;
    memcpy(&w, &x, sizeof w);
    return w;
}

static float rounded(int mode, int op)
{
    volatile float x = f(a), y = f(b), z = f(c), r;
    fesetround(mode);
    r = op == '+' ? x + y : op == '*' ? x * y : op == '/' ? x / y : fmaf(x, y, z);
    fesetround(FE_TONEAREST);
    return r;
}

static int64_t limited(double x, double least, double most)
{
    return x != x ? 0 : x <= least ? (int64_t)least : x >= most ? (int64_t)most : (int64_t)x;
}

static int64_t limited64(float x)
{
    return x != x ? INT64_MIN : x <= -0x1p63f ? INT64_MIN : x >= 0x1p63f ? INT64_MAX : (int64_t)x;
}

static uint64_t reversed(uint64_t v, int n)
{
    uint64_t r = 0;
    for (int k = 0; k < n; k++)
        r |= (v >> k & 1) << (n - 1 - k);
    return r;
}

static uint32_t lop3(uint32_t lut)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k++)
        r |= (lut >> ((a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1)) & 1) << k;
    return r;
}

static uint32_t prmt(void)
{
    uint64_t all = b << 32 | a;
    uint32_t r = 0;
    for (int k = 0; k < 4; k++) {
        unsigned s = c >> (4 * k) & 15;
        uint8_t byte = (uint8_t)(all >> 8 * (s & 7));
        r |= (uint32_t)(s & 8 ? (byte & 128 ? 255 : 0) : byte) << (8 * k);
    }
    return r;
}

static uint64_t field(uint64_t v, unsigned at, unsigned n, unsigned width, int sign)
{
    uint64_t r = 0;
    unsigned top = at + n - 1 < width - 1 ? at + n - 1 : width - 1;
    for (unsigned k = 0; k < width && n; k++)
        r |= (k < n && at + k < width ? v >> (at + k) & 1 : sign && v >> top & 1) << k;
    return r;
}

static uint64_t inserted(unsigned at, unsigned n, unsigned width)
{
    uint64_t r = b;
    for (unsigned k = 0; k < n && at + k < width; k++)
        r = (r & ~(1ull << (at + k))) | (a >> k & 1) << (at + k);
    return r;
}

#define S8(v) ((int8_t)(v))
#define S16(v) ((int16_t)(v))
#define S32(v) ((int32_t)(v))
#define S64(v) ((int64_t)(v))
#define U32(v) ((uint32_t)(v))

/* Widths in bits of result, a, b, c (0: not used), instruction on %d, %a, %b, %c, expected result. Floating point: f and g.
 * inexact: units in the last place of a float that the result may be off. */
#define ROWS(X)                                                                                                       \
    X(32, 32, 32, 0, "add.s32 %d, %a, %b;", a + b) X(64, 64, 64, 0, "add.s64 %d, %a, %b;", a + b)                     \
    X(16, 16, 16, 0, "add.s16 %d, %a, %b;", a + b) X(32, 32, 0, 0, "add.s32 %d, %a, -7;", a - 7)                      \
    X(32, 32, 32, 0, "sub.u32 %d, %a, %b;", a - b) X(32, 32, 32, 0, "mul.lo.s32 %d, %a, %b;", a * b)                  \
    X(64, 64, 64, 0, "mul.lo.u64 %d, %a, %b;", a * b) X(16, 16, 16, 0, "mul.lo.u16 %d, %a, %b;", a * b)               \
    X(32, 32, 32, 0, "mul.hi.u32 %d, %a, %b;", a * b >> 32)                                                           \
    X(32, 32, 32, 0, "mul.hi.s32 %d, %a, %b;", (int64_t)S32(a) * S32(b) >> 32)                                        \
    X(64, 64, 64, 0, "mul.hi.u64 %d, %a, %b;", (unsigned __int128)a * b >> 64)                                        \
    X(64, 64, 64, 0, "mul.hi.s64 %d, %a, %b;", (__int128)S64(a) * S64(b) >> 64)                                       \
    X(64, 32, 32, 0, "mul.wide.u32 %d, %a, %b;", a * b) X(32, 16, 16, 0, "mul.wide.s16 %d, %a, %b;", S16(a) * S16(b)) \
    X(64, 32, 32, 0, "mul.wide.s32 %d, %a, %b;", (int64_t)S32(a) * S32(b))                                            \
    X(32, 32, 32, 32, "mad.lo.s32 %d, %a, %b, %c;", a * b + c)                                                        \
    X(64, 32, 32, 64, "mad.wide.s32 %d, %a, %b, %c;", (uint64_t)((int64_t)S32(a) * S32(b)) + c)                       \
    X(32, 32, 32, 32, "mad.hi.u32 %d, %a, %b, %c;", (a * b >> 32) + c)                                                \
    X(32, 32, 32, 0, "mul24.lo.u32 %d, %a, %b;", (a & 0xffffff) * (b & 0xffffff))                                     \
    X(32, 32, 32, 0, "div.u32 %d, %a, %b;", b ? a / b : 0) X(64, 64, 64, 0, "div.u64 %d, %a, %b;", b ? a / b : 0)     \
    X(32, 32, 32, 0, "div.s32 %d, %a, %b;", b ? (int64_t)S32(a) / S32(b) : 0)                                         \
    X(32, 32, 32, 0, "rem.u32 %d, %a, %b;", b ? a % b : 0)                                                            \
    X(32, 32, 32, 0, "rem.s32 %d, %a, %b;", b ? (int64_t)S32(a) % S32(b) : 0)                                         \
    X(32, 32, 32, 0, "min.s32 %d, %a, %b;", S32(a) < S32(b) ? a : b)                                                  \
    X(64, 64, 64, 0, "max.u64 %d, %a, %b;", a > b ? a : b) X(64, 64, 64, 0, "max.s64 %d, %a, %b;", S64(a) > S64(b) ? a : b) \
    X(32, 32, 0, 0, "abs.s32 %d, %a;", S32(a) < 0 ? 0 - a : a) X(64, 64, 0, 0, "neg.s64 %d, %a;", 0 - a)              \
    X(32, 32, 32, 32, "sad.u32 %d, %a, %b, %c;", c + (a < b ? b - a : a - b))                                         \
    X(32, 32, 32, 32, "sad.s32 %d, %a, %b, %c;", c + (S32(a) < S32(b) ? b - a : a - b))                               \
    X(64, 64, 64, 0, "and.b64 %d, %a, %b;", a & b) X(32, 32, 32, 0, "or.b32 %d, %a, %b;", a | b)                      \
    X(16, 16, 16, 0, "xor.b16 %d, %a, %b;", a ^ b) X(32, 32, 0, 0, "not.b32 %d, %a;", ~a)                             \
    X(32, 32, 0, 0, "cnot.b32 %d, %a;", a == 0)                                                                       \
    X(32, 32, 32, 0, "shl.b32 %d, %a, %b;", b < 32 ? a << b : 0) X(64, 64, 32, 0, "shl.b64 %d, %a, %b;", b < 64 ? a << b : 0) \
    X(32, 32, 32, 0, "shr.u32 %d, %a, %b;", b < 32 ? a >> b : 0) X(16, 16, 32, 0, "shr.u16 %d, %a, %b;", b < 16 ? a >> b : 0) \
    X(32, 32, 32, 0, "shr.s32 %d, %a, %b;", S32(a) >> (b < 32 ? b : 31))                                              \
    X(64, 64, 32, 0, "shr.s64 %d, %a, %b;", S64(a) >> (b < 64 ? b : 63))                                              \
    X(32, 32, 0, 0, "shl.b32 %d, %a, 5;", a << 5) X(32, 32, 0, 0, "shl.b32 %d, %a, 32;", 0)                           \
    X(32, 32, 32, 32, "shf.l.wrap.b32 %d, %a, %b, %c;", (b << 32 | a) << (c & 31) >> 32)                              \
    X(32, 32, 32, 32, "shf.r.clamp.b32 %d, %a, %b, %c;", c >= 32 ? b : (b << 32 | a) >> c)                            \
    X(32, 32, 0, 0, "popc.b32 %d, %a;", __builtin_popcountll(a)) X(32, 64, 0, 0, "popc.b64 %d, %a;", __builtin_popcountll(a)) \
    X(32, 32, 0, 0, "clz.b32 %d, %a;", a ? __builtin_clz(U32(a)) : 32)                                                \
    X(32, 64, 0, 0, "clz.b64 %d, %a;", a ? __builtin_clzll(a) : 64)                                                   \
    X(32, 32, 0, 0, "bfind.u32 %d, %a;", a ? 31 - __builtin_clz(U32(a)) : -1)                                         \
    X(32, 32, 0, 0, "bfind.shiftamt.u32 %d, %a;", a ? __builtin_clz(U32(a)) : -1)                                     \
    X(32, 64, 0, 0, "bfind.s64 %d, %a;", (S64(a) < 0 ? ~a : a) ? 63 - __builtin_clzll(S64(a) < 0 ? ~a : a) : -1)      \
    X(32, 32, 0, 0, "brev.b32 %d, %a;", reversed(a, 32)) X(64, 64, 0, 0, "brev.b64 %d, %a;", reversed(a, 64))         \
    X(32, 32, 32, 32, "bfe.u32 %d, %a, %b, %c;", field(a, b & 255, c & 255, 32, 0))                                   \
    X(32, 32, 32, 32, "bfe.s32 %d, %a, %b, %c;", field(a, b & 255, c & 255, 32, 1))                                   \
    X(64, 64, 32, 32, "bfe.s64 %d, %a, %b, %c;", field(a, b & 255, c & 255, 64, 1))                                   \
    X(32, 32, 32, 0, "bfi.b32 %d, %a, %b, 4, 9;", inserted(4, 9, 32))                                                 \
    X(64, 64, 64, 32, "bfi.b64 %d, %a, %b, %c, 13;", inserted(c & 255, 13, 64))                                       \
    X(32, 32, 32, 32, "prmt.b32 %d, %a, %b, %c;", prmt())                                                             \
    X(32, 32, 32, 32, "lop3.b32 %d, %a, %b, %c, 0x96;", lop3(0x96))                                                   \
    X(32, 32, 32, 32, "lop3.b32 %d, %a, %b, %c, 0xe2;", lop3(0xe2))                                                   \
    X(32, 32, 32, 32, "dp4a.s32.u32 %d, %a, %b, %c;", c + (uint64_t)(S8(a) * (int)(b & 255)) +                        \
      (uint64_t)(S8(a >> 8) * (int)(b >> 8 & 255)) + (uint64_t)(S8(a >> 16) * (int)(b >> 16 & 255)) +                 \
      (uint64_t)(S8(a >> 24) * (int)(b >> 24 & 255)))                                                                 \
    X(64, 64, 64, 0, "{ .reg .b32 x, y, u, v; mov.b64 {x, y}, %a; mov.b64 {u, v}, %b; add.cc.u32 x, x, u; "           \
      "addc.u32 y, y, v; mov.b64 %d, {x, y}; }", a + b)                                                               \
    X(64, 64, 64, 0, "{ .reg .b32 x, y, u, v; mov.b64 {x, y}, %a; mov.b64 {u, v}, %b; sub.cc.u32 x, x, u; "           \
      "subc.u32 y, y, v; mov.b64 %d, {x, y}; }", a - b)                                                               \
    X(64, 64, 32, 32, "{ .reg .b32 x, y; mov.b64 {x, y}, %a; mad.lo.cc.u32 x, %b, %c, x; madc.hi.u32 y, %b, %c, y; "  \
      "mov.b64 %d, {x, y}; }", a + b * c)                                                                             \
    X(32, 32, 32, 0, "max.s16x2 %d, %a, %b;", U32(S16(a) > S16(b) ? a : b) % 65536 +                                  \
      (S16(a >> 16) > S16(b >> 16) ? a >> 16 : b >> 16) * 65536)                                                      \
    X(32, 32, 32, 0, "{ .reg .pred p; setp.lt.s32 p, %a, %b; selp.b32 %d, 1, 2, p; }", S32(a) < S32(b) ? 1 : 2)       \
    X(32, 32, 32, 0, "{ .reg .pred p; setp.hs.u32 p, %a, %b; selp.b32 %d, 1, 2, p; }", a >= b ? 1 : 2)                \
    X(32, 32, 32, 0, "{ .reg .pred p, q; setp.eq.s32 q, %a, 0; setp.gt.and.u32 p|q, %a, %b, q; selp.b32 %d, 1, 2, q; }", \
      !(a > b) && a == 0 ? 1 : 2)                                                                                     \
    X(32, 32, 32, 0, "{ .reg .pred p; setp.le.u32 p, %a, %b; mov.u32 %d, 5; @p bra L; mov.u32 %d, 9; L: }", a <= b ? 5 : 9) \
    X(32, 32, 32, 0, "{ .reg .pred p; setp.le.u32 p, %a, %b; mov.u32 %d, 5; @!p add.s32 %d, %a, 1; }", a <= b ? 5 : a + 1) \
    X(32, 32, 32, 0, "set.lt.u32.s32 %d, %a, %b;", S32(a) < S32(b) ? UINT32_MAX : 0)                                  \
    X(32, 32, 32, 32, "slct.u32.s32 %d, %a, %b, %c;", S32(c) >= 0 ? a : b)                                            \
    X(64, 32, 0, 0, "cvt.s64.s32 %d, %a;", S32(a)) X(64, 32, 0, 0, "cvt.u64.u32 %d, %a;", a)                          \
    X(16, 64, 0, 0, "cvt.u16.u64 %d, %a;", a) X(32, 32, 0, 0, "cvt.s32.s8 %d, %a;", S8(a))                            \
    X(32, 64, 0, 0, "cvt.sat.s32.s64 %d, %a;", S64(a) < INT32_MIN ? INT32_MIN : S64(a) > INT32_MAX ? INT32_MAX : S64(a)) \
    X(32, 32, 0, 0, "cvt.rn.f32.s32 %d, %a;", bits((float)S32(a))) X(32, 64, 0, 0, "cvt.rn.f32.u64 %d, %a;", bits((float)a)) \
    X(64, 64, 0, 0, "cvt.rn.f64.s64 %d, %a;", wide((double)S64(a)))                                                   \
    X(64, 32, 0, 0, "mov.b64 %d, {%a, 9};", 9ull << 32 | a)
/* Operands are floats or doubles made from the bits of random numbers of a sensible size. */
#define FLOATS(X)                                                                                                     \
    X(32, 32, 32, 0, "add.f32 %d, %a, %b;", bits(f(a) + f(b))) X(64, 64, 64, 0, "sub.f64 %d, %a, %b;", wide(g(a) - g(b))) \
    X(32, 32, 32, 0, "mul.f32 %d, %a, %b;", bits(f(a) * f(b))) X(64, 64, 64, 0, "div.rn.f64 %d, %a, %b;", wide(g(a) / g(b))) \
    X(32, 32, 32, 32, "fma.rn.f32 %d, %a, %b, %c;", bits(fmaf(f(a), f(b), f(c))))                                     \
    X(64, 64, 64, 64, "fma.rn.f64 %d, %a, %b, %c;", wide(fma(g(a), g(b), g(c))))                                      \
    X(32, 32, 32, 32, "fma.rm.f32 %d, %a, %b, %c;", bits(rounded(FE_DOWNWARD, 'f')))                                  \
    X(32, 32, 32, 0, "add.rz.f32 %d, %a, %b;", bits(rounded(FE_TOWARDZERO, '+')))                                     \
    X(32, 32, 32, 0, "mul.rp.f32 %d, %a, %b;", bits(rounded(FE_UPWARD, '*')))                                         \
    X(32, 32, 32, 0, "div.rm.f32 %d, %a, %b;", bits(rounded(FE_DOWNWARD, '/')))                                       \
    X(32, 32, 32, 0, "add.sat.f32 %d, %a, %b;", bits(fminf(fmaxf(f(a) + f(b), 0), 1)))                                \
    X(32, 32, 32, 0, "min.f32 %d, %a, %b;", bits(fminf(f(a), f(b)))) X(64, 64, 64, 0, "max.f64 %d, %a, %b;", wide(fmax(g(a), g(b)))) \
    X(32, 32, 0, 0, "abs.f32 %d, %a;", bits(fabsf(f(a)))) X(64, 64, 0, 0, "neg.f64 %d, %a;", wide(-g(a)))             \
    X(32, 32, 0, 0, "sqrt.rn.f32 %d, %a;", bits(sqrtf(f(a)))) X(32, 32, 0, 0, "rcp.rn.f32 %d, %a;", bits(1 / f(a)))   \
    X(32, 32, 32, 0, "copysign.f32 %d, %a, %b;", bits(copysignf(f(b), f(a))))                                         \
    X(32, 32, 0, 0, "mul.f32 %d, %a, 0f40490FDB;", bits(f(a) * 3.14159274f)) X(64, 64, 0, 0, "add.f64 %d, %a, 1.5;", wide(g(a) + 1.5)) \
    X(32, 32, 32, 0, "{ .reg .pred p; setp.gtu.f32 p, %a, %b; selp.b32 %d, 1, 2, p; }", !(f(a) <= f(b)) ? 1 : 2)      \
    X(32, 64, 64, 0, "{ .reg .pred p; setp.num.f64 p, %a, %b; selp.b32 %d, 1, 2, p; }", g(a) == g(a) && g(b) == g(b) ? 1 : 2) \
    X(32, 32, 0, 0, "{ .reg .pred p; testp.finite.f32 p, %a; selp.b32 %d, 1, 2, p; }", isfinite(f(a)) ? 1 : 2)        \
    X(32, 32, 0, 0, "cvt.rzi.s32.f32 %d, %a;", limited(truncf(f(a)), INT32_MIN, INT32_MAX))                           \
    X(32, 32, 0, 0, "cvt.rni.u32.f32 %d, %a;", limited(rintf(f(a)), 0, UINT32_MAX))                                   \
    X(64, 32, 0, 0, "cvt.f64.f32 %d, %a;", wide((double)f(a))) X(32, 64, 0, 0, "cvt.rn.f32.f64 %d, %a;", bits((float)g(a))) \
    X(32, 32, 0, 0, "cvt.rmi.f32.f32 %d, %a;", bits(floorf(f(a))))                                                    \
    X(32, 32, 0, 0, "{ .reg .b16 h; cvt.rn.f16.f32 h, %a; cvt.f32.f16 %d, h; }", bits(half(f(a))))                    \
    X(32, 32, 32, 32, "{ .reg .b16 h, i, j; cvt.rn.f16.f32 h, %a; cvt.rn.f16.f32 i, %b; cvt.rn.f16.f32 j, %c; "       \
      "fma.rn.f16 h, h, i, j; cvt.f32.f16 %d, h; }", bits(half_of((long double)half(f(a)) * half(f(b)) + half(f(c)), 11, -14, 65504))) \
    X(32, 32, 32, 0, "{ .reg .b16 h, i; cvt.rn.bf16.f32 h, %a; cvt.rn.bf16.f32 i, %b; add.rn.bf16 h, h, i; cvt.f32.bf16 %d, h; }", \
      bits(half_of((long double)brain(f(a)) + brain(f(b)), 8, -126, 0x1.fep127L)))                                   \
    X(32, 32, 32, 32, "{ .reg .b16 h, i, j; cvt.rn.bf16.f32 h, %a; cvt.rn.bf16.f32 i, %b; cvt.rn.bf16.f32 j, %c; "    \
      "fma.rn.bf16 h, h, i, j; cvt.f32.bf16 %d, h; }", bits(half_of((long double)brain(f(a)) * brain(f(b)) + brain(f(c)), 8, -126, 0x1.fep127L))) \
    X(32, 32, 32, 0, "{ .reg .b32 x, y; .reg .b16 h, i; cvt.rn.f16x2.f32 x, %a, %b; cvt.rn.f16x2.f32 y, %b, %b; sub.f16x2 x, x, y; " \
      "mov.b32 {h, i}, x; cvt.f32.f16 %d, i; }", bits(half(half(f(a)) - half(f(b)))))                                 \
    X(32, 32, 32, 0, "{ .reg .b16 h, i; .reg .pred p; cvt.rn.f16.f32 h, %a; cvt.rn.f16.f32 i, %b; setp.gtu.f16 p, h, i; selp.b32 %d, 1, 2, p; }", \
      !(half(f(a)) <= half(f(b))) ? 1 : 2)                                                                            \
    X(32, 32, 32, 0, "{ .reg .b32 x, y; cvt.rn.f16x2.f32 x, %a, %b; cvt.rn.f16x2.f32 y, %b, %a; set.lt.u32.f16x2 %d, x, y; }", \
      (half(f(a)) < half(f(b)) ? 0xffff0000u : 0) | (half(f(b)) < half(f(a)) ? 0xffff : 0))                           \
    X(32, 32, 32, 0, "{ .reg .b16 h, i; cvt.rn.f16.f32 h, %a; cvt.rn.f16.f32 i, %b; min.f16 h, h, i; max.f16 i, h, i; neg.f16 h, h; cvt.f32.f16 %d, h; }", \
      bits(-fminf(half(f(a)), half(f(b)))))                                                                           \
    X(32, 32, 0, 0, "{ .reg .b16 h; cvt.rn.f16.f32 h, %a; add.sat.f16 h, h, h; cvt.f32.f16 %d, h; }",                 \
      bits(fminf(fmaxf(half(half(f(a)) + half(f(a))), 0), 1)))                                                        \
    X(32, 32, 0, 0, "{ .reg .b16 h; .reg .s32 s; cvt.rzi.s32.f32 s, %a; cvt.rn.f16.s32 h, s; cvt.f32.f16 %d, h; }",   \
      bits(half_of((long double)limited(truncf(f(a)), INT32_MIN, INT32_MAX), 11, -14, 65504)))                        \
    X(32, 32, 0, 0, "{ .reg .b16 h; .reg .s64 s; cvt.rzi.s64.f32 s, %a; cvt.rn.bf16.s64 h, s; cvt.f32.bf16 %d, h; }", \
      bits(half_of((long double)limited64(truncf(f(a))), 8, -126, 0x1.fep127L)))
/* Approximations: the functions of the host. */
#define APPROXIMATE(X)                                                                                                \
    X(32, 32, 0, 0, "sin.approx.f32 %d, %a;", bits(sinf(f(a)))) X(32, 32, 0, 0, "ex2.approx.ftz.f32 %d, %a;", bits(exp2f(f(a)))) \
    X(32, 32, 0, 0, "lg2.approx.f32 %d, %a;", bits(log2f(f(a)))) X(32, 32, 0, 0, "rsqrt.approx.f32 %d, %a;", bits(1 / sqrtf(f(a)))) \
    X(32, 32, 32, 0, "div.full.f32 %d, %a, %b;", bits(f(a) / f(b)))

enum { INTEGERS, REALS, NEAR };
static const struct row {
    unsigned kind, width[4];
    const char *text;
} rows[] = {
#define X(d, a, b, c, text, result) {INTEGERS, {d, a, b, c}, text},
    ROWS(X)
#undef X
#define X(d, a, b, c, text, result) {REALS, {d, a, b, c}, text},
    FLOATS(X)
#undef X
#define X(d, a, b, c, text, result) {NEAR, {d, a, b, c}, text},
    APPROXIMATE(X)
#undef X
};
enum { COUNT = sizeof rows / sizeof *rows };

static uint64_t expected(unsigned row)
{
    unsigned k = 0;
#define X(d, a, b, c, text, result)                                                                                   \
    if (row == k++)                                                                                                   \
        return (uint64_t)(result);
    ROWS(X) FLOATS(X) APPROXIMATE(X)
#undef X
    return 0;
}

/* The kernel of a row: argument 0 has four operands and the result of each thread, 8 bytes each. */
static void kernel(unsigned k)
{
    static const char *const names[] = {"%d", "%a", "%b", "%c"};
    ct_add(".visible .entry k%u(.param .u64 p)\n{\n.reg .b64 %%base, %%off;\n.reg .b32 %%i, %%j, %%n;\n", k);
    for (unsigned n = 0; n < 4; n++)
        if (rows[k].width[n])
            ct_add(".reg .b%u %s;\n", rows[k].width[n], names[n]);
    ct_add("ld.param.u64 %%base, [p];\nmov.u32 %%i, %%ctaid.x;\nmov.u32 %%n, %%ntid.x;\nmov.u32 %%j, %%tid.x;\n"
           "mad.lo.s32 %%i, %%i, %%n, %%j;\nmul.wide.u32 %%off, %%i, 40;\nadd.s64 %%base, %%base, %%off;\n");
    for (unsigned n = 1; n < 4; n++)
        if (rows[k].width[n])
            ct_add("ld.global.b%u %s, [%%base+%u];\n", rows[k].width[n], names[n], 8 * (n - 1));
    ct_add("%s\nst.global.b%u [%%base+32], %%d;\nret;\n}\n", rows[k].text, rows[k].width[0]);
}

static uint64_t operand(const struct row *r, unsigned n)
{
    uint64_t v = ct_random();
    if (!r->width[n])
        return 0;
    if (r->kind != INTEGERS && r->width[n] == 32)
        v = v % 16 ? bits((float)(int64_t)(v >> 8) * 0x1p-50f) : U32(v);
    else if (r->kind != INTEGERS)
        v = v % 16 ? wide((double)(int64_t)v * 0x1p-50) : v;
    if (r->kind == NEAR)
        v &= 0x7fffffff;
    return r->width[n] == 64 ? v : v & ((1ull << r->width[n]) - 1);
}

static int is_right(const struct row *r, uint64_t got, uint64_t want)
{
    uint64_t mask = r->width[0] == 64 ? UINT64_MAX : (1ull << r->width[0]) - 1;
    if (((got ^ want) & mask) == 0)
        return 1;
    if (r->kind == INTEGERS)
        return 0;
    if (r->width[0] == 64)
        return g(got) != g(got) && g(want) != g(want);
    float x = f(got), y = f(want);
    return (x != x && y != y) || (x == 0 && y == 0) || (r->kind == NEAR && fabsf(x - y) <= 4e-7f * fabsf(y) + 1e-6f);
}

static unsigned wrong(CUmodule m, unsigned k, uint64_t (*data)[5])
{
    char name[16];
    unsigned bad = 0;
    for (unsigned i = 0; i < N; i++)
        for (unsigned n = 0; n < 5; n++)
            data[i][n] = n < 3 ? operand(&rows[k], n + 1) : 0;
    snprintf(name, sizeof name, "k%u", k);
    if (ct_run(m, name, GROUPS, THREADS, 0, (void *[]){&data}))
        return N;
    for (unsigned i = 0; i < N; i++) {
        a = data[i][0];
        b = data[i][1];
        c = data[i][2];
        d = expected(k);
        if (is_right(&rows[k], data[i][4], d))
            continue;
        if (!bad++)
            printf("# %s\n#   a %#llx b %#llx c %#llx: %#llx, expected %#llx\n", rows[k].text, (unsigned long long)a,
                   (unsigned long long)b, (unsigned long long)c, (unsigned long long)data[i][4], (unsigned long long)d);
    }
    return bad;
}

/* The number of wrong rows. */
static int all(void)
{
    int bad = 0;
    CUmodule m;
    ct_up();
    ct_add(CT_HEAD);
    for (unsigned k = 0; k < COUNT; k++)
        kernel(k);
    if (ct_build(&m, ct_text.s)) {
        printf("# %s\n", ct_log);
        return COUNT;
    }
    uint64_t(*data)[5] = ct_memory(N * sizeof *data);
    for (unsigned k = 0; k < COUNT; k++)
        bad += wrong(m, k, data) != 0;
    return bad;
}

static void translated(void)
{
    CHECK(ct_child(all, "ZE_CPU_NATIVE", "1") == 0);
}

static void interpreted(void)
{
    CHECK(ct_child(all, "ZE_CPU_NATIVE", "0") == 0);
}

static void checked(void)
{
    CHECK(ct_child(all, "ZE_CPU_CHECK", "1") == 0);
}

int main(void)
{
    RUN(translated, "instructions compute what the host computes");
    RUN(interpreted, "the same without translation to machine code");
    RUN(checked, "the same with checked addresses");
    return tap_end();
}
