/*
 * ofi_memory.h - memory that is registered with libfabric: any number of ranges of the host, named by keys, and one range of a
 * device, which operations of this PE name by its descriptor, too (FI_MR_HMEM).
 *
 *   word          written by                           read by                order
 *   device.bytes  expose_device, 0 by withdraw: they   threads that post      R1 -> A1 the range's other fields. No operation
 *                 are collective                                              uses it before R1, or after withdraw
 */
#ifndef SHI_OFI_MEMORY_H
#define SHI_OFI_MEMORY_H

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "host/net/fabric/net.h"

/* Of this domain, with FI_MR_ENDPOINT bound to ep. cuda: the provider makes no CUDA calls, for which it could wait for kernels. */
void shi_ofi_memory_up(struct fid_domain *domain, struct fid_ep *ep, const struct fi_info *info, int cuda);
void shi_ofi_memory_leave(void);

/* expose, expose_device and withdraw of net.h. */
int shi_ofi_expose(const void *base, size_t bytes, int rights, struct shi_net_memory *out);
int shi_ofi_expose_device(const void *base, size_t bytes, const struct shi_device_memory *m, struct shi_net_memory *out);
void shi_ofi_withdraw(const struct shi_net_memory *m);

extern struct shi_ofi_device {
    uintptr_t base;
    size_t bytes; /* 0: none is registered */
    void *desc;
    struct shi_net_memory memory;
} shi_ofi_device;

/* Is this address in device memory, so that an operation there needs shi_ofi_device.desc? */
static inline int shi_ofi_on_device(const void *addr)
{
    size_t bytes = __atomic_load_n(&shi_ofi_device.bytes, __ATOMIC_ACQUIRE); /* A1 */
    return (uintptr_t)addr - shi_ofi_device.base < bytes;
}

#endif
