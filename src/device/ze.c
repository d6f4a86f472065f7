/*
 * ze.c - the Level Zero backend: one context, one device, one list for copies, one queue for kernels and for host calls
 * between them.
 */
#include "device/ze.h"

#include "device/ze_far.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/ze_loader.h"
#include "host/util/log.h"
#include "host/util/peer_fd.h"
#include "host/util/thread.h"

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
static uint64_t n_copied[SHI_DEVICE_QUEUES]; /* each copy completes at once */
static ze_command_queue_handle_t kernels;
static ze_result_t (*argument_bytes)(ze_kernel_handle_t, uint32_t, uint32_t *); /* an extension of some drivers, else NULL */

/* An extension of libze_cpu.so, else NULL. */
static int (*ask_stalled)(int *, char *, size_t, uint32_t *, uint64_t *, uint64_t *, uint32_t *);

/* Objects to destroy when the queue is idle, or when the device goes down. */
struct kept {
    enum { KEPT_LIST, KEPT_KERNEL, KEPT_MODULE, KEPT_SHARED, KEPT_EVENT, KEPT_POOL } kind;
    void *handle;
    struct kept *next;
};
static struct kept *launched, *owned;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER; /* while free, all of `launched` is in the queue */

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
                                 .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    if (!err)
        err = SHI_ZE(zeCommandListCreateImmediate, context, device, &q, &copies);
    q.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    if (!err)
        err = SHI_ZE(zeCommandQueueCreate, context, device, &q, &kernels);
    if (err)
        return err;
    if (shi_ze.zeDriverGetExtensionFunctionAddress(taken->driver, "zexKernelGetArgumentSize", (void **)&argument_bytes))
        argument_bytes = NULL;
    if (shi_ze.zeDriverGetExtensionFunctionAddress(taken->driver, "zexCpuStalled", (void **)&ask_stalled))
        ask_stalled = NULL;
    *host_access = (properties(device).flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) != 0;
    return 0;
}

static int finish(void);
static void stop_caller(void);

static int keep(struct kept **list, int kind, void *handle)
{
    struct kept *k = malloc(sizeof *k);
    if (!k)
        return -ENOMEM;
    *k = (struct kept){.kind = kind, .handle = handle, .next = *list};
    *list = k;
    return 0;
}

static void let_go(struct kept **list)
{
    for (struct kept *k; (k = *list); free(k)) {
        *list = k->next;
        switch (k->kind) {
        case KEPT_LIST: shi_ze.zeCommandListDestroy(k->handle); break;
        case KEPT_KERNEL: shi_ze.zeKernelDestroy(k->handle); break;
        case KEPT_MODULE: shi_ze.zeModuleDestroy(k->handle); break;
        case KEPT_SHARED: shi_ze.zeMemFree(context, k->handle); break;
        case KEPT_EVENT: shi_ze.zeEventDestroy(k->handle); break;
        case KEPT_POOL: shi_ze.zeEventPoolDestroy(k->handle); break;
        }
    }
}

static void down(void)
{
    finish();
    stop_caller();
    let_go(&owned);
    shi_ze.zeCommandQueueDestroy(kernels);
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

static int copy_start(enum shi_device_queue q, void *to, const void *from, size_t bytes)
{
    int err = copy(to, from, bytes);
    n_copied[q] += !err;
    return err;
}

static int copies_ended(enum shi_device_queue q, uint64_t *n)
{
    *n = n_copied[q];
    return 0;
}

static int alloc_shared(size_t bytes, void **addr)
{
    ze_host_mem_alloc_desc_t d = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    int err = SHI_ZE(zeMemAllocHost, context, &d, bytes, ALIGN, addr);
    if (err)
        return err;
    memset(*addr, 0, bytes);
    return keep(&owned, KEPT_SHARED, *addr);
}

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

static void log_build(ze_module_build_log_handle_t log)
{
    char text[700];
    size_t n = 0;
    if (shi_ze.zeModuleBuildLogGetString(log, &n, NULL) || n == 0)
        return;
    char *all = malloc(n);
    if (all && shi_ze.zeModuleBuildLogGetString(log, &n, all) == ZE_RESULT_SUCCESS) {
        snprintf(text, sizeof text, "%s", all);
        shi_log_error("the driver cannot build the kernels: %s", text);
    }
    free(all);
}

static int is_spirv(const void *image, size_t bytes)
{
    static const unsigned magic = 0x07230203;
    return bytes >= sizeof magic && memcmp(image, &magic, sizeof magic) == 0;
}

static void registered(const void *image, size_t bytes)
{
    if (is_spirv(image, bytes))
        shi_ze_claim(1);
}

static int load(const void *image, size_t bytes, void **module)
{
    if (!is_spirv(image, bytes))
        return -ENOEXEC;
    ze_module_desc_t d = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV,
                          .inputSize = bytes, .pInputModule = image, .pBuildFlags = ""};
    ze_module_handle_t m;
    ze_module_build_log_handle_t log = NULL;
    int err = SHI_ZE(zeModuleCreate, context, device, &d, &m, &log);
    if (err && log)
        log_build(log);
    if (log)
        shi_ze.zeModuleBuildLogDestroy(log);
    if (err)
        return err;
    *module = m;
    return keep(&owned, KEPT_MODULE, m);
}

static int variable(void *module, const char *name, void **addr)
{
    size_t bytes;
    return shi_ze.zeModuleGetGlobalPointer(module, name, &bytes, addr) ? -ENOENT : 0;
}

/* Each launch or host call is a list of its own; the queue executes them in order. */
static int open_list(ze_command_list_handle_t *list)
{
    ze_command_list_desc_t d = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    int err = SHI_ZE(zeCommandListCreate, context, device, &d, list);
    return err ? err : keep(&launched, KEPT_LIST, *list);
}

static int execute(ze_command_list_handle_t list)
{
    int err = SHI_ZE(zeCommandListClose, list);
    return err ? err : SHI_ZE(zeCommandQueueExecuteCommandLists, kernels, 1, &list, NULL);
}

static int start(ze_kernel_handle_t k, const struct shi_device_grid *g)
{
    ze_command_list_handle_t list;
    int err = open_list(&list);
    if (err)
        return err;
    ze_group_count_t groups = {(uint32_t)g->groups[0], (uint32_t)g->groups[1], (uint32_t)g->groups[2]};
    err = SHI_ZE(zeCommandListAppendLaunchKernel, list, k, &groups, NULL, 0, NULL);
    return err ? err : execute(list);
}

/* The driver checks each argument's size; some drivers report the expected size of a refused one. */
static int set_args(const char *kernel, ze_kernel_handle_t k, void *const *args, const size_t *arg_bytes, int n_args)
{
    ze_kernel_properties_t p = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    ze_result_t r = ZE_RESULT_SUCCESS;
    if (SHI_ZE(zeKernelGetProperties, k, &p))
        return -EIO;
    int n_taken = (int)p.numKernelArgs;
    for (int i = 0; i < n_args || i < n_taken; i++) {
        size_t taken = i < n_args ? arg_bytes[i] : 0;
        uint32_t bytes;
        if (i < n_args && i < n_taken && !(r = shi_ze.zeKernelSetArgumentValue(k, (uint32_t)i, arg_bytes[i], args[i])))
            continue;
        if (argument_bytes && !argument_bytes(k, (uint32_t)i, &bytes))
            taken = bytes;
        if (shi_device_check_argument(kernel, i, i < n_args ? &arg_bytes[i] : NULL, i < n_taken ? &taken : NULL))
            return -EINVAL;
        shi_log_error("shmemx_launch: kernel %s: the device refuses argument %d of %zu bytes", kernel, i, arg_bytes[i]);
        return shi_ze_checked("zeKernelSetArgumentValue", r);
    }
    return 0;
}

static int start_kernel(void *module, const char *kernel, const struct shi_device_grid *grid, void *const *args,
                        const size_t *arg_bytes, int n_args)
{
    ze_kernel_desc_t d = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel};
    ze_kernel_handle_t k;
    ze_result_t r = shi_ze.zeKernelCreate(module, &d, &k);
    if (r == ZE_RESULT_ERROR_INVALID_KERNEL_NAME)
        return -ENOENT;
    int err = shi_ze_checked("zeKernelCreate", r);
    if (err)
        return err;
    err = keep(&launched, KEPT_KERNEL, k);
    if (!err)
        err = SHI_ZE(zeKernelSetGroupSize, k, (uint32_t)grid->items[0], (uint32_t)grid->items[1], (uint32_t)grid->items[2]);
    if (!err)
        err = SHI_ZE(zeKernelSetIndirectAccess, k, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE);
    if (!err)
        err = set_args(kernel, k, args, arg_bytes, n_args);
    return err ? err : start(k, grid);
}

static int launch(void *module, const char *kernel, const struct shi_device_grid *grid, void *const *args,
                  const size_t *arg_bytes, int n_args)
{
    pthread_mutex_lock(&starting);
    int err = start_kernel(module, kernel, grid, args, arg_bytes, n_args);
    pthread_mutex_unlock(&starting);
    return err;
}

/* ---- host calls between kernels -------------------------------------------------------------------------------------- */

/* The call waits for an event of the queue, the queue for an event of the call. */
struct call {
    void (*fn)(void *);
    void *arg;
    ze_event_handle_t reached, done;
    struct call *next;
};

static struct {
    pthread_mutex_t lock; /* for all fields below */
    pthread_cond_t changed;
    pthread_t thread;
    struct call *first, *last;
    int up, stop, busy;
} caller = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *serve_calls(void *none)
{
    pthread_mutex_lock(&caller.lock);
    for (;;) {
        while (!caller.first && !caller.stop)
            pthread_cond_wait(&caller.changed, &caller.lock);
        struct call *c = caller.first;
        if (!c)
            break;
        caller.first = c->next;
        caller.busy = 1;
        pthread_mutex_unlock(&caller.lock);
        shi_ze.zeEventHostSynchronize(c->reached, UINT64_MAX);
        c->fn(c->arg);
        shi_ze.zeEventHostSignal(c->done);
        free(c);
        pthread_mutex_lock(&caller.lock);
        caller.busy = 0;
        pthread_cond_broadcast(&caller.changed);
    }
    pthread_mutex_unlock(&caller.lock);
    return none;
}

static int start_caller(void)
{
    int err = shi_thread_start(&caller.thread, serve_calls, NULL, "shmem-queue");
    caller.up = !err;
    return err;
}

static void wait_for_calls(void)
{
    pthread_mutex_lock(&caller.lock);
    while (caller.first || caller.busy)
        pthread_cond_wait(&caller.changed, &caller.lock);
    pthread_mutex_unlock(&caller.lock);
}

static void stop_caller(void)
{
    if (!caller.up)
        return;
    pthread_mutex_lock(&caller.lock);
    caller.stop = 1;
    pthread_cond_broadcast(&caller.changed);
    pthread_mutex_unlock(&caller.lock);
    pthread_join(caller.thread, NULL);
    caller.up = caller.stop = 0;
}

static int make_events(struct call *c)
{
    ze_event_pool_desc_t d = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                              .count = 2};
    ze_event_desc_t e = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                         .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_pool_handle_t pool;
    int err = SHI_ZE(zeEventPoolCreate, context, &d, 1, &device, &pool);
    if (!err)
        err = keep(&launched, KEPT_POOL, pool);
    for (e.index = 0; !err && e.index < 2; e.index++) {
        ze_event_handle_t *event = e.index ? &c->done : &c->reached;
        err = SHI_ZE(zeEventCreate, pool, &e, event);
        err = err ? err : keep(&launched, KEPT_EVENT, *event);
    }
    return err;
}

static int append_call(const struct call *c)
{
    ze_command_list_handle_t list;
    ze_event_handle_t done = c->done;
    int err = open_list(&list);
    if (!err)
        err = SHI_ZE(zeCommandListAppendSignalEvent, list, c->reached);
    if (!err)
        err = SHI_ZE(zeCommandListAppendWaitOnEvents, list, 1, &done);
    return err ? err : execute(list);
}

static int start_call(void (*fn)(void *), void *arg)
{
    struct call *c = malloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    *c = (struct call){.fn = fn, .arg = arg};
    int err = caller.up ? 0 : start_caller();
    if (!err)
        err = make_events(c);
    if (!err)
        err = append_call(c);
    if (err) {
        free(c);
        return err;
    }
    pthread_mutex_lock(&caller.lock);
    if (caller.first)
        caller.last->next = c;
    else
        caller.first = c;
    caller.last = c;
    pthread_cond_broadcast(&caller.changed);
    pthread_mutex_unlock(&caller.lock);
    return 0;
}

static int host_call(void (*fn)(void *), void *arg)
{
    pthread_mutex_lock(&starting);
    int err = start_call(fn, arg);
    pthread_mutex_unlock(&starting);
    return err;
}

static int finish(void)
{
    pthread_mutex_lock(&starting);
    struct kept *before = launched; /* later launches of other threads are not waited for */
    launched = NULL;
    pthread_mutex_unlock(&starting);
    int err = SHI_ZE(zeCommandQueueSynchronize, kernels, UINT64_MAX);
    wait_for_calls();
    let_go(&before);
    return err;
}

static int busy(void)
{
    return shi_ze.zeCommandQueueSynchronize(kernels, 0) == ZE_RESULT_NOT_READY;
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
    describe, up, down, alloc, release, share, map, unmap, export_memory, copy, copy_start, copies_ended,       \
        NULL, alloc_shared, load, variable, launch, finish, busy, host_call, NULL
const struct shi_device_ops shi_device_ze = {"ze", probe_ze, ZE_OPS, NULL, NULL, NULL, NULL},
                            shi_device_cpu = {"cpu", probe_cpu, ZE_OPS, while_idle, stalled, registered, NULL};
