/* array.c - entry points for arrays, textures, surfaces, and copies of two and three dimensions. An array is memory of the host: its rows follow each other. */
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/graph.h"
#include "cuda_cpu/queue.h"
#include "cuda_cpu/stream.h"
#include "cuda_cpu/texture.h"
#include "ze_cpu/mem.h"

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

static bool good_format(int format, unsigned channels)
{
    return cc_format_bytes((enum cc_format)format) && (channels == 1 || channels == 2 || channels == 4);
}

CUresult cuArray3DCreate(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    CUresult r = cc_check_context();
    bool good = good_format(d->format, d->channels) && d->width && !(d->flags & ~(unsigned)(CC_LAYERED | CC_SURFACE | CC_CUBEMAP | CC_GATHER));
    if (d->flags & CC_CUBEMAP)
        good &= d->width == d->height && d->depth && d->depth % 6 == 0 && (d->depth == 6 || d->flags & CC_LAYERED);
    if (r || !good || ((d->flags & CC_LAYERED) && !d->depth))
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    CUarray a = calloc(1, sizeof *a);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *a = (struct CUarray_st){.height = d->height, .depth = d->depth, .flags = d->flags};
    a->t = (struct cc_texels){.width = d->width, .height = d->height ? d->height : 1, .depth = d->depth ? d->depth : 1,
                              .format = (enum cc_format)d->format, .channels = d->channels};
    a->t.pitch = a->t.width * cc_format_bytes(a->t.format) * a->t.channels;
    a->t.plane = a->t.pitch * a->t.height;
    a->t.at = calloc(a->t.depth, a->t.plane);
    if (!a->t.at) {
        free(a);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = a;
    return CUDA_SUCCESS;
}

CUresult cuArrayCreate(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    const CUDA_ARRAY3D_DESCRIPTOR d3 = {.width = d->width, .height = d->height, .format = d->format, .channels = d->channels};
    return cuArray3DCreate(out, &d3);
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray a)
{
    *d = (CUDA_ARRAY3D_DESCRIPTOR){a->t.width, a->height, a->depth, a->t.format, a->t.channels, a->flags};
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *d, CUarray a)
{
    *d = (CUDA_ARRAY_DESCRIPTOR){a->t.width, a->height, a->t.format, a->t.channels};
    return CUDA_SUCCESS;
}

/* As cuMemFree, the ends of arrays, textures and surfaces do not wait for what uses them. */
CUresult cuArrayDestroy(CUarray a)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    cc_stream_settle();
    free(a->t.at);
    free(a);
    return CUDA_SUCCESS;
}

/* ---- textures and surfaces -------------------------------------------------------------------------------------- */

static CUresult texels_of(const CUDA_RESOURCE_DESC *r, struct cc_texels *t)
{
    if (r->type == CC_RESOURCE_ARRAY) {
        if (!r->array)
            return CUDA_ERROR_INVALID_VALUE;
        *t = r->array->t;
        return CUDA_SUCCESS;
    }
    bool linear = r->type == CC_RESOURCE_LINEAR;
    if (!linear && r->type != CC_RESOURCE_PITCH2D)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUdeviceptr at = linear ? r->linear.at : r->pitch2D.at;
    int format = linear ? r->linear.format : r->pitch2D.format;
    unsigned channels = linear ? r->linear.channels : r->pitch2D.channels;
    if (!at || !good_format(format, channels))
        return CUDA_ERROR_INVALID_VALUE;
    size_t element = cc_format_bytes((enum cc_format)format) * channels;
    *t = (struct cc_texels){.at = zc_mem_device_view((void *)(uintptr_t)at), .height = linear ? 1 : r->pitch2D.height, .depth = 1,
                            .width = linear ? r->linear.bytes / element : r->pitch2D.width, .format = (enum cc_format)format, .channels = channels};
    t->pitch = linear ? r->linear.bytes : r->pitch2D.pitch;
    return t->width && t->height && t->pitch >= t->width * element ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *d, const void *view)
{
    struct cc_texture t = {.linear = d->filter, .integer = d->flags & CC_READ_INTEGER, .normalized = d->flags & CC_NORMALIZED};
    CUresult r = cc_check_context();
    r = r ? r : texels_of(resource, &t.t);
    for (int k = 0; !r && k < 3; k++)
        if (d->mode[k] < CC_WRAP || d->mode[k] > CC_BORDER)
            r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (view || (d->flags & CC_SRGB)))
        r = CUDA_ERROR_NOT_SUPPORTED;
    if (r)
        return r;
    memcpy(t.mode, d->mode, sizeof t.mode);
    memcpy(t.border, d->border, sizeof t.border);
    *out = cc_texture_new(&t);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult end(uint64_t object)
{
    CUresult r = cc_check_context();
    return r ? r : cc_texture_end(object) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectDestroy(CUtexObject object)
{
    return end(object);
}

CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
    struct cc_texture t = {.linear = false};
    CUresult r = cc_check_context();
    if (r || resource->type != CC_RESOURCE_ARRAY || !resource->array || !(resource->array->flags & CC_SURFACE))
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    t.t = resource->array->t;
    *out = cc_texture_new(&t);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuSurfObjectDestroy(CUsurfObject object)
{
    return end(object);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *c, CUstream stream)
{
    if (!c->width_bytes || !c->height || !c->depth)
        return cc_check_context();
    struct cc_command *made = cc_graph_memcpy(c);
    return made ? cc_stream_submit(stream, made) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D *c)
{
    CUresult r = cuMemcpy3DAsync(c, NULL);
    return r ? r : cuStreamSynchronize(NULL);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream)
{
    const CUDA_MEMCPY3D c3 = {
        .from = {.x = c->from_x, .y = c->from_y, .memory = c->from_memory, .host = (void *)(uintptr_t)c->from_host, .device = c->from_device,
                 .array = c->from_array, .pitch = c->from_pitch},
        .to = {.x = c->to_x, .y = c->to_y, .memory = c->to_memory, .host = c->to_host, .device = c->to_device, .array = c->to_array, .pitch = c->to_pitch},
        .width_bytes = c->width_bytes, .height = c->height, .depth = 1};
    return cuMemcpy3DAsync(&c3, stream);
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D *c)
{
    CUresult r = cuMemcpy2DAsync(c, NULL);
    return r ? r : cuStreamSynchronize(NULL);
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *c)
{
    return cuMemcpy2D(c);
}
