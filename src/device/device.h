/*
 * device.h - the contract of a device backend: memory of its own, shared between PEs of the node, copies, kernels.
 *
 * A PE has one device; several PEs may share one. Unless said otherwise a call returns 0 or -errno, and has logged one
 * line then.
 */
#ifndef SHI_DEVICE_H
#define SHI_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "host/util/config.h"

/* What another PE of the node needs to map an allocation; small enough for one exchange. */
struct shi_device_share {
    char handle[64]; /* the backend's own */
    int pid;
};

/* How many work-groups, of how many work-items. */
struct shi_device_grid {
    size_t groups[3], items[3];
};

/* Work-items of a kernel that have only polled for some time: how many of one thread's, and what the first of them polls. */
struct shi_device_stalled {
    char kernel[64];
    uint32_t items, words; /* words: how many of addr and value */
    uint64_t addr[4], value[4]; /* address 0: not known */
};

struct shi_device_ops {
    const char *name; /* as SHMEM_DEVICE says it */
    /* Count the devices: 0 where there is none of this kind, which is not logged; or -errno. Once found they stay. */
    int (*probe)(void);
    /* What people call device i of those. */
    void (*describe)(int i, char *text, size_t bytes);
    /* Take device i and get ready. *host_access: the host may load and store its memory. */
    int (*up)(int i, int *host_access);
    void (*down)(void);
    int (*alloc)(size_t bytes, void **addr);
    void (*release)(void *addr);
    int (*share)(void *addr, struct shi_device_share *out);
    int (*map)(const struct shi_device_share *share, void **addr);
    void (*unmap)(void *addr);
    /* Either side may be device or host memory; complete on return. */
    int (*copy)(void *to, const void *from, size_t bytes);
    /* Start a copy behind those started so, in memory of the device or of alloc_shared; for one thread. */
    int (*copy_start)(void *to, const void *from, size_t bytes);
    /* How many of them have ended since up, in the order of their start. */
    int (*copies_ended)(uint64_t *n);
    /* Host memory that the device reads and writes at the same address; zero. Freed with the device. */
    int (*alloc_shared)(size_t bytes, void **addr);
    /* An image of kernels, built for the device. Freed with the device. -ENOEXEC, not logged, when it is in a form for
     * another kind of device. */
    int (*load)(const void *image, size_t bytes, void **module);
    /* Where a program-scope variable of a module is, or -ENOENT, which is not logged. */
    int (*variable)(void *module, const char *name, void **addr);
    /* Start a kernel behind those started before. -ENOENT, not logged, when the module has none of that name. */
    int (*launch)(void *module, const char *kernel, const struct shi_device_grid *grid, void *const *args,
                  const size_t *arg_bytes, int n_args);
    /* All kernels and host calls have ended. */
    int (*sync)(void);
    /* May one of them still run? 0: all have ended, well or badly. Any thread; does not wait. */
    int (*busy)(void);
    /* Call fn(arg) on a thread of the backend's behind what was started before; what is started afterwards waits for it.
     * One call at a time, in order. NULL: this backend has no such thread. */
    int (*host_call)(void (*fn)(void *), void *arg);
    /* Is device i near the cores that this process may run on? NULL: nothing is known, all are. */
    int (*is_near)(int i);
    /* From now on, threads that run kernels and have nothing to do but to wait call fn, which returns how much it did;
     * NULL: no longer. NULL: kernels do not run on threads of the host. */
    void (*while_idle)(int (*fn)(void));
    /* The next ones at or after place *at, which moves on. 0: there are none. Async-signal-safe. NULL: it is not known. */
    int (*stalled)(int *at, struct shi_device_stalled *out);
};

/* For backends: is argument i what the kernel takes? given and taken point to bytes; NULL: there is no such argument. 0, or
 * -EINVAL after one line. */
int shi_device_check_argument(const char *kernel, int i, const size_t *given, const size_t *taken);

/* Backends: Level Zero with the system's drivers, NVIDIA's driver, and Level Zero with our own driver on the CPU. */
extern const struct shi_device_ops shi_device_ze, shi_device_cuda, shi_device_cpu;

/* The backend of that name, or the first that finds devices, and how many it has. 0, or -errno after one line. */
int shi_device_find(const shi_config_device *choice, const struct shi_device_ops **out, int *n);

/* The backend of the device that this PE took last; NULL before. */
extern const struct shi_device_ops *shi_device;

/* Take the device that SHMEM_DEVICE names. Where it leaves that open: of the first backend that finds any, among those
 * near this process's cores, the one of number `local_index`, counted round. Pair: shi_device->down. */
int shi_device_take(const shi_config_device *choice, int local_index, int *host_access);

/* The i-th device of all backends, as SHMEM_DEVICE would name it and in words. 0, or -ENOENT past the last, not logged. */
int shi_device_describe(int i, char *text, size_t bytes);

#endif
