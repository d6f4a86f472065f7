/* auth.c - the tag of a message, and NH: see auth.h. */
#include "host/net/stream/auth.h"

#include <string.h>

#include "host/net/fabric/net.h"
#include "host/util/base.h"
#include "host/util/siphash.h"

/* A message is reduced in parts, with the same key: messages of one length that differ do so in one part at least. */
enum { PART_WORDS = 1024, PART_BYTES = 8 * PART_WORDS, PARTS = (SHI_NET_LONGEST_BYTES / 8 + PART_WORDS - 1) / PART_WORDS };

static struct {
    uint64_t key[2];
    _Alignas(64) uint64_t nh[PART_WORDS];
    uint32_t job;
} own;

/* NH with words of 64 bits. It tells messages of one length apart; the tag has the length besides. */
static void nh(const char *message, const uint64_t *key, size_t bytes, uint64_t out[2])
{
    unsigned __int128 sum = 0;
    for (size_t i = 0, n; i < bytes; i += n) {
        uint64_t w[2] = {0};
        n = bytes - i < sizeof w ? bytes - i : sizeof w;
        memcpy(w, message + i, n);
        sum += (unsigned __int128)(w[0] + key[i / 8]) * (w[1] + key[i / 8 + 1]);
    }
    out[0] = (uint64_t)sum;
    out[1] = (uint64_t)(sum >> 64);
}

/* The parts of a message reduced, two words each, at least one part. Returns the number of words. */
static inline size_t reduce(const char *message, size_t bytes, uint64_t out[2 * PARTS])
{
    size_t n = 0;
    for (size_t at = 0; at < bytes || n == 0; at += PART_BYTES, n += 2) {
        size_t some = bytes - at < PART_BYTES ? bytes - at : PART_BYTES;
        nh(message + at, own.nh, some, out + n);
    }
    return n;
}

void shi_auth_set(const unsigned char secret[SHI_SECRET_BYTES])
{
    uint64_t root[2], label[2] = {0};
    memcpy(root, secret, sizeof root);
    own.job = (uint32_t)shi_sip_words(root, label, 2, 0, 0);
    for (label[0] = 1; label[1] < 2; label[1]++)
        own.key[label[1]] = shi_sip_words(root, label, 2, 0, 0);
    label[0] = 2;
    for (label[1] = 0; label[1] < sizeof own.nh / sizeof *own.nh; label[1]++)
        own.nh[label[1]] = shi_sip_words(root, label, 2, 0, 0);
    explicit_bzero(root, sizeof root);
}

void shi_auth_leave(void)
{
    explicit_bzero(&own, sizeof own);
}

uint32_t shi_auth_job(void)
{
    return own.job;
}

uint64_t shi_auth_tag(uint64_t seq, uint32_t from, uint32_t to, const void *message, size_t words)
{
    uint64_t w[2 + 2 * PARTS];
    w[0] = seq;
    w[1] = (uint64_t)from << 32 | to;
    size_t n = 2 + reduce(message, 8 * words, w + 2);
    return shi_sip_words(own.key, w, n, words, 2);
}
