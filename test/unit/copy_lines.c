/*
 * copy_lines.c - copies of all alignments and of lengths around each limit, against a copy byte by byte, between guard bytes.
 *
 * Catches: a last line that is not copied or copied twice with another alignment, a write outside the destination.
 */
#include "../tap.h"

#include <stdlib.h>

#include "host/util/copy_lines.h"

enum { GUARD = 64, ROOM = SHI_COPY_LINES_MAX + 64 + 2 * GUARD };

static char *from, *to;

/* The choices by length, and the loops, which some processors take for long copies only. */
enum { BY_LENGTH, BY_LENGTH_WIDE, LINES, LINES_WIDE } way;

static void copy(char *t, const char *f, size_t bytes)
{
    switch (way) {
    case BY_LENGTH: shi_copy_lines(t, f, bytes); return;
    case BY_LENGTH_WIDE: shi_copy_lines_wide(t, f, bytes); return;
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
    way = LINES;
    RUN(test_alignments, "all alignments of both sides, line by line");
    way = shi_copy_is_wide() ? LINES_WIDE : LINES;
    RUN(test_alignments, "all alignments of both sides, line by line with wide registers where there are any");
    free(from);
    free(to);
    return tap_end();
}
