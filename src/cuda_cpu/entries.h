/*
 * entries.h - the calls of the CUDA driver API that this library has: those that cuda_driver.h and the headers *_calls.h list, and more. Every call has
 * a body in one of the files in the upper rows of README.md's map: one without fails to link.
 */
#ifndef CC_ENTRIES_H
#define CC_ENTRIES_H

#include "cuda_cpu/array_calls.h"
#include "cuda_cpu/graph_calls.h"
#include "cuda_cpu/library_calls.h"
#include "cuda_cpu/link_calls.h"
#include "cuda_cpu/pool_calls.h"
#include "device/cuda_driver.h"

typedef struct {
    char bytes[16];
} CUuuid;

#define CC_MORE_CALLS(X)                                                                                              \
    X(cuGetErrorString, (CUresult error, const char **text))                                                          \
    X(cuDriverGetVersion, (int *version))                                                                             \
    X(cuDeviceTotalMem, (size_t *bytes, CUdevice device))                                                             \
    X(cuCtxSetCurrent, (CUcontext context))                                                                           \
    X(cuCtxGetCurrent, (CUcontext * context))                                                                         \
    X(cuCtxCreate, (CUcontext * context, unsigned flags, CUdevice device))                                            \
    X(cuCtxCreate_v4, (CUcontext * context, void *params, unsigned flags, CUdevice device))                           \
    X(cuCtxDestroy, (CUcontext context))                                                                              \
    X(cuCtxGetDevice, (CUdevice * device))                                                                            \
    X(cuDeviceComputeCapability, (int *major, int *minor, CUdevice device))                                           \
    X(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device))                                                              \
    X(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active))                                    \
    X(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned flags))                                                  \
    X(cuMemHostGetDevicePointer, (CUdeviceptr * at, void *host, unsigned flags))                                      \
    X(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                                 \
    X(cuMemcpyDtoDAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                           \
    X(cuMemcpyHtoDAsync, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                           \
    X(cuMemcpyDtoHAsync, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                                 \
    X(cuCtxSynchronize, (void))                                                                                       \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                            \
    X(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *arg))                                                    \
    X(cuEventSynchronize, (CUevent event))                                                                            \
    X(cuEventElapsedTime, (float *ms, CUevent from, CUevent to))                                                      \
    X(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                                     \
    X(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes))                                                 \
    X(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes))                                                       \
    X(cuMemGetInfo, (size_t *left, size_t *all))                                                                      \
    X(cuMemAllocManaged, (CUdeviceptr * at, size_t bytes, unsigned flags))                                            \
    X(cuMemPrefetchAsync, (CUdeviceptr at, size_t bytes, CUdevice to, CUstream stream))                               \
    X(cuMemPrefetchAsync_v2, (CUdeviceptr at, size_t bytes, CUmemLocation to, unsigned flags, CUstream stream))       \
    X(cuMemAdvise, (CUdeviceptr at, size_t bytes, int advice, CUdevice where))                                        \
    X(cuMemAdvise_v2, (CUdeviceptr at, size_t bytes, int advice, CUmemLocation where))                                \
    X(cuMemsetD8, (CUdeviceptr to, unsigned char value, size_t bytes))                                                \
    X(cuModuleLoadData, (CUmodule * module, const void *image))                                                       \
    X(cuModuleLoad, (CUmodule * module, const char *file))                                                            \
    X(cuFuncGetAttribute, (int *value, int attribute, CUfunction function))                                           \
    X(cuFuncSetAttribute, (CUfunction function, int attribute, int value))                                            \
    X(cuLaunchCooperativeKernel, (CUfunction function, unsigned groups_x, unsigned groups_y, unsigned groups_z,       \
                                  unsigned items_x, unsigned items_y, unsigned items_z, unsigned shared_bytes,        \
                                  CUstream stream, void **args))

/* Programs find the calls by dlsym or by cuGetProcAddress_v2. -Bsymbolic: calls inside the library stay in it. */
#define CC_DECLARE_CALL(call, params) __attribute__((visibility("default"))) CUresult call params;
CUDA_CALLS(CC_DECLARE_CALL)
CUDA_CALLS_VIRTUAL(CC_DECLARE_CALL)
CUDA_CALLS_SINCE_12_4(CC_DECLARE_CALL)
CUDA_CALLS_CPU(CC_DECLARE_CALL)
CC_MORE_CALLS(CC_DECLARE_CALL)
CC_LINK_CALLS(CC_DECLARE_CALL)
CC_LIBRARY_CALLS(CC_DECLARE_CALL)
CC_GRAPH_CALLS(CC_DECLARE_CALL)
CC_POOL_CALLS(CC_DECLARE_CALL)
CC_ARRAY_CALLS(CC_DECLARE_CALL)
#undef CC_DECLARE_CALL

enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_POINTER_ATTRIBUTE_IS_MANAGED = 8 };
enum { CC_ERROR_LAUNCH_FAILED = 719, CC_ERROR_INVALID_HANDLE = 400, CC_ERROR_INVALID_PTX = 218, CC_ERROR_FILE_NOT_FOUND = 301, CC_ERROR_ILLEGAL_STATE = 401 };

/* 0, or CUDA_ERROR_INVALID_CONTEXT when the thread has no current context. */
CUresult cc_check_context(void);

/* The device of the current context. */
int cc_current_device(void);

#endif
