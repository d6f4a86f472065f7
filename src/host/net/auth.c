/* auth.c - SipHash-2-4, NH and CLNH: see auth.h. */
#include "host/net/auth.h"

#include <string.h>

#include "host/net/carryless.h"
#include "host/net/net.h"

/* A message is reduced in parts, with the same key: messages of one length that differ do so in one part at least. */
enum { PART_WORDS = 1024, PARTS = (SHI_NET_LONGEST_BYTES / 8 + PART_WORDS - 1) / PART_WORDS };

static struct {
    uint64_t key[2];
    _Alignas(64) uint64_t nh[PART_WORDS];
    uint32_t job;
    int carryless;
} own;

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_rounds(uint64_t v[4], int n)
{
    for (; n > 0; n--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

/* SipHash-2-4 of whole words and the n low bytes of rest, at most 7. */
static inline uint64_t sip(const uint64_t key[2], const uint64_t *word, size_t words, uint64_t rest, size_t n)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                     key[1] ^ 0x7465646279746573};
    for (size_t i = 0; i < words; i++)
        sip_word(v, word[i]);
    sip_word(v, (uint64_t)(words * 8 + n) << 56 | rest);
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* NH with words of 64 bits. It tells messages of one length apart; the tag has the length besides. */
static inline void nh(const char *message, size_t words, uint64_t out[2])
{
    unsigned __int128 sum = 0;
    uint64_t w[2] = {0};
    size_t i = 0;
    for (; i + 1 < words; i += 2) {
        memcpy(w, message + 8 * i, 16);
        sum += (unsigned __int128)(w[0] + own.nh[i]) * (w[1] + own.nh[i + 1]);
    }
    if (i < words) {
        memcpy(w, message + 8 * i, 8);
        sum += (unsigned __int128)(w[0] + own.nh[i]) * own.nh[i + 1];
    }
    out[0] = (uint64_t)sum;
    out[1] = (uint64_t)(sum >> 64);
}

static inline void reduce(const char *message, size_t words, uint64_t out[2])
{
    if (own.carryless)
        shi_carryless_sum(message, own.nh, words, out);
    else
        nh(message, words, out);
}

void shi_auth_set(const unsigned char secret[SHI_SECRET_BYTES], int carryless)
{
    uint64_t root[2], label[2] = {0};
    own.carryless = carryless;
    memcpy(root, secret, sizeof root);
    own.job = (uint32_t)sip(root, label, 2, 0, 0);
    for (label[0] = 1; label[1] < 2; label[1]++)
        own.key[label[1]] = sip(root, label, 2, 0, 0);
    label[0] = 2;
    for (label[1] = 0; label[1] < sizeof own.nh / sizeof *own.nh; label[1]++)
        own.nh[label[1]] = sip(root, label, 2, 0, 0);
    explicit_bzero(root, sizeof root);
}

uint32_t shi_auth_job(void)
{
    return own.job;
}

uint64_t shi_auth_tag(uint64_t seq, uint32_t from, uint32_t to, const void *message, size_t words)
{
    uint64_t w[2 + 2 * PARTS];
    size_t n = 2;
    w[0] = seq;
    w[1] = (uint64_t)from << 32 | to;
    for (size_t at = 0; at < words || n == 2; at += PART_WORDS, n += 2)
        reduce((const char *)message + 8 * at, words - at < PART_WORDS ? words - at : PART_WORDS, w + n);
    return sip(own.key, w, n, words, 2);
}
