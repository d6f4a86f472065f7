/* cpu.c - choose the proxy thread's core by sysfs and by the affinity that the PEs of the node have exchanged. */
#include "proxy/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/ops/state.h"
#include "host/util/log.h"

enum { BITS = 64 * SHI_CPU_WORDS };

static int has(const uint64_t *mask, int cpu)
{
    return (int)(mask[cpu / 64] >> (cpu % 64) & 1);
}

static int count(const uint64_t *mask)
{
    int n = 0;
    for (int w = 0; w < SHI_CPU_WORDS; w++)
        n += __builtin_popcountll(mask[w]);
    return n;
}

static int first(const uint64_t *mask)
{
    int cpu = 0;
    while (cpu < BITS && !has(mask, cpu))
        cpu++;
    return cpu < BITS ? cpu : -1;
}

/* The k-th core from the end, which must exist. */
static int from_end(const uint64_t *mask, int k)
{
    int cpu = BITS;
    do
        cpu--;
    while (!has(mask, cpu) || k-- > 0);
    return cpu;
}

int shi_cpu_choose(const struct shi_shm_region *region, int n, int me, const uint64_t near[SHI_CPU_WORDS])
{
    const uint64_t *mine = region[me].cpus;
    uint64_t spare[SHI_CPU_WORDS];
    int neighbours = 0, near_rank = 0, sharers = 0, rank = 0;
    memcpy(spare, near, sizeof spare);
    for (int i = 0; i < n; i++) {
        const uint64_t *theirs = region[i].cpus;
        int begins = first(theirs), is_near = begins >= 0 && has(near, begins), meets = 0, same = 1;
        for (int w = 0; w < SHI_CPU_WORDS; w++) {
            spare[w] &= ~theirs[w];
            meets |= (theirs[w] & mine[w]) != 0;
            same &= theirs[w] == mine[w];
        }
        neighbours += is_near;
        near_rank += is_near && i < me;
        sharers += same;
        rank += same && i < me;
        if (meets && !same)
            sharers = BITS; /* PEs that share some cores only cannot all agree on a count */
    }
    if (neighbours && count(spare) >= neighbours)
        return from_end(spare, near_rank);
    return count(mine) >= 2 * sharers ? from_end(mine, rank) : -1;
}

/* The cores of the processor that has this core; empty if sysfs does not have it. */
static void read_near(int cpu, uint64_t *near)
{
    char path[96], text[BITS / 4 + BITS / 32 + 2];
    memset(near, 0, SHI_CPU_WORDS * sizeof *near);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/package_cpus", cpu);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    /* Words of 32 bits in hexadecimal, the highest first, with commas between. */
    if (fgets(text, sizeof text, f)) {
        int word = 0;
        for (char *at = text + strcspn(text, "\n"); at > text; word++) {
            *at = 0;
            while (at > text && at[-1] != ',')
                at--;
            if (word < 2 * SHI_CPU_WORDS)
                near[word / 2] |= (uint64_t)strtoul(at, NULL, 16) << (32 * (word % 2));
            if (at > text)
                at--;
        }
    }
    fclose(f);
}

void shi_cpu_leave_busy(void)
{
    const struct shi_shm *shm = &shi_world.shm;
    uint64_t near[SHI_CPU_WORDS];
    int me = shi_world.boot.local_index, begins = first(shm->region[me].cpus);
    if (shm->oversubscribed || begins < 0)
        return;
    read_near(begins, near);
    int cpu = shi_cpu_choose(shm->region, shm->n, me, near);
    cpu_set_t *set = cpu < 0 ? NULL : CPU_ALLOC(BITS);
    if (!set)
        return;
    CPU_ZERO_S(CPU_ALLOC_SIZE(BITS), set);
    CPU_SET_S(cpu, CPU_ALLOC_SIZE(BITS), set);
    if (sched_setaffinity(0, CPU_ALLOC_SIZE(BITS), set) == 0)
        shi_log_debug("the proxy thread has core %d", cpu);
    CPU_FREE(set);
}
