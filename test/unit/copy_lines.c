/*
 * copy_lines.c - copies of all alignments and of lengths around each limit, against a copy byte by byte, between guard bytes.
 *
 * Catches: a last line that is not copied or copied twice with another alignment, a write outside the destination; an aligned word of
 * the destination that another thread sees half written; a later store that another thread sees before data that bypasses the caches.
 */
#include "../tap.h"
#include "../torn.h"

#include <stdlib.h>

#include <pthread.h>
#include <sched.h>

#include "host/util/copy_lines.h"

enum { GUARD = 64, ROOM = SHI_COPY_LINES_MAX + 64 + 2 * GUARD };

static char *from, *to;

/* The choices by length, and the loops, which some processors take for long copies only. */
enum { BY_LENGTH, BY_LENGTH_WIDE, PART, WORDS, LINES, STREAMED, LINES_WIDE } way;

static size_t way_of; /* PART: the bytes of the whole transfer */

static void copy(char *t, const char *f, size_t bytes)
{
    switch (way) {
    case BY_LENGTH: shi_copy_lines(t, f, bytes); return;
    case BY_LENGTH_WIDE: shi_copy_lines_wide(t, f, bytes); return;
    case PART: shi_copy_part(t, f, bytes, way_of); return;
    case STREAMED: shi_copy_streamed(t, f, bytes); return;
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
    for (way = BY_LENGTH; way <= (shi_copy_is_wide() ? LINES_WIDE : LINES); way++)
        watch_way();
}

/* ---- order -------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = TAP_SANITIZER ? 4000 : 40000, BLOCK = 1024 };
static unsigned written, read_until;

static void await(const unsigned *word, unsigned value)
{
    for (unsigned polls = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; polls++)
        if (polls > 1000)
            sched_yield();
}

static cpu_set_t may;

/* Onto the k-th processor that this process may use, if there are so many: on the same one no thread sees the other's stores late. */
static void stay_on(int k)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &may) && k-- == 0)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void *read_blocks(void *arg)
{
    size_t *old = arg;
    stay_on(1);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        await(&written, i);
        for (size_t at = BLOCK; at > 0; at -= SHI_LINE_BYTES)
            *old += to[at - 1] != (char)i;
        __atomic_store_n(&read_until, i, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* A store after the copy, as a signal is one, comes after all of it. */
static void test_order(void)
{
    pthread_t reader;
    size_t old = 0;
    if (!CHECK(sched_getaffinity(0, sizeof may, &may) == 0) || !CHECK(pthread_create(&reader, NULL, read_blocks, &old) == 0))
        return;
    stay_on(0);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        memset(from, (int)i, BLOCK);
        copy(to, from, BLOCK);
        __atomic_store_n(&written, i, __ATOMIC_RELEASE);
        await(&read_until, i);
    }
    pthread_join(reader, NULL);
    sched_setaffinity(0, sizeof may, &may);
    CHECKF(old == 0, "%zu lines were older than the store after them", old);
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
    way = shi_copy_is_wide() ? STREAMED : LINES;
    RUN(test_alignments, "all alignments of both sides, past the caches where there are wide registers");
    shi_copy_find_caches();
    CHECKF(shi_copy_cache_bytes >= 1 << 20, "caches of %zu bytes", shi_copy_cache_bytes);
    shi_copy_cache_bytes = shi_copy_is_wide() ? 1 << 20 : SIZE_MAX;
    way = PART;
    way_of = (1 << 20) - 1;
    RUN(test_alignments, "a part of what the caches hold");
    way_of = 1 << 20;
    RUN(test_alignments, "a part of more than they hold");
    way = shi_copy_is_wide() ? LINES_WIDE : LINES;
    RUN(test_alignments, "all alignments of both sides, line by line with wide registers where there are any");
    way = shi_copy_is_wide() ? STREAMED : LINES;
    RUN(test_order, "a store after a copy past the caches is seen after it");
    RUN(test_words, "aligned words are never half written");
    free(from);
    free(to);
    return tap_end();
}
