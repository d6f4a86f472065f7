/* stream.c - streams and events. */
#include "runtime.h"

#include <stdlib.h>

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

/* The older form of a host function: it gets the stream, and the state before it. */
struct callback {
    cudaStream_t stream;
    cudaStreamCallback_t fn;
    void *arg;
};

static void run_callback(void *arg)
{
    struct callback c = *(struct callback *)arg;
    free(arg);
    c.fn(c.stream, cudaSuccess, c.arg);
}

cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t fn, void *arg, unsigned flags)
{
    struct callback *c = malloc(sizeof *c);
    if (!c || flags) {
        free(c);
        return rt_result((int)(flags ? cudaErrorInvalidValue : cudaErrorMemoryAllocation));
    }
    *c = (struct callback){s, fn, arg};
    cudaError_t e = cudaLaunchHostFunc(s, run_callback, c);
    if (e)
        free(c);
    return e;
}

/* ---- events ---------------------------------------------------------------------------------------------------------- */

SAME(cudaEventCreateWithFlags, cuEventCreate, (cudaEvent_t *e, unsigned flags), e, flags)

cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, cudaEventDefault);
}

SAME(cudaEventDestroy, cuEventDestroy, (cudaEvent_t e), e)
SAME(cudaEventRecord, cuEventRecord, (cudaEvent_t e, cudaStream_t s), e, s)
SAME(cudaEventRecordWithFlags, cuEventRecordWithFlags, (cudaEvent_t e, cudaStream_t s, unsigned flags), e, s, flags)
SAME(cudaEventSynchronize, cuEventSynchronize, (cudaEvent_t e), e)
SAME(cudaEventQuery, cuEventQuery, (cudaEvent_t e), e)
SAME(cudaEventElapsedTime, cuEventElapsedTime, (float *ms, cudaEvent_t from, cudaEvent_t to), ms, from, to)
