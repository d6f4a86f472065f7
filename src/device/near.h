/* near.h - which PCI devices are near the cores that this process may run on, as Linux tells it in sysfs. */
#ifndef SHI_NEAR_H
#define SHI_NEAR_H

/* 1 when a core of this process is on the device's NUMA node, or nothing is known of that; else 0. `sysfs` is "/sys" but
 * in tests, `id` a PCI address like 0000:1B:00.0. */
int shi_near(const char *sysfs, const char *id);

#endif
