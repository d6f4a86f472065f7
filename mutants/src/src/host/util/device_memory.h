/* device_memory.h - memory that only a device can load and store, as backends of devices describe it to networks. */
#ifndef SHI_DEVICE_MEMORY_H
#define SHI_DEVICE_MEMORY_H

#include <stdint.h>

struct shi_device_memory {
    enum { SHI_DEVICE_MEMORY_CUDA, SHI_DEVICE_MEMORY_ZE } interface;
    int index;       /* of the device, among those of its driver */
    int fd;          /* a dma-buf, or -1; its owner closes it */
    uint64_t fd_off; /* of the memory in it */
    int late;        /* data that a NIC wrote can become visible after later messages of the NIC */
};

#endif
