/*
 * cuda_driver.h - declarations of the CUDA driver API's functions that cuda.c calls: the build needs no toolkit.
 *
 * Source: the CUDA driver API's reference manual, version 12.0. X(name, parameters) for each. test/device/cuda.sh compares
 * them with NVIDIA's header where that is installed.
 */
#ifndef SHI_CUDA_DRIVER_H
#define SHI_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifndef __cuda_cuda_h__
typedef int CUresult, CUdevice, CUdevice_attribute, CUjit_option, CUdriverProcAddressQueryResult,
    CUmemRangeHandleType, CUpointer_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct {
    char reserved[64];
} CUipcMemHandle;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef int CUmemLocationType, CUmemAllocationType, CUmemAllocationHandleType, CUmemAccess_flags, CUmemAllocationGranularity_flags;
typedef struct {
    CUmemLocationType type;
    int id;
} CUmemLocation;
typedef struct {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType, gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;
typedef struct {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_MPS_CONNECTION_FAILED = 805,
    CUDA_ERROR_MPS_RPC_FAILURE = 806,
    CUDA_ERROR_MPS_SERVER_NOT_READY = 807,
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808,
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809,

    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
    CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124,

    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,

    CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    CU_MEM_LOCATION_TYPE_DEVICE = 1,
    CU_MEM_LOCATION_TYPE_HOST = 2,
    CU_MEM_LOCATION_TYPE_HOST_NUMA = 3,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
    CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
    CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
    CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,

    CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
    CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER = 100,
    CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_MEMHOSTALLOC_PORTABLE = 1,
    CU_MEMHOSTALLOC_DEVICEMAP = 2,
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};
#endif
enum { CU_API_VERSION = 12000, CU_API_VERSION_12_4 = 12040 }; /* versions for cuGetProcAddress */

#define CUDA_CALLS(X)                                                                                                \
    X(cuInit, (unsigned flags))                                                                                      \
    X(cuGetErrorName, (CUresult error, const char **name))                                                           \
    X(cuDeviceGetCount, (int *n))                                                                                    \
    X(cuDeviceGet, (CUdevice * device, int ordinal))                                                                 \
    X(cuDeviceGetName, (char *name, int bytes, CUdevice device))                                                     \
    X(cuDeviceGetPCIBusId, (char *id, int bytes, CUdevice device))                                                   \
    X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))                                            \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                              \
    X(cuDevicePrimaryCtxRelease, (CUdevice device))                                                                  \
    X(cuCtxPushCurrent, (CUcontext context))                                                                         \
    X(cuCtxPopCurrent, (CUcontext * context))                                                                        \
    X(cuStreamCreate, (CUstream * stream, unsigned flags))                                                           \
    X(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority))                                 \
    X(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                                      \
    X(cuStreamDestroy, (CUstream stream))                                                                            \
    X(cuStreamSynchronize, (CUstream stream))                                                                        \
    X(cuStreamQuery, (CUstream stream))                                                                              \
    X(cuEventCreate, (CUevent * event, unsigned flags))                                                              \
    X(cuEventDestroy, (CUevent event))                                                                               \
    X(cuEventRecord, (CUevent event, CUstream stream))                                                               \
    X(cuEventQuery, (CUevent event))                                                                                 \
    X(cuMemAlloc, (CUdeviceptr * at, size_t bytes))                                                                  \
    X(cuMemFree, (CUdeviceptr at))                                                                                   \
    X(cuMemGetAddressRange, (CUdeviceptr * base, size_t *bytes, CUdeviceptr at))                                     \
    X(cuPointerGetAttribute, (void *value, CUpointer_attribute attribute, CUdeviceptr at))                           \
    X(cuPointerSetAttribute, (const void *value, CUpointer_attribute attribute, CUdeviceptr at))                     \
    X(cuMemHostAlloc, (void **at, size_t bytes, unsigned flags))                                                     \
    X(cuMemFreeHost, (void *at))                                                                                     \
    X(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                              \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))                         \
    X(cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr at))                                                  \
    X(cuIpcOpenMemHandle, (CUdeviceptr * at, CUipcMemHandle handle, unsigned flags))                                 \
    X(cuIpcCloseMemHandle, (CUdeviceptr at))                                                                         \
    X(cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned n, CUjit_option *option, void **value))             \
    X(cuModuleUnload, (CUmodule module))                                                                             \
    X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                               \
    X(cuModuleGetGlobal, (CUdeviceptr * at, size_t *bytes, CUmodule module, const char *name))                       \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, CUfunction function, int items, size_t shared_bytes))    \
    X(cuLaunchKernel, (CUfunction function, unsigned groups_x, unsigned groups_y, unsigned groups_z,                 \
                       unsigned items_x, unsigned items_y, unsigned items_z, unsigned shared_bytes, CUstream stream, \
                       void **args, void **extra))

/* Not every driver has these. */
#define CUDA_CALLS_OPTIONAL(X)                                                                                       \
    X(cuMemGetHandleForAddressRange, (void *handle, CUdeviceptr at, size_t bytes, CUmemRangeHandleType type,              \
       unsigned long long flags))
/* Memory without an address, which the program maps to addresses that it reserves. */
#define CUDA_CALLS_VIRTUAL(X)                                                                                        \
    X(cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags which)) \
    X(cuMemCreate, (CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp *prop, unsigned long long flags)) \
    X(cuMemRelease, (CUmemGenericAllocationHandle handle))                                                           \
    X(cuMemAddressReserve, (CUdeviceptr * at, size_t bytes, size_t align, CUdeviceptr hint, unsigned long long flags)) \
    X(cuMemAddressFree, (CUdeviceptr at, size_t bytes))                                                              \
    X(cuMemMap, (CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)) \
    X(cuMemUnmap, (CUdeviceptr at, size_t bytes))                                                                    \
    X(cuMemSetAccess, (CUdeviceptr at, size_t bytes, const CUmemAccessDesc *desc, size_t n))                         \
    X(cuMemGetAccess, (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr at))                    \
    X(cuMemExportToShareableHandle, (void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags)) \
    X(cuMemImportFromShareableHandle, (CUmemGenericAllocationHandle * handle, void *from, CUmemAllocationHandleType type)) \
    X(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void *at))                                \
    X(cuMemGetAllocationPropertiesFromHandle, (CUmemAllocationProp * prop, CUmemGenericAllocationHandle handle))
#define CUDA_CALLS_SINCE_12_4(X)                                                                                     \
    X(cuFuncGetParamInfo, (CUfunction function, size_t i, size_t *offset, size_t *bytes))                            \
    X(cuModuleGetFunctionCount, (unsigned *n, CUmodule module))                                                      \
    X(cuModuleEnumerateFunctions, (CUfunction *functions, unsigned n, CUmodule module))                              \
    X(cuFuncLoad, (CUfunction function))

/* Extensions of libcuda_cpu.so: see while_idle and stalled in device.h. */
#define CUDA_CALLS_CPU(X)                                                                                            \
    X(cuxCpuWhileIdle, (int (*fn)(void)))                                                                            \
    X(cuxCpuStalled, (int *at, char *kernel, size_t room, uint32_t *items, uint64_t *addr, uint64_t *value, uint32_t *words))

/* The call that finds all others. `found` may be NULL. */
typedef CUresult cuGetProcAddress_v2_t(const char *name, void **call, int version, uint64_t flags,
                                       CUdriverProcAddressQueryResult *found);

#endif
