/*
 * order.c - litmus tests of fence and quiet between PE 0 and PE 1, where the other PEs only use processor time, and of a barrier.
 *
 * The two sides synchronize only rarely: a handshake in each round would itself establish the order under test.
 */
#include "../tap_pes.h"

enum { ROUNDS = 1000000, REMOTE_ROUNDS = 10000, WORDS = 8, BLOCK = 2000 };
static int rounds = ROUNDS;

static long static_data[WORDS], static_flag;
static long *heap_data, *heap_flag;
static int *mine, *theirs; /* [ROUNDS]: what each side wrote and read */

/* The data must be as new as the flag that follows it, or newer, for every kind of memory and of put. */
static void pass(long *data, long *flag, int nbi)
{
    shmem_barrier_all();
    memset(data, 0, WORDS * sizeof *data);
    *flag = 0;
    shmem_barrier_all();
    for (long i = 1; me == 0 && i <= rounds; i++) {
        long block[WORDS] = {i, i, i, i, i, i, i, i};
        if (i % 3 == 0 && nbi)
            shmem_long_put_nbi(data, block, WORDS, 1);
        else if (i % 3 == 0)
            shmem_long_put(data, block, WORDS, 1);
        else
            for (int k = 0; k < WORDS; k++)
                shmem_long_p(&data[k], i, 1);
        if (nbi)
            shmem_quiet();
        else
            shmem_fence();
        shmem_long_p(flag, i, 1);
    }
    for (long seen = 0; me == 1 && seen < rounds;) {
        shmem_long_wait_until(flag, SHMEM_CMP_GT, seen);
        seen = shmem_long_atomic_fetch(flag, 1);
        for (int k = 0; k < WORDS; k++) {
            long now = shmem_long_atomic_fetch(&data[k], 1);
            if (!CHECKF(now >= seen, "flag %ld, but data[%d] is %ld", seen, k, now))
                break;
        }
    }
    shmem_barrier_all();
    CHECK(me != 1 || (data[0] == rounds && *flag == rounds));
}

/* Catches: a fence that lets the flag overtake the data. */
static void message_passing(void)
{
    pass(heap_data, heap_flag, 0);
    pass(static_data, &static_flag, 0);
}

/* Catches: the same for quiet after nonblocking puts. */
static void message_passing_quiet(void)
{
    pass(heap_data, heap_flag, 1);
    pass(static_data, heap_flag, 1);
}

/*
 * Store buffering: each side puts its word to the other, completes it (by quiet, or by a session's operation), then
 * gets the other's word. At least one get must see the other's put; a quiet that only orders stores fails.
 */
static void buffering(void (*complete)(void))
{
    int you = 1 - me;
    shmem_barrier_all();
    memset(mine, 0, (size_t)rounds * sizeof *mine);
    memset(theirs, 0, (size_t)rounds * sizeof *theirs);
    int *got = me < 2 ? malloc((size_t)rounds * sizeof *got) : NULL;
    shmem_barrier_all();
    for (int i = 0; me < 2 && i < rounds; i++) {
        if (i % BLOCK == 0) { /* synchronize the sides: the window is a few nanoseconds */
            shmem_int_atomic_add(&theirs[i], 1, you);
            shmem_int_wait_until(&theirs[i], SHMEM_CMP_NE, 0);
        }
        shmem_int_p(&mine[i], 1, you);      /* to the other side */
        complete();
        got[i] = shmem_int_g(&mine[i], me); /* the other side's put */
    }
    shmem_barrier_all();
    if (me < 2)
        shmem_int_put(theirs, got, (size_t)rounds, you);
    shmem_barrier_all();
    for (int i = 0; me < 2 && i < rounds; i++)
        if (!CHECKF(got[i] || theirs[i], "round %d: neither side saw the other's put", i))
            break;
    free(got);
}

static void everybody_quiet(void)
{
    static const int both[] = {0, 1};
    shmem_pe_quiet(both, 2);
}

/* Catches: a quiet that returns before the put is visible: then both gets miss. */
static void store_buffering(void)
{
    buffering(shmem_quiet);
    buffering(everybody_quiet);
}

/* The specification requires a quiet between a put and a get of the same word; programs that omit it must work, too.
 * Catches: a get that overtakes this PE's own put, on any path. */
static void own_put(void)
{
    long *word = shmem_malloc(sizeof *word), got = 0;
    *word = 0;
    shmem_barrier_all();
    for (int i = 1; i <= 200; i++)
        shmem_getmem(&got, word, sizeof got, me == 0); /* from now on the library can choose between paths */
    for (long i = 1; me == 0 && i <= rounds / 4; i++) {
        shmem_long_p(word, i, 1);
        got = shmem_long_g(word, 1);
        if (!CHECKF(got == i, "put %ld, got %ld", i, got))
            break;
        if (i % 8 == 0) /* sometimes no path has operations under way */
            shmem_quiet();
    }
    shmem_barrier_all();
    shmem_free(word);
}

/* A long put, then a barrier, which its receiver may leave because of messages of others only: the barrier's messages go 1, 2, 4
 * PEs further. Catches: a barrier that a PE leaves before a put to it has arrived; between nodes that needs four. */
static void put_then_barrier(void)
{
    enum { LONG_WORDS = 131072, TURNS = 40 };
    long *to = shmem_calloc(LONG_WORDS, sizeof *to), *from = malloc(LONG_WORDS * sizeof *from);
    int old = 0;
    for (int turn = 1; turn <= TURNS; turn++) {
        int sender = turn % n_pes, receiver = (sender + 3) % n_pes;
        for (int i = 0; i < LONG_WORDS; i++)
            from[i] = turn;
        if (me == sender && turn % 4 < 2)
            shmem_long_put_nbi(to, from, LONG_WORDS, receiver);
        else if (me == sender)
            shmem_long_put(to, from, LONG_WORDS, receiver);
        shmem_barrier_all();
        for (int i = 0; me == receiver && i < LONG_WORDS; i++)
            old += to[i] != turn;
        shmem_barrier_all();
    }
    CHECKF(old == 0, "%d words were old after the barrier", old);
    shmem_free(to);
    free(from);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    heap_data = shmem_align(64, WORDS * sizeof *heap_data);
    heap_flag = shmem_align(64, sizeof *heap_flag);
    rounds = has_remote_pes() ? REMOTE_ROUNDS : ROUNDS;
    mine = shmem_malloc((size_t)rounds * sizeof *mine);
    theirs = shmem_malloc((size_t)rounds * sizeof *theirs);
    if (n_pes > 1) {
        RUN(message_passing, "put, fence, put flag");
        RUN(message_passing_quiet, "put_nbi, quiet, put flag");
        RUN(store_buffering, "put, quiet, get on both sides");
        RUN(own_put, "put, get");
        RUN(put_then_barrier, "put, barrier");
    } else {
        tap_skip("order", "needs two PEs");
    }
    shmem_finalize();
    return tap_end();
}
