/* device.c - properties of devices, versions, limits, peers, the profiler. */
#include "runtime.h"

#include <string.h>

cudaError_t cudaDriverGetVersion(int *v)
{
    cudaError_t e = rt_open();
    *v = 0;
    return e ? cudaSuccess : CALL(cuDriverGetVersion, v);
}

cudaError_t cudaRuntimeGetVersion(int *v)
{
    *v = CUDART_VERSION;
    return cudaSuccess;
}

static cudaError_t device_of(int ordinal, CUdevice *d)
{
    cudaError_t e = rt_open();
    return e ? e : CALL(cuDeviceGet, d, ordinal);
}

cudaError_t cudaDeviceGetAttribute(int *v, enum cudaDeviceAttr a, int device)
{
    CUdevice d;
    cudaError_t e = device_of(device, &d);
    return e ? e : CALL(cuDeviceGetAttribute, v, (CUdevice_attribute)a, d);
}

static int attribute(enum cudaDeviceAttr a, CUdevice d)
{
    int v = 0;
    CALL(cuDeviceGetAttribute, &v, (CUdevice_attribute)a, d);
    return v;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    CUdevice d;
    cudaError_t e = device_of(device, &d);
    memset(p, 0, sizeof *p);
    e = e ? e : CALL(cuDeviceGetName, p->name, sizeof p->name, d);
    e = e ? e : CALL(cuDeviceTotalMem, &p->totalGlobalMem, d);
    if (e)
        return e;
#define A(a) attribute(cudaDevAttr##a, d)
    p->major = A(ComputeCapabilityMajor);
    p->minor = A(ComputeCapabilityMinor);
    p->multiProcessorCount = A(MultiProcessorCount);
    p->warpSize = A(WarpSize);
    p->maxThreadsPerBlock = A(MaxThreadsPerBlock);
    p->maxThreadsPerMultiProcessor = A(MaxThreadsPerMultiProcessor);
    p->maxBlocksPerMultiProcessor = A(MaxBlocksPerMultiprocessor);
    p->maxThreadsDim[0] = A(MaxBlockDimX), p->maxThreadsDim[1] = A(MaxBlockDimY), p->maxThreadsDim[2] = A(MaxBlockDimZ);
    p->maxGridSize[0] = A(MaxGridDimX), p->maxGridSize[1] = A(MaxGridDimY), p->maxGridSize[2] = A(MaxGridDimZ);
    p->sharedMemPerBlock = (size_t)A(MaxSharedMemoryPerBlock);
    p->sharedMemPerBlockOptin = (size_t)A(MaxSharedMemoryPerBlockOptin);
    p->sharedMemPerMultiprocessor = (size_t)A(MaxSharedMemoryPerMultiprocessor);
    p->totalConstMem = (size_t)A(TotalConstantMemory);
    p->regsPerBlock = A(MaxRegistersPerBlock);
    p->regsPerMultiprocessor = A(MaxRegistersPerMultiprocessor);
    p->memoryBusWidth = A(GlobalMemoryBusWidth);
    p->l2CacheSize = A(L2CacheSize);
    p->asyncEngineCount = A(AsyncEngineCount);
    p->concurrentKernels = A(ConcurrentKernels);
    p->cooperativeLaunch = A(CooperativeLaunch);
    p->managedMemory = A(ManagedMemory);
    p->concurrentManagedAccess = A(ConcurrentManagedAccess);
    p->canMapHostMemory = A(CanMapHostMemory);
    p->unifiedAddressing = A(UnifiedAddressing);
    p->pciBusID = A(PciBusId), p->pciDeviceID = A(PciDeviceId), p->pciDomainID = A(PciDomainId);
#undef A
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    CUdevice d;
    cudaError_t e = device_of(device, &d);
    return e ? e : CALL(cuDeviceGetPCIBusId, id, bytes, d);
}

/* How the host waits and how much a device may cache: hints. */
cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return rt_open();
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    (void)config;
    return rt_open();
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    RT_BEGIN;
    return rt_is_cpu() ? cudaSuccess : CALL(cuCtxSetLimit, (CUlimit)limit, value);
}

/* The context is Fulmar's, too, so it stays. */
cudaError_t cudaDeviceReset(void)
{
    return cudaDeviceSynchronize();
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    CUdevice d, p;
    cudaError_t e = rt_open();
    *can = device != peer;
    if (e || rt_is_cpu())
        return e;
    e = device_of(device, &d);
    e = e ? e : device_of(peer, &p);
    return e ? e : CALL(cuDeviceCanAccessPeer, can, d, p);
}

/* The context of a device, which its peers name. */
static cudaError_t primary(int device, CUcontext *c)
{
    CUdevice d;
    cudaError_t e = device_of(device, &d);
    return e ? e : CALL(cuDevicePrimaryCtxRetain, c, d);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    CUcontext c;
    RT_BEGIN;
    if (rt_is_cpu())
        return cudaSuccess;
    cudaError_t e = primary(peer, &c);
    return e ? e : CALL(cuCtxEnablePeerAccess, c, flags);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    CUcontext c;
    RT_BEGIN;
    if (rt_is_cpu())
        return cudaSuccess;
    cudaError_t e = primary(peer, &c);
    return e ? e : CALL(cuCtxDisablePeerAccess, c);
}

/* On the CPU devices access each other, with atomics. */
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from, int to)
{
    CUdevice d, p;
    cudaError_t e = rt_open();
    *value = from != to && attribute != cudaDevP2PAttrPerformanceRank && attribute != cudaDevP2PAttrCudaArrayAccessSupported;
    if (e || rt_is_cpu())
        return e;
    e = device_of(from, &d);
    e = e ? e : device_of(to, &p);
    return e ? e : CALL(cuDeviceGetP2PAttribute, value, (CUdevice_P2PAttribute)attribute, d, p);
}

cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}
