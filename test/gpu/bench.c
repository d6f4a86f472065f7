/*
 * bench.c - the ring and the direct path, timed from the host: the difference between a short and a long run of each
 * loop, so that launch and first touch do not count. Prints medians as a table, then one JSON line per figure.
 *
 * The figures are for one node: a put goes to this PE's own device memory, through the proxy if SHMEM_TEST_DEVICE_DIRECT=0.
 *
 *   usage: oshrun -n 1 bench [SCALE]      SCALE: 100 (default) for a GPU; 1 for a quick check that it works
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

enum { ISSUE, PUT, PUT_QUIET, PUT_SIGNAL, FETCH, EMPTY_WAIT };
enum { TIMES = 15, BEHIND = 64, WARPS = 64, WARP = 32 };
static uint64_t *w, *sig, *over;
static void *other;
static int me;
static double scale = 100;

static double run_us(int busy, int what, size_t groups, size_t items, uint64_t rounds)
{
    const size_t g[3] = {groups, 1, 1}, i[3] = {items, 1, 1};
    void *const args[] = {&w, &sig, &what, &me, &rounds};
    const size_t bytes[] = {8, 8, 4, 4, 8};
    void *const args_busy[] = {&w, &sig, &other, &over, &what, &me, &rounds};
    const size_t bytes_busy[] = {8, 8, 8, 8, 4, 4, 8};
    uint64_t zero = 0;
    shmem_putmem(over, &zero, sizeof zero, me);
    double from = now_us();
    int err = busy ? shmemx_launch("oversubscribed", g, i, args_busy, bytes_busy, 7)
                   : shmemx_launch("loop", g, i, args, bytes, 5);
    if (err || shmemx_device_sync())
        shmem_global_exit(1); /* the library has printed the reason */
    return now_us() - from;
}

/* Median time of one round in microseconds. */
static double round_us(int busy, int what, size_t groups, size_t items, uint64_t few, uint64_t more)
{
    double us[TIMES];
    run_us(busy, what, groups, items, few);
    for (int t = 0; t < TIMES; t++)
        us[t] = (run_us(busy, what, groups, items, few + more) - run_us(busy, what, groups, items, few)) / (double)more;
    return median(us, TIMES);
}

/* A negative median means that the noise was larger than the measured time. */
static void report(const char *name, const char *unit, double value, double goal, const char *way)
{
    if (value <= 0)
        value = 0, unit = "noise";
    printf("%-52s %10.3f %-8s %s\n", name, value, unit, way);
    printf("{\"bench\": \"%s\", \"way\": \"%s\", \"unit\": \"%s\", \"value\": %.4f, \"goal\": %.2f}\n", name, way, unit, value,
           goal);
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    if (argc > 1)
        scale = atof(argv[1]);
    w = shmemg_calloc(8, 8), sig = shmemg_calloc(8, 8), over = shmemg_calloc(8, 8);
    if (!w || !sig || !over)
        shmem_global_exit(1);
    if (shmemx_device_ctx_create(SHMEM_TEAM_WORLD, 0, &other))
        shmem_global_exit(1);
    const char *direct = getenv("SHMEM_TEST_DEVICE_DIRECT");
    const char *way = direct && *direct == '0' ? "ring" : "direct";
    uint64_t n = (uint64_t)(100 * scale);
    report("issue of an inline request, below the ring's slots", "us", round_us(0, ISSUE, 1, 1, 16, 400), 0.2, way);
    report("round trip of an empty request", "us", round_us(0, EMPTY_WAIT, 1, 1, 16, n), 3, way);
    double rate = WARPS * WARP / round_us(0, ISSUE, WARPS, WARP, 4, n / 10 + 4);
    report("requests a second, one proxy thread", "million", rate, 14, way);
    report("put of 8 bytes and quiet", "us", round_us(0, PUT_QUIET, 1, 1, 16, n), 4.1, way);
    report("get of 8 bytes", "us", round_us(0, FETCH, 1, 1, 16, n), 5.89, way);
    double put = round_us(0, PUT, 1, WARP, 16, n / 4 + 4), with_signal = round_us(0, PUT_SIGNAL, 1, WARP, 16, n / 4 + 4);
    report("put stream, one warp", "million", WARP / put, 0, way);
    report("put-with-signal stream as a share of puts", "%", 100 * put / with_signal, 74, way);
    double alone = round_us(1, EMPTY_WAIT, 1, 1, 16, n), busy = round_us(1, EMPTY_WAIT, 1 + BEHIND, 1, 16, n);
    report("round trip with 64 groups on another context, times", "x", busy / alone, 2, way);
    shmem_finalize();
    return 0;
}
