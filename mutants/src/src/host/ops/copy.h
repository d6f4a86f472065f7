/* copy.h - copies between addresses of this process, and descriptions of transfers. */
#ifndef SHI_COPY_H
#define SHI_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/util/copy_lines.h"

/* Copy with the commonest small sizes as single moves: a call of memcpy costs as much as the rest of an 8-byte put. */
static inline void shi_copy(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes) /* a transfer of nothing may name NULL */
        shi_copy_lines_wide(to, from, bytes);
}

/* Bytes of n elements, or SIZE_MAX, which no address range holds, when that overflows. */
static inline size_t shi_bytes(size_t n, size_t elem)
{
    size_t bytes;
    return __builtin_mul_overflow(n, elem, &bytes) ? SIZE_MAX : bytes;
}

/* Flags of a transfer. NBI: nonblocking. MORE: a signal follows immediately and may share its message. */
enum { SHI_NBI = 1, SHI_MORE = 2 };

/* The layout of a strided transfer: `count` blocks of `block` elements of `elem` bytes, a block every `dst` and
 * `sst` elements. iput and iget have blocks of one element. */
struct shi_strided {
    ptrdiff_t dst, sst;
    size_t block, count, elem;
};

/* The copy itself, between addresses of this process. */
void shi_copy_strided(char *to, const char *from, const struct shi_strided *s);

#endif
