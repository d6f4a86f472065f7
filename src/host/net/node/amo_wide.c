/* amo_wide.c - compare-and-swap of 16 bytes: cmpxchg16b on x86-64, exclusive loads and stores of pairs on arm64. */
#include "host/net/node/amo_wide.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* A virtual machine may need many microseconds for cpuid, so it is asked once. */
int shi_wide_is_there(void)
{
    static int there; /* 0: not asked; 1: no; 2: yes. Written by any thread with the same value, relaxed */
    int is = __atomic_load_n(&there, __ATOMIC_RELAXED);
    if (!is) {
        unsigned a, b, c = 0, d;
        is = 1 + (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_CMPXCHG16B));
        __atomic_store_n(&there, is, __ATOMIC_RELAXED);
    }
    return is == 2;
}

void shi_wide_cswap(void *at, const uint64_t value[2], const uint64_t cond[2], uint64_t old[2])
{
    struct pair {
        uint64_t word[2];
    } *p = at;
    uint64_t low = cond[0], high = cond[1];
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*p), "+a"(low), "+d"(high)
                     : "b"(value[0]), "c"(value[1])
                     : "cc", "memory");
    old[0] = low;
    old[1] = high;
}

#elif defined(__aarch64__)

int shi_wide_is_there(void)
{
    return 1;
}

/* A load of the pair is atomic only if a store to it follows, so what differs from cond is stored as it was. */
void shi_wide_cswap(void *at, const uint64_t value[2], const uint64_t cond[2], uint64_t old[2])
{
    uint64_t low, high, new_low, new_high;
    uint32_t failed;
    __asm__ volatile("1: ldaxp %[low], %[high], [%[at]]\n\t"
                     "cmp %[low], %[cond_low]\n\t"
                     "ccmp %[high], %[cond_high], #0, eq\n\t"
                     "csel %[new_low], %[value_low], %[low], eq\n\t"
                     "csel %[new_high], %[value_high], %[high], eq\n\t"
                     "stlxp %w[failed], %[new_low], %[new_high], [%[at]]\n\t"
                     "cbnz %w[failed], 1b\n\t"
                     "dmb ish"
                     : [low] "=&r"(low), [high] "=&r"(high), [new_low] "=&r"(new_low), [new_high] "=&r"(new_high), [failed] "=&r"(failed)
                     : [at] "r"(at), [cond_low] "r"(cond[0]), [cond_high] "r"(cond[1]), [value_low] "r"(value[0]), [value_high] "r"(value[1])
                     : "cc", "memory");
    old[0] = low;
    old[1] = high;
}

#else

int shi_wide_is_there(void)
{
    return 0;
}

void shi_wide_cswap(void *at, const uint64_t value[2], const uint64_t cond[2], uint64_t old[2])
{
    (void)at, (void)value, (void)cond, (void)old; /* not called */
}

#endif
