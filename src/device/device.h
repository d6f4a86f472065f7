/*
 * device.h - the contract of a device backend: memory of its own, shared between PEs of the node, and copies.
 *
 * A PE has one device; several PEs may share one. Every call returns 0 or -errno, and has logged one line then.
 */
#ifndef SHI_DEVICE_H
#define SHI_DEVICE_H

#include <stddef.h>

/* What another PE of the node needs to map an allocation; small enough for one exchange. */
struct shi_device_share {
    char handle[64]; /* the backend's own */
    int pid;
};

struct shi_device_ops {
    const char *name;
    /* Find a device and get ready. *host_access: the host may load and store its memory. */
    int (*up)(int *host_access);
    void (*down)(void);
    int (*alloc)(size_t bytes, void **addr);
    void (*release)(void *addr);
    int (*share)(void *addr, struct shi_device_share *out);
    int (*map)(const struct shi_device_share *share, void **addr);
    void (*unmap)(void *addr);
    /* Either side may be device or host memory; complete on return. */
    int (*copy)(void *to, const void *from, size_t bytes);
};

/* Which one was built: Level Zero (a GPU driver where there is one, else our driver on the CPU), or none. */
extern const struct shi_device_ops shi_device;

#endif
