/* topology.c - processors and memory of the node that oshinfo may use, from hwloc. */
#include "tools/topology.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The processor's name, or "". */
static const char *model_of(hwloc_topology_t t)
{
    const char *name = hwloc_obj_get_info_by_name(hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0), "CPUModel");
    return name ? name : "";
}

static unsigned long long cache_bytes(hwloc_topology_t t, hwloc_obj_type_t level)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(t, level, 0);
    return cache ? cache->attr->cache.size : 0;
}

static void print_numa(hwloc_topology_t t, int i, int json)
{
    hwloc_obj_t node = hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, (unsigned)i);
    unsigned long long bytes = node->attr->numanode.local_memory;
    char *cpus;
    if (hwloc_bitmap_list_asprintf(&cpus, node->cpuset) < 0)
        return;
    if (json)
        printf("%s{\"number\": %u, \"bytes\": %llu, \"cpus\": \"%s\"}", i ? ", " : "", node->os_index, bytes, cpus);
    else
        printf("%s %u: %.1f GiB, CPUs %s\n", i ? "          " : "NUMA      ", node->os_index, (double)bytes / (1 << 30), cpus);
    free(cpus);
}

void topology_print(int json)
{
    hwloc_topology_t t;
    setenv("HWLOC_HIDE_ERRORS", "2", 0);
    if (hwloc_topology_init(&t))
        return;
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(t) == 0) {
        int packages = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE), cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
        int threads = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU), nodes = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
        unsigned long long l2 = cache_bytes(t, HWLOC_OBJ_L2CACHE), l3 = cache_bytes(t, HWLOC_OBJ_L3CACHE);
        if (json)
            printf("\"processor\": \"%s\", \"packages\": %d, \"cores\": %d, \"threads\": %d, \"l2_bytes\": %llu, \"l3_bytes\": %llu, "
                   "\"numa\": [", model_of(t), packages, cores, threads, l2, l3);
        else
            printf("processor  %s: %d package%s, %d core%s, %d hardware thread%s; caches %llu KiB (L2), %llu MiB (L3)\n",
                   model_of(t), packages, packages == 1 ? "" : "s", cores, cores == 1 ? "" : "s", threads,
                   threads == 1 ? "" : "s", l2 >> 10, l3 >> 20);
        for (int i = 0; i < nodes; i++)
            print_numa(t, i, json);
        printf(json ? "]" : "");
    }
    hwloc_topology_destroy(t);
}
