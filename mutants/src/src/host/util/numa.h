/* numa.h - which cores are near a device, from sysfs. */
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

#endif
