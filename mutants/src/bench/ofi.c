/*
 * ofi.c - the network compared with bare libfabric: latency, bandwidth and rate by our calls and by the provider's,
 * alternately. Needs SHMEM_TRANSPORT=ofi and two PEs on one host, and is linked with libfabric:
 *
 *     oshcc -O2 bench/ofi.c -lfabric -o ofi && SHMEM_TRANSPORT=ofi oshrun -n 2 ./ofi
 */
#include "bare_ofi.h"

enum { BIG = 1 << 20, WINDOW = BARE_WINDOW, FLOOD = 1000, WORD = BARE_WORD };

static char *area, *heap;
static uint64_t signal_word; /* symmetric, and so are the next two */
static long word, flag;

/* ---- one way ------------------------------------------------------------------------------------------------------- */

static void loop_message(void *arg, long calls)
{
    (void)arg;
    bare_in_turn(WORD, calls);
}

static void loop_put_signal(void *arg, long calls)
{
    static uint64_t turn;
    (void)arg;
    for (; calls > 0; calls--) {
        turn++;
        if (shmem_my_pe() == 1)
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, turn);
        shmem_putmem_signal(heap, area, WORD, &signal_word, turn, SHMEM_SIGNAL_SET, 1 - shmem_my_pe());
        if (shmem_my_pe() == 0)
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, turn);
    }
}

static void loop_p(void *arg, long calls)
{
    static long turn;
    (void)arg;
    for (; calls > 0; calls--) {
        turn++;
        if (shmem_my_pe() == 1)
            shmem_long_wait_until(&word, SHMEM_CMP_GE, turn);
        shmem_long_p(&word, turn, 1 - shmem_my_pe());
        if (shmem_my_pe() == 0)
            shmem_long_wait_until(&word, SHMEM_CMP_GE, turn);
    }
}

/* ---- PE 0 calls, PE 1 polls -------------------------------------------------------------------------------------- */

/* PE 1 polls until PE 0 has finished. */
static void through_ours(void)
{
    static long turn;
    turn++;
    if (shmem_my_pe() == 0)
        shmem_long_p(&flag, turn, 1);
    else
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, turn);
}

static void loop_bare_get(void *arg, long calls)
{
    (void)arg;
    bare_get(WORD, calls, 1);
}

static void loop_bare_write_big(void *arg, long calls)
{
    (void)arg;
    while (calls--)
        bare_put(BIG, WINDOW);
}

static void loop_bare_read_big(void *arg, long calls)
{
    (void)arg;
    bare_get(BIG, calls, WINDOW);
}

static void loop_get(void *arg, long calls)
{
    (void)arg;
    for (; shmem_my_pe() == 0 && calls > 0; calls--)
        shmem_getmem(area, heap, WORD, 1);
    through_ours();
}

static void loop_fetch_add(void *arg, long calls)
{
    (void)arg;
    for (; shmem_my_pe() == 0 && calls > 0; calls--)
        shmem_long_atomic_fetch_add(&word, 0, 1);
    through_ours();
}

static void loop_put_big(void *arg, long calls)
{
    (void)arg;
    for (; shmem_my_pe() == 0 && calls > 0; calls--) {
        for (int i = 0; i < WINDOW; i++)
            shmem_putmem_nbi(heap, area, BIG, 1);
        shmem_quiet();
    }
    through_ours();
}

static void loop_get_big(void *arg, long calls)
{
    (void)arg;
    for (; shmem_my_pe() == 0 && calls > 0; calls--) {
        for (int i = 0; i < WINDOW; i++)
            shmem_getmem_nbi(area, heap, BIG, 1);
        shmem_quiet();
    }
    through_ours();
}

/* ---- floods -------------------------------------------------------------------------------------------------------- */

static void loop_flood(void *arg, long calls)
{
    (void)arg;
    if (shmem_my_pe() == 0) {
        for (long i = 0; i < calls * FLOOD; i++)
            bare_message(WORD);
        bare_await_messages(1);
    } else {
        bare_await_messages(calls * FLOOD);
        bare_message(WORD);
    }
}

static void loop_flood_p(void *arg, long calls)
{
    (void)arg;
    for (long i = 0; shmem_my_pe() == 0 && i < calls * FLOOD; i++)
        shmem_long_p((long *)heap + i % 1024, i, 1);
    shmem_quiet();
    through_ours();
}

int main(void)
{
    bench_init("ofi", 2);
    area = bench_private(BIG);
    heap = bench_symmetric(BIG);
    bare_open(heap, area, bench_private(BIG), BIG);
    struct bench_case cases[] = {
        {"bare_message", "heap", NULL, BENCH_US, WORD, 2, loop_message, NULL, 0, {0}},
        {"put_signal", "heap", "bare_message", BENCH_US, WORD, 2, loop_put_signal, NULL, 0, {0}},
        {"pingpong_p", "static", "bare_message", BENCH_US, WORD, 2, loop_p, NULL, 0, {0}},
        {"bare_read", "heap", NULL, BENCH_US, WORD, 1, loop_bare_get, NULL, 0, {0}},
        {"get", "heap", "bare_read", BENCH_US, WORD, 1, loop_get, NULL, 0, {0}},
        {"fetch_add", "static", "bare_read", BENCH_US, WORD, 1, loop_fetch_add, NULL, 0, {0}},
        {"bare_write", "heap", NULL, BENCH_GB_PER_S, BIG, WINDOW, loop_bare_write_big, NULL, 0, {0}},
        {"bandwidth_put", "heap", "bare_write", BENCH_GB_PER_S, BIG, WINDOW, loop_put_big, NULL, 0, {0}},
        {"bare_read", "heap", NULL, BENCH_GB_PER_S, BIG, WINDOW, loop_bare_read_big, NULL, 0, {0}},
        {"bandwidth_get", "heap", "bare_read", BENCH_GB_PER_S, BIG, WINDOW, loop_get_big, NULL, 0, {0}},
        {"bare_inject", "heap", NULL, BENCH_MILLION_PER_S, WORD, FLOOD, loop_flood, NULL, 0, {0}},
        {"rate_p", "heap", "bare_inject", BENCH_MILLION_PER_S, WORD, FLOOD, loop_flood_p, NULL, 0, {0}},
    };
    bench_joint(cases, sizeof cases / sizeof *cases);
    shmem_finalize();
    return 0;
}
