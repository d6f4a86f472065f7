/*
 * thread.c - 8 B put rate of PE 0's threads to PE 1, each thread with a private context, 1 to 4 threads, in total.
 *
 * PE 1 waits in a barrier, because some implementations need the target's progress; the time until it leaves its core
 * to the threads is part of the result.
 */
#include <pthread.h>

#include "bench.h"

enum { THREADS_MAX = 4, WORDS = 64, BATCH_US = 4000 };

static long area[THREADS_MAX][WORDS] __attribute__((aligned(4096)));

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    shmem_ctx_t ctx;
    long *remote;
    long calls;
    double begin_us, end_us;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    long value = 5;

    pthread_barrier_wait(w->start);
    w->begin_us = bench_now_us();
    for (long i = 0; i < w->calls; i++)
        shmem_ctx_putmem(w->ctx, w->remote + i % WORDS, &value, sizeof value, 1);
    shmem_ctx_quiet(w->ctx);
    w->end_us = bench_now_us();
    return NULL;
}

/* One batch of `calls` puts per thread: the time from the first begin to the last end, in us per put. */
static double time_threads(struct worker *workers, int n, long calls)
{
    pthread_barrier_t start;
    double begin_us = 0, end_us = 0;

    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        workers[i].start = &start;
        workers[i].calls = calls;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(workers[i].thread, NULL);
        begin_us = i == 0 || workers[i].begin_us < begin_us ? workers[i].begin_us : begin_us;
        end_us = workers[i].end_us > end_us ? workers[i].end_us : end_us;
    }
    pthread_barrier_destroy(&start);
    return (end_us - begin_us) / (double)calls / n;
}

static void time_place(struct worker *workers, const char *place, long *remote)
{
    static const char *const name[] = {"rate_put_1_thread", "rate_put_2_threads", "rate_put_4_threads"};
    struct bench_case cases[3];

    for (int i = 0; i < THREADS_MAX; i++)
        workers[i].remote = remote + i * WORDS;

    double one_us = time_threads(workers, 1, 1000);

    one_us = time_threads(workers, 1, bench_fill(one_us, BATCH_US));
    for (int c = 0; c < 3; c++) {
        cases[c] = (struct bench_case){.bench = name[c], .place = place, .unit = BENCH_MILLION_PER_S, .bytes = 8};
        cases[c].calls = bench_fill(one_us, BATCH_US);
    }
    for (int batch = 0; batch < BENCH_BATCHES; batch++) {
        for (int c = 0; c < 3; c++)
            cases[c].us[batch] = time_threads(workers, 1 << c, cases[c].calls);
    }
    for (int c = 0; c < 3; c++)
        bench_print(&cases[c]);
}

static void create_contexts(struct worker *workers)
{
    for (int i = 0; i < THREADS_MAX; i++) {
        if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &workers[i].ctx)) {
            fprintf(stderr, "thread: context %d cannot be created\n", i);
            shmem_global_exit(2);
        }
    }
}

int main(void)
{
    struct worker workers[THREADS_MAX];
    int provided = 0;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    if (provided != SHMEM_THREAD_MULTIPLE || shmem_n_pes() < 2) {
        fprintf(stderr, "thread: needs SHMEM_THREAD_MULTIPLE and 2 PEs\n");
        shmem_global_exit(2);
    }
    long *heap = bench_symmetric(sizeof area);

    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        create_contexts(workers);
        time_place(workers, "heap", heap);
        time_place(workers, "static", area[0]);
        for (int i = 0; i < THREADS_MAX; i++)
            shmem_ctx_destroy(workers[i].ctx);
    }
    shmem_barrier_all();
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
