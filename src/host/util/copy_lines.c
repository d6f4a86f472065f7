/* copy_lines.c - copies past the caches, see copy_lines.h. */
#include "host/util/copy_lines.h"

size_t shi_copy_cache_bytes = SIZE_MAX;

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

/* Whole lines of the destination bypass the caches; its first and last line are copied unaligned and may overlap with their neighbours. */
__attribute__((target("avx"))) void shi_copy_streamed(char *to, const char *from, size_t bytes)
{
    shi_copy_line(to, from);
    for (size_t i = SHI_LINE_BYTES - (uintptr_t)to % SHI_LINE_BYTES; i + SHI_LINE_BYTES < bytes; i += SHI_LINE_BYTES) {
        __builtin_prefetch(from + i + SHI_COPY_AHEAD);
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(from + i + 32));
        _mm256_stream_si256((__m256i *)(void *)(to + i), a);
        _mm256_stream_si256((__m256i *)(void *)(to + i + 32), b);
    }
    _mm_sfence(); /* these stores are not ordered with later ones otherwise */
    shi_copy_line(to + bytes - SHI_LINE_BYTES, from + bytes - SHI_LINE_BYTES);
}

/* AMD's leaf of caches: the bytes of the third level that a core shares. 0: not known. */
static size_t third_level_bytes(void)
{
    enum { LEAF = 0x8000001d, MOST_CACHES = 8 };
    unsigned a, b, c, d;
    for (unsigned i = 0; i < MOST_CACHES && __get_cpuid_count(LEAF, i, &a, &b, &c, &d) && (a & 31); i++)
        if ((a >> 5 & 7) == 3)
            return ((size_t)(b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * ((size_t)c + 1);
    return 0;
}

void shi_copy_find_caches(void)
{
    shi_copy_cache_bytes = shi_copy_cache_limit(third_level_bytes(), shi_copy_has_slow_memcpy(), shi_copy_is_wide());
}
#else
void shi_copy_streamed(char *to, const char *from, size_t bytes)
{
    shi_copy_words(to, from, bytes);
}

void shi_copy_find_caches(void)
{
}
#endif

void shi_copy_part(void *to, const void *from, size_t bytes, size_t of)
{
    if (shi_copy_goes_past_caches(bytes, of, shi_copy_cache_bytes))
        shi_copy_streamed(to, from, bytes);
    else
        shi_copy_through_caches(to, from, bytes);
}
