/*
 * cuda.c - the CUDA backend: one device's primary context, a stream for copies, one for the proxy's copies, one for
 * kernels.
 *
 * The driver library is the system's and is opened at first use; nothing of the toolkit is needed to build or to run.
 * The context is the one that the runtime API uses, so that a program's own CUDA code shares memory with us, and it is
 * current only inside a call here. Streams do not wait for the default stream: a kernel that waits for the proxy must
 * not hold up the copies that the proxy makes.
 */
#include "device/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/cuda_driver.h"
#include "device/near.h"
#include "host/util/log.h"

/* An allocation of its own pages: what a peer maps by its handle holds nothing else. */
enum { PAGE_BYTES = 2 << 20, LONG_S = 10 };

static struct {
#define X(call, params) CUresult(*call) params;
    CUDA_CALLS(X) CUDA_CALLS_SINCE_12_4(X)
#undef X
} cu;

static int n_devices = -1; /* as found by probe */
static CUdevice device;
static CUcontext context;
static CUstream copies, requests, kernels;

/* The proxy's copies: how many were started, how many of them the event stands for, how many have ended. */
static CUevent mark;
static uint64_t n_started, n_marked, n_ended;

/* What lives until the device goes down. */
struct kept {
    enum { KEPT_MODULE, KEPT_SHARED } kind;
    void *handle;
    struct kept *next;
};
static struct kept *owned;

/* A launch since the last sync whose work-groups cannot all be there at once. */
static struct {
    char kernel[64];
    size_t groups, room;
} crowded;

/* The call, in our context. */
#define WITHIN(call)                                                                                                 \
    ({                                                                                                               \
        CUcontext gone_;                                                                                             \
        CUresult r_ = cu.cuCtxPushCurrent(context);                                                                  \
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
        shi_log_debug("no CUDA device: the driver says %d, %s", r, error_name(r));
}

/* The toolkit's stub refuses its calls here already. */
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
#define X(call, params) cu.call = missing || get(#call, &at, CU_API_VERSION_12_4, 0, NULL) ? NULL : (__typeof__(cu.call))at;
    CUDA_CALLS_SINCE_12_4(X)
#undef X
    if (r == CUDA_ERROR_STUB_LIBRARY)
        no_device(r);
    else if (missing)
        shi_log_debug("no CUDA device: the driver has no %s", missing);
    return missing != NULL;
}

/* A module that is loaded late can wait for a running kernel, which can wait for the one that is loaded. */
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
        shi_log_debug("no CUDA device: the driver counts none");
    return r ? 0 : n;
}

static int probe(void)
{
    if (n_devices >= 0)
        return n_devices;
    n_devices = 0;
    void *so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!so)
        shi_log_debug("no CUDA device: %s", dlerror());
    else if (!find_calls(so))
        n_devices = find_devices();
    return n_devices;
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
    snprintf(text, bytes, "%s, PCI %s", name, id);
}

static int is_near(int i)
{
    char id[32];
    identify(i, id, sizeof id);
    return shi_near("/sys", id);
}

static int attribute(int which)
{
    int value = 0;
    cu.cuDeviceGetAttribute(&value, which, device);
    return value;
}

static int take_context(void)
{
    CUresult r = cu.cuDevicePrimaryCtxRetain(&context, device);
    if (r && attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_EXCLUSIVE_PROCESS) {
        shi_log_error("CUDA: another process has the GPU, which is in exclusive mode: one PE a GPU, or start MPS "
                      "(nvidia-cuda-mps-control -d), or ask for the mode default");
        return -EBUSY;
    }
    return r ? failed("cuDevicePrimaryCtxRetain", r) : 0;
}

static int make_streams(void)
{
    CUstream *const all[] = {&copies, &requests, &kernels};
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; !r && i < 3; i++)
        r = WITHIN(cu.cuStreamCreate(all[i], CU_STREAM_NON_BLOCKING));
    if (!r)
        r = WITHIN(cu.cuEventCreate(&mark, CU_EVENT_DISABLE_TIMING));
    return r ? failed("cuStreamCreate", r) : 0;
}

static void drop_streams(void)
{
    CUstream *const all[] = {&copies, &requests, &kernels};
    for (int i = 0; i < 3; i++) {
        if (*all[i])
            WITHIN(cu.cuStreamDestroy(*all[i]));
        *all[i] = NULL;
    }
    if (mark)
        WITHIN(cu.cuEventDestroy(mark));
    mark = NULL;
}

static int up(int i, int *host_access)
{
    CUresult r = cu.cuDeviceGet(&device, i);
    if (r)
        return failed("cuDeviceGet", r);
    if (!attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)) {
        shi_log_error("CUDA: this device and the host have no addresses in common");
        return -ENODEV;
    }
    int err = take_context();
    if (err)
        return err;
    n_started = n_marked = n_ended = 0;
    err = make_streams();
    if (err) {
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
    for (struct kept *k; (k = owned); free(k)) {
        owned = k->next;
        if (k->kind == KEPT_MODULE)
            WITHIN(cu.cuModuleUnload(k->handle));
        else
            WITHIN(cu.cuMemFreeHost(k->handle));
    }
    drop_streams();
    cu.cuDevicePrimaryCtxRelease(device);
    crowded.groups = 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static int alloc(size_t bytes, void **addr)
{
    CUdeviceptr at;
    CUresult r = WITHIN(cu.cuMemAlloc(&at, (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES));
    if (r)
        return failed("cuMemAlloc (SHMEM_DEVICE_SYMMETRIC_SIZE)", r);
    *addr = (void *)at;
    return 0;
}

static void release(void *addr)
{
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
    out->pid = getpid();
    return 0;
}

/* The driver opens a handle only in other processes than the one that made it. */
static int map(const struct shi_device_share *s, void **addr)
{
    CUipcMemHandle h;
    CUdeviceptr at;
    if (s->pid == getpid()) {
        shi_log_error("CUDA: a process cannot map its own device memory once more");
        return -EINVAL;
    }
    memcpy(&h, s->handle, sizeof h);
    CUresult r = WITHIN(cu.cuIpcOpenMemHandle(&at, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    if (r)
        return failed("cuIpcOpenMemHandle, for a peer's device memory,", r);
    *addr = (void *)at;
    return 0;
}

static void unmap(void *addr)
{
    WITHIN(cu.cuIpcCloseMemHandle((CUdeviceptr)addr));
}

static int copy(void *to, const void *from, size_t bytes)
{
    CUresult r = WITHIN(cu.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, copies));
    if (!r)
        r = WITHIN(cu.cuStreamSynchronize(copies));
    return r ? failed("cuMemcpyAsync", r) : 0;
}

static int copy_start(void *to, const void *from, size_t bytes)
{
    CUresult r = WITHIN(cu.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, requests));
    n_started += r == CUDA_SUCCESS;
    return r ? failed("cuMemcpyAsync, for a kernel's request,", r) : 0;
}

/* One event at a time stands for all that was started before it. */
static int copies_ended(uint64_t *n)
{
    CUresult r = n_marked > n_ended ? WITHIN(cu.cuEventQuery(mark)) : CUDA_SUCCESS;
    if (!r)
        n_ended = n_marked;
    if (!r && n_started > n_ended) {
        r = WITHIN(cu.cuEventRecord(mark, requests));
        n_marked = n_started;
    }
    *n = n_ended;
    return r && r != CUDA_ERROR_NOT_READY ? failed("cuEventQuery, for kernels' requests,", r) : 0;
}

/* Pinned memory has one address for the host and for every device, where addresses are unified. */
static int alloc_shared(size_t bytes, void **addr)
{
    void *at;
    CUresult r = WITHIN(cu.cuMemHostAlloc(&at, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    if (r)
        return failed("cuMemHostAlloc", r);
    memset(at, 0, bytes);
    int err = keep(KEPT_SHARED, at);
    if (err)
        WITHIN(cu.cuMemFreeHost(at));
    else
        *addr = at;
    return err;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

/* A fatbin, a cubin, or PTX, which begins with comments and the line .version. */
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
        shi_log_error("CUDA: kernels of %zu bytes hold no code for this GPU, which is sm_%d%d", bytes,
                      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
        return -EINVAL;
    }
    if (r && log[0])
        shi_log_error("CUDA: the driver does not build the kernels: %s", log);
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

/* The driver copies as many bytes as the kernel takes: what was given must be that. */
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

/* Work-groups that wait for each other or for other PEs must be there together. Whether they wait only they know, so
 * this is told when they take long. */
static void note_crowd(const char *kernel, CUfunction f, size_t groups, size_t items)
{
    int each = 0;
    if (WITHIN(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, f, (int)items, 0)))
        return;
    size_t room = (size_t)each * (size_t)attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (groups <= room)
        return;
    shi_log_debug("kernel %s: %zu work-groups of %zu, of which the device runs at most %zu at once", kernel, groups,
                  items, room);
    snprintf(crowded.kernel, sizeof crowded.kernel, "%s", kernel);
    crowded.groups = groups;
    crowded.room = room;
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
    note_crowd(kernel, f, g->groups[0] * g->groups[1] * g->groups[2], g->items[0] * g->items[1] * g->items[2]);
    CUresult r = WITHIN(cu.cuLaunchKernel(f, (unsigned)g->groups[0], (unsigned)g->groups[1], (unsigned)g->groups[2],
                                          (unsigned)g->items[0], (unsigned)g->items[1], (unsigned)g->items[2], 0,
                                          kernels, (void **)args, NULL));
    return r ? failed("cuLaunchKernel", r) : 0;
}

/* Kernels of which not all work-groups fit: say so once they have run long. */
static void watch_crowd(void)
{
    static const struct timespec nap = {.tv_nsec = 20000000};
    for (int i = 0; i < LONG_S * 50; i++) {
        if (WITHIN(cu.cuStreamQuery(kernels)) != CUDA_ERROR_NOT_READY)
            return;
        nanosleep(&nap, NULL);
    }
    shi_log_error("kernel %s has run for %d s: it has %zu work-groups and the device runs at most %zu at once; if they "
                  "wait for each other or for other PEs, it never ends: launch fewer", crowded.kernel, LONG_S,
                  crowded.groups, crowded.room);
}

static int finish(void)
{
    if (crowded.groups)
        watch_crowd();
    crowded.groups = 0;
    CUresult r = WITHIN(cu.cuStreamSynchronize(kernels));
    return r ? failed("cuStreamSynchronize, which waits for kernels,", r) : 0;
}

static int busy(void)
{
    return WITHIN(cu.cuStreamQuery(kernels)) == CUDA_ERROR_NOT_READY;
}

const struct shi_device_ops shi_device_cuda = {"cuda", probe, describe, up, down, alloc, release, share, map, unmap, copy,
                                               copy_start, copies_ended, alloc_shared, load, variable, launch, finish, busy, NULL,
                                               is_near, NULL, NULL};
