/*
 * entries.h - the calls of the CUDA driver API that this library has: those that cuda_driver.h lists, and more. Every call has
 * a body in context.c, memory.c, stream.c, kernel.c or driver.c: one without fails to link.
 */
#ifndef CC_ENTRIES_H
#define CC_ENTRIES_H

#include "device/cuda_driver.h"

typedef void (*CUhostFn)(void *arg);

#define CC_MORE_CALLS(X)                                                                                              \
    X(cuGetErrorString, (CUresult error, const char **text))                                                          \
    X(cuDriverGetVersion, (int *version))                                                                             \
    X(cuDeviceTotalMem, (size_t *bytes, CUdevice device))                                                             \
    X(cuCtxSetCurrent, (CUcontext context))                                                                           \
    X(cuCtxGetCurrent, (CUcontext * context))                                                                         \
    X(cuCtxSynchronize, (void))                                                                                       \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                            \
    X(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *arg))                                                    \
    X(cuEventSynchronize, (CUevent event))                                                                            \
    X(cuEventElapsedTime, (float *ms, CUevent from, CUevent to))                                                      \
    X(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                                     \
    X(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes))                                                 \
    X(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes))                                                       \
    X(cuMemsetD8, (CUdeviceptr to, unsigned char value, size_t bytes))                                                \
    X(cuModuleLoadData, (CUmodule * module, const void *image))                                                       \
    X(cuModuleLoad, (CUmodule * module, const char *file))                                                            \
    X(cuFuncGetAttribute, (int *value, int attribute, CUfunction function))                                           \
    X(cuFuncSetAttribute, (CUfunction function, int attribute, int value))                                            \
    X(cuLaunchCooperativeKernel, (CUfunction function, unsigned groups_x, unsigned groups_y, unsigned groups_z,       \
                                  unsigned items_x, unsigned items_y, unsigned items_z, unsigned shared_bytes,        \
                                  CUstream stream, void **args))

#define CC_DECLARE_CALL(call, params) CUresult call params;
CUDA_CALLS(CC_DECLARE_CALL)
CUDA_CALLS_SINCE_12_4(CC_DECLARE_CALL)
CUDA_CALLS_CPU(CC_DECLARE_CALL)
CC_MORE_CALLS(CC_DECLARE_CALL)
#undef CC_DECLARE_CALL

enum { CC_ERROR_LAUNCH_FAILED = 719, CC_ERROR_INVALID_HANDLE = 400, CC_ERROR_INVALID_PTX = 218, CC_ERROR_FILE_NOT_FOUND = 301 };

/* 0, or CUDA_ERROR_INVALID_CONTEXT when the thread has no current context. */
CUresult cc_check_context(void);

/* The device of the current context. */
int cc_current_device(void);

#endif
