/*
 * copy.h - copy memory by one work-item or by a group, and convert small data to and from words.
 *
 * A group copies in the largest unit for which both addresses are aligned alike, adjacent units by adjacent lanes; one lane copies
 * what is before and behind these units, in the largest ones that fit. So an aligned element is copied by one load and one store.
 */
#ifndef SHI_COPY_H
#define SHI_COPY_H

#include "device/lib/dialect.h"

/* Four units are loaded before they are stored: a lane waits for memory once for all of them. */
#define SHI_COPY_UNITS_(BITS)                                                                                         \
    SHI_FN void shi_copy_##BITS##_(void *dest, const void *source, shi_u64 n, shi_u32 rank, shi_u32 lanes)            \
    {                                                                                                                 \
        shi_a##BITS *d = (shi_a##BITS *)dest;                                                                         \
        const shi_a##BITS *s = (const shi_a##BITS *)source;                                                           \
        shi_u64 i = rank, l = lanes;                                                                                  \
        SHI_ROLLED                                                                                                    \
        for (; i + 3 * l < n; i += 4 * l) {                                                                           \
            shi_a##BITS u = s[i], v = s[i + l], w = s[i + 2 * l], x = s[i + 3 * l];                                   \
            d[i] = u;                                                                                                 \
            d[i + l] = v;                                                                                             \
            d[i + 2 * l] = w;                                                                                         \
            d[i + 3 * l] = x;                                                                                         \
        }                                                                                                             \
        SHI_ROLLED                                                                                                    \
        for (; i < n; i += l)                                                                                         \
            d[i] = s[i];                                                                                              \
    }
SHI_COPY_UNITS_(8)
SHI_COPY_UNITS_(16)
SHI_COPY_UNITS_(32)
SHI_COPY_UNITS_(64)
SHI_COPY_UNITS_(128)

/* One unit of 1, 2, 4 or 8 bytes. */
SHI_FN void shi_copy_unit_(char *d, const char *s, shi_u64 unit)
{
    if (unit == 8)
        *(shi_a64 *)d = *(const shi_a64 *)s;
    else if (unit == 4)
        *(shi_a32 *)d = *(const shi_a32 *)s;
    else if (unit == 2)
        *(shi_a16 *)d = *(const shi_a16 *)s;
    else
        *d = *s;
}

/* This lane's part of a copy by `lanes`. Source and dest do not overlap. */
SHI_FN void shi_copy(void *dest, const void *source, shi_u64 bytes, shi_u32 rank, shi_u32 lanes)
{
    shi_u64 differ = ((shi_u64)dest ^ (shi_u64)source) & 15;
    shi_u64 unit = differ ? differ & (~differ + 1) : 16, small = 1;
    char *d = (char *)dest;
    const char *s = (const char *)source;
    if (bytes <= 8 && (bytes & (bytes - 1)) == 0 && (((shi_u64)dest | (shi_u64)source) & (bytes - 1)) == 0) { /* one element, or none */
        if (bytes && rank == 0)
            shi_copy_unit_(d, s, bytes);
        return;
    }
    for (; small < unit && small <= bytes; small *= 2)
        if ((shi_u64)d & small) {
            if (rank == 0)
                shi_copy_unit_(d, s, small);
            d += small, s += small, bytes -= small;
        }
    shi_u64 done = bytes & ~(unit - 1);
    if (unit == 16)
        shi_copy_128_(d, s, bytes / 16, rank, lanes);
    else if (unit == 8)
        shi_copy_64_(d, s, bytes / 8, rank, lanes);
    else if (unit == 4)
        shi_copy_32_(d, s, bytes / 4, rank, lanes);
    else if (unit == 2)
        shi_copy_16_(d, s, bytes / 2, rank, lanes);
    else
        shi_copy_8_(d, s, bytes, rank, lanes);
    for (small = unit / 2; rank == 0 && small; small /= 2)
        if (bytes & small) {
            shi_copy_unit_(d + done, s + done, small);
            done += small;
        }
}

/* Up to 8 bytes as a word: the first in the low byte, unused bytes 0. */
SHI_FN shi_u64 shi_gather(const void *source, shi_u64 bytes)
{
    if (bytes == 8 && !((shi_u64)source & 7))
        return *(const shi_a64 *)source;
    if (bytes == 4 && !((shi_u64)source & 3))
        return *(const shi_a32 *)source;
    if (bytes == 2 && !((shi_u64)source & 1))
        return *(const shi_a16 *)source;
    shi_u64 v = 0;
    SHI_ROLLED
    for (shi_u64 i = 0; i < bytes; i++)
        v |= (shi_u64)((const shi_a8 *)source)[i] << 8 * i;
    return v;
}

SHI_FN void shi_scatter(void *dest, shi_u64 v, shi_u64 bytes)
{
    if (bytes == 8 && !((shi_u64)dest & 7)) {
        *(shi_a64 *)dest = v;
        return;
    }
    if (bytes == 4 && !((shi_u64)dest & 3)) {
        *(shi_a32 *)dest = (shi_u32)v;
        return;
    }
    if (bytes == 2 && !((shi_u64)dest & 1)) {
        *(shi_a16 *)dest = (shi_a16)v;
        return;
    }
    SHI_ROLLED
    for (shi_u64 i = 0; i < bytes; i++)
        ((shi_a8 *)dest)[i] = (shi_a8)(v >> 8 * i);
}

#endif
