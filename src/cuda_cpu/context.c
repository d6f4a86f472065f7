/* context.c - contexts: one of each device, and a stack of them in each thread, whose top is the current one. */
#include <stddef.h>

#include "cuda_cpu/entries.h"
#include "ze_cpu/config.h"

enum { CONTEXTS = 16 };

struct CUctx_st {
    int device;
};

static struct CUctx_st contexts[ZC_DEVICES];
static _Thread_local struct {
    CUcontext stack[CONTEXTS];
    unsigned n;
} current __attribute__((tls_model("initial-exec")));

CUresult cc_check_context(void)
{
    return current.n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

int cc_current_device(void)
{
    return current.n ? current.stack[current.n - 1]->device : 0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    contexts[device].device = device;
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context)
{
    if (!context || current.n == CONTEXTS)
        return CUDA_ERROR_INVALID_CONTEXT;
    current.stack[current.n++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
    if (!current.n)
        return CUDA_ERROR_INVALID_CONTEXT;
    current.n--;
    if (context)
        *context = current.stack[current.n];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    if (current.n)
        current.n--;
    return context ? cuCtxPushCurrent(context) : CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = current.n ? current.stack[current.n - 1] : NULL;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = cc_current_device();
    return cc_check_context();
}

/* A context of the program is the device's only one: what is not freed stays after its end. */
CUresult cuCtxCreate(CUcontext *context, unsigned flags, CUdevice device)
{
    (void)flags;
    CUresult r = device < 0 || device >= ZC_DEVICES ? CUDA_ERROR_INVALID_DEVICE : cuDevicePrimaryCtxRetain(context, device);
    return r ? r : cuCtxPushCurrent(*context);
}

CUresult cuCtxCreate_v4(CUcontext *context, void *params, unsigned flags, CUdevice device)
{
    (void)params;
    return cuCtxCreate(context, flags, device);
}

CUresult cuCtxDestroy(CUcontext context)
{
    CUresult r = context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (!r && current.n && current.stack[current.n - 1] == context)
        current.n--;
    return r;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = 1;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
    (void)device, (void)flags;
    return CUDA_SUCCESS;
}
