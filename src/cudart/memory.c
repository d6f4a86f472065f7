/* memory.c - memory of the device and of the host, and copies between them. All addresses are in one space, so the kind of a copy is not needed. */
#include "runtime.h"

#include <string.h>

#define AT(p) ((CUdeviceptr)(size_t)(p))

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    RT_BEGIN;
    *p = NULL;
    return bytes ? CALL(cuMemAlloc, (CUdeviceptr *)p, bytes) : cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    RT_BEGIN;
    return p ? CALL(cuMemFree, AT(p)) : cudaSuccess;
}

cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
    enum { ROW = 512 };
    *pitch = (width + ROW - 1) / ROW * ROW;
    return cudaMalloc(p, *pitch * height);
}

/* ---- memory of another process ---------------------------------------------------------------------------------------- */

_Static_assert(sizeof(CUipcMemHandle) == sizeof(cudaIpcMemHandle_t), "the runtime's handles are the driver's");

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *out, void *p)
{
    RT_BEGIN;
    return CALL(cuIpcGetMemHandle, (CUipcMemHandle *)out, AT(p));
}

cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned flags)
{
    CUipcMemHandle h;
    RT_BEGIN;
    memcpy(&h, &handle, sizeof h);
    return CALL(cuIpcOpenMemHandle, (CUdeviceptr *)p, h, flags);
}

cudaError_t cudaIpcCloseMemHandle(void *p)
{
    RT_BEGIN;
    return CALL(cuIpcCloseMemHandle, AT(p));
}

/* ---- host ------------------------------------------------------------------------------------------------------------ */

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    RT_BEGIN;
    *p = NULL;
    return bytes ? CALL(cuMemHostAlloc, p, bytes, flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) : cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return cudaHostAlloc(p, bytes, 0);
}

cudaError_t cudaFreeHost(void *p)
{
    RT_BEGIN;
    return p ? CALL(cuMemFreeHost, p) : cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
    RT_BEGIN;
    return rt_is_cpu() ? cudaSuccess : CALL(cuMemHostRegister, p, bytes, flags | CU_MEMHOSTREGISTER_PORTABLE);
}

cudaError_t cudaHostUnregister(void *p)
{
    RT_BEGIN;
    return rt_is_cpu() ? cudaSuccess : CALL(cuMemHostUnregister, p);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    RT_BEGIN;
    *device = host;
    return rt_is_cpu() ? cudaSuccess : CALL(cuMemHostGetDevicePointer, (CUdeviceptr *)device, host, flags);
}

cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags)
{
    RT_BEGIN;
    return CALL(cuMemAllocManaged, (CUdeviceptr *)p, bytes, flags);
}

/* Since CUDA 13 a location names the place, before a device's number. */
#if CUDART_VERSION >= 13000
#define PLACE struct cudaMemLocation
#define PREFETCH_PARAMS struct cudaMemLocation to, unsigned flags
#define DRIVERS(l) ((CUmemLocation){.type = (CUmemLocationType)(l).type, .id = (l).id})
#define PREFETCH_ARGS DRIVERS(to), flags
#else
#define PLACE int
#define PREFETCH_PARAMS int to
#define DRIVERS(l) (l)
#define PREFETCH_ARGS to
#endif

cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes, PREFETCH_PARAMS, cudaStream_t stream)
{
    RT_BEGIN;
    return CALL(cuMemPrefetchAsync, AT(p), bytes, PREFETCH_ARGS, stream);
}

cudaError_t cudaMemAdvise(const void *p, size_t bytes, enum cudaMemoryAdvise advice, PLACE where)
{
    RT_BEGIN;
    return CALL(cuMemAdvise, AT(p), bytes, (CUmem_advise)advice, DRIVERS(where));
}

/* On the CPU all devices and the host access managed memory at any time. */
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *p, size_t bytes, unsigned flags)
{
    RT_BEGIN;
    return rt_is_cpu() ? cudaSuccess : CALL(cuStreamAttachMemAsync, stream, AT(p), bytes, flags);
}

/* ---- copies ---------------------------------------------------------------------------------------------------------- */

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    RT_BEGIN;
    (void)kind;
    return bytes ? CALL(cuMemcpyAsync, AT(to), AT(from), bytes, stream) : cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    RT_BEGIN;
    (void)kind;
    return bytes ? CALL(cuMemcpy, AT(to), AT(from), bytes) : cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; !e && i < height; i++)
        e = cudaMemcpyAsync((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width, kind, stream);
    return e;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    cudaError_t e = cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, NULL);
    return e ? e : CALL(cuStreamSynchronize, NULL);
}

cudaError_t cudaMemsetAsync(void *p, int v, size_t bytes, cudaStream_t stream)
{
    RT_BEGIN;
    return bytes ? CALL(cuMemsetD8Async, AT(p), (unsigned char)v, bytes, stream) : cudaSuccess;
}

cudaError_t cudaMemset(void *p, int v, size_t bytes)
{
    RT_BEGIN;
    return bytes ? CALL(cuMemsetD8, AT(p), (unsigned char)v, bytes) : cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int v, size_t width, size_t height, cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; !e && i < height; i++)
        e = cudaMemsetAsync((char *)p + i * pitch, v, width, stream);
    return e;
}

cudaError_t cudaMemset2D(void *p, size_t pitch, int v, size_t width, size_t height)
{
    cudaError_t e = cudaMemset2DAsync(p, pitch, v, width, height, NULL);
    return e ? e : CALL(cuStreamSynchronize, NULL);
}

/* Addresses say on which device memory is. */
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream)
{
    (void)to_device, (void)from_device;
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    (void)to_device, (void)from_device;
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *all)
{
    RT_BEGIN;
    return CALL(cuMemGetInfo, left, all);
}

/* ---- variables ------------------------------------------------------------------------------------------------------- */

cudaError_t cudaGetSymbolAddress(void **p, const void *symbol)
{
    size_t bytes;
    return rt_variable(symbol, (CUdeviceptr *)p, &bytes);
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    CUdeviceptr at;
    return rt_variable(symbol, &at, bytes);
}

/* The address of bytes of a variable. */
static cudaError_t part_of(const void *symbol, size_t bytes, size_t offset, char **out)
{
    CUdeviceptr at;
    size_t has;
    cudaError_t e = rt_variable(symbol, &at, &has);
    if (!e && (offset > has || bytes > has - offset))
        e = rt_result(cudaErrorInvalidValue);
    if (!e)
        *out = (char *)(size_t)at + offset;
    return e;
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
                                    cudaStream_t stream)
{
    char *at;
    cudaError_t e = part_of(symbol, bytes, offset, &at);
    return e ? e : cudaMemcpyAsync(at, from, bytes, kind, stream);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    char *at;
    cudaError_t e = part_of(symbol, bytes, offset, &at);
    return e ? e : cudaMemcpyAsync(to, at, bytes, kind, stream);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    cudaError_t e = cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, NULL);
    return e ? e : CALL(cuStreamSynchronize, NULL);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    cudaError_t e = cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, NULL);
    return e ? e : CALL(cuStreamSynchronize, NULL);
}

/* A pointer that the driver does not know is of the program alone. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
    RT_BEGIN;
    int device = -1, type = 0;
    unsigned managed = 0;
    *a = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered, .device = -1, .hostPointer = (void *)(size_t)p};
    if (DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, AT(p)))
        return cudaSuccess;
    DRIVER(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, AT(p));
    DRIVER(cuPointerGetAttribute)(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, AT(p));
    *a = (struct cudaPointerAttributes){.device = device, .devicePointer = (void *)(size_t)p};
    a->type = managed ? cudaMemoryTypeManaged : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    a->hostPointer = a->type == cudaMemoryTypeDevice ? NULL : a->devicePointer;
    return cudaSuccess;
}
