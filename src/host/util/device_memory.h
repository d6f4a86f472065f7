/* device_memory.h - memory that only a device can load and store, as backends of devices describe it to networks, and copies of it. */
#ifndef SHI_DEVICE_MEMORY_H
#define SHI_DEVICE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct shi_device_memory {
    enum { SHI_DEVICE_MEMORY_CUDA, SHI_DEVICE_MEMORY_ZE } interface;
    int index;       /* of the device, among those of its driver */
    int fd;          /* a dma-buf, or -1; its owner closes it */
    uint64_t fd_off; /* of the memory in it */
    int late;        /* data that a NIC wrote can become visible after later messages of the NIC */
};

/* A copy between memory of the device and host memory that the device can access. beside: it may overlap with the copy before it in its
 * list; else it begins when that has ended. */
struct shi_device_copy {
    void *to;
    const void *from;
    size_t bytes;
    int beside;
};

#endif
