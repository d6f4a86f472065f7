/*
 * cuda.c - a libcuda.so.1 for tests of src/device/cuda.c: the driver's calls on host memory. It checks that the caller
 * has made the required calls before, and fails where a test requests it. It runs no kernels: it only records launches,
 * except of `store`, whose effect it imitates. So it shows nothing about kernels, their memory order or their speed.
 *
 * Device memory is mapped so that the host faults when it accesses it; copies use a second mapping. An IPC handle names
 * the file of the memory; the process that created it cannot open it, as with the real driver.
 *
 *   FAKE_CUDA_DEVICES  number of devices (2)
 *   FAKE_CUDA_FAIL     CALL=ERROR, ...: these calls fail
 *   FAKE_CUDA_MISSING  CALL, ...: these calls do not exist
 *   FAKE_CUDA_PEERS    0: a context cannot map memory of another device
 *   FAKE_CUDA_WAITING  kernels: report what waits for kernels that wait: copies within a device and fills, which need
 *                      processors; allocations; kernels that are loaded by their first launch
 *   FAKE_CUDA_BUSY     number of queries for which a stream with kernels is busy
 *
 * A copy is made as late as the driver may make it: when the program waits for its stream, or when a later event has
 * occurred, which takes two queries.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/cuda_driver.h"

enum { QUEUED = 1000, MAX_BLOCKS = 64, PAGE = 4096, MAX_GROUPS_EACH = 2, PROCESSORS = 4 };

struct CUctx_st {
    int device, taken;
};
struct CUstream_st {
    int priority, kernels, queries, n; /* n copies not made yet */
    int launched, ended;     /* kernels, as far as the program can know */
    struct {
        CUdeviceptr to, from;
        size_t bytes;
    } copy[1024];
};
struct CUevent_st {
    CUstream stream;
    int behind, queries; /* number of the stream's copies that it waits for */
    int launched;
};
struct CUfunc_st {
    int loaded, parameters;
};
struct CUmod_st {
    const char *image;
    CUdeviceptr variable;
    struct CUfunc_st store, other; /* two names suffice */
};
static struct block {
    char *at, *alias; /* the device's address, which the host cannot access, and ours */
    size_t bytes;
    int fd, foreign, device;
} blocks[MAX_BLOCKS];
static struct CUctx_st contexts[8];
static __thread CUcontext stack[8];
static __thread int depth;
static int ready, streams, modules, pinned;
static CUstream waiting; /* has kernels that wait, with FAKE_CUDA_WAITING */

/* The number after CALL= in a list; 0 if CALL is not in the list, -1 if it has no number. */
static int listed(const char *variable, const char *call)
{
    const char *list = getenv(variable);
    size_t n = strlen(call);
    for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, call, n) == 0 && (p[n] == '=' || p[n] == ',' || p[n] == 0))
            return p[n] == '=' ? atoi(p + n + 1) : -1;
    return 0;
}

/* Before a call's body: check its precondition, and fail if the test requests it. */
#define NEEDS(call, cond, error)                                                                                     \
    do {                                                                                                             \
        int wanted = listed("FAKE_CUDA_FAIL", #call);                                                                \
        if (wanted)                                                                                                  \
            return wanted;                                                                                           \
        if (!(cond))                                                                                                 \
            return error;                                                                                            \
    } while (0)
#define NEEDS_CONTEXT(call) NEEDS(call, depth > 0 && stack[depth - 1]->taken, CUDA_ERROR_INVALID_CONTEXT)
#define NEEDS_INIT(call) NEEDS(call, ready, 3)

static struct block *block_of(CUdeviceptr p)
{
    for (struct block *b = blocks; b < blocks + MAX_BLOCKS; b++)
        if (b->at && p >= (CUdeviceptr)b->at && p - (CUdeviceptr)b->at < b->bytes)
            return b;
    return NULL;
}

static void *reach(CUdeviceptr p)
{
    struct block *b = block_of(p);
    return b ? b->alias + (p - (CUdeviceptr)b->at) : (void *)p;
}

static CUresult enter(int fd, size_t bytes, int foreign, CUdeviceptr *at)
{
    for (struct block *b = blocks; b < blocks + MAX_BLOCKS; b++)
        if (!b->at) {
            b->alias = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            b->at = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0);
            b->bytes = bytes;
            b->fd = fd;
            b->foreign = foreign;
            b->device = stack[depth - 1]->device;
            *at = (CUdeviceptr)b->at;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult leave(CUdeviceptr at, int foreign)
{
    struct block *b = block_of(at);
    if (!b || (CUdeviceptr)b->at != at || b->foreign != foreign)
        return CUDA_ERROR_INVALID_VALUE;
    munmap(b->at, b->bytes);
    munmap(b->alias, b->bytes);
    close(b->fd);
    b->at = NULL;
    return CUDA_SUCCESS;
}

static CUresult cuInit(unsigned flags)
{
    NEEDS(cuInit, flags == 0, CUDA_ERROR_INVALID_VALUE);
    ready = 1;
    return CUDA_SUCCESS;
}

static CUresult cuGetErrorName(CUresult error, const char **name)
{
    *name = error == CUDA_ERROR_NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : "CUDA_ERROR_OF_SOME_KIND";
    return CUDA_SUCCESS;
}

static int count(void)
{
    const char *n = getenv("FAKE_CUDA_DEVICES");
    return n ? atoi(n) : 2;
}

static CUresult cuDeviceGetCount(int *n)
{
    NEEDS_INIT(cuDeviceGetCount);
    *n = count();
    return CUDA_SUCCESS;
}

static CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    NEEDS(cuDeviceGet, ready && ordinal >= 0 && ordinal < count(), CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    NEEDS_INIT(cuDeviceGetName);
    snprintf(name, (size_t)bytes, "test double %d", device);
    return CUDA_SUCCESS;
}

static CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device)
{
    NEEDS_INIT(cuDeviceGetPCIBusId);
    snprintf(id, (size_t)bytes, "FFFF:%02X:00.0", device);
    return CUDA_SUCCESS;
}

static CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    NEEDS_INIT(cuDeviceGetAttribute);
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? PROCESSORS
             : attribute == CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING     ? 1
             : attribute == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED      ? 1
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 7
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 5
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE           ? listed("FAKE_CUDA_MODE", "mode")
                                                                       : 0;
    return CUDA_SUCCESS;
}

static CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    NEEDS_INIT(cuDevicePrimaryCtxRetain);
    contexts[device].device = device;
    contexts[device].taken++;
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

static CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    int left = streams + modules + pinned, used = 0, others = 0;
    NEEDS(cuDevicePrimaryCtxRelease, contexts[device].taken, CUDA_ERROR_INVALID_CONTEXT);
    contexts[device].taken--;
    for (int i = 0; i < 8; i++)
        others += contexts[i].taken;
    for (int i = 0; i < MAX_BLOCKS; i++)
        used += blocks[i].at != NULL;
    if (!others && (left + used || depth))
        fprintf(stderr, "fake: not freed: %d streams, modules and pinned, %d allocations, %d contexts pushed\n", left,
                used, depth);
    return CUDA_SUCCESS;
}

static CUresult cuCtxPushCurrent(CUcontext context)
{
    NEEDS(cuCtxPushCurrent, context && context->taken && depth < 8, CUDA_ERROR_INVALID_CONTEXT);
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult cuCtxPopCurrent(CUcontext *context)
{
    NEEDS(cuCtxPopCurrent, depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    *context = stack[--depth];
    return CUDA_SUCCESS;
}

enum { LEAST = 0, GREATEST = -5 };

static CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    NEEDS_CONTEXT(cuCtxGetStreamPriorityRange);
    *least = LEAST;
    *greatest = GREATEST;
    return CUDA_SUCCESS;
}

static CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    NEEDS_CONTEXT(cuStreamCreate);
    *stream = calloc(1, sizeof **stream);
    (*stream)->priority = priority;
    streams++;
    if (flags != CU_STREAM_NON_BLOCKING)
        fprintf(stderr, "fake: a stream that waits for the default stream\n");
    return CUDA_SUCCESS;
}

static CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, LEAST);
}

static CUresult cuStreamDestroy(CUstream stream)
{
    NEEDS_CONTEXT(cuStreamDestroy);
    free(stream);
    streams--;
    return CUDA_SUCCESS;
}

static void make_copies(CUstream s, int n)
{
    for (int i = 0; i < n; i++)
        memmove(reach(s->copy[i].to), reach(s->copy[i].from), s->copy[i].bytes);
    s->n -= n;
    memmove(s->copy, s->copy + n, (size_t)s->n * sizeof *s->copy);
}

static CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    NEEDS_CONTEXT(cuEventCreate);
    *event = calloc(1, sizeof **event);
    streams++;
    return flags == CU_EVENT_DISABLE_TIMING ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult cuEventDestroy(CUevent event)
{
    NEEDS_CONTEXT(cuEventDestroy);
    free(event);
    streams--;
    return CUDA_SUCCESS;
}

static CUresult cuEventRecord(CUevent event, CUstream stream)
{
    NEEDS_CONTEXT(cuEventRecord);
    *event = (struct CUevent_st){stream, stream->n, 0, stream->launched};
    return CUDA_SUCCESS;
}

static CUresult cuEventQuery(CUevent event)
{
    NEEDS_CONTEXT(cuEventQuery);
    if (event->stream && event->queries++ < 1)
        return CUDA_ERROR_NOT_READY;
    if (event->stream)
        make_copies(event->stream, event->behind);
    if (event->stream && event->stream->ended < event->launched)
        event->stream->ended = event->launched;
    event->stream = NULL;
    return CUDA_SUCCESS;
}

static CUresult cuStreamSynchronize(CUstream stream)
{
    NEEDS_CONTEXT(cuStreamSynchronize);
    make_copies(stream, stream->n);
    stream->kernels = stream->queries = 0;
    waiting = waiting == stream ? NULL : waiting;
    stream->ended = stream->launched;
    return CUDA_SUCCESS;
}

static CUresult cuStreamQuery(CUstream stream)
{
    NEEDS_CONTEXT(cuStreamQuery);
    const char *busy = getenv("FAKE_CUDA_BUSY");
    return stream->kernels && stream->queries++ < (busy ? atoi(busy) : 0) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult cuMemAlloc(CUdeviceptr *at, size_t bytes)
{
    NEEDS_CONTEXT(cuMemAlloc);
    int fd = memfd_create("fake device memory", MFD_CLOEXEC);
    if (waiting)
        fprintf(stderr, "fake: an allocation while kernels wait\n");
    if (bytes == 0 || fd < 0 || ftruncate(fd, (off_t)bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return enter(fd, bytes, 0, at);
}

static CUresult cuMemFree(CUdeviceptr at)
{
    NEEDS_CONTEXT(cuMemFree);
    return leave(at, 0);
}

static CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr at, size_t bytes, CUmemRangeHandleType type,
                                              unsigned long long flags)
{
    NEEDS_CONTEXT(cuMemGetHandleForAddressRange);
    const struct block *b = block_of(at);
    if (!b || at != (CUdeviceptr)b->at || bytes > b->bytes || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *(int *)handle = fcntl(b->fd, F_DUPFD_CLOEXEC, 0);
    return CUDA_SUCCESS;
}

static CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    NEEDS_CONTEXT(cuMemHostAlloc);
    if (waiting)
        fprintf(stderr, "fake: an allocation while kernels wait\n");
    if (flags != (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) || posix_memalign(at, PAGE, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memset(*at, 0xee, bytes); /* the driver does not clear memory */
    pinned++;
    return CUDA_SUCCESS;
}

static CUresult cuMemFreeHost(void *at)
{
    NEEDS_CONTEXT(cuMemFreeHost);
    free(at);
    pinned--;
    return CUDA_SUCCESS;
}

static CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    NEEDS_CONTEXT(cuMemcpyAsync);
    if (!stream || stream->n == (int)(sizeof stream->copy / sizeof *stream->copy))
        return CUDA_ERROR_INVALID_VALUE;
    const struct block *t = block_of(to), *f = block_of(from);
    if (t && f && t->device == f->device && waiting)
        fprintf(stderr, "fake: a copy within a device, whose processors kernels occupy\n");
    if (stream->priority != GREATEST)
        fprintf(stderr, "fake: a copy in a stream with the priority of kernels\n");
    stream->copy[stream->n].to = to;
    stream->copy[stream->n].from = from;
    stream->copy[stream->n++].bytes = bytes;
    return CUDA_SUCCESS;
}

/* Within a device the driver fills by a kernel. The call may return before. */
static CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    NEEDS_CONTEXT(cuMemsetD8Async);
    if (!stream || !block_of(to))
        return CUDA_ERROR_INVALID_VALUE;
    if (waiting)
        fprintf(stderr, "fake: a fill, whose processors kernels occupy\n");
    make_copies(stream, stream->n);
    memset(reach(to), value, bytes);
    return CUDA_SUCCESS;
}

/* ---- sharing ------------------------------------------------------------------------------------------------------ */

struct handle {
    int pid, fd, device;
    size_t bytes;
};

static CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at)
{
    NEEDS_CONTEXT(cuIpcGetMemHandle);
    struct block *b = block_of(at);
    if (!b || b->foreign)
        return CUDA_ERROR_INVALID_VALUE;
    struct handle h = {getpid(), b->fd, b->device, b->bytes};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &h, sizeof h);
    return CUDA_SUCCESS;
}

static CUresult cuIpcOpenMemHandle(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags)
{
    NEEDS_CONTEXT(cuIpcOpenMemHandle);
    struct handle h;
    char path[64];
    memcpy(&h, &handle, sizeof h);
    if (h.pid == getpid() || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_CONTEXT;
    const char *peers = getenv("FAKE_CUDA_PEERS");
    if (peers && *peers == '0' && h.device != stack[depth - 1]->device)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h.pid, h.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || enter(fd, h.bytes, 1, at))
        return CUDA_ERROR_INVALID_VALUE;
    block_of(*at)->device = h.device;
    return CUDA_SUCCESS;
}

static CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
    NEEDS_CONTEXT(cuIpcCloseMemHandle);
    return leave(at, 1);
}

/* ---- modules ------------------------------------------------------------------------------------------------------ */

static CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *option, void **value)
{
    NEEDS(cuModuleLoadDataEx, depth > 0 && n == 2 && option[0] == CU_JIT_ERROR_LOG_BUFFER, CUDA_ERROR_INVALID_CONTEXT);
    if (strstr(image, "broken")) {
        snprintf(value[0], (size_t)value[1], "line 7: broken");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *module = calloc(1, sizeof **module);
    (*module)->image = image;
    modules++;
    return cuMemAlloc(&(*module)->variable, PAGE);
}

static CUresult cuModuleUnload(CUmodule module)
{
    NEEDS_CONTEXT(cuModuleUnload);
    leave(module->variable, 0);
    free(module);
    modules--;
    return CUDA_SUCCESS;
}

/* A kernel or variable exists if the image contains its name. store takes a pointer and 4 bytes; others take nothing. */
static CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    NEEDS_CONTEXT(cuModuleGetFunction);
    module->store.parameters = 2;
    *function = strcmp(name, "store") ? &module->other : &module->store;
    return strstr(module->image, name) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule module)
{
    NEEDS_CONTEXT(cuModuleGetFunctionCount);
    *n = module ? 2 : 0;
    return CUDA_SUCCESS;
}

static CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module)
{
    NEEDS(cuModuleEnumerateFunctions, n == 2, CUDA_ERROR_INVALID_VALUE);
    functions[0] = &module->store;
    functions[1] = &module->other;
    return CUDA_SUCCESS;
}

static CUresult cuFuncLoad(CUfunction function)
{
    NEEDS_CONTEXT(cuFuncLoad);
    function->loaded = 1;
    return CUDA_SUCCESS;
}

static CUresult cuModuleGetGlobal(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name)
{
    NEEDS_CONTEXT(cuModuleGetGlobal);
    *at = module->variable;
    *bytes = 8;
    return strstr(module->image, name) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult cuFuncGetParamInfo(CUfunction function, size_t i, size_t *offset, size_t *bytes)
{
    NEEDS_CONTEXT(cuFuncGetParamInfo);
    *offset = 8 * i;
    *bytes = i == 0 ? 8 : 4;
    return (int)i < function->parameters ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction function, int items, size_t shared_bytes)
{
    NEEDS_CONTEXT(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    (void)function, (void)items, (void)shared_bytes;
    *n = MAX_GROUPS_EACH;
    return CUDA_SUCCESS;
}

/* store: write the number of groups to the first word, the argument to the second. */
static CUresult cuLaunchKernel(CUfunction function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned items_x,
                            unsigned items_y, unsigned items_z, unsigned shared_bytes, CUstream stream, void **args,
                            void **extra)
{
    NEEDS_CONTEXT(cuLaunchKernel);
    if (!stream || shared_bytes || extra || !items_x || !items_y || !items_z)
        return CUDA_ERROR_INVALID_VALUE;
    if (waiting && !function->loaded)
        fprintf(stderr, "fake: a kernel is loaded while kernels wait\n");
    function->loaded = 1;
    stream->kernels++;
    waiting = listed("FAKE_CUDA_WAITING", "kernels") ? stream : NULL;
    if (++stream->launched - stream->ended > QUEUED)
        fprintf(stderr, "fake: a launch blocks in the driver: %d wait in its queue\n", QUEUED);
    if (!function->parameters)
        return CUDA_SUCCESS;
    int *out = reach(*(CUdeviceptr *)args[0]);
    out[0] = (int)(groups_x * groups_y * groups_z);
    out[1] = *(int *)args[1];
    return CUDA_SUCCESS;
}

/* The only symbol that a caller looks up in the library. */
__attribute__((visibility("default"))) cuGetProcAddress_v2_t cuGetProcAddress_v2;
CUresult cuGetProcAddress_v2(const char *name, void **call, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    static const struct {
        const char *name;
        void *call;
    } all[] = {
#define X(f, params) {#f, (void *)f},
        CUDA_CALLS(X) CUDA_CALLS_OPTIONAL(X) CUDA_CALLS_SINCE_12_4(X)
#undef X
    };
    (void)found;
    *call = NULL;
    NEEDS(cuGetProcAddress, 1, 0);
    if (flags || version < CU_API_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0 && !listed("FAKE_CUDA_MISSING", name))
            *call = all[i].call;
    return *call ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
