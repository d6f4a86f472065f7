/* carryless.c - see carryless.h: PCLMULQDQ of x86-64, PMULL of arm64. */
#include "host/net/carryless.h"

#include <string.h>

#if defined __x86_64__

#include <wmmintrin.h>

typedef __m128i vector;
#define TARGET __attribute__((target("pclmul")))

int shi_carryless_here(void)
{
    return __builtin_cpu_supports("pclmul") != 0;
}

/* The product of the two halves. */
TARGET static inline vector product(vector x)
{
    return _mm_clmulepi64_si128(x, x, 0x10);
}

#elif defined __aarch64__ && defined __linux__

#include <arm_neon.h>
#include <sys/auxv.h>

typedef uint64x2_t vector;
#define TARGET __attribute__((target("+crypto")))

int shi_carryless_here(void)
{
    enum { PMULL = 1 << 4 }; /* HWCAP_PMULL */
    return (getauxval(AT_HWCAP) & PMULL) != 0;
}

TARGET static inline vector product(vector x)
{
    return (vector)vmull_p64((poly64_t)x[0], (poly64_t)x[1]);
}

#else

typedef uint64_t vector __attribute__((vector_size(16)));
#define TARGET

int shi_carryless_here(void)
{
    return 0;
}

static inline vector product(vector x)
{
    return x;
}

#endif

TARGET static inline vector load(const void *from)
{
    vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* Of the i-th pair of words. */
TARGET static inline vector term(const char *message, const uint64_t *key, size_t i)
{
    return product(load(message + 16 * i) ^ load(key + 2 * i));
}

TARGET void shi_carryless_sum(const char *message, const uint64_t *key, size_t n, uint64_t out[2])
{
    vector a = {0}, b = a, c = a, d = a; /* four sums: the next instruction need not wait for the last one */
    size_t i = 0, pairs = n / 2;
    for (; i + 4 <= pairs; i += 4) {
        a ^= term(message, key, i);
        b ^= term(message, key, i + 1);
        c ^= term(message, key, i + 2);
        d ^= term(message, key, i + 3);
    }
    for (; i < pairs; i++)
        a ^= term(message, key, i);
    if (n % 2) {
        uint64_t last[2] = {0};
        memcpy(last, message + 16 * i, 8);
        b ^= term((const char *)last, key + 2 * i, 0);
    }
    a ^= b ^ c ^ d;
    memcpy(out, &a, sizeof a);
}
