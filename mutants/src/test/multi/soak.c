/*
 * soak.c - random operations of all kinds against an oracle, for a given time (see soak.h; soak.sh runs it in the
 * checks).
 *
 *   oshrun -n 3 test/multi/soak [seed=1] [seconds=10] [operations=0] [threads=1] [longest=1048576] [stall=120] [kernels=0]
 *
 * It ends after `seconds` or, if `operations` is not 0, after that number of operations of all PEs together, and prints
 * the number of operations and steps. The first mismatch ends the job with one line: seed, step, PE, thread, operation,
 * expected and actual value. The same seed, number of PEs and options give the same steps. `longest` limits the bytes
 * of a put or get. A step that takes longer than `stall` seconds is reported as a hang.
 */
#include "soak.h"

#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct soak soak;
static struct worker workers[MAX_THREADS];
static pthread_barrier_t all_threads;
static long seconds = 10, operations, stall = 120;
static uint64_t *total, *stop;

/* ---- failures ---------------------------------------------------------------------------------------------------- */

_Noreturn void soak_fail(const struct worker *w, const char *format, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(stderr, "soak: seed %lu, step %lu, PE %d, thread %d, %s: %s\n", (unsigned long)soak.seed,
            (unsigned long)soak.step, soak.me, w->id, w->doing, text);
    shmem_global_exit(1);
}

void soak_same(const struct worker *w, const char *what, uint64_t k, const void *got, const void *want, size_t bytes)
{
    const unsigned char *g = got, *e = want;
    size_t first = 0, bad = 0;
    if (memcmp(got, want, bytes) == 0)
        return;
    for (size_t i = bytes; i-- > 0;)
        if (g[i] != e[i]) {
            first = i;
            bad++;
        }
    char seen[49] = "", expected[49] = "";
    for (size_t i = 0; i < 16 && first + i < bytes; i++) {
        snprintf(seen + 3 * i, 4, " %02x", g[first + i]);
        snprintf(expected + 3 * i, 4, " %02x", e[first + i]);
    }
    soak_fail(w, "operation %lu, %s: %zu of %zu bytes differ, from byte %zu on: expected%s, got%s", (unsigned long)k, what,
              bad, bytes, first, expected, seen);
}

static void stalled(int sig)
{
    char line[200];
    (void)sig;
    for (int t = 0; t < soak.threads; t++) {
        int n = snprintf(line, sizeof line, "soak: seed %lu, step %lu, PE %d, thread %d: no end of %s, operation %lu\n",
                         (unsigned long)soak.seed, (unsigned long)soak.step, soak.me, t, workers[t].doing,
                         (unsigned long)workers[t].k);
        (void)!write(2, line, (size_t)n);
    }
    raise(SIGUSR1); /* the library's report */
    signal(SIGALRM, SIG_DFL);
    alarm(5);
}

/* ---- dice ---------------------------------------------------------------------------------------------------------- */

size_t soak_length(struct dice *d, size_t most)
{
    static const struct {
        unsigned short below, low, high;
    } range[] = {{550, 0, 4}, {800, 4, 8}, {930, 8, 12}, {985, 12, 14}, {998, 14, 17}, {1000, 17, 20}};
    size_t p = roll(d, 1000), i = 0;
    while (p >= range[i].below)
        i++;
    size_t low = (size_t)1 << range[i].low, high = (size_t)1 << range[i].high;
    size_t bytes = low + roll(d, high - low + 1);
    if (roll(d, 6) == 0)
        bytes = ((size_t)1 << (range[i].low + roll(d, range[i].high - range[i].low + 1u))) + roll(d, 3) - 1;
    return bytes < 1 ? 1 : bytes > most ? most : bytes;
}

/* Sometimes delay this thread, so that the PEs do not run in lockstep. */
static void delay(struct worker *w)
{
    struct dice d = dice(ROLL_HERE, soak.me, w->id, 3);
    size_t how = roll(&d, 40);
    if (how == 0)
        usleep((useconds_t)roll(&d, 20000));
    for (volatile size_t i = how < 4 ? roll(&d, 1 << 20) : 0; i > 0; i--)
        ;
}

/* ---- steps --------------------------------------------------------------------------------------------------------- */

static void sync_threads(struct worker *w, const char *doing)
{
    pthread_barrier_wait(&all_threads);
    w->doing = doing;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* PE 0 decides whether this step is the last; after the next barrier every PE has its decision. */
static void decide(void)
{
    static double began;
    began = began > 0 ? began : now();
    if (soak.me != 0)
        return;
    if (operations ? *total >= (uint64_t)operations : now() - began >= (double)seconds)
        for (int pe = 0; pe < soak.n; pe++)
            shmem_uint64_p(stop, 1, pe);
}

static void count_up(void)
{
    uint64_t ops = 0;
    for (int t = 0; t < soak.threads; t++) {
        ops += workers[t].ops;
        workers[t].ops = 0;
    }
    shmem_uint64_atomic_add(total, ops, 0);
}

/* A thread's operations of a step, up to their completion. */
static void act(struct worker *w)
{
    struct dice d = dice(ROLL_STEP, 0, 0, 1); /* the same on all PEs */
    delay(w);
    if (roll(&d, 2))
        soak_tag(w);
    soak_rma_issue(w);
    soak_gpc(w);
    soak_sig_await(w);
    if (w->id == 0)
        soak_lock(w);
    w->doing = "quiet";
    soak_quiet(w);
}

static void *run(void *arg)
{
    struct worker *w = arg;
    do {
        act(w);
        sync_threads(w, "the barrier before verifying");
        if (w->id == 0) {
            decide();
            shmem_barrier_all();
        }
        sync_threads(w, "verifying");
        soak_rma_verify(w);
        soak_gpc_verify(w);
        sync_threads(w, "verifying");
        if (w->id == 0) {
            soak_amo_verify_sums(workers);
            soak_lock_verify(w);
            soak_kernel(w);
            soak_coll(w);
            w->doing = "the barrier at the end of a step";
            count_up();
            soak.stop = *stop != 0; /* behind the barrier PE 0 may decide for the next step */
            shmem_barrier_all();
            soak.step += !soak.stop;
            alarm((unsigned)stall);
        }
        sync_threads(w, "RMA");
    } while (!soak.stop);
    return NULL;
}

/* ---- up and down --------------------------------------------------------------------------------------------------- */

static void patterns(void)
{
    for (int pe = 0; pe < soak.n; pe++) {
        struct dice d = dice(0, pe, 0, 0);
        soak.pattern[pe] = malloc(PATTERN_BYTES);
        for (size_t i = 0; i < PATTERN_BYTES; i += sizeof(uint64_t)) {
            uint64_t v = any(&d);
            memcpy(soak.pattern[pe] + i, &v, sizeof v);
        }
    }
    soak.constant = shmem_malloc(PATTERN_BYTES);
    memcpy(soak.constant, soak.pattern[soak.me], PATTERN_BYTES);
}

static void up(void)
{
    struct plane sums = {.sum64 = shmem_calloc(WORDS, 8), .xor64 = shmem_calloc(WORDS, 8),
                         .sum32 = shmem_calloc(WORDS, 4), .xor32 = shmem_calloc(WORDS, 4)};
    total = shmem_calloc(1, sizeof *total);
    stop = shmem_calloc(1, sizeof *stop);
    patterns();
    for (int t = 0; t < soak.threads; t++) {
        struct worker *w = &workers[t];
        *w = (struct worker){.id = t, .at = sums, .doing = "RMA"};
        soak_rma_up(w);
        soak_amo_up(w);
        soak_sig_up(w);
        if (soak.threads == 1)
            w->ctx = SHMEM_CTX_DEFAULT;
        else if (shmem_ctx_create(t % 2 ? SHMEM_CTX_PRIVATE : SHMEM_CTX_SERIALIZED, &w->ctx))
            soak_fail(w, "no context");
    }
    soak_msg_up();
    soak_coll_up(workers);
    soak_kernel_up(workers);
    soak.step = 1; /* signals start at 0 */
    pthread_barrier_init(&all_threads, NULL, (unsigned)soak.threads);
}

static void option(const char *text)
{
    long threads = soak.threads, longest = (long)soak.longest, seed = (long)soak.seed, kernels = soak.kernels;
    if (sscanf(text, "seed=%ld", &seed) + sscanf(text, "seconds=%ld", &seconds) + sscanf(text, "operations=%ld", &operations) +
        sscanf(text, "threads=%ld", &threads) + sscanf(text, "longest=%ld", &longest) + sscanf(text, "stall=%ld", &stall) +
        sscanf(text, "kernels=%ld", &kernels) < 1 ||
        threads < 1 || threads > MAX_THREADS || longest < 1 || longest > 1 << 20) {
        fprintf(stderr, "soak: %s: not accepted; see the top of soak.c\n", text);
        exit(2);
    }
    soak.threads = (int)threads;
    soak.longest = (size_t)longest;
    soak.seed = (uint64_t)seed;
    soak.kernels = (int)kernels;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int provided;
    soak = (struct soak){.seed = 1, .longest = 1 << 20, .threads = 1};
    for (int i = 1; i < argc; i++)
        option(argv[i]);
    shmem_init_thread(soak.threads > 1 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
    soak.me = shmem_my_pe();
    soak.n = shmem_n_pes();
    if (soak.n > MAX_PES) {
        fprintf(stderr, "soak: at most %d PEs\n", MAX_PES);
        return 2;
    }
    up();
    signal(SIGALRM, stalled);
    alarm((unsigned)stall);
    shmem_barrier_all();
    for (int t = 1; t < soak.threads; t++)
        pthread_create(&thread[t], NULL, run, &workers[t]);
    run(&workers[0]);
    for (int t = 1; t < soak.threads; t++)
        pthread_join(thread[t], NULL);
    if (soak.me == 0)
        printf("soak: seed %lu: %lu operations in %lu steps, no failure\n", (unsigned long)soak.seed, (unsigned long)*total,
               (unsigned long)soak.step);
    alarm(0);
    for (int t = 0; t < soak.threads; t++)
        if (workers[t].ctx != SHMEM_CTX_DEFAULT)
            shmem_ctx_destroy(workers[t].ctx);
    shmem_finalize();
    return 0;
}
