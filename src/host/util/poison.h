/* poison.h - tell AddressSanitizer which memory of the symmetric heap no block has, in programs that are built with it. */
#ifndef SHI_POISON_H
#define SHI_POISON_H

#include <stddef.h>

/* Of the program's AddressSanitizer, whether or not this library is built with it; else NULL. */
extern void __asan_poison_memory_region(const volatile void *addr, size_t bytes) __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *addr, size_t bytes) __attribute__((weak));

/* From now on the program's loads and stores there, and its calls of memcpy and the like, end the process with a report. */
static inline void shi_poison(const void *addr, size_t bytes)
{
    if (__asan_poison_memory_region && bytes)
        __asan_poison_memory_region(addr, bytes);
}

static inline void shi_unpoison(const void *addr, size_t bytes)
{
    if (__asan_unpoison_memory_region && bytes)
        __asan_unpoison_memory_region(addr, bytes);
}

#endif
