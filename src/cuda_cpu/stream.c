/* stream.c - entry points for streams and their commands. */
#include "cuda_cpu/stream.h"

#include <stdlib.h>

#include "cuda_cpu/queue.h"
#include "ze_cpu/clocks.h"

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    CUresult r = cc_check_context();
    (void)priority;
    return r ? r : cc_stream_start(!(flags & CU_STREAM_NON_BLOCKING), out);
}

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    return cuStreamCreateWithPriority(out, flags, 0);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -1;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream s)
{
    CUresult r = cc_check_context();
    if (!r)
        cc_stream_end(s);
    return r;
}

/* With the lock. */
static CUresult wait_for(struct CUstream_st *s)
{
    if (s->captured.of)
        return cc_capture_spoil(&s->captured, CC_ERROR_CAPTURE_UNSUPPORTED);
    uint64_t until = s->submitted;
    while (s->finished < until)
        pthread_cond_wait(&cc_changed, &cc_lock);
    zc_clock_reach(&s->clock);
    return s->error;
}

CUresult cc_stream_wait(CUstream stream)
{
    struct CUstream_st *s = cc_stream_of(stream);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&cc_lock);
    CUresult r = wait_for(s);
    pthread_mutex_unlock(&cc_lock);
    return r;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    CUresult r = cc_check_context();
    return r ? r : cc_stream_wait(stream);
}

CUresult cc_stream_wait_all(void)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&cc_lock);
    for (struct CUstream_st *s = cc_streams(); s; s = s->next) {
        CUresult own = wait_for(s);
        r = r ? r : own;
    }
    pthread_mutex_unlock(&cc_lock);
    return r;
}

void cc_stream_settle(void)
{
    pthread_mutex_lock(&cc_lock);
    for (struct CUstream_st *s = cc_streams(); s; s = s->next)
        if (!s->captured.of)
            wait_for(s);
    pthread_mutex_unlock(&cc_lock);
}

CUresult cuStreamQuery(CUstream stream)
{
    CUresult r = cc_check_context();
    struct CUstream_st *s = cc_stream_of(stream);
    if (r || !s)
        return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&cc_lock);
    r = s->captured.of                 ? cc_capture_spoil(&s->captured, CC_ERROR_CAPTURE_UNSUPPORTED)
        : s->error                     ? s->error
        : s->finished < s->submitted ? CUDA_ERROR_NOT_READY
                                     : CUDA_SUCCESS;
    if (!r)
        zc_clock_reach(&s->clock);
    pthread_mutex_unlock(&cc_lock);
    return r;
}

/* ---- commands --------------------------------------------------------------------------------------------------- */

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct cc_command *c = cc_command_new(CC_COPY);
    if (c) {
        c->to = (void *)(uintptr_t)to;
        c->from = (const void *)(uintptr_t)from;
        c->bytes = bytes;
    }
    return cc_stream_submit(stream, c);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    struct cc_command *c = cc_command_new(CC_FILL);
    if (c) {
        c->to = (void *)(uintptr_t)to;
        c->value = value;
        c->element = 1;
        c->bytes = bytes;
    }
    return cc_stream_submit(stream, c);
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes)
{
    CUresult r = cuMemsetD8Async(to, value, bytes, NULL);
    return r ? r : cuStreamSynchronize(NULL);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CUresult r = cuMemcpyAsync(to, from, bytes, NULL);
    return r ? r : cuStreamSynchronize(NULL);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return cuMemcpy(to, (CUdeviceptr)(uintptr_t)from, bytes);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return cuMemcpy((CUdeviceptr)(uintptr_t)to, from, bytes);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *arg)
{
    struct cc_command *c = cc_command_new(CC_HOST);
    if (c) {
        c->fn = fn;
        c->from = arg;
    }
    return cc_stream_submit(stream, c);
}

CUresult cc_stream_launch(CUstream stream, CUfunction function, struct zc_launch *launch)
{
    struct cc_command *c = cc_command_new(CC_KERNEL);
    if (c) {
        c->launch = launch;
        c->function = function;
    } else {
        free(launch);
    }
    return cc_stream_submit(stream, c);
}
