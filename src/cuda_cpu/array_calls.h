/* array_calls.h - the calls of the CUDA driver API for arrays, textures and surfaces, and copies of two and three dimensions. */
#ifndef CC_ARRAY_CALLS_H
#define CC_ARRAY_CALLS_H

#include "cuda_cpu/graph_calls.h"

typedef struct CUarray_st *CUarray;
typedef uint64_t CUtexObject, CUsurfObject;

typedef struct {
    size_t width, height;
    int format;
    unsigned channels;
} CUDA_ARRAY_DESCRIPTOR;

typedef struct {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} CUDA_ARRAY3D_DESCRIPTOR;

enum { CC_RESOURCE_ARRAY, CC_RESOURCE_MIPMAPPED, CC_RESOURCE_LINEAR, CC_RESOURCE_PITCH2D };
typedef struct {
    int type;
    union {
        CUarray array;
        struct {
            CUdeviceptr at;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            CUdeviceptr at;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } pitch2D;
        int reserved[32];
    };
    unsigned flags;
} CUDA_RESOURCE_DESC;

enum { CC_READ_INTEGER = 1, CC_NORMALIZED = 2, CC_SRGB = 16 };
typedef struct {
    int mode[3], filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_least, mipmap_most, border[4];
    int reserved[12];
} CUDA_TEXTURE_DESC;

typedef struct {
    size_t from_x, from_y;
    int from_memory;
    const void *from_host;
    CUdeviceptr from_device;
    CUarray from_array;
    size_t from_pitch, to_x, to_y;
    int to_memory;
    void *to_host;
    CUdeviceptr to_device;
    CUarray to_array;
    size_t to_pitch, width_bytes, height;
} CUDA_MEMCPY2D;

#define CC_ARRAY_CALLS(X)                                                                                             \
    X(cuArrayCreate, (CUarray * array, const CUDA_ARRAY_DESCRIPTOR *desc))                                            \
    X(cuArrayGetDescriptor, (CUDA_ARRAY_DESCRIPTOR * desc, CUarray array))                                            \
    X(cuArray3DCreate, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR *desc))                                        \
    X(cuArray3DGetDescriptor, (CUDA_ARRAY3D_DESCRIPTOR * desc, CUarray array))                                        \
    X(cuArrayDestroy, (CUarray array))                                                                                \
    X(cuTexObjectCreate, (CUtexObject * object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture, \
                          const void *view))                                                                          \
    X(cuTexObjectDestroy, (CUtexObject object))                                                                       \
    X(cuSurfObjectCreate, (CUsurfObject * object, const CUDA_RESOURCE_DESC *resource))                                \
    X(cuSurfObjectDestroy, (CUsurfObject object))                                                                     \
    X(cuMemcpy2D, (const CUDA_MEMCPY2D *copy))                                                                        \
    X(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D *copy))                                                               \
    X(cuMemcpy2DAsync, (const CUDA_MEMCPY2D *copy, CUstream stream))                                                  \
    X(cuMemcpy3D, (const CUDA_MEMCPY3D *copy))                                                                        \
    X(cuMemcpy3DAsync, (const CUDA_MEMCPY3D *copy, CUstream stream))

#endif
