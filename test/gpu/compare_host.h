/*
 * compare_host.h - the host's side of compare.c and compare_nvshmem.cu, which define before: launch_NAME for the kernels of compare.h,
 * finish(), which ends the program where a kernel failed, and barrier().
 *
 * A time is the difference of a long and a short run of a kernel by their difference in rounds, so that the launch does not count; rows are
 * medians. One JSON line each: {"bench": ..., "way": STACK, "unit": ..., "value": ...}.
 */
#include <stdio.h>

#include "timing.h"

enum { TIMES = 9, BULK_TIMES = 5, ITEMS_MOST = 1024, SHORT = 16 };

static const char *stack;

static void row(const char *name, double value, const char *unit)
{
    printf("{\"bench\": \"%s\", \"way\": \"%s\", \"unit\": \"%s\", \"value\": %.4f}\n", name, stack, unit, value);
    fflush(stdout);
}

static double loop_us(int what, int groups, int items, uint64_t rounds)
{
    double from = now_us();
    launch_loop(what, groups, items, rounds);
    finish();
    return now_us() - from;
}

static double call_us(int what, int groups, int items, uint64_t rounds)
{
    double v[TIMES];
    loop_us(what, groups, items, SHORT);
    for (int t = 0; t < TIMES; t++)
        v[t] = (loop_us(what, groups, items, SHORT + rounds) - loop_us(what, groups, items, SHORT)) / (double)rounds;
    return median(v, TIMES);
}

/* Without a shift and gets, -1: the plain copy. */
static double bulk_us(uint64_t words, int groups, int items, int shift, int gets, uint64_t rounds)
{
    double from = now_us();
    if (shift < 0)
        launch_plain(words, groups, items, rounds);
    else
        launch_bulk(words, groups, items, shift, gets, rounds);
    finish();
    return now_us() - from;
}

static void bulk_row(const char *name, uint64_t words, int groups, int items, int shift, int gets)
{
    enum { MORE = 5 };
    char text[128];
    double v[BULK_TIMES];
    for (int t = 0; t < BULK_TIMES; t++)
        v[t] = (bulk_us(words, groups, items, shift, gets, 1 + MORE) - bulk_us(words, groups, items, shift, gets, 1)) / MORE;
    snprintf(text, sizeof text, "%s %llu KiB, %d groups of %d", name, (unsigned long long)words * 8 >> 10, groups, items);
    row(text, (double)words * 8 / median(v, BULK_TIMES) / 1e3, "GB/s");
}

/* quick: on a driver on the CPU. */
static void one_pe(uint64_t n, uint64_t words, int quick)
{
    static const struct {
        const char *name;
        int what;
    } calls[] = {{"p 8 B", W_P}, {"g 8 B", W_G}, {"put 8 B", W_PUT}, {"get 8 B", W_GET}, {"p + quiet", W_P_QUIET}, {"quiet", W_QUIET}, {"fence", W_FENCE},
                 {"put_signal_nbi 8 B", W_PUT_SIGNAL}, {"atomic_fetch_add", W_FETCH_ADD}, {"atomic_add", W_ADD}};
    static const int groups[] = {1, 8, 132, 264}, items[] = {512, ITEMS_MOST};
    int most = quick ? 2 : 132;
    char text[128];
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(text, sizeof text, "%s, one thread", calls[i].name);
        row(text, call_us(calls[i].what, 1, 1, n), "us");
    }
    row("p, 132 groups of 256: rate", most * 256 / call_us(W_P, most, 256, n / 8 + 1), "M/s");
    row("put_signal_nbi, 132 groups of 32: rate", most * 32 / call_us(W_PUT_SIGNAL, most, 32, n / 8 + 1), "M/s");
    row("atomic_add, 132 groups of 256: rate", most * 256 / call_us(W_ADD, most, 256, n / 8 + 1), "M/s");
    for (int i = 0; i < (quick ? 1 : 2); i++)
        for (int g = 0; g < (quick ? 2 : 4); g++) {
            bulk_row("put by groups", words, groups[g], items[i], 0, 0);
            bulk_row("get by groups", words, groups[g], items[i], 0, 1);
            bulk_row("put by groups, 8 B aligned", words, groups[g], items[i], 8, 0);
            bulk_row("put by groups, 4 B aligned", words, groups[g], items[i], 4, 0);
            bulk_row("put by groups, misaligned", words, groups[g], items[i], 1, 0);
            bulk_row("plain copy", words, groups[g], items[i], -1, 0);
        }
}

/* The time of a round of a kernel that both PEs run, from `few` rounds and `more`. */
static double both_us(void (*launch)(int items, int what, uint64_t words, uint64_t before, uint64_t n), int items, int what, uint64_t words,
                      uint64_t more)
{
    static uint64_t total; /* rounds before */
    double v[TIMES], us[2];
    for (int t = 0; t < TIMES; t++) {
        for (int s = 0; s < 2; s++) {
            barrier();
            double from = now_us();
            launch(items, what, words, total, s ? SHORT + more : SHORT);
            finish();
            us[s] = now_us() - from;
            total += s ? SHORT + more : SHORT;
        }
        v[t] = (us[1] - us[0]) / (double)more;
    }
    return median(v, TIMES);
}

static void two_pes(uint64_t n, int first, int quick)
{
    static const struct {
        const char *name;
        int what;
        uint64_t words;
    } collectives[] = {{"broadcast of 1 KiB", C_BROADCAST, 128}, {"fcollect of 1 KiB", C_FCOLLECT, 128}, {"alltoall of 1 KiB", C_ALLTOALL, 128},
                       {"sum of 8 B", C_SUM, 1}, {"sum of 1 KiB", C_SUM, 128}};
    double us = both_us(launch_ping, 1, 0, 0, n / 10 + SHORT);
    char text[128];
    if (first)
        row("put_signal ping-pong, round trip, 2 PEs on one GPU", us, "us");
    us = both_us(launch_meet, 32, C_SYNC, 0, n / 20 + SHORT);
    if (first)
        row("sync_all by a warp, 2 PEs on one GPU", us, "us");
    for (unsigned i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        int items = quick ? 32 : 256;
        us = both_us(launch_meet, items, collectives[i].what, collectives[i].words, n / 20 + SHORT);
        snprintf(text, sizeof text, "%s by a group of %d, 2 PEs on one GPU", collectives[i].name, items);
        if (first)
            row(text, us, "us");
    }
}
