/* base.h - helpers for all files: branch hints, alignment, container_of, the clock, the pause instruction. */
#ifndef SHI_BASE_H
#define SHI_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Messages carry structs as they lie in memory, and symmetric offsets and GPU addresses fill 64 bits. */
#if !defined(__linux__) || __SIZEOF_POINTER__ != 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Fulmar needs Linux on a 64-bit, little-endian processor"
#endif

#define shi_likely(x) __builtin_expect(!!(x), 1)
#define shi_unlikely(x) __builtin_expect(!!(x), 0)

/* For the data path: GCC's limit on unit growth would leave calls in some typed routines. */
#define SHI_INLINE static inline __attribute__((always_inline))

enum { SHI_LINE_BYTES = 64, SHI_PAGE_BYTES = 4096, SHI_HUGE_BYTES = 2 << 20 };

/* The object of this type whose member lies at ptr. */
#define shi_container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

/* Round n up to a multiple of the power of two a. */
static inline size_t shi_round_up(size_t n, size_t a)
{
    return (n + a - 1) & ~(a - 1);
}

/* Nanoseconds of the monotonic clock, which the PEs of a node share. Async-signal-safe. */
static inline uint64_t shi_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The same from the last clock tick, a few milliseconds old at most, and cheaper. */
static inline uint64_t shi_coarse_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What was loaded before is not loaded again: for data that others may change meanwhile. */
SHI_INLINE void shi_loaded(void)
{
    __asm__ volatile("" ::: "memory");
}

/* The pause instruction, for spin loops. */
static inline void shi_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
