/* owned.c - see owned.h. All is under one lock. */
#include "cuda_cpu/owned.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ze_cpu/entries.h"
#include "ze_cpu/mem.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cc_owned *all;

static void add(uint64_t *now, uint64_t *most, size_t bytes)
{
    *now += bytes;
    *most = *now > *most ? *now : *most;
}

struct cc_owned *cc_owned_new(size_t bytes, int device, struct cc_usage *of)
{
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    struct cc_owned *o = calloc(1, sizeof *o);
    if (!o || zc_MemAllocDevice(NULL, &desc, bytes, 512, (ze_device_handle_t)(uintptr_t)(1 + device), &o->at)) {
        free(o);
        return NULL;
    }
    o->bytes = bytes;
    o->of = of;
    o->users = 1;
    pthread_mutex_lock(&lock);
    of->users++;
    o->next = all;
    all = o;
    pthread_mutex_unlock(&lock);
    return o;
}

void cc_owned_hold(struct cc_owned *o)
{
    pthread_mutex_lock(&lock);
    o->users++;
    pthread_mutex_unlock(&lock);
}

/* With the lock. */
static void leave(struct cc_usage *u)
{
    if (!--u->users && !u->is_static)
        free(u);
}

/* With the lock. */
static void end_unused(struct cc_owned *o)
{
    if (o->users || o->live)
        return;
    struct cc_owned **at = &all;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    if (o->taken)
        o->of->taken -= o->bytes;
    leave(o->of);
    zc_MemFree(NULL, o->at);
    free(o);
}

void cc_owned_drop(struct cc_owned *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&lock);
    o->users--;
    end_unused(o);
    pthread_mutex_unlock(&lock);
}

struct cc_owned *cc_owned_find(CUdeviceptr at)
{
    pthread_mutex_lock(&lock);
    struct cc_owned *o = all;
    while (o && (CUdeviceptr)(uintptr_t)o->at != at)
        o = o->next;
    if (o)
        o->users++;
    pthread_mutex_unlock(&lock);
    return o;
}

bool cc_owned_is_live(struct cc_owned *o)
{
    pthread_mutex_lock(&lock);
    bool live = o->live;
    pthread_mutex_unlock(&lock);
    return live;
}

CUresult cc_owned_begin(struct cc_owned *o)
{
    pthread_mutex_lock(&lock);
    CUresult r = o->live ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!r) {
        o->live = true;
        add(&o->of->live, &o->of->live_most, o->bytes);
        if (!o->taken)
            add(&o->of->taken, &o->of->taken_most, o->bytes);
        o->taken = true;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult cc_owned_end(struct cc_owned *o)
{
    pthread_mutex_lock(&lock);
    CUresult r = o->live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        o->live = false;
        o->of->live -= o->bytes;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

void cc_owned_trim(struct cc_usage *of)
{
    struct zc_alloc a;
    pthread_mutex_lock(&lock);
    for (struct cc_owned *o = all; o; o = o->next) {
        if (o->of != of || o->live || !o->taken)
            continue;
        o->taken = false;
        of->taken -= o->bytes;
        if (zc_mem_find(o->at, &a))
            madvise(zc_mem_device_view(o->at), a.mapped, a.fd < 0 ? MADV_DONTNEED : MADV_REMOVE);
    }
    pthread_mutex_unlock(&lock);
}

struct cc_usage cc_usage_get(struct cc_usage *u)
{
    pthread_mutex_lock(&lock);
    struct cc_usage now = *u;
    pthread_mutex_unlock(&lock);
    return now;
}

void cc_usage_reset(struct cc_usage *u, bool live, bool taken)
{
    pthread_mutex_lock(&lock);
    u->live_most = live ? u->live : u->live_most;
    u->taken_most = taken ? u->taken : u->taken_most;
    pthread_mutex_unlock(&lock);
}

struct cc_usage *cc_usage_new(void)
{
    struct cc_usage *u = calloc(1, sizeof *u);
    if (u)
        u->users = 1;
    return u;
}

void cc_usage_leave(struct cc_usage *u)
{
    pthread_mutex_lock(&lock);
    leave(u);
    pthread_mutex_unlock(&lock);
}
