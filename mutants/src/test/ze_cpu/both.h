/* both.h - functions compiled for kernels and for the host, whose results the kernels must have. */
#ifdef __OPENCL_C_VERSION__
#define INLINE
#pragma OPENCL FP_CONTRACT OFF
#else
#define INLINE static inline
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#endif

struct pair {
    uint x, y;
};

INLINE uint both_mix(uint a, uint b)
{
    for (int i = 0; i < 5; i++) {
        a ^= b << (i + 1);
        a = (a >> 3) | (a << 29);
        a += 0x9e3779b9u;
    }
    return a;
}

INLINE struct pair both_pair(uint a)
{
    struct pair p;
    p.x = both_mix(a, 7);
    p.y = a * 3;
    return p;
}

INLINE ulong both_ints(uint a, uint b)
{
    long s = (int)a, t = (int)b;
    ulong r = both_mix(a, b);
    r = r * 31 + (ulong)(s / (t | 1));
    r = r * 31 + (ulong)(s % (t | 1));
    r = r * 31 + a / (b | 1) + a % (b | 1);
    r ^= (ulong)a * b + (uchar)a + (ulong)(long)(signed char)b + (ushort)(a * b) + (ulong)(long)(short)(a + b);
    r += (ulong)(s >> 5) ^ ((ulong)s >> 7) ^ (ulong)(~t) ^ (ulong)(-s);
    switch (a & 7) {
    case 0:
        r += 11;
        break;
    case 1:
        r ^= 0x1234; /* fall through */
    case 2:
        r -= 5;
        break;
    case 5:
        r *= 3;
        break;
    default:
        r += b;
    }
    switch ((ulong)(b & 7) * 0x100000001UL) {
    case 0x500000005UL:
        r += 99;
        break;
    case 0x700000007UL:
        r++;
        break;
    default:
        r ^= 1;
    }
    struct pair p = both_pair(a);
    r += p.x * 5 + p.y;
    short h[8];
    for (int k = 0; k < 8; k++)
        h[k] = (short)(a >> k);
    for (int k = 0; k < 8; k++)
        r = r * 7 + (ulong)(long)h[(k * 3 + (int)(b & 7)) & 7];
    r += (a < b) + 2 * (a <= b) + 4 * (s < t) + 8 * (s >= t) + 16 * (a == b) + 32 * (s != t);
    return r;
}

/* Phis that exchange values, values used after their loop, and two loops with the same initial value. */
INLINE ulong both_loops(uint a, uint b)
{
    uint x = a & 255, y = b & 255, z = 1, last = 0;
    for (uint i = 0; i < 40; i++) {
        uint t = x;
        x = y;
        y = z;
        z = t + i;
        last = x;
        if ((z & 15) == 3)
            continue;
        if (z > 4000)
            break;
        for (uint j = 0; j < (z & 3); j++)
            y += j * last;
    }
    ulong f = 0, g = 1;
    while (f < (ulong)a) {
        ulong h = f + g;
        f = g;
        g = h;
    }
    for (uint k = 0; k < 3; k++) {
        uint from = k * 5 + (b & 3);
        for (uint at = from; at < 40; at += 7)
            f += at;
        for (uint at = from; at < 60; at += 9)
            g ^= at;
    }
    return x + 1000ul * y + 1000000ul * z + last + f * 3 + g;
}

INLINE double both_floats(uint a, uint b)
{
    float x = (float)(a % 10007) * 0.25f + 0.5f, y = (float)(int)(b % 1009) - 400.f;
    double d = (double)x * y;
    d += x * 3.f - y / x + (float)(-y);
    d += (double)(int)y + (double)(ulong)x + (double)(long)y + (float)a + (double)(ulong)b * 1e-3;
    d += x < y ? 1.0 : x != y ? 2.5 : 3.0;
    d += (x > y) + (x >= y) * 2 + (x <= y) * 4 + (x == y) * 8;
    float inf = x / 0.f, nan = inf - inf;
    d += (nan != nan) * 16 + (nan < x) * 32 + !(nan >= x) * 64 + (inf > x) * 128;
    d += (double)(uchar)(int)x + (double)(short)y;
    return d;
}
