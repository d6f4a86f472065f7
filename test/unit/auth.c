/* auth.c - tags of messages: against published vectors, against NH computed in another way, and every bit counts. */
#include "host/net/stream/auth.c"

#include <stdlib.h>

#include "../tap.h"

enum { WORDS = SHI_NET_LONGEST_BYTES / 8 - 1 };

/* Catches: a wrong rotation, order or finalization, which would make another, unexamined function. Inputs are the bytes
 * 0, 1, 2, ..., the key is the bytes 0 to 15, as in the authors' vectors. */
static void published_vectors(void)
{
    static const struct {
        size_t bytes;
        uint64_t tag;
    } known[] = {{0, 0x726fdb47dd0e0e31}, {8, 0x93f5f5799a932462}, {15, 0xa129ca6149be45e5}, {16, 0x3f2acc7f57c29bdb},
                 {34, 0x12e0b01abb051238}, {56, 0xb78dbfaf3a8d83bd}};
    unsigned char key[16], input[56];
    uint64_t k[2], w[7];
    for (unsigned i = 0; i < sizeof input; i++)
        input[i] = (unsigned char)i;
    memcpy(key, input, sizeof key);
    memcpy(k, key, sizeof k);
    memcpy(w, input, sizeof w);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = known[i].bytes;
        uint64_t rest = n % 8 ? w[n / 8] & ((1ull << n % 8 * 8) - 1) : 0, tag = shi_sip_words(k, w, n / 8, rest, n % 8);
        CHECKF(tag == known[i].tag, "of %zu bytes: %#lx", n, (unsigned long)tag);
    }
}

/* x * y of 128 bits from products of 32 bits, added to sum[2]. */
static void add_product(uint64_t sum[2], uint64_t x, uint64_t y)
{
    uint64_t a = x >> 32, b = x & UINT32_MAX, c = y >> 32, d = y & UINT32_MAX, before = sum[0];
    uint64_t middle = (b * d >> 32) + (uint32_t)(a * d) + (uint32_t)(b * c);
    sum[0] += middle << 32 | (uint32_t)(b * d);
    sum[1] += a * c + (a * d >> 32) + (b * c >> 32) + (middle >> 32) + (sum[0] < before);
}

/* Catches: a pair of words left out, a lost carry, a last odd word without its key. */
static void nh_of_all_lengths(void)
{
    static uint64_t m[PART_WORDS];
    unsigned random = 1;
    for (size_t i = 0; i < PART_WORDS; i++)
        m[i] = i % 5 ? (uint64_t)tap_random(&random) << 33 ^ tap_random(&random) : UINT64_MAX;
    for (size_t n = 0; n <= PART_WORDS; n += n < 70 ? 1 : 61) {
        uint64_t expect[2] = {0}, got[2];
        for (size_t i = 0; i < n; i += 2)
            add_product(expect, m[i] + own.nh[i], (i + 1 < n ? m[i + 1] : 0) + own.nh[i + 1]);
        nh((const char *)m, own.nh, 8 * n, got);
        CHECKF(got[0] == expect[0] && got[1] == expect[1], "%zu words", n);
    }
}

/* Catches: a part of the message, its number, its sender or its receiver that the tag does not cover. */
static void every_bit_counts(void)
{
    static uint64_t m[WORDS];
    static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 16, PART_WORDS - 1, PART_WORDS, PART_WORDS + 1, WORDS};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        size_t n = lengths[k], step = n > 16 ? 1009 : 1;
        uint64_t tag = shi_auth_tag(1, 2, 3, m, n);
        for (size_t bit = 0; bit < n * 64; bit += step) {
            m[bit / 64] ^= 1ull << bit % 64;
            CHECKF(shi_auth_tag(1, 2, 3, m, n) != tag, "bit %zu of %zu words", bit, n);
            m[bit / 64] ^= 1ull << bit % 64;
        }
        CHECKF(shi_auth_tag(1, 2, 3, m, n) == tag, "%zu words, twice", n);
        for (int bit = 0; bit < 64; bit++)
            CHECKF(shi_auth_tag(1 ^ 1ull << bit, 2, 3, m, n) != tag, "bit %d of the number", bit);
        for (int bit = 0; bit < 32; bit++)
            CHECKF(shi_auth_tag(1, 2 ^ 1u << bit, 3, m, n) != tag && shi_auth_tag(1, 2, 3 ^ 1u << bit, m, n) != tag,
                   "bit %d of a PE", bit);
        CHECKF(n == WORDS || shi_auth_tag(1, 2, 3, m, n + 1) != tag, "%zu words and a zero", n);
    }
}

/* Catches: parts whose order, or number, does not count. */
static void parts_have_places(void)
{
    static uint64_t m[3 * PART_WORDS];
    memset(m, 0, sizeof m);
    m[0] = 1;
    uint64_t tag = shi_auth_tag(1, 2, 3, m, 3 * PART_WORDS), two = shi_auth_tag(1, 2, 3, m, 2 * PART_WORDS);
    m[PART_WORDS] = 1;
    uint64_t same = shi_auth_tag(1, 2, 3, m, 3 * PART_WORDS);
    m[0] = 0;
    CHECK(tag != shi_auth_tag(1, 2, 3, m, 3 * PART_WORDS) && tag != same && tag != two);
}

/* Catches: an unused part of the secret, for the tag or for the job's number. */
static void every_bit_of_the_secret_counts(void)
{
    unsigned char secret[SHI_SECRET_BYTES] = {0};
    uint64_t m[6] = {1, 2, 3, 4, 5, 6}, tag[129];
    uint32_t job[129];
    for (int i = 0; i <= 128; i++) {
        if (i)
            secret[(i - 1) / 8] ^= (unsigned char)(1 << (i - 1) % 8);
        shi_auth_set(secret);
        tag[i] = shi_auth_tag(0, 1, 2, m, 6);
        job[i] = shi_auth_job();
        for (int k = 0; k < i; k++)
            CHECKF(tag[k] != tag[i] && job[k] != job[i], "secrets %d and %d", k, i);
    }
}

/* Catches: an NH key that is zero or repeats, so that changes of two words could cancel out. */
static void key_words_differ(void)
{
    for (size_t i = 0; i < PART_WORDS; i++)
        for (size_t k = 0; k < i; k++)
            CHECKF(own.nh[i] != own.nh[k], "words %zu and %zu", i, k);
    CHECK(own.key[0] != own.key[1] && own.key[0] != own.nh[0]);
}

int main(void)
{
    unsigned char secret[SHI_SECRET_BYTES] = "any secret here";
    shi_auth_set(secret);
    RUN(published_vectors, "SipHash-2-4 gives the tags that its authors published");
    RUN(nh_of_all_lengths, "NH equals products of half words");
    RUN(every_bit_counts, "a changed bit changes the tag");
    RUN(parts_have_places, "the parts of a long message have an order");
    RUN(key_words_differ, "the words of the keys differ");
    RUN(every_bit_of_the_secret_counts, "a changed secret changes the tag and the job's number");
    return tap_end();
}
