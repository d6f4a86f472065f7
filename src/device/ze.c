/*
 * ze.c - the Level Zero backend: devices, one context, memory, one list for copies that the caller waits for. ze_launch.c has the
 * kernels, ze_queue.c the copies that end later. The driver on the CPU would make these on a thread of its own, which on few cores takes
 * longer than the caller's copy: there all copies are the caller's.
 */
#include "device/ze.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/ze_far.h"
#include "device/ze_launch.h"
#include "device/ze_loader.h"
#include "device/ze_queue.h"
#include "host/util/log.h"
#include "host/util/peer_fd.h"

enum { ALIGN = 1 << 16, MAX_DRIVERS = 8, MAX_DEVICES = 64 };

/* The devices of all drivers that the loader loaded, until the process ends. */
static const struct shi_device_ops *opened;
static struct found {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t lent; /* the program's context, for the next shi_device_take; else NULL */
} found[MAX_DEVICES];
static int n_found;
static struct found *taken;

static ze_context_handle_t context;
static ze_device_handle_t device;
static ze_command_list_handle_t copies; /* immediate and synchronous */
static pthread_mutex_t copies_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t n_copied[SHI_DEVICE_QUEUES]; /* on the CPU: each copy completes at once */
/* Memory of alloc_shared, which lasts until the device goes down. */
static struct shared {
    void *addr;
    struct shared *next;
} *shared;

/* An extension of libze_cpu.so, else NULL. */
static int (*ask_stalled)(int *, char *, size_t, uint32_t *, uint64_t *, uint64_t *, uint32_t *);

static int find_devices(void)
{
    ze_driver_handle_t driver[MAX_DRIVERS];
    ze_device_handle_t of[MAX_DEVICES];
    uint32_t n_drivers = MAX_DRIVERS;
    int err = SHI_ZE(zeInit, ZE_INIT_FLAG_GPU_ONLY);
    if (err && opened == &shi_device_cpu)
        shi_log_error("if another library opened the Level Zero loader before shmem_init, set SHMEM_DEVICE=cpu");
    if (!err)
        err = SHI_ZE(zeDriverGet, &n_drivers, driver);
    for (uint32_t d = 0; !err && d < n_drivers; d++) {
        uint32_t n = (uint32_t)(MAX_DEVICES - n_found);
        err = SHI_ZE(zeDeviceGet, driver[d], &n, of);
        for (uint32_t i = 0; !err && i < n; i++)
            found[n_found++] = (struct found){driver[d], of[i], NULL};
    }
    return err ? err : n_found;
}

static int probe(const struct shi_device_ops *ops)
{
    if (opened)
        return opened == ops ? n_found : 0;
    int err = shi_ze_load(ops == &shi_device_cpu);
    if (err)
        return err;
    opened = ops;
    return find_devices();
}

static int probe_ze(void)
{
    return opened || shi_ze_has_driver() ? probe(&shi_device_ze) : 0;
}

static int probe_cpu(void)
{
    return probe(&shi_device_cpu);
}

static ze_device_properties_t properties(ze_device_handle_t d)
{
    ze_device_properties_t p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    SHI_ZE(zeDeviceGetProperties, d, &p);
    return p;
}

static void describe(int i, char *text, size_t bytes)
{
    ze_device_properties_t p = properties(found[i].device);
    snprintf(text, bytes, "%s; %s", p.name, p.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED ? SHI_DEVICE_STORES : SHI_DEVICE_COPIES);
}

int shi_ze_is(const struct shi_device_ops *ops)
{
    return ops == &shi_device_ze || ops == &shi_device_cpu;
}

int shi_ze_lend(ze_driver_handle_t driver, ze_context_handle_t ctx, ze_device_handle_t dev, shi_config_device *choice)
{
    int i = 0;
    while (i < n_found && found[i].device != dev)
        i++;
    if (i == MAX_DEVICES) {
        shi_log_error("Level Zero: more than %d devices", MAX_DEVICES);
        return -ENOSPC;
    }
    if (i == n_found) /* a sub-device, for example */
        n_found++;
    found[i] = (struct found){driver, dev, ctx};
    *choice = (shi_config_device){.index = i};
    snprintf(choice->backend, sizeof choice->backend, "%s", opened->name);
    return 0;
}

void shi_ze_handles(ze_driver_handle_t *driver, ze_context_handle_t *ctx, ze_device_handle_t *dev)
{
    *driver = taken->driver;
    *ctx = context;
    *dev = device;
}

static int up(int i, int *host_access)
{
    taken = &found[i];
    device = taken->device;
    context = taken->lent;
    memset(n_copied, 0, sizeof n_copied);
    ze_context_desc_t c = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    int err = context ? 0 : SHI_ZE(zeContextCreate, taken->driver, &c, &context);
    ze_command_queue_desc_t q = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                 .ordinal = shi_ze_copy_group(device), .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    if (!err)
        err = SHI_ZE(zeCommandListCreateImmediate, context, device, &q, &copies);
    if (!err)
        err = opened == &shi_device_cpu ? 0 : shi_ze_queue_up(context, device);
    if (!err)
        err = shi_ze_launch_up(&(struct shi_ze_device){taken->driver, context, device});
    if (err)
        return err;
    if (shi_ze.zeDriverGetExtensionFunctionAddress(taken->driver, "zexCpuStalled", (void **)&ask_stalled))
        ask_stalled = NULL;
    *host_access = (properties(device).flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) != 0;
    return 0;
}

static void down(void)
{
    shi_ze_launch_down();
    for (struct shared *s; (s = shared); free(s)) {
        shared = s->next;
        shi_ze.zeMemFree(context, s->addr);
    }
    shi_ze_queue_down();
    shi_ze.zeCommandListDestroy(copies);
    if (!taken->lent)
        shi_ze.zeContextDestroy(context);
    taken->lent = NULL;
}

static int alloc(size_t bytes, void **addr)
{
    ze_device_mem_alloc_desc_t d = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    return shi_ze_checked("zeMemAllocDevice (SHMEM_DEVICE_SYMMETRIC_SIZE)",
                          shi_ze.zeMemAllocDevice(context, &d, bytes, ALIGN, device, addr));
}

static void release(void *addr)
{
    shi_ze.zeMemFree(context, addr);
}

_Static_assert(sizeof(ze_ipc_mem_handle_t) <= sizeof((struct shi_device_share *)0)->handle, "a handle fits");

/* The handle of the allocation that addr lies in, and the offset of addr in it. */
static ze_result_t handle_of(void *addr, ze_ipc_mem_handle_t *h, uint64_t *offset)
{
    void *base;
    ze_result_t r = shi_ze.zeMemGetAddressRange(context, addr, &base, NULL);
    if (r)
        return r;
    *offset = (uint64_t)((char *)addr - (char *)base);
    return shi_ze.zeMemGetIpcHandle(context, base, h);
}

static int share(void *addr, struct shi_device_share *out)
{
    ze_ipc_mem_handle_t h;
    uint64_t offset;
    int err = shi_ze_checked("zeMemGetIpcHandle", handle_of(addr, &h, &offset));
    if (err)
        return err;
    out->offset = offset;
    memcpy(out->handle, &h, sizeof h);
    memcpy(out->device, properties(device).uuid.id, sizeof out->device);
    out->pid = getpid();
    return 0;
}

/* The device of this driver with the UUID. NULL: not visible here. */
static ze_device_handle_t device_of(const char *uuid)
{
    for (int i = 0; i < n_found; i++)
        if (found[i].driver == taken->driver && memcmp(properties(found[i].device).uuid.id, uuid, ZE_MAX_DEVICE_UUID_SIZE) == 0)
            return found[i].device;
    return NULL;
}

/* 1: kernels of our device cannot access the memory of the other one. */
static int is_far(ze_device_handle_t other)
{
    ze_bool_t can = 1;
    return other && other != device && !SHI_ZE(zeDeviceCanAccessPeer, device, other, &can) && !can;
}

/* The handle of a device that is not visible can be opened where the devices access each other. */
static int open_handle(const struct shi_device_share *s, ze_device_handle_t owner, ze_ipc_mem_handle_t h, void **addr)
{
    char id[2 * ZE_MAX_DEVICE_UUID_SIZE + 1];
    ze_result_t r = shi_ze.zeMemOpenIpcHandle(context, device, h, 0, addr);
    if (!r || owner)
        return shi_ze_checked("zeMemOpenIpcHandle", r);
    for (int i = 0; i < ZE_MAX_DEVICE_UUID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", (unsigned char)s->device[i]);
    return shi_device_not_visible(s->pid, id, "ZE_AFFINITY_MASK");
}

/* Bytes 0 to 3 of a handle are the exporter's file descriptor: replace it by our duplicate, and close that after the
 * mapping. */
static int map(const struct shi_device_share *s, size_t bytes, void **addr, int *copies_only)
{
    ze_device_handle_t owner = device_of(s->device);
    ze_ipc_mem_handle_t h;
    int fd;
    memcpy(&h, s->handle, sizeof h);
    memcpy(&fd, &h, sizeof fd);
    fd = shi_peer_fd_open(s->pid, fd);
    if (fd < 0)
        return fd;
    memcpy(&h, &fd, sizeof fd);
    *copies_only = is_far(owner);
    int err = *copies_only ? shi_ze_far_map(context, owner, &h, s->offset + bytes, addr) : open_handle(s, owner, h, addr);
    close(fd);
    if (!err)
        *addr = (char *)*addr + s->offset;
    return err;
}

static void unmap(void *addr)
{
    void *base = addr;
    SHI_ZE(zeMemGetAddressRange, context, addr, &base, NULL);
    shi_ze_far_forget(base);
    shi_ze.zeMemCloseIpcHandle(context, base);
}

/* The index of the device among those of its driver, or -1 where other libraries may count differently. */
static int index_of_taken(void)
{
    for (int i = 0; i < n_found && found[i].driver == found[0].driver; i++)
        if (&found[i] == taken)
            return i;
    return -1;
}

/* Level Zero does not tell whether kernels see a NIC's data at once: late. An IPC handle starts with a dma-buf. */
static int export_memory(void *addr, size_t bytes, struct shi_device_memory *out)
{
    ze_ipc_mem_handle_t h;
    uint64_t offset = 0;
    int fd = -1;
    (void)bytes;
    if (!handle_of(addr, &h, &offset)) {
        memcpy(&fd, &h, sizeof fd);
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    *out = (struct shi_device_memory){.interface = SHI_DEVICE_MEMORY_ZE, .index = index_of_taken(), .fd = fd,
                                      .fd_off = fd < 0 ? 0 : offset, .late = 1};
    return 0;
}

static int copy(void *to, const void *from, size_t bytes)
{
    pthread_mutex_lock(&copies_lock);
    int err = shi_ze_far_copy(&(struct shi_ze_copier){context, device, copies}, to, from, bytes);
    pthread_mutex_unlock(&copies_lock);
    return err;
}

static int copies_far(const struct shi_device_copy *c)
{
    return shi_ze_is_far(c->to) || shi_ze_is_far(c->from);
}

/* One copy with memory of a device that ours cannot access, when all before it have ended. */
static int copy_far(enum shi_device_queue q, const struct shi_device_copy *c)
{
    int err = shi_ze_queue_drain(q);
    if (!err)
        err = copy(c->to, c->from, c->bytes);
    if (!err)
        shi_ze_queue_count(q);
    return err;
}

/* The driver on the CPU makes copies in the call. */
static int copy_at_once(enum shi_device_queue q, const struct shi_device_copy *c)
{
    int err = copy(c->to, c->from, c->bytes);
    n_copied[q] += !err;
    return err;
}

static int copies_start(enum shi_device_queue q, const struct shi_device_copy *c, int n)
{
    int err = 0, at_once = opened == &shi_device_cpu;
    for (int i = 0, run; !err && i < n; i += run ? run : 1) {
        for (run = 0; !at_once && i + run < n && !copies_far(&c[i + run]);)
            run++;
        err = at_once ? copy_at_once(q, &c[i]) : run ? shi_ze_queue_start(q, c + i, run) : copy_far(q, &c[i]);
    }
    return err;
}

static int copies_ended(enum shi_device_queue q, uint64_t *n)
{
    *n = n_copied[q];
    return opened == &shi_device_cpu ? 0 : shi_ze_queue_ended(q, n);
}

static int alloc_shared(size_t bytes, void **addr)
{
    ze_host_mem_alloc_desc_t d = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    struct shared *s = malloc(sizeof *s);
    int err = s ? SHI_ZE(zeMemAllocHost, context, &d, bytes, ALIGN, addr) : -ENOMEM;
    if (err) {
        free(s);
        return err;
    }
    *s = (struct shared){*addr, shared};
    shared = s;
    memset(*addr, 0, bytes);
    return 0;
}

static void registered(const void *image, size_t bytes)
{
    if (shi_ze_is_spirv(image, bytes))
        shi_ze_claim(1);
}

static void while_idle(int (*fn)(void))
{
    void (*set)(int (*)(void)) = NULL;
    if (!shi_ze.zeDriverGetExtensionFunctionAddress(taken->driver, "zexCpuWhileIdle", (void **)&set) && set)
        set(fn);
}

static int stalled(int *at, struct shi_device_stalled *out)
{
    out->words = sizeof out->addr / sizeof *out->addr;
    return ask_stalled && ask_stalled(at, out->kernel, sizeof out->kernel, &out->items, out->addr, out->value, &out->words);
}

#define ZE_OPS                                                                                                       \
    describe, up, down, alloc, release, share, map, unmap, export_memory, copy, copies_start, copies_ended,       \
        NULL, alloc_shared, shi_ze_load_module, shi_ze_variable, shi_ze_launch, shi_ze_finish, shi_ze_busy,         \
        shi_ze_host_call, NULL
const struct shi_device_ops shi_device_ze = {"ze", probe_ze, ZE_OPS, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
                            shi_device_cpu = {"cpu", probe_cpu, ZE_OPS, while_idle, stalled, registered, NULL, NULL, NULL, NULL};
