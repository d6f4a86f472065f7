/*
 * copy_lines.c - copies of all alignments and of lengths around each limit, against a copy byte by byte, between guard bytes.
 *
 * Catches: a last line that is not copied or copied twice with another alignment, a write outside the destination; an aligned word of
 * the destination that another thread sees half written.
 */
#include "../tap.h"
#include "../torn.h"

#include <stdlib.h>

#include "host/util/copy_lines.h"

enum { GUARD = 64, ROOM = SHI_COPY_LINES_MAX + 64 + 2 * GUARD };

static char *from, *to;

/* The choices by length, and the loops, which some processors take for long copies only. */
enum { BY_LENGTH, BY_LENGTH_WIDE, WORDS, LINES, LINES_WIDE } way;

static void copy(char *t, const char *f, size_t bytes)
{
    switch (way) {
    case BY_LENGTH: shi_copy_lines(t, f, bytes); return;
    case BY_LENGTH_WIDE: shi_copy_lines_wide(t, f, bytes); return;
    case WORDS: shi_copy_words(t, f, bytes); return;
    case LINES: shi_copy_all_lines(t, f, bytes); return;
    case LINES_WIDE: shi_copy_all_lines_wide(t, f, bytes); return;
    }
}

static void fill(char *at)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < ROOM; i++, seed = seed * 1664525 + 1013904223)
        at[i] = (char)(seed >> 24);
}

static void check_copy(size_t bytes, size_t to_off, size_t from_off)
{
    size_t lo = GUARD + to_off, wrong = 0;
    memset(to, 0x5a, lo + bytes + GUARD);
    copy(to + lo, from + from_off, bytes);
    for (size_t i = 0; i < bytes; i++)
        wrong += to[lo + i] != from[from_off + i];
    for (size_t i = 0; i < GUARD; i++)
        wrong += (to[lo - 1 - i] != 0x5a) + (to[lo + bytes + i] != 0x5a);
    CHECKF(wrong == 0, "%zu bytes, alignments %zu and %zu: %zu bytes are wrong", bytes, to_off, from_off, wrong);
}

static void test_alignments(void)
{
    static const size_t around[] = {0, 64, SHI_COPY_LINES_MIN, SHI_COPY_LINES_MIN + 64, 4096};
    for (size_t k = 0; k < sizeof around / sizeof *around; k++)
        for (size_t bytes = around[k] < 2 ? 0 : around[k] - 2; bytes <= around[k] + 2; bytes++)
            for (size_t off = 0; (way < LINES || bytes >= SHI_LINE_BYTES) && off < 64 * 64; off += 7)
                check_copy(bytes, off % 64, off / 64);
}

static void test_long(void)
{
    for (int i = -1; i <= 1; i++)
        for (size_t off = 0; off < 64; off += 13) {
            check_copy((size_t)(SHI_COPY_LINES_LONG + i), off, 63 - off);
            check_copy((size_t)(SHI_COPY_LINES_MAX + i), off, 63 - off);
        }
}

static void copy_watched(char *t, const char *f, size_t n, size_t word)
{
    size_t bytes = n * word;
    memset(t, 1, bytes);
    if (!CHECK(torn_watch(t, bytes, word)))
        return;
    for (size_t i = 0; i < 500 + 200000 / bytes; i++)
        copy(t, f + i % 2 * (ROOM / 2), bytes);
    size_t found = torn_found();
    CHECKF(found == 0, "%zu words of %zu bytes, alignments %zu and %zu: %zu were half written", n, word, (uintptr_t)t % 16,
           (uintptr_t)f % 16, found);
}

static void watch_way(void)
{
    static const size_t words[] = {1, 2, 3, 5, 9, 33, 700};
    for (size_t word = 2; word <= 8; word *= 2)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            for (size_t off = 0; (way < LINES || words[k] * word >= SHI_LINE_BYTES) && off < 9; off++)
                copy_watched(to + off % 3 * word, from + (off / 3 == 2 ? 1 : off / 3 * word), words[k], word);
}

static void test_words(void)
{
    memset(from, 1, ROOM / 2);
    memset(from + ROOM / 2, 2, ROOM / 2);
    for (way = BY_LENGTH; way < LINES_WIDE || (way == LINES_WIDE && shi_copy_is_wide()); way++)
        watch_way();
}

int main(void)
{
    from = aligned_alloc(SHI_LINE_BYTES, ROOM);
    to = aligned_alloc(SHI_LINE_BYTES, ROOM);
    if (!from || !to)
        return 1;
    fill(from);
    RUN(test_alignments, "all alignments of both sides");
    RUN(test_long, "around the limits of long ones");
    way = BY_LENGTH_WIDE;
    RUN(test_alignments, "all alignments of both sides, wide registers");
    RUN(test_long, "around the limits of long ones, wide registers");
    way = WORDS;
    RUN(test_alignments, "all alignments of both sides, word by word");
    way = LINES;
    RUN(test_alignments, "all alignments of both sides, line by line");
    way = shi_copy_is_wide() ? LINES_WIDE : LINES;
    RUN(test_alignments, "all alignments of both sides, line by line with wide registers where there are any");
    RUN(test_words, "aligned words are never half written");
    free(from);
    free(to);
    return tap_end();
}
