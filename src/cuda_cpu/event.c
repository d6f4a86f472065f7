/* event.c - entry points for events. */
#include <stdlib.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/queue.h"
#include "ze_cpu/clocks.h"

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    CUresult r = cc_check_context();
    (void)flags;
    if (!r)
        *out = calloc(1, sizeof **out);
    if (!r && *out)
        (*out)->users = 1;
    return r ? r : *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Commands that use it keep it. */
CUresult cuEventDestroy(CUevent e)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    pthread_mutex_lock(&cc_lock);
    cc_event_drop(e);
    pthread_mutex_unlock(&cc_lock);
    return CUDA_SUCCESS;
}

static CUresult use(enum cc_what what, CUevent e, CUstream stream, bool external)
{
    struct cc_command *c = cc_command_new(what);
    if (c) {
        c->event = e;
        c->external = external;
    }
    return cc_stream_submit(stream, c);
}

CUresult cuEventRecordWithFlags(CUevent e, CUstream stream, unsigned flags)
{
    return use(CC_RECORD, e, stream, flags & CC_EVENT_EXTERNAL);
}

CUresult cuEventRecord(CUevent e, CUstream stream)
{
    return cuEventRecordWithFlags(e, stream, 0);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent e, unsigned flags)
{
    return use(CC_WAIT, e, stream, flags & CC_EVENT_EXTERNAL);
}

/* With the lock. */
static CUresult check_captured(CUevent e)
{
    return cc_is_captured(&e->captured) ? cc_capture_spoil(&e->captured, CC_ERROR_CAPTURED_EVENT) : CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent e)
{
    pthread_mutex_lock(&cc_lock);
    CUresult r = check_captured(e);
    bool reached = e->reached == e->recorded;
    if (!r && reached)
        zc_clock_reach(&e->clock);
    pthread_mutex_unlock(&cc_lock);
    return r ? r : reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent e)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    pthread_mutex_lock(&cc_lock);
    r = check_captured(e);
    while (!r && e->reached < e->recorded)
        pthread_cond_wait(&cc_changed, &cc_lock);
    if (!r)
        zc_clock_reach(&e->clock);
    pthread_mutex_unlock(&cc_lock);
    return r;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    pthread_mutex_lock(&cc_lock);
    CUresult r = !from->recorded || !to->recorded ? CC_ERROR_INVALID_HANDLE
                 : from->reached < from->recorded || to->reached < to->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    if (!r)
        *ms = (float)((double)(int64_t)(to->reached_ns - from->reached_ns) * 1e-6);
    pthread_mutex_unlock(&cc_lock);
    return r;
}
