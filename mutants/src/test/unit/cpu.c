/* cpu.c - the core that each proxy thread gets, on machines described in this file. */
#include "proxy/cpu.h"

#include "../tap.h"

/* Replaces the library's state. */
#include "host/ops/state.h"
struct shi_world shi_world;

enum { MOST = 8 };
static struct shi_shm_region region[MOST];

static uint64_t cores(int from, int n)
{
    return (n == 64 ? ~0ull : (1ull << n) - 1) << from;
}

/* Bind n PEs to `of` cores each, consecutively from core `from`. */
static void bound(int n, int from, int of)
{
    memset(region, 0, sizeof region);
    for (int i = 0; i < n; i++)
        region[i].cpus[0] = cores(from + i * of, of);
}

static void check(int n, uint64_t near_cores, const int *want, const char *what)
{
    uint64_t near[SHI_CPU_WORDS] = {near_cores};
    for (int i = 0; i < n; i++) {
        int got = shi_cpu_choose(region, n, i, near);
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
        region[i] = (struct shi_shm_region){.cpus = {cores(0, 6)}};
    check(3, cores(0, 6), (int[]){5, 4, 3}, "3 that share 6");
    for (int i = 0; i < 3; i++)
        region[i].cpus[0] = cores(0, 5);
    check(3, cores(0, 5), (int[]){-1, -1, -1}, "3 that share 5");
    region[0].cpus[0] = cores(0, 8), region[1].cpus[0] = cores(4, 8);
    check(2, cores(0, 12), (int[]){-1, -1}, "2 PEs whose cores overlap in part");
}

/* Catches: a core of another processor, free cores counted over all processors. */
static void two_processors(void)
{
    region[0] = region[1] = (struct shi_shm_region){.cpus = {0}};
    region[0].cpus[0] = 1, region[1].cpus[1] = 1; /* cores 0 and 64 */
    uint64_t low[SHI_CPU_WORDS] = {cores(0, 64)}, high[SHI_CPU_WORDS] = {0, cores(0, 64)};
    CHECK(shi_cpu_choose(region, 2, 0, low) == 63 && shi_cpu_choose(region, 2, 1, high) == 127);
    uint64_t top[SHI_CPU_WORDS] = {0};
    memset(region[0].cpus, 0, sizeof region[0].cpus);
    region[0].cpus[SHI_CPU_WORDS - 1] = top[SHI_CPU_WORDS - 1] = 3ull << 62;
    CHECK(shi_cpu_choose(region, 1, 0, top) == 64 * SHI_CPU_WORDS - 1);
}

int main(void)
{
    RUN(free_cores, "cores without a bound PE");
    RUN(shared_cores, "cores that PEs share");
    RUN(two_processors, "the PE's own processor");
    return tap_end();
}
