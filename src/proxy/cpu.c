/* cpu.c - give the proxy thread a core, by sysfs and by the affinity that the PEs of the node have exchanged: host/policy/place.h. */
#include "proxy/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/ops/state.h"
#include "host/policy/place.h"
#include "host/util/log.h"

enum { BITS = 64 * SHI_CPU_WORDS };

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

/* The node's masks; NULL without memory. */
static uint64_t (*masks(const struct shi_shm *shm))[SHI_CPU_WORDS]
{
    uint64_t (*cpus)[SHI_CPU_WORDS] = malloc((size_t)shm->n * sizeof *cpus);
    for (int i = 0; cpus && i < shm->n; i++)
        memcpy(cpus[i], shm->region[i].cpus, sizeof cpus[i]);
    return cpus;
}

/* The proxy's core; -1: none. */
static int choose(const struct shi_shm *shm)
{
    uint64_t near[SHI_CPU_WORDS], (*cpus)[SHI_CPU_WORDS] = masks(shm);
    int me = shi_world.boot.local_index, begins = cpus ? shi_place_first(cpus[me]) : -1, core = -1;
    if (begins >= 0) {
        read_near(begins, near);
        core = shi_place_proxy(cpus, shm->n, me, near);
    }
    free(cpus);
    return core;
}

void shi_cpu_leave_busy(void)
{
    int cpu = shi_world.shm.oversubscribed ? -1 : choose(&shi_world.shm);
    cpu_set_t *set = cpu < 0 ? NULL : CPU_ALLOC(BITS);
    if (!set)
        return;
    CPU_ZERO_S(CPU_ALLOC_SIZE(BITS), set);
    CPU_SET_S(cpu, CPU_ALLOC_SIZE(BITS), set);
    if (sched_setaffinity(0, CPU_ALLOC_SIZE(BITS), set) == 0)
        shi_log_debug("the proxy thread has core %d", cpu);
    CPU_FREE(set);
}
