/* tag_thread.c - tagged messages of several threads, and receives that are cancelled while their message arrives. */
#include "../tap_pes.h"

#include <pthread.h>
#include <sched.h>
#include <shmemx.h>

enum { THREADS = 3, ROUNDS = 400 };

static const shmem_team_t world = SHMEM_TEAM_WORLD;
static const size_t lengths[] = {0, 8, 40, 3000, 9000, 50000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST = 50000 };
static long errors;

static void wrong(void)
{
    __atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED);
}

static int before(void)
{
    return (me + n_pes - 1) % n_pes;
}

static void run_threads(void *(*body)(void *))
{
    pthread_t t[THREADS];
    errors = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    CHECKF(errors == 0, "%ld wrong", errors);
    shmem_barrier_all();
}

/* Each thread exchanges messages with the same thread of the next PE. */
static void *own_tag(void *arg)
{
    uint64_t tag = 100 + (uintptr_t)arg;
    unsigned char *out = malloc(MOST), *in = malloc(MOST);
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = lengths[(i + (int)tag) % LENGTHS];
        shmemx_tag_request_t s, r;
        shmemx_tag_status_t status;
        memset(out, i + (int)tag, n);
        if (i % 2)
            shmemx_tag_irecv(world, in, MOST, tag, SHMEMX_TAG_EXACT, before(), &r);
        shmemx_tag_isend(world, out, n, tag, next_pe(), &s);
        if (i % 2)
            shmemx_tag_wait(&r, &status);
        else
            shmemx_tag_recv(world, in, MOST, tag, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &status);
        if (status.bytes != n || (n && (in[0] != out[0] || in[n - 1] != out[0])))
            wrong();
        shmemx_tag_wait(&s, NULL);
    }
    free(out);
    free(in);
    return NULL;
}

/* Catches: state shared between threads without a lock, a completion consumed by another thread's wait. */
static void test_own_tags(void)
{
    run_threads(own_tag);
}

/* Catches: with one tag for all threads, messages of a thread out of order, or received twice. */
static long next_of[16][THREADS], total;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void *one_tag(void *arg)
{
    long x[2] = {(long)(uintptr_t)arg, 0}, y[2];
    for (; x[1] < ROUNDS; x[1]++) {
        shmemx_tag_status_t status;
        shmemx_tag_send(world, x, sizeof x, 7, next_pe());
        pthread_mutex_lock(&counting); /* counts in the order of receiving */
        shmemx_tag_recv(world, y, sizeof y, 7, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &status);
        if (next_of[status.source][y[0]]++ != y[1])
            wrong();
        total++;
        pthread_mutex_unlock(&counting);
    }
    return NULL;
}

static void test_one_tag(void)
{
    total = 0;
    memset(next_of, 0, sizeof next_of);
    run_threads(one_tag);
    CHECKF(total == THREADS * ROUNDS, "%ld messages", total);
}

/* Catches: a message that mprobe returns on several threads. */
static void *by_mprobe(void *arg)
{
    long x = (long)(uintptr_t)arg + 1;
    for (int i = 0; i < ROUNDS; i++) {
        long y = 0;
        shmemx_tag_message_t m;
        shmemx_tag_send(world, &x, sizeof x, 8, next_pe());
        shmemx_tag_mprobe(world, 8, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &m, NULL);
        shmemx_tag_mrecv(&m, &y, sizeof y, NULL);
        __atomic_fetch_add(&total, y, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void test_mprobe(void)
{
    total = 0;
    run_threads(by_mprobe);
    CHECKF(total == ROUNDS * THREADS * (THREADS + 1) / 2, "sum %ld", total);
}

/* ---- cancel ---------------------------------------------------------------------------------------------------------- */

enum { POSTS = 1000000, MESSAGES = POSTS / 2 };

static void *send_numbers(void *arg)
{
    for (long i = 0; i < MESSAGES; i++)
        shmemx_tag_send(world, &i, sizeof i, 9, me);
    return arg;
}

/* A million receives are cancelled at once, while another thread sends matching messages. Catches: a message that is
 * lost with a cancelled receive, one received twice, a receive that is neither cancelled nor matched. */
static void test_cancel(void)
{
    long matched = 0, cancelled = 0, disorder = 0;
    pthread_t sender;
    if (me == 0) {
        pthread_create(&sender, NULL, send_numbers, NULL);
        for (int i = 0; i < POSTS || matched < MESSAGES; i++) {
            long y = -1;
            shmemx_tag_request_t r;
            shmemx_tag_status_t status;
            shmemx_tag_irecv(world, &y, sizeof y, 9, SHMEMX_TAG_EXACT, i % 2 ? me : SHMEMX_TAG_ANY_SOURCE, &r);
            if (i < POSTS)
                shmemx_tag_cancel(&r);
            if (matched == MESSAGES)
                shmemx_tag_cancel(&r);
            shmemx_tag_wait(&r, &status);
            if (status.cancelled) {
                cancelled++;
                disorder += y != -1;
            } else {
                disorder += y != matched++;
            }
            if (i >= POSTS)
                disorder += status.cancelled;
        }
        pthread_join(sender, NULL);
        CHECKF(matched == MESSAGES && disorder == 0, "%ld matched, %ld cancelled, %ld wrong", matched, cancelled, disorder);
        CHECK(!shmemx_tag_iprobe(world, 0, 0, SHMEMX_TAG_ANY_SOURCE, NULL));
    }
    shmem_barrier_all();
}

int main(void)
{
    int level;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    tap_pes_begin();
    CHECK(level == SHMEM_THREAD_MULTIPLE);
    RUN(test_own_tags, "3 threads, a tag each");
    RUN(test_one_tag, "3 threads, one tag");
    RUN(test_mprobe, "3 threads receive by mprobe");
    RUN(test_cancel, "a million receives, cancelled while their message arrives");
    int status = tap_end();
    shmem_finalize();
    return status;
}
