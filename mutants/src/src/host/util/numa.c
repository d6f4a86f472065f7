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

int shi_numa_list_holds(const char *list, const cpu_set_t *cores)
{
    while (isdigit((unsigned char)*list)) {
        char *end;
        long from = strtol(list, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        for (long c = from; c <= to && c < CPU_SETSIZE; c++)
            if (CPU_ISSET((size_t)c, cores))
                return 1;
        list = *end == ',' ? end + 1 : end;
    }
    return 0;
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
