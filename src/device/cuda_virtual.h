/* cuda_virtual.h - memory that a program has mapped to addresses itself (cuMemMap): a peer gets it by a descriptor, not by an IPC handle. */
#ifndef SHI_DEVICE_CUDA_VIRTUAL_H
#define SHI_DEVICE_CUDA_VIRTUAL_H

#include "device/cuda_driver.h"
#include "device/device.h"

/* Is addr in such memory? *here: this PE's device's, or the host's. */
int shi_cuda_is_virtual(const void *addr, int *here);

/* Describe the memory whose mapping begins at addr, which has to be exportable as a descriptor. The descriptor stays open until the pair,
 * shi_cuda_virtual_shared. 0 or -errno. */
int shi_cuda_virtual_share(void *addr, struct shi_device_share *out);
void shi_cuda_virtual_shared(const struct shi_device_share *share);

/* 1: the share is of such memory. map: its first `bytes`. 0 or -errno. */
int shi_cuda_virtual_is(const struct shi_device_share *share);
int shi_cuda_virtual_map(const struct shi_device_share *share, size_t bytes, CUdeviceptr *at);
void shi_cuda_virtual_unmap(CUdeviceptr at, size_t bytes);

#endif
