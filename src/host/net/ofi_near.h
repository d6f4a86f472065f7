/* ofi_near.h - share the NICs of a node out among its PEs, those near a PE's processors first. */
#ifndef SHI_OFI_NEAR_H
#define SHI_OFI_NEAR_H

#include <rdma/fabric.h>
#include <sched.h>

/* Is one of these processors near the NIC, according to the files below `sysfs` ("/sys")? 1 if the files do not say. */
int shi_ofi_near(const char *sysfs, const struct fi_info *nic, const cpu_set_t *cpus);

/* The NIC, of n > 0, for the PE with this local rank: one of those with near[i], of all if none is near. */
int shi_ofi_share(const unsigned char *near, int n, int local_index);

#endif
