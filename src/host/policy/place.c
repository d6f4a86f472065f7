/* place.c - see place.h. */
#include "host/policy/place.h"

#include <string.h>

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

int shi_place_first(const uint64_t mask[SHI_CPU_WORDS])
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

int shi_place_proxy(const uint64_t (*cpus)[SHI_CPU_WORDS], int n, int me, const uint64_t near[SHI_CPU_WORDS])
{
    const uint64_t *mine = cpus[me];
    uint64_t spare[SHI_CPU_WORDS];
    int neighbours = 0, near_rank = 0, sharers = 0, rank = 0;
    memcpy(spare, near, sizeof spare);
    for (int i = 0; i < n; i++) {
        const uint64_t *theirs = cpus[i];
        int begins = shi_place_first(theirs), is_near = begins >= 0 && has(near, begins), meets = 0, same = 1;
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
