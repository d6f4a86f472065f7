/* carryless.c - see carryless.h: PCLMULQDQ of x86-64, with AVX2 VPCLMULQDQ, and PMULL of arm64. */
#include "host/util/carryless.h"

#include <string.h>

#if defined __x86_64__

#include <immintrin.h>

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

#define TARGET_WIDE __attribute__((target("pclmul,vpclmulqdq,avx2")))

/* The products of the i-th pair of words and of the next. */
TARGET_WIDE static inline __m256i two_terms(const char *message, const uint64_t *key, size_t i)
{
    __m256i m = _mm256_loadu_si256((const __m256i *)(const void *)(message + 16 * i));
    __m256i x = m ^ _mm256_loadu_si256((const __m256i *)(const void *)(key + 2 * i));
    return _mm256_clmulepi64_epi128(x, x, 0x10);
}

TARGET_WIDE static size_t each_wide(const char *message, const uint64_t *key, size_t pairs, vector *sum)
{
    __m256i a = {0}, b = a, c = a, d = a;
    size_t i = 0;
    for (; i + 8 <= pairs; i += 8) {
        a ^= two_terms(message, key, i);
        b ^= two_terms(message, key, i + 2);
        c ^= two_terms(message, key, i + 4);
        d ^= two_terms(message, key, i + 6);
    }
    a ^= b ^ c ^ d;
    *sum = _mm256_castsi256_si128(a) ^ _mm256_extracti128_si256(a, 1);
    return i;
}

/* The sum for the first pairs of words, two products with each instruction. Returns for how many pairs; 0: this processor cannot. */
static inline size_t first_pairs(const char *message, const uint64_t *key, size_t pairs, vector *sum)
{
    if (pairs < 8 || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("vpclmulqdq"))
        return 0;
    return each_wide(message, key, pairs, sum);
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

#if !defined __x86_64__
static inline size_t first_pairs(const char *message, const uint64_t *key, size_t pairs, vector *sum)
{
    (void)message, (void)key, (void)pairs, (void)sum;
    return 0;
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

TARGET void shi_carryless_sum(const char *message, const uint64_t *key, size_t bytes, uint64_t out[2])
{
    vector a = {0}, b = a, c = a, d = a; /* four sums: the next instruction need not wait for the last one */
    size_t pairs = bytes / 16, i = first_pairs(message, key, pairs, &a);
    for (; i + 4 <= pairs; i += 4) {
        a ^= term(message, key, i);
        b ^= term(message, key, i + 1);
        c ^= term(message, key, i + 2);
        d ^= term(message, key, i + 3);
    }
    for (; i < pairs; i++)
        a ^= term(message, key, i);
    if (bytes % 16) {
        uint64_t last[2] = {0};
        memcpy(last, message + 16 * i, bytes % 16);
        b ^= term((const char *)last, key + 2 * i, 0);
    }
    a ^= b ^ c ^ d;
    memcpy(out, &a, sizeof a);
}
