/*
 * cancel.c - a thread that is cancelled inside a call of the library: the other threads and PEs go on; waits that a limit of time ends.
 */
#include <pthread.h>
#include <shmemx.h>
#include <time.h>

#include "../tap_pes.h"

enum { ROUNDS = 30, AT_ONCE = 5 };

static long never, turn, x, target[64], source[64], lock, sum, one = 1;
static uint64_t sig;
static int next, began;

static void put(void) { shmem_long_p(&x, 1, next); }
static void put_nbi_quiet(void) { shmem_long_put_nbi(target, source, 64, next), shmem_quiet(); }
static void put_signal(void) { shmem_long_put_signal(target, source, 64, &sig, 1, SHMEM_SIGNAL_ADD, next), shmem_quiet(); }
static void fetch(void) { (void)shmem_long_atomic_fetch_add(&x, 1, next); }
static void get(void) { shmem_long_get(source, target, 64, next); }
static void test(void) { (void)shmem_long_test(&never, SHMEM_CMP_NE, 0); }
static void locks(void) { shmem_set_lock(&lock), shmem_clear_lock(&lock); }
static void context(void)
{
    shmem_ctx_t c;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &c) == 0)
        shmem_ctx_long_p(c, &x, 1, next), shmem_ctx_destroy(c);
}
static void message(void)
{
    long got = 0;
    shmemx_tag_send(SHMEM_TEAM_WORLD, source, sizeof *source, 1, me);
    shmemx_tag_recv(SHMEM_TEAM_WORLD, &got, sizeof got, 1, SHMEMX_TAG_EXACT, me, NULL);
}

/* Calls that end by themselves. */
static void (*const again[])(void) = {put, put_nbi_quiet, put_signal, fetch, get, test, locks, context, message};

static void *repeat(void *what)
{
    void (*call)(void);
    memcpy(&call, &what, sizeof call);
    for (;;) {
        call();
        __atomic_store_n(&began, 1, __ATOMIC_RELEASE);
        pthread_testcancel();
    }
    return NULL;
}

static void *wait_until(void *arg)
{
    __atomic_store_n(&began, 1, __ATOMIC_RELEASE);
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    return arg;
}

static void *wait_some(void *arg)
{
    size_t found[2];
    __atomic_store_n(&began, 1, __ATOMIC_RELEASE);
    shmem_long_wait_until_some(&never, 1, found, NULL, SHMEM_CMP_NE, 0);
    return arg;
}

static void *signal_wait(void *arg)
{
    static uint64_t no_signal;
    __atomic_store_n(&began, 1, __ATOMIC_RELEASE);
    shmem_signal_wait_until(&no_signal, SHMEM_CMP_NE, 0);
    return arg;
}

static void *barrier(void *arg)
{
    __atomic_store_n(&began, 1, __ATOMIC_RELEASE);
    shmem_barrier_all();
    return arg;
}

static void pause_for(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static pthread_t start(void *(*run)(void *), void *arg)
{
    pthread_t t;
    began = 0;
    if (pthread_create(&t, NULL, run, arg))
        abort();
    while (!__atomic_load_n(&began, __ATOMIC_ACQUIRE))
        pause_for(10);
    return t;
}

/* Use what the cancelled thread may have left. */
static void go_on(void)
{
    put_signal();
    fetch();
    locks();
    message();
}

/* Catches: a cancelled thread that leaves a lock held, of a lane, of messages, of a trace; a context or message half made. */
static void repeated(void)
{
    for (size_t k = 0; k < sizeof again / sizeof *again; k++)
        for (int i = 0; i < ROUNDS; i++) {
            void *call;
            memcpy(&call, &again[k], sizeof call);
            pthread_t t = start(repeat, call);
            pause_for(i * 37 % 200);
            pthread_cancel(t);
            pthread_join(t, NULL);
            go_on();
        }
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);
    CHECKF(sum == n_pes, "the sum of ones is %ld", sum);
}

/* Catches: a wait for a word that cannot be cancelled, which the program can end in no other way; one that leaves locks held. */
static void waits(void)
{
    void *(*const run[])(void *) = {wait_until, wait_some, signal_wait};
    void *result;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < ROUNDS / AT_ONCE; i++) {
            pthread_t t[AT_ONCE];
            for (int j = 0; j < AT_ONCE; j++)
                t[j] = start(run[k], NULL);
            pause_for(i * 1000); /* polls, yields, sleeps */
            for (int j = 0; j < AT_ONCE; j++)
                pthread_cancel(t[j]);
            for (int j = 0; j < AT_ONCE; j++)
                CHECK(pthread_join(t[j], &result) == 0 && result == PTHREAD_CANCELED);
            go_on();
        }
    shmem_barrier_all();
}

/* Catches: a thread that is cancelled in the middle of a barrier, so that the barrier never ends or the next one ends too early. */
static void barriers(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int first = i % n_pes;
        turn = 0;
        shmem_barrier_all();
        if (me == first) {
            pthread_t t = start(barrier, NULL);
            pause_for(n_pes > 1 ? i % 5 * 1000 : 0);
            pthread_cancel(t);
            for (int pe = 0; pe < n_pes; pe++)
                shmem_long_p(&turn, 1, pe);
            shmem_quiet();
            pthread_join(t, NULL);
        } else {
            shmem_long_wait_until(&turn, SHMEM_CMP_EQ, 1);
            shmem_barrier_all();
        }
        shmem_long_p(&target[0], i, next);
        shmem_barrier_all();
        CHECKF(target[0] == i, "round %d: the word is %ld after the barrier", i, target[0]);
        shmem_barrier_all();
    }
}

static long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Catches: a wait that its limit does not end, or ends too early; a limit that a satisfied condition does not precede, that other threads
 * have, or that remains. */
static void limits(void)
{
    enum { LIMIT_US = 20000 };
    static long two[2];
    static uint64_t no_signal;
    size_t found[2] = {7, 7};
    void *result;
    pthread_t t = start(wait_until, NULL);
    long begin = now_us();
    shmemx_wait_limit(LIMIT_US * 1000ull);
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    CHECKF(now_us() - begin >= LIMIT_US, "the wait ended after %ld us", now_us() - begin);
    shmem_long_wait_until_all(two, 2, NULL, SHMEM_CMP_NE, 0);
    CHECK(shmem_long_wait_until_any(two, 2, NULL, SHMEM_CMP_NE, 0) == SIZE_MAX);
    CHECK(shmem_long_wait_until_some(two, 2, found, NULL, SHMEM_CMP_NE, 0) == 0);
    CHECK(shmem_signal_wait_until(&no_signal, SHMEM_CMP_NE, 0) == 0);
    shmem_long_atomic_set(&two[1], 5, me);
    CHECK(shmem_long_wait_until_any(two, 2, NULL, SHMEM_CMP_NE, 0) == 1);
    CHECK(shmem_long_wait_until_some(two, 2, found, NULL, SHMEM_CMP_NE, 0) == 1 && found[0] == 1);
    shmem_barrier_all();
    shmemx_wait_limit(1);
    shmemx_wait_limit(0);
    turn = 0;
    shmem_barrier_all();
    pause_for(LIMIT_US);
    shmem_long_p(&turn, 1, next);
    shmem_long_wait_until(&turn, SHMEM_CMP_EQ, 1);
    CHECK(turn == 1);
    pthread_cancel(t);
    CHECK(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
    shmem_barrier_all();
}

int main(void)
{
    int level;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    tap_pes_begin();
    next = next_pe();
    RUN(repeated, "threads that are cancelled while they communicate");
    RUN(waits, "threads that are cancelled while they wait for words");
    RUN(barriers, "threads that are cancelled in a barrier");
    RUN(limits, "waits that a limit of time ends");
    int rc = tap_end();
    shmem_finalize();
    return rc;
}
