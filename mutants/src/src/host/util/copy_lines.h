/*
 * copy_lines.h - memcpy for data that another core may have written: line by line, with prefetches; word by word except on x86-64.
 *
 * glibc before 2.40 copies 2 or 4 KiB up to about 512 KiB by rep movsb. On AMD Zen 3 and Zen 4 that is up to 7 times slower where the
 * source is aligned to a cache line and the destination is not; on other processors memcpy is as quick up to 128 KiB, and up to twice
 * as quick in their caches (src/DECISIONS.md).
 *
 * Data that does not fit in the caches is copied by stores that bypass them: a usual store reads its line into the caches first, and later
 * another line leaves them for it. glibc's memcpy does so from three quarters of the caches on; on AMD glibc before 2.38 counts the caches
 * of all the processor's cores for that, often hundreds of MiB.
 */
#ifndef SHI_COPY_LINES_H
#define SHI_COPY_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/util/base.h"
#include "host/util/copy_words.h"

enum { SHI_COPY_LINES_MIN = 2048, SHI_COPY_LINES_LONG = 131072, SHI_COPY_LINES_MAX = 1 << 20, SHI_COPY_AHEAD = 1024 };

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

/* Processors on which memcpy may be slow from SHI_COPY_LINES_MIN on. */
static inline int shi_copy_has_slow_memcpy(void)
{
    return __builtin_cpu_is("amd") != 0;
}

static inline int shi_copy_is_by_lines(size_t bytes)
{
    if (bytes >= SHI_COPY_LINES_LONG)
        return bytes < SHI_COPY_LINES_MAX;
    return bytes >= SHI_COPY_LINES_MIN && shi_copy_has_slow_memcpy();
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

enum { SHI_COPY_STREAM_MIN = 4096 }; /* bytes of a copy past the caches: shorter ones gain nothing */

/* Limit of shi_copy_part, from the caches that a core can use; set at init. SIZE_MAX where memcpy is as quick. */
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
