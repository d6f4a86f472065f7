/* pool.c - pools of memory for allocations in the order of a stream. On the CPU a pool holds nothing back: it has its attributes. */
#include "runtime.h"

#include <stdint.h>
#include <stdlib.h>

/* On the CPU; in place of the driver's structure. */
struct pool {
    uint64_t threshold;
    int reuse[3];
};
static struct pool standard[RT_DEVICES];

#define POOL(p) ((struct pool *)(p))
#define DRIVERS(p) ((CUmemoryPool)(p))

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    RT_BEGIN;
    if (device < 0 || device >= RT_DEVICES)
        return rt_result((int)cudaErrorInvalidDevice);
    *pool = (cudaMemPool_t)&standard[device];
    return rt_is_cpu() ? cudaSuccess : CALL(cuDeviceGetDefaultMemPool, (CUmemoryPool *)pool, device);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    RT_BEGIN;
    if (!rt_is_cpu())
        return CALL(cuMemPoolCreate, (CUmemoryPool *)pool, (const CUmemPoolProps *)props);
    if (props->handleTypes)
        return rt_result((int)cudaErrorNotSupported); /* pools of other processes */
    struct pool *p = calloc(1, sizeof *p);
    *pool = (cudaMemPool_t)p;
    return p ? cudaSuccess : rt_result((int)cudaErrorMemoryAllocation);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    RT_BEGIN;
    if (!rt_is_cpu())
        return CALL(cuMemPoolDestroy, DRIVERS(pool));
    if (POOL(pool) < standard || POOL(pool) >= standard + RT_DEVICES)
        free(POOL(pool));
    return cudaSuccess;
}

/* The attribute's place on the CPU: *wide or *narrow; the used and reserved bytes have none. */
static int place(cudaMemPool_t pool, enum cudaMemPoolAttr a, uint64_t **wide, int **narrow)
{
    *wide = a == cudaMemPoolAttrReleaseThreshold ? &POOL(pool)->threshold : NULL;
    *narrow = a >= cudaMemPoolReuseFollowEventDependencies && a <= cudaMemPoolReuseAllowInternalDependencies ? &POOL(pool)->reuse[a - 1] : NULL;
    return *wide || *narrow;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr a, void *value)
{
    uint64_t *wide;
    int *narrow;
    RT_BEGIN;
    if (!rt_is_cpu())
        return CALL(cuMemPoolSetAttribute, DRIVERS(pool), (CUmemPool_attribute)a, value);
    if (!place(pool, a, &wide, &narrow))
        return rt_result((int)cudaErrorNotSupported);
    if (wide)
        *wide = *(uint64_t *)value;
    else
        *narrow = *(int *)value;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr a, void *value)
{
    uint64_t *wide;
    int *narrow;
    RT_BEGIN;
    if (!rt_is_cpu())
        return CALL(cuMemPoolGetAttribute, DRIVERS(pool), (CUmemPool_attribute)a, value);
    if (!place(pool, a, &wide, &narrow))
        return rt_result((int)cudaErrorNotSupported);
    if (wide)
        *(uint64_t *)value = *wide;
    else
        *(int *)value = *narrow;
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    RT_BEGIN;
    return rt_is_cpu() ? cudaSuccess : CALL(cuMemPoolTrimTo, DRIVERS(pool), keep);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t n)
{
    RT_BEGIN;
    return rt_is_cpu() ? cudaSuccess : CALL(cuMemPoolSetAccess, DRIVERS(pool), (const CUmemAccessDesc *)access, n);
}

cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    RT_BEGIN;
    return rt_is_cpu() ? cudaMalloc(p, bytes) : CALL(cuMemAllocFromPoolAsync, (CUdeviceptr *)p, bytes, DRIVERS(pool), stream);
}
