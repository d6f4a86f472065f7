/* array.c - arrays, textures and surfaces; copies of three dimensions, and between arrays and memory. */
#include "runtime.h"

#include <string.h>

/* ---- formats ---------------------------------------------------------------------------------------------------------- */

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

/* The driver's format and number of channels; 0: there is none. */
static unsigned format_of(const struct cudaChannelFormatDesc *d, CUarray_format *format)
{
    unsigned n = d->w ? 4 : d->z ? 3 : d->y ? 2 : 1, log = d->x == 8 ? 0 : d->x == 16 ? 1 : 2;
    static const CUarray_format formats[][3] = {
        [cudaChannelFormatKindSigned] = {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32},
        [cudaChannelFormatKindUnsigned] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32},
        [cudaChannelFormatKindFloat] = {0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT},
    };
    int good = (d->x == 8 || d->x == 16 || d->x == 32) && n != 3 && (n < 2 || d->y == d->x) && (n < 4 || (d->z == d->x && d->w == d->x));
    *format = good && (size_t)d->f < sizeof formats / sizeof *formats ? formats[d->f][log] : 0;
    return *format ? n : 0;
}

static struct cudaChannelFormatDesc desc_of(CUarray_format f, unsigned n)
{
    int bits = f == CU_AD_FORMAT_UNSIGNED_INT8 || f == CU_AD_FORMAT_SIGNED_INT8                                       ? 8
               : f == CU_AD_FORMAT_UNSIGNED_INT16 || f == CU_AD_FORMAT_SIGNED_INT16 || f == CU_AD_FORMAT_HALF ? 16
                                                                                                              : 32;
    enum cudaChannelFormatKind kind = f >= CU_AD_FORMAT_HALF ? cudaChannelFormatKindFloat : f >= CU_AD_FORMAT_SIGNED_INT8 ? cudaChannelFormatKindSigned
                                                                                                                        : cudaChannelFormatKindUnsigned;
    return (struct cudaChannelFormatDesc){bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 2 ? bits : 0, kind};
}

/* ---- arrays ----------------------------------------------------------------------------------------------------------- */

cudaError_t cudaMalloc3DArray(cudaArray_t *a, const struct cudaChannelFormatDesc *d, struct cudaExtent e, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR c = {.Width = e.width, .Height = e.height, .Depth = e.depth, .Flags = flags};
    RT_BEGIN;
    c.NumChannels = format_of(d, &c.Format);
    return c.NumChannels ? CALL(cuArray3DCreate, (CUarray *)a, &c) : rt_result(cudaErrorInvalidChannelDescriptor);
}

cudaError_t cudaMallocArray(cudaArray_t *a, const struct cudaChannelFormatDesc *d, size_t width, size_t height, unsigned flags)
{
    return cudaMalloc3DArray(a, d, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaFreeArray(cudaArray_t a)
{
    RT_BEGIN;
    return a ? CALL(cuArrayDestroy, (CUarray)a) : cudaSuccess;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *d, struct cudaExtent *e, unsigned *flags, cudaArray_t a)
{
    CUDA_ARRAY3D_DESCRIPTOR c;
    RT_BEGIN;
    cudaError_t r = CALL(cuArray3DGetDescriptor, &c, (CUarray)a);
    if (!r && d)
        *d = desc_of(c.Format, c.NumChannels);
    if (!r && e)
        *e = (struct cudaExtent){c.Width, c.Height, c.Depth};
    if (!r && flags)
        *flags = c.Flags;
    return r;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *d, cudaArray_const_t a)
{
    return cudaArrayGetInfo(d, NULL, NULL, (cudaArray_t)(size_t)a);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *p, struct cudaExtent e)
{
    p->xsize = e.width;
    p->ysize = e.height;
    return cudaMallocPitch(&p->ptr, &p->pitch, e.width, e.height * e.depth);
}

/* ---- textures and surfaces --------------------------------------------------------------------------------------------- */

static cudaError_t resource_of(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *out)
{
    unsigned n = 1;
    memset(out, 0, sizeof *out);
    out->resType = (CUresourcetype)r->resType;
    if (r->resType == cudaResourceTypeArray) {
        out->res.array.hArray = (CUarray)r->res.array.array;
    } else if (r->resType == cudaResourceTypeLinear) {
        n = out->res.linear.numChannels = format_of(&r->res.linear.desc, &out->res.linear.format);
        out->res.linear.devPtr = (CUdeviceptr)(size_t)r->res.linear.devPtr;
        out->res.linear.sizeInBytes = r->res.linear.sizeInBytes;
    } else if (r->resType == cudaResourceTypePitch2D) {
        n = out->res.pitch2D.numChannels = format_of(&r->res.pitch2D.desc, &out->res.pitch2D.format);
        out->res.pitch2D.devPtr = (CUdeviceptr)(size_t)r->res.pitch2D.devPtr;
        out->res.pitch2D.width = r->res.pitch2D.width;
        out->res.pitch2D.height = r->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
    } else {
        return rt_result(cudaErrorNotSupported);
    }
    return n ? cudaSuccess : rt_result(cudaErrorInvalidChannelDescriptor);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *t, const struct cudaResourceDesc *r, const struct cudaTextureDesc *d, const struct cudaResourceViewDesc *view)
{
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    RT_BEGIN;
    cudaError_t e = resource_of(r, &resource);
    if (e || view)
        return e ? e : rt_result(cudaErrorNotSupported);
    memset(&texture, 0, sizeof texture);
    for (int k = 0; k < 3; k++)
        texture.addressMode[k] = (CUaddress_mode)d->addressMode[k];
    texture.filterMode = (CUfilter_mode)d->filterMode;
    texture.flags = (d->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) | (d->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
                    (d->sRGB ? CU_TRSF_SRGB : 0u);
    texture.maxAnisotropy = d->maxAnisotropy;
    texture.mipmapFilterMode = (CUfilter_mode)d->mipmapFilterMode;
    texture.mipmapLevelBias = d->mipmapLevelBias;
    texture.minMipmapLevelClamp = d->minMipmapLevelClamp;
    texture.maxMipmapLevelClamp = d->maxMipmapLevelClamp;
    memcpy(texture.borderColor, d->borderColor, sizeof texture.borderColor);
    return CALL(cuTexObjectCreate, (CUtexObject *)t, &resource, &texture, NULL);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t t)
{
    RT_BEGIN;
    return t ? CALL(cuTexObjectDestroy, t) : cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *s, const struct cudaResourceDesc *r)
{
    CUDA_RESOURCE_DESC resource;
    RT_BEGIN;
    cudaError_t e = resource_of(r, &resource);
    return e ? e : CALL(cuSurfObjectCreate, (CUsurfObject *)s, &resource);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t s)
{
    RT_BEGIN;
    return s ? CALL(cuSurfObjectDestroy, s) : cudaSuccess;
}

/* ---- copies ------------------------------------------------------------------------------------------------------------ */

/* The bytes of an element; 1 where there is no array. */
static size_t element(cudaArray_t a)
{
    struct cudaChannelFormatDesc d;
    return a && !cudaGetChannelDesc(&d, a) ? (size_t)(d.x + d.y + d.z + d.w) / 8 : 1;
}

CUDA_MEMCPY3D rt_copy_of(const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D c;
    int from_host = p->kind == cudaMemcpyHostToDevice || p->kind == cudaMemcpyHostToHost;
    int to_host = p->kind == cudaMemcpyDeviceToHost || p->kind == cudaMemcpyHostToHost;
    size_t from = element(p->srcArray), to = element(p->dstArray);
    CUmemorytype memory = p->kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_DEVICE;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : from_host ? CU_MEMORYTYPE_HOST : memory;
    c.dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : to_host ? CU_MEMORYTYPE_HOST : memory;
    c.srcHost = p->srcPtr.ptr, c.srcDevice = (CUdeviceptr)(size_t)p->srcPtr.ptr;
    c.dstHost = p->dstPtr.ptr, c.dstDevice = (CUdeviceptr)(size_t)p->dstPtr.ptr;
    c.srcArray = (CUarray)p->srcArray, c.dstArray = (CUarray)p->dstArray;
    c.srcXInBytes = p->srcPos.x * from, c.srcY = p->srcPos.y, c.srcZ = p->srcPos.z;
    c.dstXInBytes = p->dstPos.x * to, c.dstY = p->dstPos.y, c.dstZ = p->dstPos.z;
    c.srcPitch = p->srcPtr.pitch, c.srcHeight = p->srcPtr.ysize;
    c.dstPitch = p->dstPtr.pitch, c.dstHeight = p->dstPtr.ysize;
    c.WidthInBytes = p->extent.width * (p->srcArray ? from : to), c.Height = p->extent.height, c.Depth = p->extent.depth;
    return c;
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    RT_BEGIN;
    const CUDA_MEMCPY3D c = rt_copy_of(p);
    return CALL(cuMemcpy3DAsync, &c, stream);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    cudaError_t e = cudaMemcpy3DAsync(p, NULL);
    return e ? e : CALL(cuStreamSynchronize, NULL);
}

/* A rectangle of bytes between memory and an array; x is in bytes. */
static cudaError_t rectangle(cudaArray_t to, cudaArray_t from, size_t x, size_t y, const void *memory, size_t pitch, size_t width, size_t height,
                             enum cudaMemcpyKind kind, cudaStream_t stream)
{
    int host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
    CUmemorytype type = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED : host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    CUDA_MEMCPY2D c;
    RT_BEGIN;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = from ? CU_MEMORYTYPE_ARRAY : type;
    c.dstMemoryType = to ? CU_MEMORYTYPE_ARRAY : type;
    c.srcArray = (CUarray)from, c.dstArray = (CUarray)to;
    c.srcHost = memory, c.srcDevice = (CUdeviceptr)(size_t)memory, c.srcPitch = pitch;
    c.dstHost = (void *)(size_t)memory, c.dstDevice = (CUdeviceptr)(size_t)memory, c.dstPitch = pitch;
    *(from ? &c.srcXInBytes : &c.dstXInBytes) = x;
    *(from ? &c.srcY : &c.dstY) = y;
    c.WidthInBytes = width, c.Height = height;
    return CALL(cuMemcpy2DAsync, &c, stream);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return rectangle(to, NULL, x, y, from, pitch, width, height, kind, stream);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
                                       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return rectangle(NULL, (cudaArray_t)(size_t)from, x, y, to, pitch, width, height, kind, stream);
}

static cudaError_t ended(cudaError_t e)
{
    return e ? e : CALL(cuStreamSynchronize, NULL);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return ended(cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, NULL));
}

cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return ended(cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, NULL));
}

/* Bytes from (x, y) on, over the ends of rows. */
static cudaError_t linear(cudaArray_t to, cudaArray_t from, size_t x, size_t y, const char *memory, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct cudaExtent size;
    cudaArray_t a = to ? to : from;
    cudaError_t e = cudaArrayGetInfo(NULL, &size, NULL, a);
    size_t row = e ? 0 : size.width * element(a);
    if (!e && x >= row)
        return rt_result(cudaErrorInvalidValue);
    while (!e && bytes) {
        size_t rows = x || bytes < row ? 1 : bytes / row, n = x || bytes < row ? (bytes < row - x ? bytes : row - x) : row;
        e = rectangle(to, from, x, y, memory, row, n, rows, kind, stream);
        memory += n * rows;
        bytes -= n * rows;
        y += rows;
        x = 0;
    }
    return e;
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return linear(to, NULL, x, y, from, bytes, kind, stream);
}

cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return linear(NULL, (cudaArray_t)(size_t)from, x, y, to, bytes, kind, stream);
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return ended(cudaMemcpyToArrayAsync(to, x, y, from, bytes, kind, NULL));
}

cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, enum cudaMemcpyKind kind)
{
    return ended(cudaMemcpyFromArrayAsync(to, from, x, y, bytes, kind, NULL));
}
