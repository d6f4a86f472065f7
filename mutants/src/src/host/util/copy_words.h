/*
 * copy_words.h - memcpy that writes each aligned word of the destination once and by one store: a PE may wait for any of them.
 *
 * Copies on x86-64 use memcpy: its stores there are of words or longer, and the processors do not divide those within a word. On arm64
 * glibc's memcpy stores bytes by SVE instructions, which are atomic for each byte only (src/DECISIONS.md).
 */
#ifndef SHI_COPY_WORDS_H
#define SHI_COPY_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/util/base.h"

enum { SHI_COPY_WORDS_AHEAD = 512 };

#define SHI_WORD_TYPE(BITS)                                                                                                              \
    typedef uint##BITS##_t __attribute__((may_alias)) shi_word##BITS;                                                                    \
    static inline void shi_copy_word##BITS(char **to, const char **from)                                                                 \
    {                                                                                                                                    \
        shi_word##BITS word;                                                                                                             \
        memcpy(&word, *from, sizeof word);                                                                                               \
        __atomic_store_n((shi_word##BITS *)*to, word, __ATOMIC_RELAXED);                                                                 \
        *to += sizeof word;                                                                                                              \
        *from += sizeof word;                                                                                                            \
    }
SHI_WORD_TYPE(8)
SHI_WORD_TYPE(16)
SHI_WORD_TYPE(32)
SHI_WORD_TYPE(64)

/* 64 bytes to an address that is a multiple of 8. */
#if defined(__aarch64__)
/* Compilers store pairs of atomic words one by one; STP of two general registers is two atomic stores. */
static inline void shi_copy_word_line(char *to, const char *from)
{
    uint64_t w[8];
    memcpy(w, from, sizeof w);
    __asm__ volatile("stp %1, %2, [%0]\n\tstp %3, %4, [%0, 16]\n\tstp %5, %6, [%0, 32]\n\tstp %7, %8, [%0, 48]"
                     :
                     : "r"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
                     : "memory");
}
#else
static inline void shi_copy_word_line(char *to, const char *from)
{
    for (int i = 0; i < 8; i++)
        shi_copy_word64(&to, &from);
}
#endif

static __attribute__((noinline, unused)) void shi_copy_words(char *to, const char *from, size_t bytes)
{
    const char *end = from + bytes;
    if ((uintptr_t)to & 1 && from < end)
        shi_copy_word8(&to, &from);
    if ((uintptr_t)to & 2 && end - from >= 2)
        shi_copy_word16(&to, &from);
    if ((uintptr_t)to & 4 && end - from >= 4)
        shi_copy_word32(&to, &from);
    for (; end - from >= SHI_LINE_BYTES; to += SHI_LINE_BYTES, from += SHI_LINE_BYTES) {
        __builtin_prefetch(from + SHI_COPY_WORDS_AHEAD);
        shi_copy_word_line(to, from);
    }
    while (end - from >= 8)
        shi_copy_word64(&to, &from);
    if ((end - from) & 4)
        shi_copy_word32(&to, &from);
    if ((end - from) & 2)
        shi_copy_word16(&to, &from);
    if ((end - from) & 1)
        shi_copy_word8(&to, &from);
}

#endif
