/* numa.h - which cores are near a device, and how far NUMA nodes are from each other, from sysfs. */
#ifndef SHI_NUMA_H
#define SHI_NUMA_H

#include <sched.h>

/* The first line of a file. 0 when there is none. */
int shi_numa_line(const char *path, char *line, int bytes);

/* Does a list such as 0-3,8 contain a core of the set? */
int shi_numa_list_holds(const char *list, const cpu_set_t *cores);

/* 1 when this process may run on a core of the device's NUMA node, or when the node is unknown; else 0. `sysfs` is "/sys"
 * except in tests, `id` a PCI address such as 0000:1B:00.0. */
int shi_numa_is_local(const char *sysfs, const char *id);

/* The NUMA node that has all cores of the set; -1: several have, or it is unknown. */
int shi_numa_node_of(const char *sysfs, const cpu_set_t *cores);

/* The distance of two nodes as the system gives it, or `unknown`; of a node from itself it is mostly 10. */
int shi_numa_distance(const char *sysfs, int from, int to, int unknown);

#endif
