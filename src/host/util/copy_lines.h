/*
 * copy_lines.h - memcpy for data that another core may have written: line by line, with prefetches; word by word except on x86-64.
 * host/policy/copy.h says which routine copies what.
 */
#ifndef SHI_COPY_LINES_H
#define SHI_COPY_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/policy/copy.h"
#include "host/util/base.h"
#include "host/util/copy_words.h"

enum { SHI_COPY_AHEAD = 1024 };

#if defined(__x86_64__)
typedef uint64_t shi_16_bytes __attribute__((vector_size(16), aligned(1), may_alias));

/* 64 bytes. The loads come first, and the compiler does not know that a loop of this is a memcpy. */
static inline void shi_copy_line(char *to, const char *from)
{
    const shi_16_bytes *f = (const shi_16_bytes *)from;
    shi_16_bytes *t = (shi_16_bytes *)to, a = f[0], b = f[1], c = f[2], d = f[3];
    shi_loaded();
    t[0] = a;
    t[1] = b;
    t[2] = c;
    t[3] = d;
}

/* Whole lines of the destination; its first and last line are copied unaligned and may overlap with their neighbours. */
static __attribute__((noinline, unused)) void shi_copy_all_lines(char *to, const char *from, size_t bytes)
{
    shi_copy_line(to, from);
    for (size_t i = SHI_LINE_BYTES - (uintptr_t)to % SHI_LINE_BYTES; i + SHI_LINE_BYTES < bytes; i += SHI_LINE_BYTES) {
        __builtin_prefetch(from + i + SHI_COPY_AHEAD);
        shi_copy_line(to + i, from + i);
    }
    shi_copy_line(to + bytes - SHI_LINE_BYTES, from + bytes - SHI_LINE_BYTES);
}

/* The same with half as many instructions. */
typedef uint64_t shi_32_bytes __attribute__((vector_size(32), aligned(1), may_alias));

static inline __attribute__((target("avx"))) void shi_copy_line_wide(char *to, const char *from)
{
    const shi_32_bytes *f = (const shi_32_bytes *)from;
    shi_32_bytes *t = (shi_32_bytes *)to, a = f[0], b = f[1];
    shi_loaded();
    t[0] = a;
    t[1] = b;
}

static __attribute__((noinline, unused, target("avx"))) void shi_copy_all_lines_wide(char *to, const char *from, size_t bytes)
{
    shi_copy_line_wide(to, from);
    for (size_t i = SHI_LINE_BYTES - (uintptr_t)to % SHI_LINE_BYTES; i + SHI_LINE_BYTES < bytes; i += SHI_LINE_BYTES) {
        __builtin_prefetch(from + i + SHI_COPY_AHEAD);
        shi_copy_line_wide(to + i, from + i);
    }
    shi_copy_line_wide(to + bytes - SHI_LINE_BYTES, from + bytes - SHI_LINE_BYTES);
}

static inline int shi_copy_is_wide(void)
{
    return __builtin_cpu_supports("avx") != 0;
}

/* Processors on which memcpy may be slow. */
static inline int shi_copy_has_slow_memcpy(void)
{
    return __builtin_cpu_is("amd") != 0;
}

static inline int shi_copy_is_by_lines(size_t bytes)
{
    return bytes >= SHI_COPY_LINES_MIN && shi_copy_goes_by_lines(bytes, shi_copy_has_slow_memcpy());
}
#else
#define shi_copy_all_lines shi_copy_words
#define shi_copy_all_lines_wide shi_copy_words

static inline int shi_copy_is_wide(void)
{
    return 0;
}

static inline int shi_copy_is_by_lines(size_t bytes)
{
    return bytes != 0;
}
#endif

/* shi_copy_cache_limit of this processor; set at init. */
extern size_t shi_copy_cache_bytes;
void shi_copy_find_caches(void);

/* memcpy by stores that bypass the caches. Later stores are not seen before this copy. bytes >= 64. */
void shi_copy_streamed(char *to, const char *from, size_t bytes);

/* memcpy of a part of a transfer, in which all PEs of the node read and write `of` bytes in total. */
void shi_copy_part(void *to, const void *from, size_t bytes, size_t of);

/* For messages, which are copied into a queue and out of it by turns. */
static inline void shi_copy_lines(void *to, const void *from, size_t bytes)
{
    if (!shi_copy_is_by_lines(bytes))
        memcpy(to, from, bytes);
    else
        shi_copy_all_lines(to, from, bytes);
}

static inline void shi_copy_through_caches(void *to, const void *from, size_t bytes)
{
    if (!shi_copy_is_by_lines(bytes))
        memcpy(to, from, bytes);
    else if (shi_copy_is_wide())
        shi_copy_all_lines_wide(to, from, bytes);
    else
        shi_copy_all_lines(to, from, bytes);
}

/* For data that is copied once. */
static inline void shi_copy_lines_wide(void *to, const void *from, size_t bytes)
{
    if (shi_unlikely(bytes >= SHI_COPY_LINES_MAX))
        shi_copy_part(to, from, bytes, 2 * bytes);
    else
        shi_copy_through_caches(to, from, bytes);
}

#endif
