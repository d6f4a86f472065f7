/*
 * doorbell.c - waits that sleep until the doorbell rings (SHMEM_WAIT=doorbell): each kind of event has to ring it. The last
 * PE waits; PE 0 makes the event once the last PE sleeps. An event without a ring ends the job after 2 s.
 */
#include <shmemx.h>
#include <unistd.h>

#include "../tap_pes.h"

enum { ASLEEP_US = 5000, LONG_BYTES = 1 << 20, MANY = 300 };

static long word, words[8];
static int last;
static uint64_t sig;
static long lock;
static char *big;
static int h_late;

/* All call it: PE 0, which is to make an event, returns 1, after the last PE has begun to wait and has probably fallen
 * asleep. If it has not, the test passes but proves less. */
static int makes(void)
{
    static long begun, events;
    events++;
    if (me == last)
        shmem_long_atomic_inc(&begun, 0);
    if (me != 0)
        return 0;
    shmem_long_wait_until(&begun, SHMEM_CMP_GE, events);
    usleep(ASLEEP_US);
    return 1;
}

static void await_word(long value)
{
    if (me == last)
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, value);
}

/* Catches: quiet, in one of its forms, that wakes no PE that waits for a word. */
static void puts_and_quiet(void)
{
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    word = 0;
    shmem_barrier_all();
    if (makes()) {
        shmem_long_p(&word, 1, last);
        shmem_quiet();
    }
    await_word(1);
    if (makes()) {
        shmem_long_p(&word, 2, last);
        shmem_pe_quiet(&last, 1);
    }
    await_word(2);
    if (makes()) {
        shmem_ctx_long_p(ctx, &word, 3, last);
        shmem_ctx_quiet(ctx);
    }
    await_word(3);
    if (makes())
        shmem_ctx_long_p(ctx, &word, 4, last);
    if (me == 0)
        shmem_ctx_destroy(ctx);
    await_word(4);
    if (makes())
        shmem_long_p(&word, 5, last);
    if (me != last)
        shmem_barrier_all(); /* with quiet */
    await_word(5);
    if (me == last)
        shmem_barrier_all();
    if (me != 0)
        shmem_ctx_destroy(ctx);
}

/* Catches: an atomic that wakes no PE; one that wakes a PE only for a change of the whole word. */
static void atomics(void)
{
    static int half[2];
    static long fetched;
    word = half[1] = 0;
    shmem_barrier_all();
    if (makes())
        shmem_long_atomic_inc(&word, last);
    await_word(1);
    if (makes())
        CHECK(shmem_long_atomic_fetch_add(&word, 1, last) == 1);
    await_word(2);
    if (makes())
        shmem_long_atomic_fetch_inc_nbi(&fetched, &word, last);
    await_word(3);
    if (makes())
        CHECK(shmem_long_atomic_compare_swap(&word, 3, 4, last) == 3);
    await_word(4);
    if (makes())
        shmem_int_atomic_set(&half[1], 1, last);
    if (me == last)
        shmem_int_wait_until(&half[1], SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
}

static void signals(void)
{
    static long data;
    sig = 0;
    shmem_barrier_all();
    if (makes())
        shmem_signal_set(&sig, 1, last);
    if (me == last)
        shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 1);
    if (makes())
        shmem_signal_add(&sig, 1, last);
    if (me == last)
        shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 2);
    if (makes())
        shmem_long_put_signal(&data, &(long){7}, 1, &sig, 3, SHMEM_SIGNAL_SET, last);
    if (me == last) {
        shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 3);
        CHECK(data == 7 || n_pes == 1);
    }
    shmem_barrier_all();
}

/* Catches: a wait for several words that sleeps on the first of them. */
static void several_words(void)
{
    memset(words, 0, sizeof words);
    shmem_barrier_all();
    for (int i = 7; i >= 0; i -= 3) {
        if (makes()) {
            shmem_long_p(&words[i], 1, last);
            shmem_quiet();
        }
        if (me == last) {
            CHECK((int)shmem_long_wait_until_any(words, 8, NULL, SHMEM_CMP_NE, 0) == i);
            words[i] = 0;
        }
    }
    shmem_barrier_all();
}

/* Catches: a sleeper that many other events wake, and that then misses its own. */
static void other_events(void)
{
    word = 0;
    shmem_barrier_all();
    if (makes()) {
        for (int i = 0; i < MANY; i++) {
            shmem_long_p(&word, -i, last);
            shmem_quiet();
        }
        shmem_long_p(&word, 1, last);
        shmem_quiet();
    }
    await_word(1);
    shmem_barrier_all();
}

static void locks(void)
{
    shmem_barrier_all();
    if (me == 0)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (makes())
        shmem_clear_lock(&lock);
    if (me == last && n_pes > 1) {
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
}

/* Catches: a collective one of whose steps wakes no PE. */
static void collectives(void)
{
    static long from[64], to[64];
    shmem_team_t team;
    makes();
    shmem_barrier_all();
    makes();
    shmem_team_sync(SHMEM_TEAM_WORLD);
    makes();
    shmem_long_broadcast(SHMEM_TEAM_WORLD, to, from, 4, 0);
    makes();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, 4);
    makes();
    shmem_long_alltoall(SHMEM_TEAM_WORLD, to, from, 1);
    makes();
    shmem_long_fcollect(SHMEM_TEAM_WORLD, to, from, 1);
    makes();
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team) == 0) {
        makes();
        shmem_team_sync(team);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

/* Catches: a message, long or short, that wakes no receiver; a free slot of the FIFO, or data that the receiver has read,
 * that wakes no sender. */
static void tagged(void)
{
    long x = me;
    memset(big, me, LONG_BYTES);
    shmem_barrier_all();
    if (n_pes == 1)
        return;
    if (makes())
        shmemx_tag_send(SHMEM_TEAM_WORLD, &x, sizeof x, 1, last);
    if (me == last)
        shmemx_tag_recv(SHMEM_TEAM_WORLD, &x, sizeof x, 1, SHMEMX_TAG_EXACT, 0, NULL);
    if (makes())
        shmemx_tag_send(SHMEM_TEAM_WORLD, big, LONG_BYTES, 2, last);
    if (me == last) {
        shmemx_tag_recv(SHMEM_TEAM_WORLD, big, LONG_BYTES, 2, SHMEMX_TAG_EXACT, 0, NULL);
        CHECK(big[0] == 0 && big[LONG_BYTES - 1] == 0);
    }
    int receives = makes();
    if (me == last) {
        shmemx_tag_send(SHMEM_TEAM_WORLD, big, LONG_BYTES, 3, 0);
        for (int i = 0; i < 1000; i++)
            shmemx_tag_send(SHMEM_TEAM_WORLD, big, 2000, 4, 0);
    }
    if (receives) {
        shmemx_tag_recv(SHMEM_TEAM_WORLD, big, LONG_BYTES, 3, SHMEMX_TAG_EXACT, last, NULL);
        usleep(ASLEEP_US);
        for (int i = 0; i < 1000; i++)
            shmemx_tag_recv(SHMEM_TEAM_WORLD, big, 2000, 4, SHMEMX_TAG_EXACT, last, NULL);
    }
    shmem_barrier_all();
}

static int late(shmemx_gpc_call_t *c)
{
    (void)c;
    usleep(ASLEEP_US);
    return 0;
}

/* Catches: a global procedure call whose end wakes no caller. */
static void calls(void)
{
    shmem_barrier_all();
    if (me == last)
        CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_late, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) == 0);
    shmem_barrier_all();
}

int main(void)
{
    setenv("SHMEM_WAIT", "doorbell", 1);
    shmem_init();
    tap_pes_begin();
    last = n_pes - 1;
    big = malloc(LONG_BYTES);
    h_late = shmemx_gpc_register(late);
    RUN(puts_and_quiet, "a put with every form of quiet");
    RUN(atomics, "atomics");
    RUN(signals, "signals");
    RUN(several_words, "a wait for any of 8 words");
    RUN(other_events, "many rings for nothing");
    RUN(locks, "a lock that is passed on");
    RUN(collectives, "barriers, collectives, teams");
    RUN(tagged, "tagged messages in both directions");
    RUN(calls, "global procedure calls");
    int status = tap_end();
    free(big);
    shmem_finalize();
    return status;
}
