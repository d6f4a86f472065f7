/* stream.c - streams and events; graphs are refused. */
#include "runtime.h"

#include <stdio.h>

/* A call that the driver has under another name. */
#define SAME(name, driver, params, ...)                                                                               \
    cudaError_t name params                                                                                           \
    {                                                                                                                 \
        RT_BEGIN;                                                                                                     \
        return CALL(driver, __VA_ARGS__);                                                                             \
    }

SAME(cudaDeviceSynchronize, cuCtxSynchronize, (void))
SAME(cudaStreamCreateWithFlags, cuStreamCreate, (cudaStream_t *s, unsigned flags), s, flags)

cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    return cudaStreamCreateWithFlags(s, cudaStreamDefault);
}

SAME(cudaStreamCreateWithPriority, cuStreamCreateWithPriority, (cudaStream_t *s, unsigned flags, int priority), s, flags, priority)
SAME(cudaDeviceGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int *least, int *greatest), least, greatest)
SAME(cudaStreamDestroy, cuStreamDestroy, (cudaStream_t s), s)
SAME(cudaStreamSynchronize, cuStreamSynchronize, (cudaStream_t s), s)
SAME(cudaStreamQuery, cuStreamQuery, (cudaStream_t s), s)
SAME(cudaStreamWaitEvent, cuStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned flags), s, e, flags)
SAME(cudaLaunchHostFunc, cuLaunchHostFunc, (cudaStream_t s, cudaHostFn_t fn, void *arg), s, fn, arg)

/* ---- events ---------------------------------------------------------------------------------------------------------- */

SAME(cudaEventCreateWithFlags, cuEventCreate, (cudaEvent_t *e, unsigned flags), e, flags)

cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, cudaEventDefault);
}

SAME(cudaEventDestroy, cuEventDestroy, (cudaEvent_t e), e)
SAME(cudaEventRecord, cuEventRecord, (cudaEvent_t e, cudaStream_t s), e, s)

cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags)
{
    (void)flags;
    return cudaEventRecord(e, s);
}

SAME(cudaEventSynchronize, cuEventSynchronize, (cudaEvent_t e), e)
SAME(cudaEventQuery, cuEventQuery, (cudaEvent_t e), e)
SAME(cudaEventElapsedTime, cuEventElapsedTime, (float *ms, cudaEvent_t from, cudaEvent_t to), ms, from, to)

/* ---- graphs ---------------------------------------------------------------------------------------------------------- */

static cudaError_t refuse(const char *call)
{
    fprintf(stderr, "fulmar cudart: %s: graphs are not supported\n", call);
    return rt_result(cudaErrorNotSupported);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    (void)s, (void)mode;
    return refuse(__func__);
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    (void)s, (void)graph;
    return refuse(__func__);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status)
{
    (void)s;
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)out, (void)graph, (void)flags;
    return refuse(__func__);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s)
{
    (void)graph, (void)s;
    return refuse(__func__);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    (void)graph;
    return refuse(__func__);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)graph;
    return refuse(__func__);
}
