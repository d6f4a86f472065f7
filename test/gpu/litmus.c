/*
 * litmus.c - runs each kernel of litmus.cl for ROUNDS rounds and counts forbidden outcomes. With several PEs, messages
 * go to the next PE; all other accesses stay on the own PE.
 *
 *   usage: oshrun -n N litmus ROUNDS      SHMEM_TEST_DEVICE_DIRECT=0 sends everything through the ring
 */
#include "../tap_pes.h"

#include <shmemx.h>

enum { WORDS = 24, SLOTS = 64, CELLS = 100, GROUPS = 8, ITEMS = 32, MAX_ROUNDS_AT_ONCE = 20000 };
static uint64_t rounds, *bad, *data, *source, *sig, *answer;

static int launch(const char *kernel, size_t groups, size_t items, void *const *args, const size_t *bytes, int n)
{
    const size_t g[3] = {groups, 1, 1}, i[3] = {items, 1, 1};
    return shmemx_launch(kernel, g, i, args, bytes, n);
}

static void *fresh(size_t n)
{
    void *p = shmemg_calloc(n, sizeof(uint64_t));
    if (!p)
        shmem_global_exit(1); /* the library has printed the reason */
    return p;
}

static uint64_t look(const uint64_t *p)
{
    uint64_t v;
    shmem_getmem(&v, p, sizeof v, me);
    return v;
}

/* Split long runs, so that no kernel runs for minutes. */
static void messages(int words, int how)
{
    int to = next_pe(), back = (me + n_pes - 1) % n_pes;
    uint64_t first = look(sig) + 1;
    shmem_barrier_all();
    for (uint64_t left = rounds; left;) {
        uint64_t now = left < MAX_ROUNDS_AT_ONCE ? left : MAX_ROUNDS_AT_ONCE;
        void *const args[] = {&bad, &data, &source, &sig, &answer, &words, &how, &to, &back, &first, &now};
        const size_t bytes[] = {8, 8, 8, 8, 8, 4, 4, 4, 4, 8, 8};
        if (!CHECK(launch("message", 2, how & 4 ? ITEMS : 1, args, bytes, 11) == 0 && shmemx_device_sync() == 0))
            return;
        first += now;
        left -= now;
    }
    shmem_barrier_all();
    CHECKF(look(bad) == 0, "%lu words arrived after their signal: %d words, way %d", (unsigned long)look(bad),
           words, how);
}

/* Catches: a signal visible before its data, a fence or quiet without order, one lane's signal before another
 * lane's copy. */
static void test_message_one(void)
{
    for (int how = 0; how < 3; how++)
        messages(1, how);
}
static void test_message_many(void)
{
    for (int how = 0; how < 3; how++)
        messages(WORDS, how);
    messages(WORDS, 4);
}

/* Catches: a quiet that orders stores but does not complete them. */
static void test_buffering(void)
{
    int cells = CELLS;
    uint64_t *word = fresh(2 * CELLS * 8), *seen = fresh(2 * CELLS * 8), *phase = fresh(16), first = 1;
    for (uint64_t left = rounds / CELLS + 1; left; first += MAX_ROUNDS_AT_ONCE / CELLS) {
        uint64_t now = left < MAX_ROUNDS_AT_ONCE / CELLS ? left : MAX_ROUNDS_AT_ONCE / CELLS;
        void *const args[] = {&bad, &word, &seen, &phase, &cells, &me, &first, &now};
        const size_t bytes[] = {8, 8, 8, 8, 4, 4, 8, 8};
        if (!CHECK(launch("buffering", 2, 1, args, bytes, 8) == 0 && shmemx_device_sync() == 0))
            break;
        left -= now;
    }
    CHECKF(look(bad) == 0, "%lu times neither group saw the other's completed store", (unsigned long)look(bad));
    shmem_barrier_all();
    shmemg_free(phase), shmemg_free(seen), shmemg_free(word);
}

/* Catches: a slot overwritten before it is read or read before it is written, a result of another ticket. */
static void test_laps(void)
{
    uint64_t each = rounds / (GROUPS * ITEMS) / 16 * 16 + 16, *place = fresh(GROUPS * ITEMS), *total = fresh(1);
    uint64_t v[GROUPS * ITEMS];
    void *const args[] = {&bad, &place, &total, &me, &each};
    const size_t bytes[] = {8, 8, 8, 4, 8};
    CHECK(launch("laps", GROUPS, ITEMS, args, bytes, 5) == 0 && shmemx_device_sync() == 0);
    shmem_getmem(v, place, sizeof v, me);
    for (int i = 0; i < GROUPS * ITEMS; i++)
        CHECKF(v[i] == each, "work-item %d: %lu of %lu", i, (unsigned long)v[i], (unsigned long)each);
    CHECK(look(total) == each / 8 * GROUPS * ITEMS);
    CHECKF(look(bad) == 0, "%lu results out of order or values missing", (unsigned long)look(bad));
    shmem_barrier_all();
    shmemg_free(total), shmemg_free(place);
}

/* Catches: a source that the proxy reads before the kernel's stores, a completion before its data. */
static void test_there_and_back(void)
{
    int slots = SLOTS;
    uint64_t *from = fresh(SLOTS * WORDS), *remote = fresh(SLOTS * WORDS), *back = fresh(SLOTS * WORDS);
    void *const args[] = {&bad, &from, &remote, &back, &slots, &me, &rounds};
    const size_t bytes[] = {8, 8, 8, 8, 4, 4, 8};
    CHECK(launch("there_and_back", 1, 1, args, bytes, 7) == 0 && shmemx_device_sync() == 0);
    CHECKF(look(bad) == 0, "%lu words came back with old values", (unsigned long)look(bad));
    shmem_barrier_all();
    shmemg_free(back), shmemg_free(remote), shmemg_free(from);
}

int main(int argc, char **argv)
{
    shmem_init();
    rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
    tap_pes_begin();
    bad = fresh(1), data = fresh(WORDS), source = fresh(WORDS), sig = fresh(1), answer = fresh(1);
    RUN(test_message_one, "message passing, one word");
    RUN(test_message_many, "message passing, many words; signal after data");
    RUN(test_buffering, "store buffering");
    RUN(test_laps, "lap reuse");
    RUN(test_there_and_back, "round trip through the proxy");
    int status = tap_end();
    shmem_finalize();
    return status;
}
