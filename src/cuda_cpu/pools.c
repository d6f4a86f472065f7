/*
 * pools.c - entry points for memory in the order of a stream, and its pools. Memory is there when its allocation returns, and goes back to the
 * system when its free is executed: a pool is no more than its counts and its settings.
 */
#include <stdlib.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/graph.h"
#include "cuda_cpu/queue.h"
#include "ze_cpu/config.h"

enum { REUSE_EVENTS = 1, REUSE_OPPORTUNISTIC, REUSE_INTERNAL, THRESHOLD, TAKEN, TAKEN_MOST, LIVE, LIVE_MOST };

struct CUmemPoolHandle_st {
    int device;
    struct cc_usage *usage;
    int reuse[REUSE_INTERNAL + 1];
    uint64_t threshold;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static CUmemoryPool standard[ZC_DEVICES], current[ZC_DEVICES];

static CUmemoryPool new_pool(int device)
{
    CUmemoryPool p = calloc(1, sizeof *p);
    struct cc_usage *u = p ? cc_usage_new() : NULL;
    if (!u) {
        free(p);
        return NULL;
    }
    *p = (struct CUmemPoolHandle_st){.device = device, .usage = u, .reuse = {0, 1, 1, 1}};
    return p;
}

/* The device's pool, of these; NULL: out of memory. */
static CUmemoryPool of_device(CUmemoryPool *pools, int device)
{
    pthread_mutex_lock(&lock);
    if (!standard[device])
        standard[device] = new_pool(device);
    if (!pools[device])
        pools[device] = standard[device];
    CUmemoryPool p = pools[device];
    pthread_mutex_unlock(&lock);
    return p;
}

static CUresult get(CUmemoryPool *out, CUmemoryPool *pools, CUdevice device)
{
    if (device < 0 || device >= (int)zc_config.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    *out = of_device(pools, device);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    return get(out, standard, device);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    return get(out, current, device);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    if (device < 0 || device >= (int)zc_config.devices || !pool || pool->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    current[device] = pool;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *p)
{
    enum { PINNED = 1 };
    if (p->type != PINNED || p->location.type != CU_MEM_LOCATION_TYPE_DEVICE || p->location.id < 0 || p->location.id >= (int)zc_config.devices)
        return CUDA_ERROR_INVALID_VALUE;
    *out = p->handles ? NULL : new_pool(p->location.id);
    return p->handles ? CUDA_ERROR_NOT_SUPPORTED : *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* What is allocated from it stays. */
CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    pthread_mutex_lock(&lock);
    bool is_standard = pool == standard[pool->device];
    if (!is_standard && current[pool->device] == pool)
        current[pool->device] = NULL;
    pthread_mutex_unlock(&lock);
    if (is_standard)
        return CUDA_ERROR_INVALID_VALUE;
    cc_usage_leave(pool->usage);
    free(pool);
    return CUDA_SUCCESS;
}

/* Nothing that is free is kept. */
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
    (void)bytes;
    return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value)
{
    if (attribute >= REUSE_EVENTS && attribute <= REUSE_INTERNAL)
        pool->reuse[attribute] = *(int *)value != 0;
    else if (attribute == THRESHOLD)
        pool->threshold = *(uint64_t *)value;
    else if ((attribute == TAKEN_MOST || attribute == LIVE_MOST) && !*(uint64_t *)value)
        cc_usage_reset(pool->usage, attribute == LIVE_MOST, attribute == TAKEN_MOST);
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
    const struct cc_usage u = cc_usage_get(pool->usage);
    const uint64_t values[] = {[THRESHOLD] = pool->threshold, [TAKEN] = u.taken, [TAKEN_MOST] = u.taken_most, [LIVE] = u.live, [LIVE_MOST] = u.live_most};
    if (attribute < REUSE_EVENTS || attribute > LIVE_MOST)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute <= REUSE_INTERNAL)
        *(int *)value = pool->reuse[attribute];
    else
        *(uint64_t *)value = values[attribute];
    return CUDA_SUCCESS;
}

static bool is_device(const CUmemLocation *l)
{
    return l->type == CU_MEM_LOCATION_TYPE_DEVICE && l->id >= 0 && l->id < (int)zc_config.devices;
}

/* All devices access all memory, always; the pool's own cannot do without. */
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *desc, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!is_device(&desc[k].location) || (desc[k].location.id == pool->device && !desc[k].flags))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
    enum { READ_WRITE = 3 };
    (void)pool;
    *flags = READ_WRITE;
    return is_device(location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- allocations ------------------------------------------------------------------------------------------------ */

static bool is_captured(CUstream stream)
{
    struct CUstream_st *s = cc_stream_of(stream);
    pthread_mutex_lock(&cc_lock);
    bool is = s && s->captured.of;
    pthread_mutex_unlock(&cc_lock);
    return is;
}

/* In a stream that is captured, a node that allocates. */
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    CUresult r = cc_check_context();
    bool captured = !r && is_captured(stream);
    if (r || !bytes || !pool)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    struct cc_owned *o = captured ? cc_graph_memory(bytes, pool->device) : cc_owned_new(bytes, pool->device, pool->usage);
    if (!o)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUdeviceptr)(uintptr_t)o->at;
    struct cc_command *c = captured ? cc_command_new(CC_ALLOC) : NULL;
    if (c) {
        c->owned = o;
        return cc_stream_submit(stream, c);
    }
    r = captured ? CUDA_ERROR_OUT_OF_MEMORY : cc_owned_begin(o);
    cc_owned_drop(o);
    return r;
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
    CUresult r = cc_check_context();
    CUmemoryPool p = r ? NULL : of_device(current, cc_current_device());
    return r ? r : p ? cuMemAllocFromPoolAsync(out, bytes, p, stream) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Also of memory of cuMemAlloc, but for a capture, whose graph frees memory of graphs. */
CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
    CUresult r = cc_check_context();
    struct cc_owned *o = r ? NULL : cc_owned_find(at);
    struct cc_command *c = r ? NULL : cc_command_new(CC_FREE);
    if (!r && is_captured(stream))
        r = o ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    else if (!r && o && c)
        r = cc_owned_end(o);
    if (r || !c) {
        cc_owned_drop(o);
        cc_command_free(c);
        return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    }
    c->owned = o;
    c->to = (void *)(uintptr_t)at;
    return cc_stream_submit(stream, c);
}
