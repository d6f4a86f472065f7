/*
 * driver.c - the table of calls, and the calls for devices. A program loads the library by its path and takes the calls from
 * cuGetProcAddress_v2, or by their names.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/stream.h"
#include "ze_cpu/config.h"
#include "ze_cpu/guard.h"
#include "ze_cpu/mem.h"
#include "ze_cpu/run.h"
#include "ze_cpu/stalled.h"

enum { VERSION = 13000 };

/* ---- driver ----------------------------------------------------------------------------------------------------- */

static bool is_up;

static void up(void)
{
    zc_config_up("CUDA_VISIBLE_DEVICES");
    zc_mem_up();
    zc_guard_up();
    is_up = true;
}

CUresult cuInit(unsigned flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)flags;
    pthread_once(&once, up);
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = VERSION;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult error;
    const char *name;
} errors[] = {
#define E(error) {error, #error}
    E(CUDA_SUCCESS), E(CUDA_ERROR_INVALID_VALUE), E(CUDA_ERROR_OUT_OF_MEMORY), E(CUDA_ERROR_NO_DEVICE),
    E(CUDA_ERROR_INVALID_DEVICE), E(CUDA_ERROR_INVALID_IMAGE), E(CUDA_ERROR_INVALID_CONTEXT),
    E(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED), E(CUDA_ERROR_NOT_FOUND), E(CUDA_ERROR_NOT_READY), E(CUDA_ERROR_NOT_SUPPORTED),
#undef E
    {CC_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"}, {CC_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
};

CUresult cuGetErrorName(CUresult error, const char **name)
{
    for (unsigned k = 0; k < sizeof errors / sizeof *errors; k++)
        if (errors[k].error == error) {
            *name = errors[k].name;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    return cuGetErrorName(error, text);
}

/* ---- extensions ------------------------------------------------------------------------------------------------- */

CUresult cuxCpuWhileIdle(int (*fn)(void))
{
    zc_while_idle(fn);
    return CUDA_SUCCESS;
}

CUresult cuxCpuStalled(int *at, char *kernel, size_t room, uint32_t *items, uint64_t *addr, uint64_t *value, uint32_t *words)
{
    return zc_stalled(at, kernel, room, items, addr, value, words) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* ---- devices ---------------------------------------------------------------------------------------------------- */

CUresult cuDeviceGetCount(int *n)
{
    *n = is_up ? (int)zc_config.devices : 0;
    return is_up ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    if (ordinal < 0 || ordinal >= (int)zc_config.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "CPU (PTX on threads)");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device)
{
    snprintf(id, (size_t)bytes, "cpu:%u", zc_config.device[device]);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    return CUDA_SUCCESS;
}

/* The memory of the machine, which its devices share, and what of it the system can still give. */
CUresult cuMemGetInfo(size_t *left, size_t *all)
{
    char line[128];
    size_t kib = 0;
    CUresult r = cc_check_context();
    FILE *f = r ? NULL : fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %zu", &kib) != 1)
        ;
    if (f)
        fclose(f);
    cuDeviceTotalMem(all, 0);
    *left = kib ? kib * 1024 : (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    return r;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    *uuid = (CUuuid){"CPU"};
    uuid->bytes[sizeof uuid->bytes - 1] = (char)zc_config.device[device];
    return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    enum { THREADS = 1, X = 2, Y = 3, Z = 4, GRID_X = 5, GRID_Y = 6, GRID_Z = 7, SHARED = 8, CONSTANT = 9, WARP = 10, REGISTERS = 12,
           CLOCK_KHZ = 13, TEXTURE_ALIGN = 14, TEXTURE_PITCH_ALIGN = 51, MAP_HOST = 19, CONCURRENT_KERNELS = 31, L2_BYTES = 38, THREADS_OF_PROCESSOR = 39, SHARED_OF_PROCESSOR = 81,
           MANAGED = 83, CONCURRENT_MANAGED = 89, COOPERATIVE = 95, SHARED_MOST = 97, GROUPS_OF_PROCESSOR = 106, PAGEABLE = 88, POOLS = 115, HOST_NUMA_VIRTUAL = 141, HOST_VIRTUAL = 145 };
    static const int values[][2] = {
        {THREADS, 1024}, {X, 1024}, {Y, 1024}, {Z, 64}, {GRID_X, INT32_MAX}, {GRID_Y, 65535}, {GRID_Z, 65535},
        {SHARED, 48 << 10}, {CONSTANT, 64 << 10}, {WARP, 32}, {REGISTERS, 64 << 10}, {CLOCK_KHZ, 1000000}, {TEXTURE_ALIGN, 512}, {TEXTURE_PITCH_ALIGN, 32}, {MAP_HOST, 1},
        {CONCURRENT_KERNELS, 1}, {L2_BYTES, 1 << 20}, {THREADS_OF_PROCESSOR, 2048}, {SHARED_OF_PROCESSOR, 228 << 10}, {MANAGED, 1},
        {CONCURRENT_MANAGED, 1}, {COOPERATIVE, 1}, {SHARED_MOST, 227 << 10}, {GROUPS_OF_PROCESSOR, 32}, {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1}, {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
        {PAGEABLE, 1}, {POOLS, 1}, {HOST_NUMA_VIRTUAL, 1}, {HOST_VIRTUAL, 1}, {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9}, {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    };
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? (int)zc_config.threads : 0;
    for (unsigned k = 0; k < sizeof values / sizeof *values; k++)
        if (values[k][0] == attribute)
            *value = values[k][1];
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    CUresult r = cc_check_context();
    return r ? r : cc_stream_wait_all();
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
#define X(call, params) {#call, (void (*)(void))call},
    CUDA_CALLS(X) CUDA_CALLS_VIRTUAL(X) CUDA_CALLS_SINCE_12_4(X) CUDA_CALLS_CPU(X) CC_MORE_CALLS(X) CC_LINK_CALLS(X)
    CC_LIBRARY_CALLS(X) CC_GRAPH_CALLS(X) CC_POOL_CALLS(X) CC_ARRAY_CALLS(X)
#undef X
};

__attribute__((visibility("default"))) cuGetProcAddress_v2_t cuGetProcAddress_v2;

static bool find(const char *name, void **call)
{
    for (unsigned k = 0; k < sizeof calls / sizeof *calls; k++)
        if (strcmp(calls[k].name, name) == 0) {
            memcpy(call, &calls[k].call, sizeof *call);
            return true;
        }
    return false;
}

/* From CUDA 13 on, the plain name of a call with several forms means the last. */
CUresult cuGetProcAddress_v2(const char *name, void **call, int version, uint64_t flags, CUdriverProcAddressQueryResult *found)
{
    static const char *const form[] = {"_v4", "_v3", "_v2"};
    char later[128];
    bool is_there = false;
    (void)flags;
    *call = NULL;
    for (unsigned k = 0; version >= VERSION && !is_there && k < sizeof form / sizeof *form; k++) {
        snprintf(later, sizeof later, "%s%s", name, form[k]);
        is_there = find(later, call);
    }
    if (!is_there && !find(name, call))
        return CUDA_ERROR_NOT_FOUND;
    if (found)
        *found = 0;
    return CUDA_SUCCESS;
}
