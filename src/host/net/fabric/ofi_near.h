/* ofi_near.h - the NICs of a node, from sysfs; share them out among its PEs, those near a PE's processors first. */
#ifndef SHI_OFI_NEAR_H
#define SHI_OFI_NEAR_H

#include <rdma/fabric.h>
#include <sched.h>

/* Does the node have an RDMA device? `sysfs` is "/sys" outside of tests. */
int shi_ofi_has_rdma(const char *sysfs);

/* Is one of these processors near the NIC, according to the files below `sysfs`? 1 if the files do not say. */
int shi_ofi_near(const char *sysfs, const struct fi_info *nic, const cpu_set_t *cpus);

/* The NIC, of n > 0, for the PE with this local rank: one of those with near[i], of all if none is near. */
int shi_ofi_share(const unsigned char *near, int n, int local_index);

#endif
