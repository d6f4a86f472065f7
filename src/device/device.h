/*
 * device.h - the interface of a device backend: device memory, shared between PEs of the node, copies, kernels.
 *
 * A PE has one device; several PEs may share one. The program may use other devices itself, but their memory is not
 * symmetric. Unless stated otherwise a call returns 0, or -errno after one logged line.
 */
#ifndef SHI_DEVICE_H
#define SHI_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "host/util/config.h"
#include "host/util/device_memory.h"

/* What another PE of the node needs to map an allocation; fits into one exchange. */
struct shi_device_share {
    char handle[64]; /* in the backend's format */
    char device[16]; /* the owner's device, in the backend's format */
    int pid;
    uint64_t offset; /* of the memory in the owner's allocation, which the handle is for */
} __attribute__((packed, aligned(4))); /* fits into an exchange */

/* Numbers of work-groups and of work-items of each. */
struct shi_device_grid {
    size_t groups[3], items[3];
};

/* Work-items of one thread that have only polled for some time: their number, and the words that the first one polls. */
struct shi_device_stalled {
    char kernel[64];
    uint32_t items, words; /* words: entries in addr and value */
    uint64_t addr[4], value[4]; /* address 0: unknown */
};

/* For requests of kernels, and for records of the network. */
enum shi_device_queue { SHI_DEVICE_REQUESTS, SHI_DEVICE_RECORDS, SHI_DEVICE_QUEUES };

/* The end of a device's description. */
#define SHI_DEVICE_STORES "the host loads and stores its memory"
#define SHI_DEVICE_COPIES "the device copies its memory for the host"

struct shi_device_ops {
    const char *name; /* as in SHMEM_DEVICE */
    /* The number of devices of this kind, 0 without a log line; or -errno. It does not change later. */
    int (*probe)(void);
    /* A description of device i for users, up to SHI_DEVICE_STORES or SHI_DEVICE_COPIES. */
    void (*describe)(int i, char *text, size_t bytes);
    /* Initialise device i. *host_access: the host may load from and store to its memory. */
    int (*up)(int i, int *host_access);
    void (*down)(void);
    int (*alloc)(size_t bytes, void **addr);
    void (*release)(void *addr);
    int (*share)(void *addr, struct shi_device_share *out);
    /* Map `bytes`. *copies_only: this device cannot access the peer's device, so the address is only for copy and copies_start. */
    int (*map)(const struct shi_device_share *share, size_t bytes, void **addr, int *copies_only);
    void (*unmap)(void *addr);
    /* Describe this memory to a network, which may register it until it is released. The caller closes out->fd. */
    int (*export_memory)(void *addr, size_t bytes, struct shi_device_memory *out);
    /* Copy; either side may be device or host memory. Complete on return. */
    int (*copy)(void *to, const void *from, size_t bytes);
    /* Start n copies between memory of the device or of alloc_shared: one submission, in order after earlier ones of this queue, and
     * among themselves unless `beside` is set. One thread at a time for a queue. */
    int (*copies_start)(enum shi_device_queue q, const struct shi_device_copy *c, int n);
    /* The number of these copies that completed since up; those of one submission may be counted together. */
    int (*copies_ended)(enum shi_device_queue q, uint64_t *n);
    /* Fill memory of this device with zeros; complete on return. NULL: by copies. */
    int (*clear)(void *addr, size_t bytes);
    /* Zeroed host memory that the device accesses at the same address. Freed with the device. */
    int (*alloc_shared)(size_t bytes, void **addr);
    /* Build a kernel image for the device. Freed with the device. -ENOEXEC, not logged, when its format is another
     * backend's. */
    int (*load)(const void *image, size_t bytes, void **module);
    /* The address of a program-scope variable of a module, or -ENOENT, not logged. */
    int (*variable)(void *module, const char *name, void **addr);
    /* Start a kernel, in order after earlier ones. -ENOENT, not logged, when the module has no such kernel. */
    int (*launch)(void *module, const char *kernel, const struct shi_device_grid *grid, void *const *args,
                  const size_t *arg_bytes, int n_args);
    /* Wait until all kernels and host calls have ended. */
    int (*sync)(void);
    /* 1 while one of them may run, 0 when all have ended or failed. Any thread; does not block. */
    int (*busy)(void);
    /* Call fn(arg) on a thread of the backend, in order with kernels: after those started before, and those started later
     * wait for it. NULL: not supported. */
    int (*host_call)(void (*fn)(void *), void *arg);
    /* Is device i near the cores that this process may run on? NULL: unknown; all count as near. */
    int (*is_near)(int i);
    /* Set the function that idle threads which run kernels call; it returns the number of its actions. fn NULL: none. A
     * NULL member:
     * kernels do not run on host threads. */
    void (*while_idle)(int (*fn)(void));
    /* The next stalled work-items at or after position *at, which advances. 0: no more. Async-signal-safe. NULL: unknown. */
    int (*stalled)(int *at, struct shi_device_stalled *out);
    /* The program has registered this image, usually before main. NULL: of no interest. */
    void (*registered)(const void *image, size_t bytes);
    /* Prepare memory that the program has allocated on this device for the other calls, except release; -EINVAL for other memory. disown:
     * before the program frees it. NULL: nothing is needed. */
    int (*adopt)(void *addr, size_t bytes);
    /* Do processes that share a device take turns on it, each for milliseconds? Then *how says how they can run at the same time. NULL: no. */
    int (*takes_turns)(const char **how);
    void (*disown)(void *addr);
    /* All PEs that map the memory have done so: free what `share` has kept for them. NULL: it keeps nothing. */
    void (*shared)(const struct shi_device_share *share);
};

/* For backends: compare the size given for argument i with the size that the kernel takes; NULL: no such argument. 0, or
 * -EINVAL after one line. */
int shi_device_check_argument(const char *kernel, int i, const size_t *given, const size_t *taken);

/* For backends: log that the memory of process pid cannot be mapped, because its device is not among those that the environment
 * variable lets this process see. Returns -ENODEV. */
int shi_device_not_visible(int pid, const char *device, const char *variable);

/* Backends: Level Zero with the system's drivers, CUDA, Level Zero with libze_cpu.so, CUDA with libcuda_cpu.so. */
extern const struct shi_device_ops shi_device_ze, shi_device_cuda, shi_device_cpu, shi_device_cuda_cpu;

/* The path of a driver for the CPU: in the directory of this library, as in a build tree, or in the installation's libdir, for
 * programs that are linked with the static library. 0, or -ENOENT, not logged. */
int shi_device_library(const char *name, char *path, size_t bytes);

/* The backend that *choice names, or the first that finds devices, and their number. 0, or -errno after one line. */
int shi_device_find(const shi_config_device *choice, const struct shi_device_ops **out, int *n);

/* The backend in use, or of the last use; NULL before. */
extern const struct shi_device_ops *shi_device;

/* The number of the backend in use, equal on PEs that use the same; -1: none. */
int shi_device_kind(void);

/* Initialise the device that *choice (SHMEM_DEVICE) names. By default: of the first backend that finds devices, those near
 * this process's cores, in turn by local rank. n_local: PEs of this node. Pair: shi_device->down. */
int shi_device_take(const shi_config_device *choice, int local_index, int n_local, int *host_access);

/* Will the program probably use a device? It has kernels, or SHMEM_DEVICE (*choice) is set. */
int shi_device_is_expected(const shi_config_device *choice);

/* Call every backend's `registered`. */
void shi_device_registered(const void *image, size_t bytes);

/* The i-th device of all backends, in the form of SHMEM_DEVICE, and its description. 0, or -ENOENT past the last, not
 * logged. */
int shi_device_describe(int i, char *text, size_t bytes);

#endif
