/* library_calls.h - the calls of the CUDA driver API for libraries, and their types, for the library and its tests. */
#ifndef CC_LIBRARY_CALLS_H
#define CC_LIBRARY_CALLS_H

#include "device/cuda_driver.h"

typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;

#define CC_LIBRARY_CALLS(X)                                                                                           \
    X(cuLibraryLoadData, (CUlibrary *library, const void *image, CUjit_option *option, void **value, unsigned n,      \
                          int *library_option, void **library_value, unsigned n_library))                             \
    X(cuLibraryUnload, (CUlibrary library))                                                                           \
    X(cuLibraryGetModule, (CUmodule *module, CUlibrary library))                                                      \
    X(cuLibraryGetGlobal, (CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name))                      \
    X(cuLibraryGetKernel, (CUkernel *kernel, CUlibrary library, const char *name))                                    \
    X(cuKernelGetFunction, (CUfunction *function, CUkernel kernel))

#endif
