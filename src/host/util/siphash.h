/* siphash.h - SipHash-2-4 (Aumasson, Bernstein, 2012): a pseudorandom function with a key of 128 bits. */
#ifndef SHI_SIPHASH_H
#define SHI_SIPHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t shi_sip_rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void shi_sip_rounds(uint64_t v[4], int n)
{
    for (; n > 0; n--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = shi_sip_rotate(v[1], 13) ^ v[0];
        v[3] = shi_sip_rotate(v[3], 16) ^ v[2];
        v[0] = shi_sip_rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = shi_sip_rotate(v[3], 21) ^ v[0];
        v[1] = shi_sip_rotate(v[1], 17) ^ v[2];
        v[2] = shi_sip_rotate(v[2], 32);
    }
}

static inline void shi_sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    shi_sip_rounds(v, 2);
    v[0] ^= word;
}

static inline void shi_sip_begin(const uint64_t key[2], uint64_t v[4])
{
    v[0] = key[0] ^ 0x736f6d6570736575;
    v[1] = key[1] ^ 0x646f72616e646f6d;
    v[2] = key[0] ^ 0x6c7967656e657261;
    v[3] = key[1] ^ 0x7465646279746573;
}

static inline uint64_t shi_sip_end(uint64_t v[4], uint64_t last)
{
    shi_sip_word(v, last);
    v[2] ^= 0xff;
    shi_sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Of whole words and the n low bytes of rest, at most 7. */
static inline uint64_t shi_sip_words(const uint64_t key[2], const uint64_t *word, size_t words, uint64_t rest, size_t n)
{
    uint64_t v[4];
    shi_sip_begin(key, v);
    for (size_t i = 0; i < words; i++)
        shi_sip_word(v, word[i]);
    return shi_sip_end(v, (uint64_t)(words * 8 + n) << 56 | rest);
}

/* Of bytes at any address. */
static inline uint64_t shi_sip_bytes(const uint64_t key[2], const void *from, size_t bytes)
{
    const char *at = from;
    uint64_t v[4], word, rest = 0;
    shi_sip_begin(key, v);
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        memcpy(&word, at + i, 8);
        shi_sip_word(v, word);
    }
    memcpy(&rest, at + (bytes & ~(size_t)7), bytes & 7);
    return shi_sip_end(v, (uint64_t)bytes << 56 | rest);
}

#endif
