/*
 * cuda.c - the CUDA backend: one device's primary context, a stream for copies, one for the proxy's copies, one for
 * kernels.
 *
 * The driver library of the system is opened at first use; neither building nor running needs the toolkit. The runtime API
 * uses the primary context, too, so the program's own CUDA code can use our memory. The context is current only during a
 * call here. Streams do not synchronise with the default stream: a kernel that waits for the proxy must not block the
 * proxy's copies.
 */
#include "device/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/cuda_driver.h"
#include "device/places.h"
#include "host/util/log.h"
#include "host/util/numa.h"

/* Allocations are whole pages: an IPC handle maps pages, and a peer must not map other data with them. */
enum { PAGE_BYTES = 2 << 20, LONG_S = 10, BOUNCE_BYTES = 1 << 18, COPIERS = 4, MARKS = 4, MARK_EVERY = 64 };

static struct {
#define X(call, params) CUresult(*call) params;
    CUDA_CALLS(X) CUDA_CALLS_OPTIONAL(X) CUDA_CALLS_SINCE_12_4(X)
#undef X
} cu;

static const struct shi_device_ops *opened; /* whose driver is open, or NULL */
static int n_devices;
static CUdevice device;
static CUcontext context;
static CUstream kernels;

/* Streams for copies that a thread waits for. While one has none of its own, it waits for other threads' copies, too.
 * in_use: the thread that sets it has the stream; compare-and-swap, acquire; cleared with release. */
static struct copier {
    CUstream stream;
    char *bounce;
    int in_use;
} copiers[COPIERS];

/* The driver's queue of launches is finite. A launch into the full queue blocks inside the driver, with the context's lock,
 * for which the proxy's copies would wait, for which the kernels wait. So at most MARKS * MARK_EVERY launches are in it: an
 * event behind each MARK_EVERY-th, awaited outside of the driver MARKS later. */
static CUevent marks[MARKS];
static uint64_t n_launches;

/* Copies of copy_start: started, started before the event was recorded, completed. */
static struct queue {
    CUstream stream;
    char *bounce;
    CUevent mark;
    uint64_t started, marked, ended;
} queues[SHI_DEVICE_QUEUES];

/* Objects to destroy when the device goes down. */
struct kept {
    enum { KEPT_MODULE, KEPT_SHARED } kind;
    void *handle;
    struct kept *next;
};
static struct kept *owned;

/* A peer's memory of a device that ours cannot access, mapped in that device's primary context: for copies, which the driver
 * then stages through host memory. */
struct far {
    CUdeviceptr at;
    CUdevice device;
    CUcontext context;
    struct far *next;
};
static struct far *far_maps;

/* A launch since the last sync with more work-groups than can be resident at once. */
static struct {
    char kernel[64];
    size_t groups, room;
} oversized;

/* Make the call with our context, or another one, current. */
#define WITHIN(call) WITHIN_OF(context, call)
#define WITHIN_OF(owner, call)                                                                                       \
    ({                                                                                                               \
        CUcontext gone_;                                                                                             \
        CUresult r_ = cu.cuCtxPushCurrent(owner);                                                                    \
        if (!r_) {                                                                                                   \
            r_ = (call);                                                                                             \
            cu.cuCtxPopCurrent(&gone_);                                                                              \
        }                                                                                                            \
        r_;                                                                                                          \
    })

static const char *error_name(CUresult r)
{
    const char *name = NULL;
    return cu.cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "an unknown error";
}

static int failed(const char *call, CUresult r)
{
    shi_log_error("CUDA: %s failed with %d, %s", call, r, error_name(r));
    return r == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

/* ---- devices ------------------------------------------------------------------------------------------------------ */

static void no_device(CUresult r)
{
    if (r == CUDA_ERROR_STUB_LIBRARY)
        shi_log_debug("no CUDA device: libcuda.so.1 is the toolkit's stub (error %d)", r);
    else
        shi_log_debug("no CUDA device: cuInit failed with %d, %s", r, error_name(r));
}

/* The toolkit's stub already fails here. */
static int find_calls(void *so)
{
    void *at = dlsym(so, "cuGetProcAddress_v2");
    cuGetProcAddress_v2_t *get = (cuGetProcAddress_v2_t *)at;
    const char *missing = get ? NULL : "cuGetProcAddress_v2, so it is older than 12.0";
    CUresult r = CUDA_SUCCESS;
#define X(call, params)                                                                                              \
    if (!missing && ((r = get(#call, &at, CU_API_VERSION, 0, NULL)) || !at))                                         \
        missing = #call;                                                                                             \
    cu.call = (__typeof__(cu.call))at;
    CUDA_CALLS(X)
#undef X
#define X(call, params) cu.call = missing || get(#call, &at, CU_API_VERSION, 0, NULL) ? NULL : (__typeof__(cu.call))at;
    CUDA_CALLS_OPTIONAL(X)
#undef X
#define X(call, params) cu.call = missing || get(#call, &at, CU_API_VERSION_12_4, 0, NULL) ? NULL : (__typeof__(cu.call))at;
    CUDA_CALLS_SINCE_12_4(X)
#undef X
    if (r == CUDA_ERROR_STUB_LIBRARY)
        no_device(r);
    else if (missing)
        shi_log_debug("no CUDA device: the driver has no %s", missing);
    return missing != NULL;
}

/* Lazy loading of a module can wait for a running kernel, which may wait for a kernel of that module. */
static int find_devices(void)
{
    int n = 0;
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    CUresult r = cu.cuInit(0);
    if (!r)
        r = cu.cuDeviceGetCount(&n);
    if (r)
        no_device(r);
    else if (n == 0)
        shi_log_debug("no CUDA device: the driver found none");
    return r ? 0 : n;
}

/* A process opens one driver: the first that is asked for devices. */
static int open_driver(const struct shi_device_ops *ops, const char *path)
{
    if (opened)
        return opened == ops ? n_devices : 0;
    opened = ops;
    n_devices = 0;
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        shi_log_debug("no CUDA device: %s", dlerror());
    else if (!find_calls(so))
        n_devices = find_devices();
    return n_devices;
}

static int probe(void)
{
    return open_driver(&shi_device_cuda, "libcuda.so.1");
}

static int probe_cpu(void)
{
    char path[512];
    if (shi_device_library("libcuda_cpu.so", path, sizeof path)) {
        shi_log_error("libcuda_cpu.so (CUDA on the CPU) found neither next to libfulmar.so nor in " SHI_LIBDIR);
        return 0;
    }
    return open_driver(&shi_device_cuda_cpu, path);
}

static void identify(int i, char *id, int bytes)
{
    CUdevice d;
    if (cu.cuDeviceGet(&d, i) || cu.cuDeviceGetPCIBusId(id, bytes, d))
        snprintf(id, (size_t)bytes, "?");
}

static void describe(int i, char *text, size_t bytes)
{
    CUdevice d;
    char name[128] = "?", id[32];
    identify(i, id, sizeof id);
    if (cu.cuDeviceGet(&d, i) == CUDA_SUCCESS)
        cu.cuDeviceGetName(name, sizeof name, d);
    snprintf(text, bytes, "%s, PCI %s; the device copies its memory for the host", name, id);
}

static int is_near(int i)
{
    char id[32];
    identify(i, id, sizeof id);
    return shi_numa_is_local("/sys", id);
}

static int attribute(int which)
{
    int value = 0;
    cu.cuDeviceGetAttribute(&value, which, device);
    return value;
}

static int alloc_shared(size_t bytes, void **addr);

static int take_context(void)
{
    CUresult r = cu.cuDevicePrimaryCtxRetain(&context, device);
    if (r && attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_EXCLUSIVE_PROCESS) {
        shi_log_error("CUDA: the GPU is in exclusive mode and another process uses it: run one PE for each GPU, or "
                      "start MPS (nvidia-cuda-mps-control -d), or set the compute mode to default");
        return -EBUSY;
    }
    return r ? failed("cuDevicePrimaryCtxRetain", r) : 0;
}

static int make_streams(void)
{
    CUresult r = WITHIN(cu.cuStreamCreate(&kernels, CU_STREAM_NON_BLOCKING));
    for (int i = 0; !r && i < COPIERS; i++)
        r = WITHIN(cu.cuStreamCreate(&copiers[i].stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; !r && i < MARKS; i++)
        r = WITHIN(cu.cuEventCreate(&marks[i], CU_EVENT_DISABLE_TIMING));
    for (int i = 0; !r && i < SHI_DEVICE_QUEUES; i++) {
        r = WITHIN(cu.cuStreamCreate(&queues[i].stream, CU_STREAM_NON_BLOCKING));
        if (!r)
            r = WITHIN(cu.cuEventCreate(&queues[i].mark, CU_EVENT_DISABLE_TIMING));
    }
    return r ? failed("cuStreamCreate", r) : 0;
}

static void drop_stream(CUstream *s)
{
    if (*s)
        WITHIN(cu.cuStreamDestroy(*s));
    *s = NULL;
}

static int make_bounces(void)
{
    int err = 0;
    for (int i = 0; !err && i < COPIERS; i++)
        err = alloc_shared(BOUNCE_BYTES, (void **)&copiers[i].bounce);
    for (int i = 0; !err && i < SHI_DEVICE_QUEUES; i++)
        err = alloc_shared(BOUNCE_BYTES, (void **)&queues[i].bounce);
    return err;
}

static void drop_event(CUevent *e)
{
    if (*e)
        WITHIN(cu.cuEventDestroy(*e));
    *e = NULL;
}

static void drop_streams(void)
{
    drop_stream(&kernels);
    for (int i = 0; i < COPIERS; i++)
        drop_stream(&copiers[i].stream);
    for (int i = 0; i < MARKS; i++)
        drop_event(&marks[i]);
    n_launches = 0;
    for (int i = 0; i < SHI_DEVICE_QUEUES; i++) {
        drop_stream(&queues[i].stream);
        drop_event(&queues[i].mark);
        queues[i] = (struct queue){0};
    }
}

static void drop_kept(void)
{
    for (struct kept *k; (k = owned); free(k)) {
        owned = k->next;
        if (k->kind == KEPT_MODULE)
            WITHIN(cu.cuModuleUnload(k->handle));
        else
            WITHIN(cu.cuMemFreeHost(k->handle));
    }
    shi_places_down();
}

static int up(int i, int *host_access)
{
    CUresult r = cu.cuDeviceGet(&device, i);
    if (r)
        return failed("cuDeviceGet", r);
    if (!attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)) {
        shi_log_error("CUDA: the device has no unified addressing");
        return -ENODEV;
    }
    int err = take_context();
    if (err)
        return err;
    err = make_streams();
    if (!err)
        err = make_bounces();
    if (err) {
        drop_kept();
        drop_streams();
        cu.cuDevicePrimaryCtxRelease(device);
        return err;
    }
    *host_access = 0;
    return 0;
}

static int keep(int kind, void *handle)
{
    struct kept *k = malloc(sizeof *k);
    if (!k)
        return -ENOMEM;
    *k = (struct kept){.kind = kind, .handle = handle, .next = owned};
    owned = k;
    return 0;
}

static void down(void)
{
    WITHIN(cu.cuStreamSynchronize(kernels));
    drop_kept();
    drop_streams();
    cu.cuDevicePrimaryCtxRelease(device);
    oversized.groups = 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static int alloc(size_t bytes, void **addr)
{
    CUdeviceptr at;
    CUresult r = WITHIN(cu.cuMemAlloc(&at, (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES));
    if (r)
        return failed("cuMemAlloc (SHMEM_DEVICE_SYMMETRIC_SIZE)", r);
    *addr = (void *)at;
    shi_places_learn(*addr, bytes, SHI_PLACE_OWN);
    return 0;
}

static void release(void *addr)
{
    shi_places_forget(addr);
    WITHIN(cu.cuMemFree((CUdeviceptr)addr));
}

_Static_assert(sizeof(CUipcMemHandle) <= sizeof((struct shi_device_share *)0)->handle, "a handle fits");

static int share(void *addr, struct shi_device_share *out)
{
    CUipcMemHandle h;
    CUresult r = WITHIN(cu.cuIpcGetMemHandle(&h, (CUdeviceptr)addr));
    if (r)
        return failed("cuIpcGetMemHandle, by which PEs of a node map each other's device memory,", r);
    memcpy(out->handle, &h, sizeof h);
    if (cu.cuDeviceGetPCIBusId(out->device, sizeof out->device, device))
        out->device[0] = 0;
    out->pid = getpid();
    return 0;
}

/* Map the handle in the primary context of its owner's device, if that is another one and visible here. 0 or -errno, not
 * logged. */
static int map_far(const char *owner, CUipcMemHandle h, CUdeviceptr *at)
{
    struct far f = {0}, *kept;
    char id[32];
    int i = 0;
    do
        identify(i, id, sizeof id);
    while (strcmp(id, owner) && ++i < n_devices);
    if (i == n_devices || cu.cuDeviceGet(&f.device, i) || f.device == device || cu.cuDevicePrimaryCtxRetain(&f.context, f.device))
        return -ENODEV;
    kept = malloc(sizeof *kept);
    if (!kept || WITHIN_OF(f.context, cu.cuIpcOpenMemHandle(&f.at, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))) {
        free(kept);
        cu.cuDevicePrimaryCtxRelease(f.device);
        return -ENODEV;
    }
    *at = f.at;
    f.next = far_maps;
    *kept = f;
    far_maps = kept;
    return 0;
}

/* A process cannot open a handle that it made. */
static int map(const struct shi_device_share *s, size_t bytes, void **addr, int *copies_only)
{
    CUipcMemHandle h;
    CUdeviceptr at;
    char id[sizeof s->device] = "";
    if (s->pid == getpid()) {
        shi_log_error("CUDA: a process cannot map its own device memory");
        return -EINVAL;
    }
    memcpy(&h, s->handle, sizeof h);
    CUresult r = WITHIN(cu.cuIpcOpenMemHandle(&at, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    *copies_only = r && map_far(s->device, h, &at) == 0;
    if (r && !*copies_only)
        return failed("cuIpcOpenMemHandle, for a peer's device memory (SHMEM_TRANSPORT=ofi does without),", r);
    if (*copies_only)
        shi_log_debug("the device cannot access the memory of device %s (error %d): copies only", s->device, r);
    *addr = (void *)at;
    cu.cuDeviceGetPCIBusId(id, sizeof id, device);
    shi_places_learn(*addr, bytes, strcmp(id, s->device) ? SHI_PLACE_OTHER : SHI_PLACE_OWN);
    return 0;
}

static void unmap(void *addr)
{
    shi_places_forget(addr);
    for (struct far **f = &far_maps, *gone; (gone = *f); f = &gone->next)
        if (gone->at == (CUdeviceptr)addr) {
            WITHIN_OF(gone->context, cu.cuIpcCloseMemHandle(gone->at));
            cu.cuDevicePrimaryCtxRelease(gone->device);
            *f = gone->next;
            free(gone);
            return;
        }
    WITHIN(cu.cuIpcCloseMemHandle((CUdeviceptr)addr));
}

/* Kernels of the owner see a NIC's data in order, unless the device says otherwise. */
static int export_memory(void *addr, size_t bytes, struct shi_device_memory *out)
{
    int fd = -1;
    if (cu.cuMemGetHandleForAddressRange && attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) &&
        WITHIN(cu.cuMemGetHandleForAddressRange(&fd, (CUdeviceptr)addr, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0)))
        fd = -1;
    *out = (struct shi_device_memory){.interface = SHI_DEVICE_MEMORY_CUDA, .index = device, .fd = fd,
                                      .late = attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) <
                                              CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER};
    return 0;
}

/* Start a copy in the stream, through `bounce` unless that is NULL: the stream's order protects it. */
static CUresult start(CUstream stream, char *bounce, void *to, const void *from, size_t bytes)
{
    CUresult r = CUDA_SUCCESS;
    if (!bounce)
        return WITHIN(cu.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream));
    for (size_t done = 0, n; !r && done < bytes; done += n) {
        n = bytes - done < BOUNCE_BYTES ? bytes - done : BOUNCE_BYTES;
        r = WITHIN(cu.cuMemcpyAsync((CUdeviceptr)bounce, (CUdeviceptr)from + done, n, stream));
        if (!r)
            r = WITHIN(cu.cuMemcpyAsync((CUdeviceptr)to + done, (CUdeviceptr)bounce, n, stream));
    }
    return r;
}

static struct copier *take_copier(void)
{
    for (int i = 0;; i = (i + 1) % COPIERS) {
        int unused = 0;
        if (__atomic_compare_exchange_n(&copiers[i].in_use, &unused, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return &copiers[i];
        if (i == COPIERS - 1)
            sched_yield();
    }
}

static int busy(void);

static int copy(void *to, const void *from, size_t bytes)
{
    struct copier *c = take_copier();
    int within = shi_places_find(to) == SHI_PLACE_OWN && shi_places_find(from) == SHI_PLACE_OWN && busy();
    CUresult r = start(c->stream, within ? c->bounce : NULL, to, from, bytes);
    if (!r)
        r = WITHIN(cu.cuStreamSynchronize(c->stream));
    __atomic_store_n(&c->in_use, 0, __ATOMIC_RELEASE);
    return r ? failed("cuMemcpyAsync", r) : 0;
}

static int copy_start(enum shi_device_queue which, void *to, const void *from, size_t bytes)
{
    struct queue *q = &queues[which];
    enum shi_place t = shi_places_find(to), f = shi_places_find(from); /* unknown: the program's memory, probably of the device */
    int within = t != SHI_PLACE_PINNED && t != SHI_PLACE_OTHER && f != SHI_PLACE_PINNED && f != SHI_PLACE_OTHER;
    CUresult r = start(q->stream, within ? q->bounce : NULL, to, from, bytes);
    q->started += r == CUDA_SUCCESS;
    return r ? failed("cuMemcpyAsync, for a request,", r) : 0;
}

/* One event at a time: it covers all copies started before it. */
static int copies_ended(enum shi_device_queue which, uint64_t *n)
{
    struct queue *q = &queues[which];
    CUresult r = q->marked > q->ended ? WITHIN(cu.cuEventQuery(q->mark)) : CUDA_SUCCESS;
    if (!r)
        q->ended = q->marked;
    if (!r && q->started > q->ended) {
        r = WITHIN(cu.cuEventRecord(q->mark, q->stream));
        q->marked = q->started;
    }
    *n = q->ended;
    return r && r != CUDA_ERROR_NOT_READY ? failed("cuEventQuery, for requests,", r) : 0;
}

/* With unified addressing, pinned memory has the same address on the host and on every device. */
static int alloc_shared(size_t bytes, void **addr)
{
    void *at;
    CUresult r = WITHIN(cu.cuMemHostAlloc(&at, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    if (r)
        return failed("cuMemHostAlloc", r);
    memset(at, 0, bytes);
    int err = keep(KEPT_SHARED, at);
    if (err) {
        WITHIN(cu.cuMemFreeHost(at));
        return err;
    }
    shi_places_learn(at, bytes, SHI_PLACE_PINNED);
    *addr = at;
    return 0;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

/* Is the image a fatbin, a cubin, or PTX, which begins with comments and a line .version? */
static int is_image(const unsigned char *image, size_t bytes)
{
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba}, elf[] = {0x7f, 'E', 'L', 'F'};
    enum { MACHINE_AT = 18, MACHINE_CUDA = 190 };
    if (bytes < 32)
        return 0;
    if (memcmp(image, elf, sizeof elf) == 0)
        return image[MACHINE_AT] == MACHINE_CUDA && image[MACHINE_AT + 1] == 0;
    return memcmp(image, fatbin, sizeof fatbin) == 0 || memmem(image, bytes < 4096 ? bytes : 4096, "\n.version ", 10);
}

static int load(const void *image, size_t bytes, void **module)
{
    char log[700] = "";
    int option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)(sizeof log - 1)};
    CUmodule m;
    if (!is_image(image, bytes))
        return -ENOEXEC;
    CUresult r = WITHIN(cu.cuModuleLoadDataEx(&m, image, 2, option, value));
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU) {
        shi_log_error("CUDA: the kernel image of %zu bytes has no code for this GPU (sm_%d%d)", bytes,
                      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
        return -EINVAL;
    }
    if (r && log[0])
        shi_log_error("CUDA: the driver cannot build the kernels: %s", log);
    if (r)
        return failed("cuModuleLoadDataEx", r);
    int err = keep(KEPT_MODULE, m);
    if (err)
        WITHIN(cu.cuModuleUnload(m));
    else
        *module = m;
    return err;
}

static int variable(void *module, const char *name, void **addr)
{
    CUdeviceptr at;
    size_t bytes;
    if (WITHIN(cu.cuModuleGetGlobal(&at, &bytes, module, name)))
        return -ENOENT;
    *addr = (void *)at;
    return 0;
}

/* cuLaunchKernel copies as many bytes as the kernel's parameter has: check the sizes given. */
static int check_args(const char *kernel, CUfunction f, const size_t *arg_bytes, int n_args)
{
    size_t offset, bytes = 0;
    for (int i = 0; cu.cuFuncGetParamInfo && i <= n_args; i++) {
        int takes = WITHIN(cu.cuFuncGetParamInfo(f, (size_t)i, &offset, &bytes)) == CUDA_SUCCESS;
        if (shi_device_check_argument(kernel, i, i < n_args ? &arg_bytes[i] : NULL, takes ? &bytes : NULL))
            return -EINVAL;
    }
    return 0;
}

/* Work-groups that wait for each other or for other PEs must all be resident. Whether they wait is unknown here, so the
 * warning is printed only when the kernel runs long. */
static void note_oversized(const char *kernel, CUfunction f, size_t groups, size_t items)
{
    int each = 0;
    if (WITHIN(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, f, (int)items, 0)))
        return;
    size_t room = (size_t)each * (size_t)attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (groups <= room)
        return;
    shi_log_debug("kernel %s: %zu work-groups of %zu, of which the device runs at most %zu at once", kernel, groups,
                  items, room);
    snprintf(oversized.kernel, sizeof oversized.kernel, "%s", kernel);
    oversized.groups = groups;
    oversized.room = room;
}

/* Wait until the queue of launches has room, and mark the place of the next one. */
static CUresult make_room(void)
{
    static const struct timespec nap = {.tv_nsec = 20000};
    CUevent e = marks[n_launches / MARK_EVERY % MARKS];
    CUresult r = CUDA_SUCCESS;
    if (n_launches++ % MARK_EVERY)
        return r;
    while (n_launches > MARKS * MARK_EVERY && (r = WITHIN(cu.cuEventQuery(e))) == CUDA_ERROR_NOT_READY)
        nanosleep(&nap, NULL);
    return r ? r : WITHIN(cu.cuEventRecord(e, kernels));
}

static int launch(void *module, const char *kernel, const struct shi_device_grid *g, void *const *args,
                  const size_t *arg_bytes, int n_args)
{
    CUfunction f;
    if (WITHIN(cu.cuModuleGetFunction(&f, module, kernel)))
        return -ENOENT;
    int err = check_args(kernel, f, arg_bytes, n_args);
    if (err)
        return err;
    note_oversized(kernel, f, g->groups[0] * g->groups[1] * g->groups[2], g->items[0] * g->items[1] * g->items[2]);
    CUresult r = make_room();
    if (r)
        return failed("a kernel launched earlier", r);
    r = WITHIN(cu.cuLaunchKernel(f, (unsigned)g->groups[0], (unsigned)g->groups[1], (unsigned)g->groups[2],
                                          (unsigned)g->items[0], (unsigned)g->items[1], (unsigned)g->items[2], 0,
                                          kernels, (void **)args, NULL));
    return r ? failed("cuLaunchKernel", r) : 0;
}

/* Warn when a kernel runs long and not all its work-groups can be resident. */
static void warn_oversized(void)
{
    static const struct timespec nap = {.tv_nsec = 20000000};
    for (int i = 0; i < LONG_S * 50; i++) {
        if (WITHIN(cu.cuStreamQuery(kernels)) != CUDA_ERROR_NOT_READY)
            return;
        nanosleep(&nap, NULL);
    }
    shi_log_error("kernel %s has run for %d s: it has %zu work-groups and the device runs at most %zu at once; if they "
                  "wait for each other or for other PEs, it never ends: launch fewer", oversized.kernel, LONG_S,
                  oversized.groups, oversized.room);
}

static int finish(void)
{
    if (oversized.groups)
        warn_oversized();
    oversized.groups = 0;
    CUresult r = WITHIN(cu.cuStreamSynchronize(kernels));
    return r ? failed("cuStreamSynchronize, which waits for kernels,", r) : 0;
}

static int busy(void)
{
    return WITHIN(cu.cuStreamQuery(kernels)) == CUDA_ERROR_NOT_READY;
}

#define CUDA_OPS                                                                                                     \
    describe, up, down, alloc, release, share, map, unmap, export_memory, copy, copy_start, copies_ended, alloc_shared, load, \
        variable, launch, finish, busy, NULL
const struct shi_device_ops shi_device_cuda = {"cuda", probe, CUDA_OPS, is_near, NULL, NULL, NULL},
                            shi_device_cuda_cpu = {"cuda-cpu", probe_cpu, CUDA_OPS, NULL, NULL, NULL, NULL};
