/*
 * signals.c - waits for several signals with their values, and counted signals (shmemx_signal.h). PEs send random messages with signals to
 * the next PE, whose words and values are known from the seed.
 */
#include "../tap_pes.h"

#include <pthread.h>
#include <shmemx.h>
#include <string.h>

enum { N = 12, ROUNDS = 300, LONGEST = 600, THREADS = 2, EACH = 400 };

static uint64_t sig[N], ready, count;
static uint64_t data[N][LONGEST];
static int provided;

/* What the PE `from` sends with signal i in a round, from 1 on; the same on all PEs. */
static uint64_t value_of(int from, int round, int i)
{
    return 1 + (uint64_t)round * 1000 + (uint64_t)(from * 17 + i * 5) % 7;
}

static size_t length_of(int round, int i)
{
    return (size_t)(round * 31 + i * 101) % 40 == 0 ? LONGEST : (size_t)(round + i) % 9;
}

static void send(int round, int i)
{
    uint64_t source[LONGEST], v = value_of(me, round, i);
    size_t n = length_of(round, i);
    for (size_t k = 0; k < n; k++)
        source[k] = v * 100000 + k;
    if (i % 2)
        shmem_uint64_put_signal(data[i], source, n, &sig[i], v, SHMEM_SIGNAL_SET, next_pe());
    else
        shmem_ctx_uint64_put_signal(SHMEM_CTX_DEFAULT, data[i], source, n, &sig[i], v, SHMEM_SIGNAL_SET, next_pe());
}

/* Signal i has come with this value, and its data before it. */
static void check_came(const char *by, int round, int i, uint64_t value)
{
    uint64_t v = value_of((me + n_pes - 1) % n_pes, round, i);
    CHECKF(value == v, "%s, round %d: signal %d was %lu, not %lu", by, round, i, (unsigned long)value, (unsigned long)v);
    for (size_t k = 0; k < length_of(round, i); k++)
        if (!CHECKF(data[i][k] == v * 100000 + k, "%s, round %d: word %zu of message %d came after its signal", by, round, k, i))
            return;
}

/* Take the signals of a round that are not left out, in one of the ways. */
static void receive(int round, int way, const int *left_out)
{
    uint64_t least = 1 + (uint64_t)round * 1000, than[N], values[N];
    int from = (me + n_pes - 1) % n_pes, done[N];
    size_t index[N], left = 0;
    memcpy(done, left_out, sizeof done);
    for (int i = 0; i < N; i++) {
        than[i] = value_of(from, round, i);
        values[i] = 7;
        left += !left_out[i];
    }
    if (way < 2) {
        if (way)
            shmemx_signal_wait_until_all_vector(sig, N, left_out, SHMEM_CMP_EQ, than, values);
        else
            shmemx_signal_wait_until_all(sig, N, left_out, SHMEM_CMP_GE, least, values);
        for (int i = 0; i < N; i++)
            if (left_out[i])
                CHECK(values[i] == 7);
            else
                check_came("all", round, i, values[i]);
        return;
    }
    while (left) {
        size_t n = 1;
        if (way == 2)
            index[0] = shmemx_signal_wait_until_any(sig, N, done, SHMEM_CMP_GE, least, values);
        else if (way == 3)
            index[0] = shmemx_signal_wait_until_any_vector(sig, N, done, SHMEM_CMP_EQ, than, values);
        else if (way == 4)
            n = shmemx_signal_wait_until_some(sig, N, index, done, SHMEM_CMP_GE, least, values);
        else
            n = shmemx_signal_wait_until_some_vector(sig, N, index, done, SHMEM_CMP_EQ, than, values);
        if (!CHECKF(n >= 1 && n <= left, "way %d: %zu of %zu signals", way, n, left))
            return;
        for (size_t k = 0; k < n; k++) {
            if (!CHECKF(index[k] < N && !done[index[k]], "way %d: index %zu", way, index[k]))
                return;
            done[index[k]] = 1;
            check_came(way < 4 ? "any" : "some", round, (int)index[k], values[k]);
        }
        left -= n;
    }
}

/* Catches: a wait that returns early, the value or index of another signal, one that is left out, data that is not there. */
static void test_waits(void)
{
    unsigned rnd = 1; /* the same on all PEs */
    for (int round = 0; round < ROUNDS; round++) {
        int left_out[N], order[N];
        for (int i = 0; i < N; i++) {
            int k = (int)(tap_random(&rnd) % (unsigned)(i + 1));
            left_out[i] = tap_random(&rnd) % 5 == 0;
            order[i] = order[k];
            order[k] = i;
        }
        for (int i = 0; i < N; i++)
            if (!left_out[order[i]])
                send(round, order[i]);
        receive(round, round % 6, left_out);
        shmem_signal_set(&ready, (uint64_t)round + 1, (me + n_pes - 1) % n_pes); /* the sender may send the next round */
        shmem_signal_wait_until(&ready, SHMEM_CMP_EQ, (uint64_t)round + 1);
    }
    shmem_barrier_all();
}

/* Catches: waits for no signals that hang or return an index; values that are needed. */
static void test_none(void)
{
    const int all[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    size_t index[N];
    shmemx_signal_wait_until_all(sig, N, all, SHMEM_CMP_EQ, 1, NULL);
    CHECK(shmemx_signal_wait_until_any(sig, N, all, SHMEM_CMP_EQ, 1, NULL) == SIZE_MAX);
    CHECK(shmemx_signal_wait_until_some(sig, 0, index, NULL, SHMEM_CMP_EQ, 1, NULL) == 0);
    shmemx_signal_wait_until_all_vector(sig, 0, NULL, SHMEM_CMP_EQ, NULL, NULL);
    shmem_signal_set(&sig[3], 1, me);
    CHECK(shmemx_signal_wait_until_any(sig, N, NULL, SHMEM_CMP_EQ, 1, NULL) == 3);
    shmem_barrier_all();
}

/* Sends to all PEs, each message with a mark of its own. */
static void *arrive(void *arg)
{
    static uint64_t mark = 1;
    for (int k = 0; k < EACH; k++)
        for (int pe = 0; pe < n_pes; pe++) {
            if (arg)
                shmem_signal_add(&count, 1, pe);
            else
                shmem_uint64_put_signal(&data[0][me], &mark, 1, &count, 1, SHMEM_SIGNAL_ADD, pe);
        }
    return NULL;
}

/* Catches: arrivals that a wait loses or counts twice while others arrive; a wait or test that takes arrivals though they are too few. */
static void test_count(void)
{
    int threads = provided == SHMEM_THREAD_MULTIPLE ? THREADS : 1;
    uint64_t expected = (uint64_t)(n_pes * threads * EACH), taken = 0, n;
    unsigned rnd = 3 + (unsigned)me;
    pthread_t t[THREADS];
    memset(data, 0, sizeof data);
    shmem_barrier_all();
    CHECK(shmemx_signal_test_count(&count, UINT64_MAX) == 0);
    for (int i = 0; i < threads; i++)
        if (threads > 1)
            pthread_create(&t[i], NULL, arrive, i ? &t : NULL);
        else
            arrive(NULL);
    for (; taken < expected; taken += n) {
        n = 1 + tap_random(&rnd) % 9;
        n = n < expected - taken ? n : expected - taken;
        if (tap_random(&rnd) % 3 == 0) {
            while (!shmemx_signal_test_count(&count, n))
                ;
        } else {
            uint64_t was = shmemx_signal_wait_count(&count, n);
            CHECKF(was >= n && was <= expected - taken, "%lu arrivals, of %lu that are left", (unsigned long)was, (unsigned long)(expected - taken));
        }
    }
    for (int i = 0; i < threads && threads > 1; i++)
        pthread_join(t[i], NULL);
    shmem_barrier_all();
    CHECKF(shmem_signal_fetch(&count) == 0, "%lu arrivals too many", (unsigned long)shmem_signal_fetch(&count));
    CHECK(shmemx_signal_test_count(&count, 1) == 0);
    CHECK(shmemx_signal_wait_count(&count, 0) == 0);
    shmemx_wait_limit(1000000);
    CHECK(shmemx_signal_wait_count(&count, 2) == 0); /* ended by the limit: nothing is taken */
    shmemx_wait_limit(0);
    CHECK(shmem_signal_fetch(&count) == 0);
    for (int pe = 0; pe < n_pes; pe++)
        CHECK(data[0][pe] == 1);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    tap_pes_begin();
    RUN(test_waits, "waits for all, any and some signals, with their values");
    RUN(test_none, "no signals, no values");
    RUN(test_count, "counted signals");
    int status = tap_end();
    shmem_finalize();
    return status;
}
