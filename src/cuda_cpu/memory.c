/*
 * memory.c - device memory and pinned host memory, both in the address space of the process, and handles of device memory for
 * other processes. The allocations are those of ze_cpu (mem.c).
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/owned.h"
#include "cuda_cpu/stream.h"
#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/mem.h"

/* A handle names the memory's file by process and descriptor. */
struct handle {
    uint64_t magic, bytes;
    int32_t pid, fd;
    uint32_t device;
};
_Static_assert(sizeof(struct handle) <= sizeof(CUipcMemHandle), "a handle fits");
static const uint64_t magic = 0x7570635f61647563ull;

static CUresult result(ze_result_t r)
{
    return !r ? CUDA_SUCCESS : r == ZE_RESULT_ERROR_UNSUPPORTED_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ze_cpu keeps the device of an allocation, which is no object of its own here. */
static ze_device_handle_t handle_of(int device)
{
    return (ze_device_handle_t)(uintptr_t)(1 + device);
}

static CUresult allocate(CUdeviceptr *out, size_t bytes, int import)
{
    const ze_external_memory_import_fd_t file = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, .fd = import};
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
                                             .pNext = import < 0 ? NULL : &file};
    void *at;
    CUresult r = cc_check_context();
    if (!r)
        r = result(zc_MemAllocDevice(NULL, &desc, bytes, 512, handle_of(cc_current_device()), &at));
    if (!r)
        *out = (CUdeviceptr)(uintptr_t)at;
    return r;
}

/* As on a GPU, a program may free what its kernels still use: the free waits for them. */
static CUresult release(void *at)
{
    CUresult r = cc_check_context();
    if (!r)
        cc_stream_settle();
    return r ? r : zc_MemFree(NULL, at) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    return allocate(out, bytes, -1);
}

/* Memory of a graph keeps its address for the graph. */
CUresult cuMemFree(CUdeviceptr at)
{
    struct cc_owned *o = cc_owned_find(at);
    if (!o)
        return release((void *)(uintptr_t)at);
    CUresult r = cc_check_context();
    r = r ? r : cc_owned_end(o);
    cc_owned_drop(o);
    return r;
}

/* Cores access all memory at the same address: managed memory needs no more than a name. */
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    enum { GLOBAL = 1, HOST = 2 };
    void *at;
    CUresult r = cc_check_context();
    if (r || (flags != GLOBAL && flags != HOST))
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    r = result(zc_MemAllocShared(NULL, NULL, NULL, bytes, 512, handle_of(cc_current_device()), &at));
    if (!r)
        *out = (CUdeviceptr)(uintptr_t)at;
    return r;
}

/* Hints about managed memory, which also may be any of the host's (PAGEABLE_MEMORY_ACCESS): not about a device's own. */
static CUresult hint(CUdeviceptr at, size_t bytes, CUmemLocation l)
{
    struct zc_alloc a;
    if (!at || !bytes || (zc_mem_find((void *)(uintptr_t)at, &a) && (a.type == ZE_MEMORY_TYPE_DEVICE || bytes > a.size - (at - (uintptr_t)a.base))))
        return CUDA_ERROR_INVALID_VALUE;
    if (l.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return l.type >= CU_MEM_LOCATION_TYPE_HOST && l.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    return l.id >= 0 && l.id < (int)zc_config.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* The location that a device's number means; -1 is the host. */
static CUmemLocation location_of(CUdevice d)
{
    return (CUmemLocation){d == -1 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, d};
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr at, size_t bytes, CUmemLocation to, unsigned flags, CUstream stream)
{
    (void)stream;
    return flags ? CUDA_ERROR_INVALID_VALUE : hint(at, bytes, to);
}

CUresult cuMemPrefetchAsync(CUdeviceptr at, size_t bytes, CUdevice to, CUstream stream)
{
    return cuMemPrefetchAsync_v2(at, bytes, location_of(to), 0, stream);
}

/* Advice that names no place ignores it. */
CUresult cuMemAdvise_v2(CUdeviceptr at, size_t bytes, int advice, CUmemLocation where)
{
    enum { FIRST = 1, UNSET_READ_MOSTLY = 2, UNSET_PREFERRED = 4, LAST = 6 };
    if (advice < FIRST || advice > LAST)
        return CUDA_ERROR_INVALID_VALUE;
    int named = advice > UNSET_READ_MOSTLY && advice != UNSET_PREFERRED;
    return hint(at, bytes, named ? where : (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0});
}

CUresult cuMemAdvise(CUdeviceptr at, size_t bytes, int advice, CUdevice where)
{
    return cuMemAdvise_v2(at, bytes, advice, location_of(where));
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    CUresult r = cc_check_context();
    (void)flags;
    return r ? r : result(zc_MemAllocHost(NULL, NULL, bytes, 0, out));
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *at, void *host, unsigned flags)
{
    (void)flags;
    *at = (CUdeviceptr)(uintptr_t)host;
    return cc_check_context();
}

CUresult cuMemFreeHost(void *at)
{
    return release(at);
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
    struct zc_alloc a;
    if (!zc_mem_find((void *)(uintptr_t)at, &a))
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = (CUdeviceptr)(uintptr_t)a.base;
    if (bytes)
        *bytes = a.size;
    return CUDA_SUCCESS;
}

/* Memory of the host is of no device. */
enum { POINTER_ATTRIBUTE_DEVICE_POINTER = 3 };

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr at)
{
    struct zc_alloc a;
    if (!zc_mem_find((void *)(uintptr_t)at, &a) || (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL && a.type == ZE_MEMORY_TYPE_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == POINTER_ATTRIBUTE_DEVICE_POINTER) {
        memcpy(value, &at, sizeof at);
        return CUDA_SUCCESS;
    }
    int number = attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (a.device ? (int)(uintptr_t)a.device - 1 : 0)
                 : attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE   ? (a.type == ZE_MEMORY_TYPE_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE)
                 : attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED    ? a.type == ZE_MEMORY_TYPE_SHARED
                                                                   : -1;
    if (number >= 0)
        memcpy(value, &number, attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED ? sizeof(char) : sizeof number); /* little-endian */
    return number < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Copies that wait for their end always do. */
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr at)
{
    struct zc_alloc a;
    return value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && zc_mem_find((void *)(uintptr_t)at, &a)
               ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    struct zc_alloc a;
    if (!zc_mem_find((void *)(uintptr_t)at, &a) || a.fd < 0)
        return CUDA_ERROR_INVALID_VALUE;
    const struct handle h = {magic, a.size, getpid(), a.fd, zc_config.device[cc_current_device()]};
    memset(out, 0, sizeof *out);
    memcpy(out, &h, sizeof h);
    return CUDA_SUCCESS;
}

static bool is_visible(unsigned device)
{
    unsigned i = 0;
    while (i < zc_config.devices && zc_config.device[i] != device)
        i++;
    return i < zc_config.devices;
}

/* As with a GPU, a process cannot open a handle that it made, one of a device that is not visible, nor, with ZE_CPU_PEERS=0, one
 * of another device. */
CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    struct handle h;
    char path[64];
    (void)flags;
    memcpy(&h, &handle, sizeof h);
    if (h.magic != magic || h.pid == getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!is_visible(h.device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!zc_config.peers && h.device != zc_config.device[cc_current_device()])
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h.pid, h.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    CUresult r = allocate(out, h.bytes, fd);
    close(fd);
    return r;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
    return cuMemFree(at);
}

/* ---- copies by other names: all memory has an address of the host ------------------------------------------------------- */

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return cuMemcpy(to, from, bytes);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return cuMemcpyAsync(to, from, bytes, stream);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return cuMemcpyAsync(to, (CUdeviceptr)(uintptr_t)from, bytes, stream);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, from, bytes, stream);
}
