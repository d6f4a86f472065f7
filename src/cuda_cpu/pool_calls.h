/* pool_calls.h - the calls of the CUDA driver API for memory in the order of a stream and its pools, for the library and its tests. */
#ifndef CC_POOL_CALLS_H
#define CC_POOL_CALLS_H

#include "cuda_cpu/graph_calls.h"

typedef struct CUmemPoolHandle_st *CUmemoryPool;

#define CC_POOL_CALLS(X)                                                                                              \
    X(cuMemAllocAsync, (CUdeviceptr * at, size_t bytes, CUstream stream))                                             \
    X(cuMemAllocFromPoolAsync, (CUdeviceptr * at, size_t bytes, CUmemoryPool pool, CUstream stream))                  \
    X(cuMemFreeAsync, (CUdeviceptr at, CUstream stream))                                                              \
    X(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device))                                              \
    X(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device))                                                     \
    X(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool))                                                       \
    X(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *props))                                            \
    X(cuMemPoolDestroy, (CUmemoryPool pool))                                                                          \
    X(cuMemPoolTrimTo, (CUmemoryPool pool, size_t bytes))                                                             \
    X(cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void *value))                                         \
    X(cuMemPoolGetAttribute, (CUmemoryPool pool, int attribute, void *value))                                         \
    X(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *desc, size_t n))                                 \
    X(cuMemPoolGetAccess, (CUmemAccess_flags * flags, CUmemoryPool pool, CUmemLocation *location))

#endif
