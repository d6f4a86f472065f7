/* wide.c - see wide.h: cmpxchg16b on x86-64, the compiler's compare-and-swap elsewhere. */
#include "ze_cpu/wide.h"

#if defined(__x86_64__)

struct zc_wide zc_wide_swap(void *at, struct zc_wide cond, struct zc_wide v)
{
    struct zc_wide *p = at;
    __asm__ volatile("lock cmpxchg16b %0" : "+m"(*p), "+a"(cond.word[0]), "+d"(cond.word[1]) : "b"(v.word[0]), "c"(v.word[1]) : "cc", "memory");
    return cond;
}

/* Processors with AVX load 16 bytes at once; memory that can only be read has no compare-and-swap. */
struct zc_wide zc_wide_load(const void *at)
{
    const struct zc_wide *p = at;
    struct zc_wide v;
    if (!__builtin_cpu_supports("avx"))
        return zc_wide_swap((void *)(uintptr_t)at, (struct zc_wide){{0, 0}}, (struct zc_wide){{0, 0}});
    __asm__ volatile("movdqa %1, %%xmm0\n\tmovdqu %%xmm0, %0" : "=m"(v) : "m"(*p) : "xmm0", "memory");
    return v;
}

#else

__extension__ typedef unsigned __int128 word;

static word whole(struct zc_wide v)
{
    return (word)v.word[1] << 64 | v.word[0];
}

/* Not inlined: for ARMv8.1 GCC 12 cannot compile a compare-and-swap of constants. */
__attribute__((noinline)) struct zc_wide zc_wide_swap(void *at, struct zc_wide cond, struct zc_wide v)
{
    word old = __sync_val_compare_and_swap((word *)at, whole(cond), whole(v));
    return (struct zc_wide){{(uint64_t)old, (uint64_t)(old >> 64)}};
}

struct zc_wide zc_wide_load(const void *at)
{
    return zc_wide_swap((void *)(uintptr_t)at, (struct zc_wide){{0, 0}}, (struct zc_wide){{0, 0}});
}

#endif

struct zc_wide zc_wide_exchange(void *at, struct zc_wide v)
{
    for (struct zc_wide old = {{0, 0}};;) {
        struct zc_wide was = zc_wide_swap(at, old, v);
        if (was.word[0] == old.word[0] && was.word[1] == old.word[1])
            return old;
        old = was;
    }
}

void zc_wide_store(void *at, struct zc_wide v)
{
    zc_wide_exchange(at, v);
}
