/* wide.c - compare-and-swap of 16 bytes: its result for each pair of words, and on x86-64 that its instruction is a locked one. */
#include "../tap.h"
#include "host/net/node/amo_wide.h"

/* Catches: an operation that compares or stores one word alone, or returns what it stored. */
static void test_values(void)
{
    struct {
        _Alignas(16) uint64_t word[2];
    } at;
    uint64_t old[2];
    for (unsigned differs = 0; differs < 4; differs++) {
        const uint64_t cond[2] = {5 ^ (differs & 1), 6 ^ (differs & 2)}, value[2] = {UINT64_MAX, 1ull << 63};
        at.word[0] = 5, at.word[1] = 6;
        shi_wide_cswap(at.word, value, cond, old);
        CHECK(old[0] == 5 && old[1] == 6);
        CHECKF(at.word[0] == (differs ? 5 : value[0]) && at.word[1] == (differs ? 6 : value[1]), "words that differ: %u", differs);
    }
}

#ifdef __x86_64__
enum { CODE_BYTES = 2048, LOCK = 0xf0, REX_W = 0x48, IS_REX_W = 0xf8 };

/* cmpxchg16b in the code of shi_wide_cswap: REX.W 0F C7 /1. NULL: there is none. */
static const unsigned char *instruction(void)
{
    const unsigned char *code = (const unsigned char *)(uintptr_t)shi_wide_cswap;
    for (const unsigned char *p = code + 1; p < code + CODE_BYTES; p++)
        if (p[0] == 0x0f && p[1] == 0xc7 && (p[2] >> 3 & 7) == 1 && (p[-1] & IS_REX_W) == REX_W)
            return p - 1;
    return NULL;
}

/* Catches: cmpxchg16b without lock. Updates are lost only where two cores execute it in the same few cycles, which a run of many PEs meets
 * in some runs. */
static void test_locked(void)
{
    const unsigned char *p = instruction();
    CHECK(p && p[-1] == LOCK);
}
#endif

int main(void)
{
    if (!shi_wide_is_there())
        return printf("1..0 # SKIP this processor has no compare-and-swap of 16 bytes\n") < 0;
    RUN(test_values, "words that are equal, and each that differs");
#ifdef __x86_64__
    RUN(test_locked, "the instruction is locked");
#endif
    return tap_end();
}
