/*
 * flood.c - the rates of 8 B puts and of puts with signal in windows of a few milliseconds, for bench/flood, which floods the
 * ports of these PEs meanwhile. Runs for the seconds of its argument. PE 0 prints a line for each window: its end in
 * microseconds of the monotonic clock, the kind of the operation, operations per second; and its resident memory at the end.
 *
 * Fulmar with SHMEM_TRANSPORT=ofi, two PEs. Not run by bench/compare.
 */
#include "bench.h"

enum { PUTS = 4096, ROUND_TRIPS = 256, WORDS = 64 };

static long area[WORDS];
static uint64_t signal_word;

static void puts_and_quiet(void)
{
    for (int i = 0; i < PUTS; i++)
        shmem_long_p(&area[i % WORDS], i, 1);
    shmem_quiet();
}

static void ping_pong(uint64_t *turn)
{
    long value = 1;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        ++*turn;
        if (shmem_my_pe() == 1)
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, *turn);
        shmem_putmem_signal(area, &value, sizeof value, &signal_word, *turn, SHMEM_SIGNAL_SET, 1 - shmem_my_pe());
        if (shmem_my_pe() == 0)
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, *turn);
    }
}

static void report(const char *what, double from, long operations)
{
    double to = bench_now_us();
    if (shmem_my_pe() == 0)
        printf("%.0f %s %.0f\n", to, what, (double)operations / (to - from) * 1e6);
}

static void print_memory(void)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmRSS", 5) == 0)
            printf("PE %d %s", shmem_my_pe(), line);
    if (f)
        fclose(f);
}

int main(int argc, char **argv)
{
    uint64_t turn = 0;
    shmem_init();
    double end = bench_now_us() + (argc > 1 ? atof(argv[1]) : 1) * 1e6;
    print_memory();
    fflush(stdout);
    while (!bench_agree(bench_now_us() > end)) {
        double from = bench_now_us();
        ping_pong(&turn);
        report("put_signal", from, 2 * ROUND_TRIPS);
        from = bench_now_us();
        if (shmem_my_pe() == 0)
            puts_and_quiet();
        report("rate_p", from, PUTS);
    }
    print_memory();
    shmem_finalize();
    return 0;
}
