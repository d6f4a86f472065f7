/*
 * late.c - how late a PE that has waited for a while answers.
 *
 * PE 0 computes for a while, stores a word at PE 1, and waits for its answer; PE 1 waits for the word meanwhile, all other
 * PEs wait in a barrier. The time is from the store to the answer. Row late_3000_us: PE 1 has waited for at least 3,000 us.
 */
#include "bench.h"

static long ping, pong, turn;

/* Keep the core until the time has passed. */
static void compute(double us)
{
    double end = bench_now_us() + us;

    while (bench_now_us() < end)
        ;
}

/* PE 0: the time until the answer. */
static double ask(void)
{
    double start = bench_now_us();

    shmem_long_p(&ping, turn, 1);
    shmem_quiet();
    shmem_long_wait_until(&pong, SHMEM_CMP_GE, turn);
    return bench_now_us() - start;
}

static void answer(void)
{
    shmem_long_wait_until(&ping, SHMEM_CMP_GE, turn);
    shmem_long_p(&pong, turn, 0);
    shmem_quiet();
}

/* The waits differ a little in length, so that no timer of the waiting PE beats with them. */
static void measure(struct bench_case *c, double away_us)
{
    shmem_barrier_all();
    for (int i = 0; i < BENCH_BATCHES; i++) {
        turn++;
        if (shmem_my_pe() == 0) {
            compute(away_us * (1 + i * 0.01));
            c->us[i] = ask();
        } else if (shmem_my_pe() == 1) {
            answer();
        }
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        bench_print(c);
}

int main(void)
{
    struct bench_case cases[] = {
        {"late_0_us", "static", NULL, BENCH_US, sizeof ping, 1, NULL, NULL, 1, {0}},
        {"late_100_us", "static", NULL, BENCH_US, sizeof ping, 1, NULL, NULL, 1, {0}},
        {"late_1000_us", "static", NULL, BENCH_US, sizeof ping, 1, NULL, NULL, 1, {0}},
        {"late_3000_us", "static", NULL, BENCH_US, sizeof ping, 1, NULL, NULL, 1, {0}},
        {"late_10000_us", "static", NULL, BENCH_US, sizeof ping, 1, NULL, NULL, 1, {0}},
        {"late_50000_us", "static", NULL, BENCH_US, sizeof ping, 1, NULL, NULL, 1, {0}},
    };
    static const double away_us[] = {0, 100, 1000, 3000, 10000, 50000};

    bench_init("late", 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        measure(&cases[i], away_us[i]);
    shmem_finalize();
    return 0;
}
