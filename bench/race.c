/*
 * race.c - ordinary programs in small, for bench/race: what `oshcc --race` costs in time and memory.
 *
 * race PROGRAM prints the time of PE 0 in milliseconds and the memory of all PEs (PSS, so that shared pages count once) in MB.
 */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int me, pes;
static uint64_t seed;

static uint64_t next_random(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}

/* ---- a stencil in the symmetric heap, and the same in private memory, and by two threads of a PE ----------------------- */

enum { SIDE = 512, STEPS = 20, THREADS = 2 };
static double *now, *then;

static void sweep(const double *a, double *b, int from, int to)
{
    for (int i = from; i <= to; i++)
        for (int j = 1; j < SIDE - 1; j++)
            b[i * SIDE + j] = 0.25 * (a[(i - 1) * SIDE + j] + a[(i + 1) * SIDE + j] + a[i * SIDE + j - 1] + a[i * SIDE + j + 1]);
}

static void stencil(void)
{
    now = shmem_calloc((SIDE + 2) * SIDE, sizeof *now), then = shmem_calloc((SIDE + 2) * SIDE, sizeof *then);
    for (int s = 0; s < STEPS; s++) {
        if (me > 0)
            shmem_double_put(now + (SIDE + 1) * SIDE, now + SIDE, SIDE, me - 1);
        if (me < pes - 1)
            shmem_double_put(now, now + SIDE * SIDE, SIDE, me + 1);
        shmem_barrier_all();
        sweep(now, then, 1, SIDE);
        double *swap = now;
        now = then, then = swap;
        shmem_barrier_all();
    }
}

static void private_stencil(void)
{
    now = calloc((SIDE + 2) * SIDE, sizeof *now), then = calloc((SIDE + 2) * SIDE, sizeof *then);
    double *edge = shmem_calloc(SIDE, sizeof *edge);
    for (int s = 0; s < STEPS; s++) {
        shmem_double_put(edge, now + SIDE, SIDE, (me + 1) % pes);
        shmem_barrier_all();
        memcpy(now, edge, SIDE * sizeof *edge);
        sweep(now, then, 1, SIDE);
        double *swap = now;
        now = then, then = swap;
        shmem_barrier_all();
    }
}

static pthread_barrier_t step;

static void *half(void *arg)
{
    int k = *(int *)arg;
    const double *a = now;
    double *b = then;
    for (int s = 0; s < STEPS; s++) {
        sweep(a, b, 1 + k * SIDE / THREADS, (k + 1) * SIDE / THREADS);
        const double *swap = a;
        a = b, b = (double *)swap;
        pthread_barrier_wait(&step);
    }
    return NULL;
}

static void threads(void)
{
    now = calloc((SIDE + 2) * SIDE, sizeof *now), then = calloc((SIDE + 2) * SIDE, sizeof *then);
    pthread_barrier_init(&step, NULL, THREADS);
    pthread_t t[THREADS];
    int k[THREADS];
    for (int i = 0; i < THREADS; i++) {
        k[i] = i;
        pthread_create(&t[i], NULL, half, &k[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

/* ---- random updates: atomics, and get, change, put of a table in which each PE has words of its own ---------------------- */

enum { TABLE = 1 << 16, UPDATES = 200000 };

static void atomics(void)
{
    long *t = shmem_calloc(TABLE, sizeof *t);
    for (long i = 0; i < UPDATES; i++) {
        uint64_t r = next_random();
        shmem_long_atomic_inc(&t[r % TABLE], (int)(r / TABLE % (uint64_t)pes));
    }
    shmem_barrier_all();
}

static void fetching(void)
{
    long *t = shmem_calloc(TABLE, sizeof *t);
    for (long i = 0; i < UPDATES; i++) {
        uint64_t r = next_random();
        shmem_long_atomic_fetch_add(&t[r % TABLE], 1, (int)(r / TABLE % (uint64_t)pes));
    }
    shmem_barrier_all();
}

static void get_put(void)
{
    long *t = shmem_calloc((size_t)TABLE * (size_t)pes, sizeof *t);
    for (long i = 0; i < UPDATES; i++) {
        uint64_t r = next_random();
        long *at = &t[r % TABLE * (uint64_t)pes + (uint64_t)me];
        int pe = (int)(r / TABLE % (uint64_t)pes);
        shmem_long_p(at, shmem_long_g(at, pe) ^ (long)r, pe);
        shmem_quiet();
    }
    shmem_barrier_all();
}

/* Random loads and stores of the PE's own part, then a barrier. */
static void random_local(void)
{
    enum { WORDS = 1 << 20 };
    long *t = shmem_calloc(WORDS, sizeof *t);
    for (int round = 0; round < 4; round++) {
        for (long i = 0; i < UPDATES * 4; i++) {
            uint64_t r = next_random();
            t[r % WORDS] ^= (long)r;
        }
        shmem_barrier_all();
    }
}

/* ---- an integer sort by buckets, as ISx ----------------------------------------------------------------------------------- */

enum { KEYS = 1 << 19, MAX_KEY = 1 << 22 };
static long received;

static void sort(void)
{
    int *key = malloc(KEYS * sizeof *key), *ordered = malloc(KEYS * sizeof *ordered);
    int *got = shmem_malloc(2 * KEYS * sizeof *got);
    long *count = calloc((size_t)pes, sizeof *count), *start = calloc((size_t)pes + 1, sizeof *start);
    int width = (MAX_KEY + pes - 1) / pes;
    int *times = calloc((size_t)width, sizeof *times);
    for (int i = 0; i < KEYS; i++)
        key[i] = (int)(next_random() % MAX_KEY);
    shmem_barrier_all();
    for (int i = 0; i < KEYS; i++)
        count[key[i] / width]++;
    for (int pe = 0; pe < pes; pe++)
        start[pe + 1] = start[pe] + count[pe], count[pe] = start[pe];
    for (int i = 0; i < KEYS; i++)
        ordered[count[key[i] / width]++] = key[i];
    for (int k = 0; k < pes; k++) {
        int pe = (me + k) % pes;
        long n = start[pe + 1] - start[pe], at = shmem_long_atomic_fetch_add(&received, n, pe);
        shmem_int_put(got + at, ordered + start[pe], (size_t)n, pe);
    }
    shmem_barrier_all();
    for (long i = 0; i < received; i++)
        times[got[i] - me * width]++;
    long sum = 0;
    for (int k = 0; k < width; k++)
        sum += times[k];
    if (sum != received)
        fprintf(stderr, "sort: %ld of %ld keys\n", sum, received);
    shmem_barrier_all();
}

/* ---- transfers: of words, of blocks, and with signals ---------------------------------------------------------------------- */

static uint64_t signal_word;
static volatile long sum;

static void words(void)
{
    long *t = shmem_calloc(1024, sizeof *t);
    int pe = (me + 1) % pes;
    for (int i = 0; i < UPDATES; i++) {
        shmem_long_p(&t[i % 1024], i, pe);
        if (i % 1024 == 1023)
            shmem_barrier_all();
    }
    shmem_barrier_all();
    for (int i = 0; i < UPDATES; i++)
        sum += shmem_long_g(&t[i % 1024], pe);
    shmem_barrier_all();
}

static void blocks(void)
{
    enum { BYTES = 4096, TIMES = 4000 };
    char *to = shmem_calloc(16, BYTES), *from = calloc(16, BYTES);
    int pe = (me + 1) % pes;
    for (int i = 0; i < TIMES; i++) {
        shmem_putmem(to + i % 16 * BYTES, from + i % 16 * BYTES, BYTES, pe);
        if (i % 16 == 15)
            shmem_quiet();
    }
    shmem_barrier_all();
    for (int i = 0; i < TIMES; i++)
        shmem_getmem(from + i % 16 * BYTES, to + i % 16 * BYTES, BYTES, pe);
    shmem_barrier_all();
}

static void signals(void)
{
    long *data = shmem_calloc(128, sizeof *data), from[128] = {0};
    int to = (me + 1) % pes;
    for (uint64_t i = 1; i <= 20000; i++) {
        shmem_long_put_signal(data, from, 128, &signal_word, i, SHMEM_SIGNAL_SET, to);
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, i);
        for (int k = 0; k < 128; k++)
            from[k] += data[k];
        shmem_barrier_all();
    }
}

/* ---- which ----------------------------------------------------------------------------------------------------------------- */

static long pss_kb(void)
{
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Pss: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

static const struct {
    const char *name;
    void (*run)(void);
} program[] = {{"stencil", stencil}, {"private_stencil", private_stencil}, {"threads", threads}, {"random_local", random_local}, {"sort", sort}, {"atomics", atomics}, {"fetching", fetching}, {"get_put", get_put}, {"words", words}, {"blocks", blocks}, {"signals", signals}};

int main(int argc, char **argv)
{
    static long kb, all;
    struct timespec from, to;
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe(), pes = shmem_n_pes(), seed = 88172645463325252u + (uint64_t)me;
    for (size_t i = 0; argc < 2 && me == 0 && i < sizeof program / sizeof *program; i++)
        puts(program[i].name);
    for (size_t i = 0; argc > 1 && i < sizeof program / sizeof *program; i++)
        if (strcmp(program[i].name, argv[1]) == 0) {
            shmem_barrier_all();
            clock_gettime(CLOCK_MONOTONIC, &from);
            program[i].run();
            clock_gettime(CLOCK_MONOTONIC, &to);
            kb = pss_kb();
            shmem_barrier_all();
            shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &kb, 1);
            if (me == 0)
                printf("%.3f %.1f\n", (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6, (double)all / 1024);
        }
    shmem_finalize();
    return 0;
}
