/* pools.c - memory in the order of a stream, and its pools. */
#include "runtime.h"

/* No bytes have no address. */
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream)
{
    RT_BEGIN;
    *p = NULL;
    return bytes ? CALL(cuMemAllocAsync, (CUdeviceptr *)p, bytes, stream) : cudaSuccess;
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    RT_BEGIN;
    return p ? CALL(cuMemFreeAsync, (CUdeviceptr)(size_t)p, stream) : cudaSuccess;
}

SAME(cudaMallocFromPoolAsync, cuMemAllocFromPoolAsync, (void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream), (CUdeviceptr *)p, bytes, pool, stream)
SAME(cudaDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, (cudaMemPool_t *pool, int device), pool, device)
SAME(cudaDeviceGetMemPool, cuDeviceGetMemPool, (cudaMemPool_t *pool, int device), pool, device)
SAME(cudaDeviceSetMemPool, cuDeviceSetMemPool, (int device, cudaMemPool_t pool), device, pool)

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "the runtime's structure is the driver's");
SAME(cudaMemPoolCreate, cuMemPoolCreate, (cudaMemPool_t *pool, const struct cudaMemPoolProps *p), pool, (const CUmemPoolProps *)p)
SAME(cudaMemPoolDestroy, cuMemPoolDestroy, (cudaMemPool_t pool), pool)
SAME(cudaMemPoolTrimTo, cuMemPoolTrimTo, (cudaMemPool_t pool, size_t bytes), pool, bytes)
SAME(cudaMemPoolSetAttribute, cuMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr a, void *v), pool, (CUmemPool_attribute)a, v)
SAME(cudaMemPoolGetAttribute, cuMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr a, void *v), pool, (CUmemPool_attribute)a, v)
SAME(cudaMemPoolSetAccess, cuMemPoolSetAccess, (cudaMemPool_t pool, const struct cudaMemAccessDesc *desc, size_t n), pool, (const CUmemAccessDesc *)desc, n)
SAME(cudaMemPoolGetAccess, cuMemPoolGetAccess, (enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *l),
     (CUmemAccess_flags *)flags, pool, (CUmemLocation *)l)
