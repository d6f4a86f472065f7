/*
 * copy.h - which routine copies: facts of the processor and lengths in, a decision out. Functions here have no state and make no calls.
 *
 * glibc before 2.40 copies 2 or 4 KiB up to about 512 KiB by rep movsb. On AMD Zen 3 and Zen 4 that is up to 7 times slower where the
 * source is aligned to a cache line and the destination is not; on other processors memcpy is as quick up to 128 KiB, and up to twice
 * as quick in their caches.
 *
 * Data that does not fit in the caches is copied by stores that bypass them: a usual store reads its line into the caches first, and later
 * another line leaves them for it. glibc's memcpy does so from three quarters of the caches on; on AMD glibc before 2.38 counts the caches
 * of all the processor's cores for that, often hundreds of MiB.
 *
 *   bytes            AMD x86-64                         other x86-64    other processors
 *   up to 2 KiB      memcpy                             memcpy          words
 *   up to 128 KiB    lines                              memcpy          words
 *   up to 1 MiB      lines                              lines           words
 *   more             memcpy; past the caches, from 5/8  memcpy          words
 *                    of the cache that a core uses on
 */
#ifndef SHI_POLICY_COPY_H
#define SHI_POLICY_COPY_H

#include <stddef.h>
#include <stdint.h>

enum { SHI_COPY_LINES_MIN = 2048, SHI_COPY_LINES_LONG = 131072, SHI_COPY_LINES_MAX = 1 << 20 };
enum { SHI_COPY_STREAM_MIN = 4096 }; /* of a part of a long transfer: shorter ones gain nothing past the caches */

/* slow: memcpy may be slow here. */
static inline int shi_copy_goes_by_lines(size_t bytes, int slow)
{
    return bytes >= (slow ? (size_t)SHI_COPY_LINES_MIN : (size_t)SHI_COPY_LINES_LONG) && bytes < SHI_COPY_LINES_MAX;
}

/* From so many bytes of a transfer on, what is read and what is written, copies bypass the caches. cache: of the last cache that a core
 * can use, 0: not known. avx: the processor has the stores. SIZE_MAX: never. */
static inline size_t shi_copy_cache_limit(size_t cache, int slow, int avx)
{
    return cache && slow && avx ? cache / 8 * 5 : SIZE_MAX;
}

/* Does a part of `bytes` of such a transfer bypass them? */
static inline int shi_copy_goes_past_caches(size_t bytes, size_t transfer, size_t limit)
{
    return transfer >= limit && bytes >= SHI_COPY_STREAM_MIN;
}

#endif
