/* link_calls.h - the calls of the CUDA driver API that link modules, and their types, for the library and its tests. */
#ifndef CC_LINK_CALLS_H
#define CC_LINK_CALLS_H

#include "device/cuda_driver.h"

typedef struct CUlinkState_st *CUlinkState;
typedef int CUjitInputType;
enum { CC_INPUT_CUBIN, CC_INPUT_PTX, CC_INPUT_FATBINARY, CC_INPUT_OBJECT, CC_INPUT_LIBRARY, CC_INPUT_LAST = 10 };

#define CC_LINK_CALLS(X)                                                                                              \
    X(cuLinkCreate, (unsigned n, CUjit_option *option, void **value, CUlinkState *link))                              \
    X(cuLinkAddData, (CUlinkState link, CUjitInputType type, void *data, size_t bytes, const char *name, unsigned n,  \
                      CUjit_option *option, void **value))                                                            \
    X(cuLinkAddFile, (CUlinkState link, CUjitInputType type, const char *path, unsigned n, CUjit_option *option,      \
                      void **value))                                                                                  \
    X(cuLinkComplete, (CUlinkState link, void **image, size_t *bytes))                                                \
    X(cuLinkDestroy, (CUlinkState link))

#endif
