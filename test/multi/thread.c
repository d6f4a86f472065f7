/* thread.c - SHMEM_THREAD_MULTIPLE: threads of every PE communicate at the same time, each on its own context. */
#include "../tap_pes.h"

#include <pthread.h>
#include <sched.h>
#include <shmemx.h>

enum { THREADS = 4, ROUNDS = 20000 };

static long counter, slot[THREADS];
static uint64_t signal_word[THREADS];
static int bad[THREADS];

static void *work(void *arg)
{
    int id = (int)(intptr_t)arg;
    shmem_ctx_t ctx;
    if (shmem_ctx_create(id % 2 ? SHMEM_CTX_PRIVATE : SHMEM_CTX_SERIALIZED, &ctx)) {
        bad[id]++;
        return NULL;
    }
    for (long i = 1; i <= ROUNDS; i++) {
        shmem_ctx_long_atomic_inc(ctx, &counter, 0);
        shmem_ctx_long_put_signal(ctx, &slot[id], &i, 1, &signal_word[id], (uint64_t)i, SHMEM_SIGNAL_SET, next_pe());
        if (i % 100 == 0) {
            shmem_ctx_quiet(ctx);
            shmem_signal_wait_until(&signal_word[id], SHMEM_CMP_GE, (uint64_t)i);
            if (__atomic_load_n(&slot[id], __ATOMIC_RELAXED) < i)
                bad[id]++; /* the data arrived after its signal */
        }
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

/* Catches: state shared between contexts, a lost update, data after its signal. */
static void test_contexts(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, work, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        CHECKF(bad[i] == 0, "thread %d: %d failures", i, bad[i]);
    }
    shmem_barrier_all();
    if (me == 0)
        CHECKF(counter == (long)THREADS * ROUNDS * n_pes, "counter %ld", counter);
}

/* Thread i is a member of an active set of 2 + i PEs, if this PE is in it. */
static pthread_barrier_t start;
static long psync[THREADS][SHMEM_BARRIER_SYNC_SIZE], set_word[THREADS];

static void *sync_in_set(void *arg)
{
    int i = (int)(intptr_t)arg, n = 2 + i, first = me - me % n;
    int next = first + (me - first + 1) % n;
    pthread_barrier_wait(&start);
    for (long round = 1; first + n <= n_pes && round <= 20; round++) {
        shmem_barrier(first, 0, n, psync[i]);
        shmem_long_p(&set_word[i], round, next);
        shmem_barrier(first, 0, n, psync[i]);
        if (set_word[i] != round)
            bad[i]++;
    }
    return NULL;
}

/* Catches: an active set that is lost when two threads use one for the first time at the same moment. Its members then
 * disagree on whether it is new, and wait for ever. */
static void test_sets(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        bad[i] = 0;
        for (int k = 0; k < SHMEM_BARRIER_SYNC_SIZE; k++)
            psync[i][k] = SHMEM_SYNC_VALUE;
    }
    pthread_barrier_init(&start, NULL, THREADS);
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, sync_in_set, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        CHECKF(bad[i] == 0, "the active set of thread %d: %d wrong rounds", i, bad[i]);
    }
    pthread_barrier_destroy(&start);
    shmem_barrier_all();
}

/* Threads that transfer without end on the default context, each in its own way and with memory of its own, until `enough`. */
enum { ENDLESS = 4, LONG = 1 << 16 };
static long target[ENDLESS][LONG / sizeof(long)], source[LONG / sizeof(long)];
static long put_dest[LONG / sizeof(long)], broadcast_dest[LONG / sizeof(long)];
static int endless_kind[ENDLESS], begun, enough;

static void *transfer_without_end(void *arg)
{
    static long gotten[ENDLESS][LONG / sizeof(long)];
    intptr_t thread = (intptr_t)arg;
    long *dest = target[thread], *got = gotten[thread];
    int pe = next_pe();
    for (unsigned i = 0; !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++) {
        if (i == 100)
            __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
        switch (endless_kind[thread]) {
        case 0: shmem_long_p(&dest[i % 512], (long)i, pe); break;
        case 1: shmem_putmem_nbi(dest, source, LONG, pe); break;
        case 2: shmem_long_atomic_fetch_nbi(&got[i % 64], dest, pe); break;
        default: shmem_getmem_nbi(got, dest, LONG, pe);
        }
    }
    shmem_quiet();
    return NULL;
}

static void order_beside(int rounds)
{
    static long value;
    for (int i = 1; i <= rounds; i++) {
        shmem_long_p(&value, i, next_pe());
        shmem_fence();
        shmem_putmem(put_dest, source, LONG, next_pe());
        shmem_quiet();
        shmem_barrier_all();
        shmem_broadcastmem(SHMEM_TEAM_WORLD, broadcast_dest, source, LONG, 0);
        CHECKF(value == i, "value %ld after barrier %d", value, i);
        shmem_barrier_all();
    }
}

/* Catches: a fence, quiet, barrier or collective that waits for what other threads start meanwhile, and so never returns. */
static void test_endless(void)
{
    for (int kind = 0; kind <= ENDLESS; kind++) {
        pthread_t t[ENDLESS];
        int n = kind < ENDLESS ? 2 : ENDLESS; /* each in two threads, then all */
        begun = enough = 0;
        for (int i = 0; i < n; i++) {
            endless_kind[i] = kind < ENDLESS ? kind : i;
            CHECK(pthread_create(&t[i], NULL, transfer_without_end, (void *)(intptr_t)i) == 0);
        }
        while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < n)
            sched_yield();
        order_beside(10);
        __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < n; i++)
            pthread_join(t[i], NULL);
        shmem_barrier_all();
    }
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __OPTIMIZE__
enum { STACK_BYTES = 1 << 20 }; /* frames are larger */
#else
enum { STACK_BYTES = 64 << 10 }; /* as shmem_init(3) promises */
#endif

static void *call_everything(void *arg)
{
    static long many[5000], sums[5000], all[64 * 5000], lock, message;
    long old = shmem_long_atomic_fetch_add(&counter, 1, next_pe());
    shmem_putmem(put_dest, source, LONG, next_pe());
    shmem_long_put_signal(target[0], source, 100, &signal_word[0], 1, SHMEM_SIGNAL_SET, next_pe());
    shmem_signal_wait_until(&signal_word[0], SHMEM_CMP_EQ, 1);
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, many, 5000);
    shmem_long_sum_inscan(SHMEM_TEAM_WORLD, sums, many, 1000);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, all, many, 5000);
    shmem_long_alltoall(SHMEM_TEAM_WORLD, all, all + 32 * 5000, 1000);
    shmem_free(shmem_malloc(1 << 16));
    shmem_ctx_t c = SHMEM_CTX_INVALID;
    shmem_team_t t = SHMEM_TEAM_INVALID;
    CHECK(shmem_ctx_create(0, &c) == 0 && shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &t) == 0);
    shmem_ctx_long_iput(c, all, sums, 2, 2, 1000, next_pe());
    shmem_ctx_destroy(c);
    shmem_long_max_reduce(t, sums, many, 100);
    shmem_team_destroy(t);
    shmemx_tag_request_t r;
    shmemx_tag_irecv(SHMEM_TEAM_WORLD, &message, sizeof message, 3, SHMEMX_TAG_EXACT, (me + n_pes - 1) % n_pes, &r);
    shmemx_tag_send(SHMEM_TEAM_WORLD, &old, sizeof old, 3, next_pe());
    shmemx_tag_wait(&r, NULL);
    shmem_barrier_all();
    return arg;
}

/* Catches: a routine that needs a large stack. */
static void test_stack(void)
{
    pthread_attr_t attr;
    pthread_t t;
    CHECK(n_pes <= 32);
    pthread_attr_init(&attr);
    CHECK(pthread_attr_setstacksize(&attr, STACK_BYTES) == 0);
    CHECK(pthread_create(&t, &attr, call_everything, NULL) == 0);
    pthread_join(t, NULL);
    pthread_attr_destroy(&attr);
}

int main(void)
{
    int provided = -1;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    tap_pes_begin();
    RUN(test_contexts, "threads with their own contexts");
    RUN(test_sets, "threads that first use an active set at the same time");
    RUN(test_endless, "fence, quiet, barriers and broadcasts beside threads that transfer without end");
    RUN(test_stack, "a thread with a small stack");
    int status = tap_end();
    shmem_finalize();
    return status;
}
