/* numa.h - is a PCI device on the same NUMA node as this process's cores? From sysfs. */
#ifndef SHI_NUMA_H
#define SHI_NUMA_H

/* 1 when this process may run on a core of the device's NUMA node, or when the node is unknown; else 0. `sysfs` is "/sys"
 * except in tests, `id` a PCI address such as 0000:1B:00.0. */
int shi_numa_is_local(const char *sysfs, const char *id);

#endif
