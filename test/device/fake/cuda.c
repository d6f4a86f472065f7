/*
 * cuda.c - a libcuda.so.1 for tests of the CUDA backend: libcuda_cpu.so, whose calls fail or are missing where a test requests it.
 * It also reports what a GPU's driver punishes and the driver on the CPU does not: objects that are not freed, calls that wait for
 * running kernels, a launch into a full queue, streams of the wrong kind.
 *
 *   FAKE_CUDA_DRIVER   path of libcuda_cpu.so
 *   FAKE_CUDA_DEVICES  0: the driver has no device. ZE_CPU_DEVICES is their number (2), ZE_CPU_PRIVATE 1 unless it is set
 *   FAKE_CUDA_FAIL     CALL=ERROR, ...: these calls fail
 *   FAKE_CUDA_COPY     BYTES=ERROR: copies of so many bytes fail
 *   FAKE_CUDA_EVENT    1: not at once: cuEventQuery returns the error from then on
 *   FAKE_CUDA_MISSING  CALL, ...: these calls do not exist
 *   FAKE_CUDA_MODE     mode=M: the devices' compute mode
 *   FAKE_CUDA_WAITING  1: report what a driver does with a GPU's processors, or only while no kernel runs, where kernels run, which
 *                      may wait for it: copies within a device, fills, allocations, releases, the loading of a kernel
 *   FAKE_CUDA_SLOW     microseconds by which each copy is late
 *   FAKE_CUDA_STALL    a copy of so many bytes waits for another copy, as it may where a program's kernels use the copy engines
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/cuda_driver.h"

enum { QUEUED = 1000, PROCESSORS = 4, GROUPS_EACH = 2, OBJECTS = 4096, DEVICES = 8, PATIENCE_S = 60 };

#define X(call, params) static CUresult(*real_##call) params;
CUDA_CALLS(X) CUDA_CALLS_OPTIONAL(X) CUDA_CALLS_VIRTUAL(X) CUDA_CALLS_SINCE_12_4(X)
#undef X
static CUresult (*real_cuLaunchHostFunc)(CUstream stream, void (*fn)(void *), void *arg);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t copied = PTHREAD_COND_INITIALIZER;
static int held;               /* objects that the program has to free; atomic */
static int contexts;           /* retained; atomic */
static CUcontext context_of[DEVICES];
static _Thread_local CUcontext pushed[8];
static _Thread_local int depth; /* contexts pushed */
static unsigned launched, ended, copies; /* kernels, copies made; atomic */
static CUstream kernels;       /* the stream of the last kernel */
static CUfunction loaded[OBJECTS];
static struct {
    CUdeviceptr at;
    size_t bytes;
    int device, synchronised; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set */
} device_memory[OBJECTS]; /* of this or another process */
static struct {
    CUstream stream;
    int priority;
} streams[OBJECTS];

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

static long number(const char *variable)
{
    const char *v = getenv(variable);
    return v ? atol(v) : 0;
}

static void hold(CUresult r, int n)
{
    if (!r)
        __atomic_add_fetch(&held, n, __ATOMIC_RELAXED);
}

/* Report a call that may wait for kernels, if any run. */
static void waits(const char *what)
{
    if (number("FAKE_CUDA_WAITING") && kernels && real_cuStreamQuery(kernels) == CUDA_ERROR_NOT_READY)
        fprintf(stderr, "fake: %s while kernels run, which may wait for it\n", what);
}

/* ---- devices, contexts ------------------------------------------------------------------------------------------ */

static CUresult cuDeviceGetCount(int *n)
{
    CUresult r = real_cuDeviceGetCount(n);
    if (getenv("FAKE_CUDA_DEVICES"))
        *n = (int)number("FAKE_CUDA_DEVICES");
    return r;
}

static CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult r = real_cuDeviceGetAttribute(value, attribute, device);
    if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        *value = PROCESSORS;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)
        *value = listed("FAKE_CUDA_MODE", "mode");
    if (attribute == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED)
        *value = 1;
    return r;
}

static CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction function, int items, size_t shared_bytes)
{
    CUresult r = real_cuOccupancyMaxActiveBlocksPerMultiprocessor(n, function, items, shared_bytes);
    *n = GROUPS_EACH;
    return r;
}

static CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult r = real_cuDevicePrimaryCtxRetain(context, device);
    contexts += !r;
    if (!r)
        context_of[device] = *context;
    return r;
}

static CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    if (--contexts == 0 && (held || depth))
        fprintf(stderr, "fake: not freed: %d streams, events, modules, allocations; %d contexts pushed\n", held, depth);
    return real_cuDevicePrimaryCtxRelease(device);
}

static CUresult cuCtxPushCurrent(CUcontext context)
{
    CUresult r = contexts && depth < 8 ? real_cuCtxPushCurrent(context) : CUDA_ERROR_INVALID_CONTEXT;
    if (!r)
        pushed[depth++] = context;
    return r;
}

static int current_device(void)
{
    int d = 0;
    while (d + 1 < DEVICES && depth && context_of[d] != pushed[depth - 1])
        d++;
    return d;
}

static CUresult cuCtxPopCurrent(CUcontext *context)
{
    CUresult r = real_cuCtxPopCurrent(context);
    depth -= !r;
    return r;
}

/* ---- streams, events -------------------------------------------------------------------------------------------- */

static CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    CUresult r = real_cuStreamCreateWithPriority(stream, flags, priority);
    int k = 0;
    hold(r, 1);
    pthread_mutex_lock(&lock);
    while (streams[k].stream)
        k++;
    streams[k].stream = *stream;
    streams[k].priority = priority;
    pthread_mutex_unlock(&lock);
    if (flags != CU_STREAM_NON_BLOCKING)
        fprintf(stderr, "fake: a stream that waits for the default stream\n");
    return r;
}

static CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

static CUresult cuStreamDestroy(CUstream stream)
{
    kernels = kernels == stream ? NULL : kernels;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < OBJECTS; k++)
        if (streams[k].stream == stream)
            streams[k].stream = NULL;
    pthread_mutex_unlock(&lock);
    hold(0, -1);
    return real_cuStreamDestroy(stream);
}

static CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    CUresult r = real_cuEventCreate(event, flags);
    hold(r, 1);
    return flags == CU_EVENT_DISABLE_TIMING ? r : CUDA_ERROR_INVALID_VALUE;
}

static CUresult cuEventDestroy(CUevent event)
{
    hold(0, -1);
    return real_cuEventDestroy(event);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static void know(CUdeviceptr at, size_t bytes, int device)
{
    int k = 0;
    pthread_mutex_lock(&lock);
    while (k + 1 < OBJECTS && device_memory[k].at)
        k++;
    device_memory[k].at = at;
    device_memory[k].bytes = bytes;
    device_memory[k].device = device;
    device_memory[k].synchronised = 0;
    pthread_mutex_unlock(&lock);
}

static void forget(CUdeviceptr at)
{
    pthread_mutex_lock(&lock);
    for (int k = 0; k < OBJECTS; k++)
        if (device_memory[k].at == at)
            device_memory[k].at = 0;
    pthread_mutex_unlock(&lock);
}

/* The device whose memory an address is in, or -1. */
static int device_of(CUdeviceptr at)
{
    int device = -1;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < OBJECTS; k++)
        if (device_memory[k].at && at >= device_memory[k].at && at - device_memory[k].at < device_memory[k].bytes)
            device = device_memory[k].device;
    pthread_mutex_unlock(&lock);
    return device;
}

static CUresult cuMemAlloc(CUdeviceptr *at, size_t bytes)
{
    waits("an allocation");
    CUresult r = real_cuMemAlloc(at, bytes);
    hold(r, 1);
    if (!r)
        know(*at, bytes, current_device());
    return r;
}

static CUresult cuMemFree(CUdeviceptr at)
{
    waits("a release");
    CUresult r = real_cuMemFree(at);
    hold(r, -1);
    forget(at);
    return r;
}

static CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr at)
{
    CUresult r = real_cuPointerSetAttribute(value, attribute, at);
    pthread_mutex_lock(&lock);
    for (int k = 0; k < OBJECTS; k++)
        if (!r && device_memory[k].at && at >= device_memory[k].at && at - device_memory[k].at < device_memory[k].bytes)
            device_memory[k].synchronised = *(const unsigned *)value == 1;
    pthread_mutex_unlock(&lock);
    return r;
}

/* The memory is given to other processes or a NIC. 0: not all of it lies in one allocation. */
static int is_given(CUdeviceptr at, size_t bytes)
{
    int synchronised = 0, found = 0;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < OBJECTS; k++)
        if (device_memory[k].at && at >= device_memory[k].at && at + bytes <= device_memory[k].at + device_memory[k].bytes) {
            found = 1;
            synchronised = device_memory[k].synchronised;
        }
    pthread_mutex_unlock(&lock);
    if (found && !synchronised)
        fprintf(stderr, "fake: memory is given away, and copies within the device do not synchronise (SYNC_MEMOPS)\n");
    return found;
}

static CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at)
{
    CUdeviceptr base = 0;
    if (!is_given(at, 1) || real_cuMemGetAddressRange(&base, NULL, at) || base != at)
        return CUDA_ERROR_INVALID_VALUE;
    return real_cuIpcGetMemHandle(handle, at);
}

static CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr at, size_t bytes, CUmemRangeHandleType type, unsigned long long flags)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags || at % page || bytes % page || !is_given(at, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct {
        uint64_t magic;
        size_t bytes;
        int pid, fd; /* of the allocation, as libcuda_cpu.so exports it */
    } of;
    CUipcMemHandle ipc;
    CUdeviceptr base = 0;
    if (real_cuMemGetAddressRange(&base, NULL, at) || real_cuIpcGetMemHandle(&ipc, base))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&of, &ipc, sizeof of);
    *(int *)handle = dup(base == at ? of.fd : 2); /* a part has no file of its own here: test/fabric cannot map this one */
    return CUDA_SUCCESS;
}

static CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    waits("an allocation");
    if (flags != (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = real_cuMemHostAlloc(at, bytes, flags);
    hold(r, 1);
    if (!r)
        memset(*at, 0xee, bytes); /* a driver need not clear memory */
    return r;
}

static CUresult cuMemFreeHost(void *at)
{
    waits("a release");
    hold(0, -1);
    return real_cuMemFreeHost(at);
}

static CUresult cuIpcOpenMemHandle(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags)
{
    struct { /* as in memory.c of libcuda_cpu.so */
        uint64_t magic, bytes;
        int32_t pid, fd, device;
    } h;
    waits("a mapping");
    if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult r = real_cuIpcOpenMemHandle(at, handle, flags);
    hold(r, 1);
    memcpy(&h, &handle, sizeof h);
    if (!r)
        know(*at, h.bytes, h.device);
    return r;
}

static CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
    waits("an unmapping");
    hold(0, -1);
    forget(at);
    return real_cuIpcCloseMemHandle(at);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

static void sleep_us(void *us)
{
    usleep((useconds_t)(uintptr_t)us);
}

static void count_copy(void *none)
{
    (void)none;
    pthread_mutex_lock(&lock);
    copies++;
    pthread_cond_broadcast(&copied);
    pthread_mutex_unlock(&lock);
}

/* Wait until one more copy has been made than before. */
static void stall(void *before)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&lock);
    while (copies == (unsigned)(uintptr_t)before)
        if (pthread_cond_timedwait(&copied, &lock, &until)) {
            fprintf(stderr, "fake: a copy waits behind another thread's, which lasts\n");
            break;
        }
    pthread_mutex_unlock(&lock);
}

static int broken; /* atomic: what cuEventQuery returns */

/* What a copy of so many bytes returns; or it fails later, as an event shows. */
static CUresult failure_of_copy(size_t bytes)
{
    const char *which = getenv("FAKE_CUDA_COPY"), *error = which ? strchr(which, '=') : NULL;
    if (!error || bytes != strtoul(which, NULL, 0))
        return CUDA_SUCCESS;
    if (!number("FAKE_CUDA_EVENT"))
        return atoi(error + 1);
    __atomic_store_n(&broken, atoi(error + 1), __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

static CUresult cuEventQuery(CUevent event)
{
    int error = __atomic_load_n(&broken, __ATOMIC_RELAXED);
    return error ? error : real_cuEventQuery(event);
}

static CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    int least, greatest = 0;
    CUresult failed = failure_of_copy(bytes);
    if (!stream || failed)
        return failed ? failed : CUDA_ERROR_INVALID_VALUE;
    real_cuCtxGetStreamPriorityRange(&least, &greatest);
    for (int k = 0; k < OBJECTS; k++)
        if (streams[k].stream == stream && streams[k].priority != greatest)
            fprintf(stderr, "fake: a copy in a stream with the priority of kernels\n");
    if (device_of(to) >= 0 && device_of(to) == device_of(from))
        waits("a copy within a device");
    if (number("FAKE_CUDA_SLOW"))
        real_cuLaunchHostFunc(stream, sleep_us, (void *)(uintptr_t)number("FAKE_CUDA_SLOW"));
    if (number("FAKE_CUDA_STALL") && bytes == (size_t)number("FAKE_CUDA_STALL"))
        real_cuLaunchHostFunc(stream, stall, (void *)(uintptr_t)__atomic_load_n(&copies, __ATOMIC_RELAXED));
    CUresult r = real_cuMemcpyAsync(to, from, bytes, stream);
    real_cuLaunchHostFunc(stream, count_copy, NULL);
    return r;
}

static CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    waits("a fill");
    return stream ? real_cuMemsetD8Async(to, value, bytes, stream) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- modules, kernels ------------------------------------------------------------------------------------------- */

static CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *option, void **value)
{
    waits("the loading of a module");
    CUresult r = n == 2 && option[0] == CU_JIT_ERROR_LOG_BUFFER ? real_cuModuleLoadDataEx(module, image, n, option, value)
                                                                : CUDA_ERROR_INVALID_VALUE;
    hold(r, 1);
    return r;
}

static CUresult cuModuleUnload(CUmodule module)
{
    waits("the end of a module");
    hold(0, -1);
    return real_cuModuleUnload(module);
}

static CUresult cuFuncLoad(CUfunction function)
{
    for (int k = 0; k < OBJECTS; k++)
        if (!loaded[k] || loaded[k] == function) {
            loaded[k] = function;
            break;
        }
    return real_cuFuncLoad(function);
}

static void count_end(void *none)
{
    (void)none;
    __atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
}

/* A kernel that cuFuncLoad has not loaded is loaded now. */
static CUresult cuLaunchKernel(CUfunction function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned items_x,
                               unsigned items_y, unsigned items_z, unsigned shared_bytes, CUstream stream, void **args,
                               void **extra)
{
    int k = 0;
    if (!stream || extra)
        return CUDA_ERROR_INVALID_VALUE;
    while (k < OBJECTS && loaded[k] && loaded[k] != function)
        k++;
    if (k == OBJECTS || loaded[k] != function)
        waits("the loading of a kernel");
    if (__atomic_add_fetch(&launched, 1, __ATOMIC_RELAXED) - __atomic_load_n(&ended, __ATOMIC_ACQUIRE) > QUEUED)
        fprintf(stderr, "fake: a launch blocks in the driver: %d are in its queue\n", QUEUED);
    kernels = stream;
    CUresult r = real_cuLaunchKernel(function, groups_x, groups_y, groups_z, items_x, items_y, items_z, shared_bytes, stream, args, extra);
    real_cuLaunchHostFunc(stream, count_end, NULL);
    return r;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static cuGetProcAddress_v2_t *get;
static const char *why;

static void open_driver(void)
{
    setenv("ZE_CPU_DEVICES", "2", 0);
    setenv("ZE_CPU_PRIVATE", "1", 0);
    const char *path = getenv("FAKE_CUDA_DRIVER");
    void *so = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *at = so ? dlsym(so, "cuGetProcAddress_v2") : NULL;
    get = (cuGetProcAddress_v2_t *)at;
    if (!get) {
        why = path ? dlerror() : "FAKE_CUDA_DRIVER is not set";
        fprintf(stderr, "fake: %s\n", why);
        return;
    }
#define X(call, params) real_##call = get(#call, &at, CU_API_VERSION_12_4, 0, NULL) ? NULL : (__typeof__(real_##call))at;
    CUDA_CALLS(X) CUDA_CALLS_OPTIONAL(X) CUDA_CALLS_VIRTUAL(X) CUDA_CALLS_SINCE_12_4(X)
#undef X
    real_cuLaunchHostFunc = get("cuLaunchHostFunc", &at, CU_API_VERSION, 0, NULL) ? NULL : (__typeof__(real_cuLaunchHostFunc))at;
}

/* Calls that a test makes fail: a function for each error. */
enum { FAILURES = 4 };
static int failure[FAILURES];
#define FAIL(n)                                                                                                       \
    static CUresult fail_##n(void)                                                                                    \
    {                                                                                                                 \
        return failure[n];                                                                                            \
    }
FAIL(0) FAIL(1) FAIL(2) FAIL(3)

static void *failing(int error)
{
    static CUresult (*const fns[FAILURES])(void) = {fail_0, fail_1, fail_2, fail_3};
    int k = 0;
    while (failure[k] && failure[k] != error && k + 1 < FAILURES)
        k++;
    failure[k] = error;
    return (void *)fns[k];
}

/* The only symbol that a caller looks up in the library. */
__attribute__((visibility("default"))) cuGetProcAddress_v2_t cuGetProcAddress_v2;
CUresult cuGetProcAddress_v2(const char *name, void **call, int version, uint64_t flags, CUdriverProcAddressQueryResult *found)
{
#define OWN(call) {#call, (void *)call}
    static const struct {
        const char *name;
        void *call;
    } own[] = {
        OWN(cuDeviceGetCount), OWN(cuDeviceGetAttribute), OWN(cuOccupancyMaxActiveBlocksPerMultiprocessor),
        OWN(cuDevicePrimaryCtxRetain), OWN(cuDevicePrimaryCtxRelease), OWN(cuCtxPushCurrent), OWN(cuCtxPopCurrent),
        OWN(cuStreamCreateWithPriority), OWN(cuStreamCreate), OWN(cuStreamDestroy), OWN(cuEventCreate), OWN(cuEventDestroy),
        OWN(cuMemAlloc), OWN(cuMemFree), OWN(cuMemHostAlloc), OWN(cuMemFreeHost), OWN(cuIpcOpenMemHandle), OWN(cuIpcCloseMemHandle),
        OWN(cuPointerSetAttribute), OWN(cuIpcGetMemHandle), OWN(cuMemGetHandleForAddressRange),
        OWN(cuEventQuery), OWN(cuMemcpyAsync), OWN(cuMemsetD8Async), OWN(cuModuleLoadDataEx),
        OWN(cuModuleUnload), OWN(cuFuncLoad), OWN(cuLaunchKernel),
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int error = listed("FAKE_CUDA_FAIL", "cuGetProcAddress");
    pthread_once(&once, open_driver);
    *call = NULL;
    if (error || !get || flags || version < CU_API_VERSION)
        return error ? error : CUDA_ERROR_INVALID_VALUE;
    /* cux...: extensions, which no GPU's driver has */
    int missing = listed("FAKE_CUDA_MISSING", name) || strncmp(name, "cux", 3) == 0;
    CUresult r = missing ? CUDA_ERROR_NOT_FOUND : get(name, call, version, flags, found);
    for (size_t i = 0; !missing && i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].name, name) == 0) {
            *call = own[i].call; /* the driver on the CPU has no dma-bufs */
            r = CUDA_SUCCESS;
        }
    error = listed("FAKE_CUDA_FAIL", name);
    if (!r && error)
        *call = failing(error);
    return r;
}
