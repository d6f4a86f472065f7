/* numa.c - see numa.h. */
#include "host/util/numa.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

int shi_numa_line(const char *path, char *line, int bytes)
{
    FILE *f = fopen(path, "re");
    int ok = f && fgets(line, bytes, f);
    if (f)
        fclose(f);
    return ok;
}

/* How many cores of the set are in a list such as 0-3,8. */
static int count(const char *list, const cpu_set_t *cores)
{
    int n = 0;
    while (isdigit((unsigned char)*list)) {
        char *end;
        long from = strtol(list, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        for (long c = from; c <= to && c < CPU_SETSIZE; c++)
            n += CPU_ISSET((size_t)c, cores) != 0;
        list = *end == ',' ? end + 1 : end;
    }
    return n;
}

int shi_numa_list_holds(const char *list, const cpu_set_t *cores)
{
    return count(list, cores) > 0;
}

int shi_numa_is_local(const char *sysfs, const char *id)
{
    char path[512], line[4096];
    cpu_set_t mine;
    int n = snprintf(path, sizeof path, "%s/bus/pci/devices/", sysfs);
    for (; *id && n < (int)sizeof path - 16; id++)
        path[n++] = (char)tolower((unsigned char)*id);
    snprintf(path + n, sizeof path - (size_t)n, "/numa_node");
    int node = shi_numa_line(path, line, sizeof line) ? atoi(line) : -1;
    snprintf(path, sizeof path, "%s/devices/system/node/node%d/cpulist", sysfs, node);
    if (node < 0 || !shi_numa_line(path, line, sizeof line) || sched_getaffinity(0, sizeof mine, &mine))
        return 1;
    return shi_numa_list_holds(line, &mine);
}

/* The k-th node that is online, or -1. */
static int online(const char *sysfs, int k)
{
    char path[512], line[4096];
    snprintf(path, sizeof path, "%s/devices/system/node/online", sysfs);
    if (!shi_numa_line(path, line, sizeof line))
        return -1;
    for (const char *list = line; isdigit((unsigned char)*list);) {
        char *end;
        long from = strtol(list, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        if (k <= to - from)
            return (int)(from + k);
        k -= (int)(to - from + 1);
        list = *end == ',' ? end + 1 : end;
    }
    return -1;
}

int shi_numa_node_of(const char *sysfs, const cpu_set_t *cores)
{
    char path[512], line[4096];
    for (int k = 0, node; (node = online(sysfs, k)) >= 0; k++) {
        snprintf(path, sizeof path, "%s/devices/system/node/node%d/cpulist", sysfs, node);
        int n = shi_numa_line(path, line, sizeof line) ? count(line, cores) : 0;
        if (n)
            return n == CPU_COUNT(cores) ? node : -1;
    }
    return -1;
}

int shi_numa_distance(const char *sysfs, int from, int to, int unknown)
{
    char path[512], line[4096];
    snprintf(path, sizeof path, "%s/devices/system/node/node%d/distance", sysfs, from);
    if (from < 0 || to < 0 || !shi_numa_line(path, line, sizeof line))
        return unknown;
    char *at = line, *end;
    for (int k = 0, node; (node = online(sysfs, k)) >= 0; k++, at = end) { /* a distance for each node that is online */
        long distance = strtol(at, &end, 10);
        if (end == at)
            return unknown;
        if (node == to)
            return (int)distance;
    }
    return unknown;
}
