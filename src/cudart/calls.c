/*
 * calls.c - calls of the driver API that programs of the runtime API make directly: a program that linked libcuda.so.1 would not
 * start on a machine without NVIDIA's driver.
 */
#include "runtime.h"

#define FORWARD(name, params, ...)                                                                                    \
    CUresult name params                                                                                              \
    {                                                                                                                 \
        return DRIVER(name)(__VA_ARGS__);                                                                             \
    }
/* The runtime's context is current in each thread, as with NVIDIA's runtime after its first call. */
#define FORWARD_IN(name, params, ...)                                                                                 \
    CUresult name params                                                                                              \
    {                                                                                                                 \
        rt_ready();                                                                                                   \
        return DRIVER(name)(__VA_ARGS__);                                                                             \
    }

FORWARD(cuInit, (unsigned flags), flags)
FORWARD(cuDriverGetVersion, (int *v), v)
FORWARD(cuGetErrorName, (CUresult e, const char **name), e, name)
FORWARD(cuGetErrorString, (CUresult e, const char **text), e, text)
FORWARD(cuDeviceGet, (CUdevice *d, int i), d, i)
FORWARD(cuDeviceGetCount, (int *n), n)
FORWARD(cuDeviceGetName, (char *name, int bytes, CUdevice d), name, bytes, d)
FORWARD(cuDeviceGetAttribute, (int *v, CUdevice_attribute a, CUdevice d), v, a, d)
FORWARD(cuDeviceTotalMem, (size_t *bytes, CUdevice d), bytes, d)
FORWARD(cuDevicePrimaryCtxRetain, (CUcontext *c, CUdevice d), c, d)
FORWARD(cuDevicePrimaryCtxRelease, (CUdevice d), d)
FORWARD(cuCtxGetCurrent, (CUcontext *c), c)
FORWARD(cuCtxSetCurrent, (CUcontext c), c)
FORWARD(cuCtxPushCurrent, (CUcontext c), c)
FORWARD(cuCtxPopCurrent, (CUcontext *c), c)
FORWARD_IN(cuMemAlloc, (CUdeviceptr *p, size_t bytes), p, bytes)
FORWARD_IN(cuMemFree, (CUdeviceptr p), p)
FORWARD_IN(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), to, from, bytes)
FORWARD_IN(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes), to, from, bytes)
FORWARD_IN(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes), to, from, bytes)
FORWARD_IN(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s), to, from, bytes, s)
FORWARD_IN(cuMemsetD8, (CUdeviceptr p, unsigned char v, size_t bytes), p, v, bytes)
FORWARD_IN(cuMemGetAddressRange, (CUdeviceptr *base, size_t *bytes, CUdeviceptr p), base, bytes, p)
FORWARD_IN(cuPointerGetAttribute, (void *v, CUpointer_attribute a, CUdeviceptr p), v, a, p)
FORWARD_IN(cuModuleLoad, (CUmodule *m, const char *file), m, file)
FORWARD_IN(cuModuleLoadData, (CUmodule *m, const void *image), m, image)
FORWARD_IN(cuModuleUnload, (CUmodule m), m)
FORWARD_IN(cuModuleGetFunction, (CUfunction *f, CUmodule m, const char *name), f, m, name)
FORWARD_IN(cuModuleGetGlobal, (CUdeviceptr *p, size_t *bytes, CUmodule m, const char *name), p, bytes, m, name)
FORWARD_IN(cuLaunchKernel, (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z, unsigned shared,
                            CUstream s, void **args, void **extra), f, gx, gy, gz, x, y, z, shared, s, args, extra)
FORWARD_IN(cuLaunchCooperativeKernel, (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
                                       unsigned shared, CUstream s, void **args), f, gx, gy, gz, x, y, z, shared, s, args)
FORWARD_IN(cuStreamSynchronize, (CUstream s), s)
FORWARD_IN(cuCtxSynchronize, (void))
FORWARD_IN(cuMemAddressReserve, (CUdeviceptr *p, size_t bytes, size_t align, CUdeviceptr at, unsigned long long flags), p, bytes, align, at, flags)
FORWARD_IN(cuMemAddressFree, (CUdeviceptr p, size_t bytes), p, bytes)
FORWARD_IN(cuMemCreate, (CUmemGenericAllocationHandle *h, size_t bytes, const CUmemAllocationProp *prop, unsigned long long flags), h, bytes, prop, flags)
FORWARD_IN(cuMemRelease, (CUmemGenericAllocationHandle h), h)
FORWARD_IN(cuMemMap, (CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags), p, bytes, offset, h, flags)
FORWARD_IN(cuMemUnmap, (CUdeviceptr p, size_t bytes), p, bytes)
FORWARD_IN(cuMemSetAccess, (CUdeviceptr p, size_t bytes, const CUmemAccessDesc *desc, size_t n), p, bytes, desc, n)
FORWARD_IN(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle *h, void *p), h, p)
FORWARD_IN(cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags how), bytes, prop, how)
FORWARD_IN(cuMemGetAccess, (unsigned long long *flags, const CUmemLocation *l, CUdeviceptr p), flags, l, p)
FORWARD_IN(cuMemExportToShareableHandle, (void *out, CUmemGenericAllocationHandle h, CUmemAllocationHandleType type, unsigned long long flags), out, h, type, flags)
FORWARD_IN(cuMemImportFromShareableHandle, (CUmemGenericAllocationHandle *h, void *from, CUmemAllocationHandleType type), h, from, type)
FORWARD_IN(cuMemGetAllocationPropertiesFromHandle, (CUmemAllocationProp *prop, CUmemGenericAllocationHandle h), prop, h)
FORWARD_IN(cuMemGetInfo, (size_t *left, size_t *all), left, all)
FORWARD_IN(cuMemAllocManaged, (CUdeviceptr *p, size_t bytes, unsigned flags), p, bytes, flags)
FORWARD_IN(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags), p, bytes, flags)
FORWARD_IN(cuMemFreeHost, (void *p), p)
FORWARD_IN(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t bytes), to, from, bytes)
FORWARD_IN(cuMemcpyHtoDAsync, (CUdeviceptr to, const void *from, size_t bytes, CUstream s), to, from, bytes, s)
FORWARD_IN(cuMemcpyDtoHAsync, (void *to, CUdeviceptr from, size_t bytes, CUstream s), to, from, bytes, s)
FORWARD_IN(cuModuleLoadDataEx, (CUmodule *m, const void *image, unsigned n, CUjit_option *option, void **value), m, image, n, option, value)
FORWARD_IN(cuStreamCreate, (CUstream *s, unsigned flags), s, flags)
FORWARD_IN(cuStreamDestroy, (CUstream s), s)
FORWARD_IN(cuStreamQuery, (CUstream s), s)
FORWARD_IN(cuEventCreate, (CUevent *e, unsigned flags), e, flags)
FORWARD_IN(cuEventDestroy, (CUevent e), e)
FORWARD_IN(cuEventRecord, (CUevent e, CUstream s), e, s)
FORWARD_IN(cuEventQuery, (CUevent e), e)
FORWARD_IN(cuEventSynchronize, (CUevent e), e)
FORWARD_IN(cuEventElapsedTime, (float *ms, CUevent from, CUevent to), ms, from, to)
FORWARD_IN(cuFuncGetAttribute, (int *v, CUfunction_attribute a, CUfunction f), v, a, f)
FORWARD_IN(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute a, int v), f, a, v)
FORWARD_IN(cuCtxGetDevice, (CUdevice *d), d)
FORWARD(cuCtxDestroy, (CUcontext c), c)
FORWARD_IN(cuLinkCreate, (unsigned n, CUjit_option *option, void **value, CUlinkState *l), n, option, value, l)
FORWARD_IN(cuLinkAddData, (CUlinkState l, CUjitInputType type, void *data, size_t bytes, const char *name, unsigned n, CUjit_option *option,
                           void **value), l, type, data, bytes, name, n, option, value)
FORWARD_IN(cuLinkAddFile, (CUlinkState l, CUjitInputType type, const char *path, unsigned n, CUjit_option *option, void **value),
           l, type, path, n, option, value)
FORWARD_IN(cuLinkComplete, (CUlinkState l, void **image, size_t *bytes), l, image, bytes)
FORWARD_IN(cuLinkDestroy, (CUlinkState l), l)
FORWARD_IN(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction f, int threads, size_t shared), blocks, f, threads, shared)

#if CUDA_VERSION >= 13000
FORWARD(cuCtxCreate, (CUcontext *c, CUctxCreateParams *params, unsigned flags, CUdevice d), c, params, flags, d)
#else
FORWARD(cuCtxCreate, (CUcontext *c, unsigned flags, CUdevice d), c, flags, d)
#endif

#if CUDA_VERSION >= 12000
FORWARD_IN(cuLibraryLoadData, (CUlibrary *l, const void *image, CUjit_option *option, void **value, unsigned n, CUlibraryOption *library_option,
                               void **library_value, unsigned n_library), l, image, option, value, n, library_option, library_value, n_library)
FORWARD_IN(cuLibraryUnload, (CUlibrary l), l)
FORWARD_IN(cuLibraryGetModule, (CUmodule *m, CUlibrary l), m, l)
FORWARD_IN(cuLibraryGetGlobal, (CUdeviceptr *p, size_t *bytes, CUlibrary l, const char *name), p, bytes, l, name)
FORWARD_IN(cuLibraryGetKernel, (CUkernel *k, CUlibrary l, const char *name), k, l, name)
FORWARD_IN(cuKernelGetFunction, (CUfunction *f, CUkernel k), f, k)
#endif

CUresult cuDeviceCanAccessPeer(int *can, CUdevice d, CUdevice peer)
{
    *can = d != peer;
    return rt_is_cpu() ? CUDA_SUCCESS : DRIVER(cuDeviceCanAccessPeer)(can, d, peer);
}

CUresult cuCtxEnablePeerAccess(CUcontext c, unsigned flags)
{
    return rt_is_cpu() ? CUDA_SUCCESS : DRIVER(cuCtxEnablePeerAccess)(c, flags);
}
