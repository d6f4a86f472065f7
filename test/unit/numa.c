/* numa.c - NUMA nodes of cores and their distances; a folder imitates sysfs. */
#include <stdio.h>
#include <stdlib.h>

#include "../tap.h"
#include "host/util/numa.h"

static char sysfs[] = "/tmp/numa.XXXXXX";

static void put(const char *folder, const char *file, const char *text)
{
    char path[300], command[400];
    snprintf(path, sizeof path, "%s/devices/system/node/%s", sysfs, folder);
    snprintf(command, sizeof command, "mkdir -p '%s'", path);
    strcat(path, file);
    FILE *f = system(command) == 0 ? fopen(path, "w") : NULL;
    if (!f || fputs(text, f) < 0 || fclose(f))
        abort();
}

static int node_of(int from, int to)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int c = from; c <= to; c++)
        CPU_SET((size_t)c, &cpus);
    return shi_numa_node_of(sysfs, &cpus);
}

/* Catches: a number of a node taken for its place in the lists, which differ where nodes are away; cores of several nodes that count as
 * one's; a file that is away. */
static void nodes(void)
{
    CHECK(node_of(0, 0) == -1 && shi_numa_distance(sysfs, 0, 0, 77) == 77);
    put("", "/online", "0,2-3\n");
    put("node0", "/cpulist", "0-3,8-11\n");
    put("node2", "/cpulist", "4-7\n");
    put("node3", "/cpulist", "\n"); /* memory alone */
    put("node0", "/distance", "10 21 34\n");
    put("node2", "/distance", "20 11 35\n");
    CHECK(node_of(0, 3) == 0 && node_of(8, 9) == 0 && node_of(4, 7) == 2);
    CHECK(node_of(3, 4) == -1 && node_of(12, 12) == -1 && node_of(1, 0) == -1);
    CHECK(shi_numa_distance(sysfs, 0, 0, 77) == 10 && shi_numa_distance(sysfs, 0, 2, 77) == 21 && shi_numa_distance(sysfs, 0, 3, 77) == 34);
    CHECK(shi_numa_distance(sysfs, 2, 0, 77) == 20 && shi_numa_distance(sysfs, 2, 2, 77) == 11 && shi_numa_distance(sysfs, 2, 3, 77) == 35);
    CHECK(shi_numa_distance(sysfs, 0, 1, 77) == 77 && shi_numa_distance(sysfs, 3, 0, 77) == 77 && shi_numa_distance(sysfs, -1, 0, 77) == 77 &&
          shi_numa_distance(sysfs, 0, -1, 77) == 77);
}

int main(void)
{
    if (!mkdtemp(sysfs))
        abort();
    RUN(nodes, "cores and distances of nodes");
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", sysfs);
    CHECK(system(command) == 0);
    return tap_end();
}
