/*
 * test_loop.c - programs that test in loops, on one core for all PEs: a test that keeps failing yields the core to the PE that
 * has to act. A token goes round the PEs; each counts the tests that fail before it comes. Where PEs do not share memory
 * (several nodes, SHMEM_TRANSPORT=ofi) only the results are checked, because a node of one PE is not oversubscribed.
 *
 * Without yields a PE makes some hundred thousand tests (over a network some thousand) before the kernel takes the core away.
 */
#include <limits.h>
#include <sched.h>
#include <shmemx.h>
#include <sys/resource.h>

#include "../tap_pes.h"

enum { LAPS = 40, MOST_FAILED = 5000 }; /* a lap and PE: the scheduler may choose a PE that has yielded again, for a while */
enum { MANY_TESTS = 3000000, MANY_SLEEPS = 1000 };

static long word, lock;
static uint64_t signal_word;
static long failed, most_failed; /* most_failed: in LAPS laps */

/* Set the PE's core before shmem_init, which counts PEs and cores. */
static void share_one_core(void)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set) == 0)
            return;
    }
}

static void begin(void)
{
    word = 0;
    signal_word = 0;
    failed = 0;
    shmem_barrier_all();
}

static void check_failed(void)
{
    CHECKF(failed <= most_failed, "%ld tests failed in %d laps", failed, LAPS);
    shmem_barrier_all();
}

static int test_one(long lap)
{
    return shmem_long_test(&word, SHMEM_CMP_GE, lap);
}
static int test_all(long lap)
{
    return shmem_long_test_all(&word, 1, NULL, SHMEM_CMP_GE, lap);
}
static int test_any(long lap)
{
    return shmem_long_test_any(&word, 1, NULL, SHMEM_CMP_GE, lap) != SIZE_MAX;
}
static int test_some(long lap)
{
    size_t index;
    return shmem_long_test_some(&word, 1, &index, NULL, SHMEM_CMP_GE, lap) != 0;
}

/* Catches: a routine that tests words and does not yield. */
static void words(void)
{
    static int (*const test[])(long) = {test_one, test_all, test_any, test_some};
    for (unsigned i = 0; i < sizeof test / sizeof *test; i++) {
        begin();
        for (long lap = 1; lap <= LAPS; lap++) {
            if (me == 0)
                shmem_long_p(&word, lap, next_pe());
            while (!test[i](lap))
                failed++;
            if (me != 0)
                shmem_long_p(&word, lap, next_pe());
        }
        CHECKF(failed <= most_failed, "way %u: %ld tests failed in %d laps", i, failed, LAPS);
        shmem_barrier_all();
    }
}

static void signals(void)
{
    begin();
    for (uint64_t lap = 1; lap <= LAPS; lap++) {
        if (me == 0)
            shmem_signal_set(&signal_word, lap, next_pe());
        while (shmem_signal_fetch(&signal_word) < lap)
            failed++;
        if (me != 0)
            shmem_signal_set(&signal_word, lap, next_pe());
    }
    check_failed();
}

/* The holder leaves the core, so the others find the lock taken. */
static void locks(void)
{
    begin();
    for (int lap = 0; lap < LAPS; lap++) {
        while (shmem_test_lock(&lock))
            failed++;
        sched_yield();
        shmem_clear_lock(&lock);
    }
    check_failed();
}

static void pass_tag(uint64_t lap)
{
    shmemx_tag_send(SHMEM_TEAM_WORLD, NULL, 0, lap, next_pe());
}

static int tag_test(shmemx_tag_request_t *r, unsigned way)
{
    int index;
    switch (way) {
    case 0: return shmemx_tag_test(r, NULL);
    case 1: return shmemx_tag_test_any(1, r, &index, NULL);
    case 2: return shmemx_tag_test_some(1, r, &index, NULL);
    case 3: return shmemx_tag_test_all(1, r, NULL);
    default: return shmemx_tag_request_get_status(*r, NULL);
    }
}

/* Catches: a routine that tests requests and does not yield. */
static void requests(void)
{
    for (unsigned way = 0; way < 5; way++) {
        begin();
        for (uint64_t lap = 1; lap <= LAPS; lap++) {
            shmemx_tag_request_t r;
            shmemx_tag_irecv(SHMEM_TEAM_WORLD, NULL, 0, lap, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &r);
            if (me == 0)
                pass_tag(lap);
            while (!tag_test(&r, way))
                failed++;
            shmemx_tag_wait(&r, NULL);
            if (me != 0)
                pass_tag(lap);
        }
        CHECKF(failed <= most_failed, "way %u: %ld tests failed in %d laps", way, failed, LAPS);
        shmem_barrier_all();
    }
}

static void probes(void)
{
    begin();
    for (uint64_t lap = 1; lap <= LAPS; lap++) {
        shmemx_tag_message_t message;
        if (me == 0)
            pass_tag(lap);
        if (lap % 2) {
            while (!shmemx_tag_iprobe(SHMEM_TEAM_WORLD, lap, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, NULL))
                failed++;
            shmemx_tag_recv(SHMEM_TEAM_WORLD, NULL, 0, lap, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, NULL);
        } else {
            while (!shmemx_tag_improbe(SHMEM_TEAM_WORLD, lap, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &message, NULL))
                failed++;
            shmemx_tag_mrecv(&message, NULL, 0, NULL);
        }
        if (me != 0)
            pass_tag(lap);
    }
    check_failed();
}

static int answer(shmemx_gpc_call_t *call)
{
    (void)call;
    return 0;
}

static void gpcs(void)
{
    int func = shmemx_gpc_register(answer);
    begin();
    for (int lap = 0; lap < LAPS; lap++) {
        shmemx_gpc_nbh_t nbh;
        shmemx_gpc_nbh_init(&nbh);
        CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, next_pe(), NULL, 0, NULL, 0, NULL, 0, NULL, 0, &nbh) == 0);
        while (!shmemx_gpc_test(&nbh))
            failed++;
    }
    check_failed();
    shmemx_gpc_release(func);
}

/* How often this thread has slept: a yield is not counted. */
static long sleeps(void)
{
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    return u.ru_nvcsw;
}

/* Catches: a program that only tests, for long, and yields the core all the time, which can starve other sessions. */
static void long_loop(void)
{
    begin();
    long tests = 0, before = sleeps();
    while (me == 0 && tests < MANY_TESTS && sleeps() - before < MANY_SLEEPS)
        for (int i = 0; i < 1000; i++) /* system calls between the tests would count as computation */
            tests += !shmem_long_test(&word, SHMEM_CMP_EQ, 1);
    int shares = n_pes > 1 && most_failed < LONG_MAX; /* a PE that has a core of its own does not sleep */
    CHECKF(me != 0 || tests < MANY_TESTS || !shares, "%ld tests failed, and the PE slept %ld times", tests,
           sleeps() - before);
    shmem_barrier_all();
}

int main(void)
{
    share_one_core();
    shmem_init();
    tap_pes_begin();
    most_failed = shmem_team_n_pes(SHMEM_TEAM_SHARED) == n_pes ? (long)LAPS * MOST_FAILED : LONG_MAX;
    RUN(words, "tests of words");
    RUN(signals, "fetches of a signal");
    RUN(locks, "tests of a lock");
    RUN(requests, "tests of requests");
    RUN(probes, "probes");
    RUN(gpcs, "tests of a GPC");
    RUN(long_loop, "tests that fail for long");
    int bad = tap_end();
    shmem_finalize();
    return bad;
}
