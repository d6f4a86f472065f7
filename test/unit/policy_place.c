/* policy_place.c - the core that each proxy thread gets (src/host/policy/place.c), on machines described in this file. */
#include "host/policy/place.h"

#include <string.h>

#include "../tap.h"

enum { MOST = 8 };
static uint64_t cpus[MOST][SHI_CPU_WORDS];

static uint64_t cores(int from, int n)
{
    return (n == 64 ? ~0ull : (1ull << n) - 1) << from;
}

/* Bind n PEs to `of` cores each, consecutively from core `from`. */
static void bound(int n, int from, int of)
{
    memset(cpus, 0, sizeof cpus);
    for (int i = 0; i < n; i++)
        cpus[i][0] = cores(from + i * of, of);
}

static void check(int n, uint64_t near_cores, const int *want, const char *what)
{
    uint64_t near[SHI_CPU_WORDS] = {near_cores};
    for (int i = 0; i < n; i++) {
        int got = shi_place_proxy((const uint64_t (*)[SHI_CPU_WORDS])cpus, n, i, near);
        CHECKF(got == want[i], "%s: PE %d gets core %d, not %d", what, i, got, want[i]);
    }
}

/* Catches: two proxies on one core, a proxy on a core to which a PE is bound while others are free. */
static void free_cores(void)
{
    bound(4, 0, 1);
    check(4, cores(0, 8), (int[]){7, 6, 5, 4}, "4 PEs bound to one core each of 8");
    check(4, cores(0, 7), (int[]){-1, -1, -1, -1}, "3 free cores for 4 PEs");
    bound(2, 0, 2);
    check(2, cores(0, 16), (int[]){15, 14}, "2 PEs bound to 2 cores each of 16");
    check(2, cores(0, 4), (int[]){1, 3}, "2 PEs bound to 2 cores each of 4: the last of their own");
    check(2, 0, (int[]){1, 3}, "the same without sysfs");
}

/* Catches: a proxy on a core that PEs need. */
static void shared_cores(void)
{
    for (int i = 0; i < 3; i++)
        cpus[i][0] = cores(0, 6);
    check(3, cores(0, 6), (int[]){5, 4, 3}, "3 that share 6");
    for (int i = 0; i < 3; i++)
        cpus[i][0] = cores(0, 5);
    check(3, cores(0, 5), (int[]){-1, -1, -1}, "3 that share 5");
    cpus[0][0] = cores(0, 8), cpus[1][0] = cores(4, 8);
    check(2, cores(0, 12), (int[]){-1, -1}, "2 PEs whose cores overlap in part");
}

/* Catches: a core of another processor, free cores counted over all processors. */
static void two_processors(void)
{
    memset(cpus, 0, sizeof cpus);
    cpus[0][0] = 1, cpus[1][1] = 1; /* cores 0 and 64 */
    uint64_t low[SHI_CPU_WORDS] = {cores(0, 64)}, high[SHI_CPU_WORDS] = {0, cores(0, 64)};
    CHECK(shi_place_proxy((const uint64_t (*)[SHI_CPU_WORDS])cpus, 2, 0, low) == 63 && shi_place_proxy((const uint64_t (*)[SHI_CPU_WORDS])cpus, 2, 1, high) == 127);
    uint64_t top[SHI_CPU_WORDS] = {0};
    memset(cpus[0], 0, sizeof cpus[0]);
    cpus[0][SHI_CPU_WORDS - 1] = top[SHI_CPU_WORDS - 1] = 3ull << 62;
    CHECK(shi_place_proxy((const uint64_t (*)[SHI_CPU_WORDS])cpus, 1, 0, top) == 64 * SHI_CPU_WORDS - 1);
}

int main(void)
{
    RUN(free_cores, "cores without a bound PE");
    RUN(shared_cores, "cores that PEs share");
    RUN(two_processors, "the PE's own processor");
    return tap_end();
}
