/*
 * words.c - PE 0 puts words to PE 1, which reads them meanwhile and must see each aligned word as it was before or after a put: "partial
 * updates" must not end a wait (OpenSHMEM 1.6, point-to-point synchronization). Over a network this holds for puts that are sent as
 * messages; a longer put is written by the provider.
 *
 * Catches: a copy that stores bytes, at any length and alignment, in each form of put; a get of one word in two loads.
 */
#include "../tap_pes.h"
#include "../torn.h"

enum { ROOM = 4096, OFFSETS = 3, TURNS = 400, REMOTE_TURNS = 12, MOST_REMOTE = 1024 };

static char static_dest[ROOM] __attribute__((aligned(64)));
static char *heap_dest, source[2][ROOM] __attribute__((aligned(64)));
static long puts_done;
static int turns = TURNS;
static size_t most = ROOM;

enum form { PUT, PUT_NBI, IPUT, IBPUT, P, FORMS };

#define PUT_AS(BITS, T, NAME)                                                                                                            \
    static void put##BITS(enum form form, void *to, const void *from, size_t n, int pe)                                                 \
    {                                                                                                                                    \
        switch (form) {                                                                                                                  \
        case PUT: shmem_put##BITS(to, from, n, pe); break;                                                                               \
        case PUT_NBI: shmem_put##BITS##_nbi(to, from, n, pe); break;                                                                     \
        case IPUT: shmem_iput##BITS(to, from, 1, 1, n, pe); break;                                                                       \
        case IBPUT: shmem_ibput##BITS(to, from, (ptrdiff_t)n, (ptrdiff_t)n, n, 1, pe); break;                                            \
        default:                                                                                                                         \
            for (size_t i = 0; i < n; i++)                                                                                               \
                shmem_##NAME##_p((T *)to + i, ((const T *)from)[i], pe);                                                                 \
        }                                                                                                                                \
    }
PUT_AS(16, short, short)
PUT_AS(32, int, int)
PUT_AS(64, long, long)

static void put(enum form form, size_t word, char *to, const char *from, size_t n, int pe)
{
    if (word == 2)
        put16(form, to, from, n, pe);
    else if (word == 4)
        put32(form, to, from, n, pe);
    else
        put64(form, to, from, n, pe);
    if (form == PUT_NBI)
        shmem_quiet(); /* the source is used again */
}

/* Puts of n words to an address that is `to` words after a multiple of 64, from one that is `from` words after such a one. */
static void round_of(enum form form, char *dest, size_t word, size_t n, size_t to, size_t from)
{
    int target = 1 % n_pes, watched = 0;
    dest += to * word;
    if (me == target) {
        memset(dest, 1, n * word);
        watched = CHECK(torn_watch(dest, n * word, word));
    }
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < turns; i++)
        put(form, word, dest, source[i % 2] + from * word, n, target);
    shmem_barrier_all();
    size_t found = watched ? torn_found() : 0;
    CHECKF(found == 0, "form %d, %zu words of %zu bytes from %zu to %zu: %zu were half written", form, n, word, from, to, found);
}

/* All lengths, every second pair of alignments. */
static void puts_of(enum form form, char *dest, size_t word, int all)
{
    static const size_t count[] = {1, 2, 3, 7, 33, 300};
    for (size_t k = 0; k < sizeof count / sizeof *count && count[k] * word <= most; k += all ? 1 : 2)
        for (size_t off = 0; off < OFFSETS * OFFSETS; off += all ? 2 : 4)
            round_of(form, dest, word, count[k], off % OFFSETS, off / OFFSETS);
}

static void test_heap(void)
{
    for (enum form form = 0; form < FORMS; form++)
        for (size_t word = 2; word <= 8; word *= 2)
            puts_of(form, heap_dest, word, form == PUT && !has_remote_pes());
}

static void test_static(void)
{
    puts_of(PUT, static_dest, 8, 0);
}

/* The words' owner stores whole words; gets of one word must return one of them. */
static void test_get(void)
{
    long *word = (long *)heap_dest, got, wrong = 0;
    *word = 0;
    puts_done = 0;
    shmem_barrier_all();
    if (me == 1 % n_pes && n_pes > 1)
        for (long i = 0; !shmem_long_test(&puts_done, SHMEM_CMP_NE, 0); i++)
            __atomic_store_n(word, i % 2 ? -1 : 0, __ATOMIC_RELAXED);
    for (int i = 0; me == 0 && i < 20 * turns; i++) {
        shmem_long_get(&got, word, 1, 1 % n_pes);
        wrong += got != 0 && got != -1;
    }
    if (me == 0)
        shmem_long_p(&puts_done, 1, 1 % n_pes);
    CHECKF(wrong == 0, "%ld gets returned a part of a word", wrong);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    if (has_remote_pes()) {
        turns = REMOTE_TURNS;
        most = MOST_REMOTE;
    }
    heap_dest = shmem_align(64, ROOM);
    memset(source[0], 1, ROOM);
    memset(source[1], 2, ROOM);
    RUN(test_heap, "puts to the heap write whole words");
    RUN(test_static, "puts to static data write whole words");
    RUN(test_get, "a get of one word reads it whole");
    shmem_finalize();
    return tap_end();
}
