/*
 * device_heap.h - start and end of the device symmetric heap: take a device, then, collectively, memory of it, which all PEs of
 * the node map. The first allocation does this. Operations on the heap are in ops/dheap.h.
 */
#ifndef SHI_DEVICE_HEAP_H
#define SHI_DEVICE_HEAP_H

#include <stddef.h>

#include "host/util/config.h"

/* Take this PE's device, unless it is taken. 0, or -errno after one line. Until the heap goes down, shi_device_heap_choose
 * replaces SHMEM_DEVICE; NULL: no change. -EBUSY, not logged, when a device is taken. */
int shi_device_heap_take(void);
int shi_device_heap_choose(const shi_config_device *choice);

/* Collective. 0 when every PE has its device heap; else -errno on all, now and in later calls, and the PE that
 * failed has logged the cause. */
int shi_device_heap_up(void);

/* Before the device heap comes up: use these bytes of the program's own device memory as the heap, until it goes down. The
 * library stores none of its own words there, so kernels cannot use the device library. 0, or -EBUSY when a heap exists. */
int shi_device_heap_adopt(void *addr, size_t bytes);
int shi_device_heap_adopted(void);

/* Complete the description of device memory, base and bytes, for PEs of other nodes, while the heap is up and there is a network: *how is
 * what region->memory may point to; the caller closes how->fd. 0 or -errno after one line. */
struct shi_stream_region;
struct shi_device_memory;
int shi_device_heap_region(struct shi_stream_region *region, struct shi_device_memory *how);

/* Wait for this PE's kernels and host calls to end; reported as a wait of the routine. 0 or -errno after one line. */
int shi_device_heap_sync(const char *routine);

/* Have finish called in shmem_finalize once this PE's kernels have ended, to complete their requests, and stop, once,
 * before progress stops and the device heap goes down; the last registered first. finish may be NULL. */
void shi_device_heap_on_down(void (*finish)(void), void (*stop)(void));

/* Wait for this PE's kernels, which may need the proxy and other PEs' kernels until they end, and call finish. */
void shi_device_heap_finish(void);

/* Call stop: the proxy, which polls progress, ends. */
void shi_device_heap_stop(void);

/* No PE sends any more. */
void shi_device_heap_down(void);

#endif
