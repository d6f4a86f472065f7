/* stream.c - streams and events; graphs are refused. */
#include "runtime.h"

#include <stdio.h>

#define CALL(name, ...) rt_result((int)DRIVER(name)(__VA_ARGS__))

cudaError_t cudaDeviceSynchronize(void)
{
    RT_BEGIN;
    return rt_result((int)DRIVER(cuCtxSynchronize)());
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    RT_BEGIN;
    return CALL(cuStreamCreate, s, flags);
}

cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    return cudaStreamCreateWithFlags(s, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
    RT_BEGIN;
    return CALL(cuStreamCreateWithPriority, s, flags, priority);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    RT_BEGIN;
    return CALL(cuCtxGetStreamPriorityRange, least, greatest);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    RT_BEGIN;
    return CALL(cuStreamDestroy, s);
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    RT_BEGIN;
    return CALL(cuStreamSynchronize, s);
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    RT_BEGIN;
    return CALL(cuStreamQuery, s);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    RT_BEGIN;
    return CALL(cuStreamWaitEvent, s, e, flags);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *arg)
{
    RT_BEGIN;
    return CALL(cuLaunchHostFunc, s, fn, arg);
}

/* ---- events ---------------------------------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    RT_BEGIN;
    return CALL(cuEventCreate, e, flags);
}

cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    RT_BEGIN;
    return CALL(cuEventDestroy, e);
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    RT_BEGIN;
    return CALL(cuEventRecord, e, s);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags)
{
    (void)flags;
    return cudaEventRecord(e, s);
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    RT_BEGIN;
    return CALL(cuEventSynchronize, e);
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    RT_BEGIN;
    return CALL(cuEventQuery, e);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    RT_BEGIN;
    return CALL(cuEventElapsedTime, ms, from, to);
}

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
