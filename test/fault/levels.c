/*
 * levels.c - calls that the thread level or a context does not allow, or that look like it: levels LEVEL CALL. check.sh has the
 * expected lines.
 *
 *   single, funneled   a second thread makes the call
 *   serialized         the main thread makes it while a second one waits in shmem_long_wait_until
 *   private            a second thread makes it on a SHMEM_CTX_PRIVATE context of the main thread
 *   right              threads that may make the calls do so: with a lock around each one, or on contexts of their own
 */
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { THREADS = 3, ROUNDS = 300 };

static long word, word2, data[4], lock;
static uint64_t sig;
static shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
static void *block;

static void put(void) { shmem_ctx_long_p(ctx, &word2, 1, 0); }
static void put_many(void) { shmem_ctx_long_put_nbi(ctx, data, &word, 1, 0); }
static void get(void) { (void)shmem_ctx_long_g(ctx, &word2, 0); }
static void strided(void) { shmem_ctx_long_iput(ctx, data, data + 2, 1, 1, 2, 0); }
static void put_signal(void) { shmem_ctx_long_put_signal(ctx, data, data + 2, 1, &sig, 1, SHMEM_SIGNAL_SET, 0); }
static void signal_fetch(void) { (void)shmem_signal_fetch(&sig); }
static void add(void) { shmem_ctx_long_atomic_add(ctx, &word2, 1, 0); }
static void fetch(void) { (void)shmem_ctx_long_atomic_fetch(ctx, &word2, 0); }
static void quiet(void) { shmem_ctx_quiet(ctx); }
static void fence(void) { shmem_ctx_fence(ctx); }
static void pe_quiet(void) { shmem_ctx_pe_quiet(ctx, (const int[]){0}, 1); }
static void barrier(void) { shmem_barrier_all(); }
static void wait_until(void) { shmem_long_wait_until(&data[3], SHMEM_CMP_EQ, 0); }
static void test(void) { (void)shmem_long_test(&data[3], SHMEM_CMP_EQ, 0); }
static void reduce(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, data, data + 1, 1); }
static void locks(void) { shmem_set_lock(&lock), shmem_clear_lock(&lock); }
static void allocate(void) { block = shmem_malloc(8); }
static void destroy(void) { shmem_ctx_destroy(ctx); }

static const struct call {
    const char *name;
    void (*make)(void);
} calls[] = {{"put", put},           {"put_many", put_many}, {"get", get},         {"strided", strided},   {"put_signal", put_signal},
             {"signal_fetch", signal_fetch}, {"add", add},   {"fetch", fetch},     {"quiet", quiet},       {"fence", fence},
             {"pe_quiet", pe_quiet}, {"barrier", barrier},   {"wait_until", wait_until}, {"test", test},   {"reduce", reduce},
             {"locks", locks},       {"allocate", allocate}, {"destroy", destroy}};
enum { N_CALLS = sizeof calls / sizeof *calls, N_RIGHT = N_CALLS - 1 };

static void *make(void *call)
{
    ((const struct call *)call)->make();
    return NULL;
}

static int waiter_waits;

static void *wait_for_word(void *arg)
{
    __atomic_store_n(&waiter_waits, 1, __ATOMIC_RELEASE);
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    return arg;
}

/* ---- right programs ----------------------------------------------------------------------------------------------- */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void *in_turn(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&one_at_a_time);
        calls[i % N_RIGHT].make();
        pthread_mutex_unlock(&one_at_a_time);
    }
    return arg;
}

static void *on_its_own(void *arg)
{
    static long words[THREADS];
    shmem_ctx_t own;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &own))
        return arg;
    for (int i = 0; i < ROUNDS; i++) {
        shmem_ctx_long_p(own, &words[(uintptr_t)arg], i, 0);
        shmem_ctx_long_atomic_inc(own, &word2, 0);
        shmem_ctx_quiet(own);
        put();
    }
    shmem_ctx_destroy(own);
    return NULL;
}

static int right(void *(*run)(void *))
{
    pthread_t t[THREADS];
    void *failed = NULL, *result;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, run, (void *)(uintptr_t)i);
    for (int i = 0; i < THREADS; i++)
        failed = pthread_join(t[i], &result) || (run == on_its_own && result) ? &failed : failed;
    return failed != NULL;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"single", "funneled", "serialized", "private"};
    static const int levels[] = {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE};
    const char *kind = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
    int level = SHMEM_THREAD_MULTIPLE, provided;
    for (int i = 0; i < 4; i++)
        if (strcmp(kind, names[i]) == 0 || (strcmp(kind, "right") == 0 && strcmp(what, names[i]) == 0))
            level = levels[i];
    if (shmem_init_thread(level, &provided))
        return 1;
    if (strcmp(kind, "right") == 0) {
        int failed = right(level == SHMEM_THREAD_SERIALIZED ? in_turn : on_its_own);
        shmem_finalize();
        return failed;
    }
    if (strcmp(kind, "private") == 0 && shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx))
        return 1;
    const struct call *c = NULL;
    for (int i = 0; i < N_CALLS; i++)
        c = strcmp(what, calls[i].name) == 0 ? &calls[i] : c;
    if (!c)
        return 1;
    pthread_t t;
    int waits = level == SHMEM_THREAD_SERIALIZED;
    if (pthread_create(&t, NULL, waits ? wait_for_word : make, (void *)c))
        return 1;
    for (time_t begin = time(NULL); waits && time(NULL) - begin < 15;) { /* the first calls may come before the wait */
        while (!__atomic_load_n(&waiter_waits, __ATOMIC_ACQUIRE))
            ;
        c->make();
        sched_yield();
    }
    if (waits)
        __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    pthread_join(t, NULL);
    printf("%s %s was not detected\n", kind, what);
    return 0;
}
