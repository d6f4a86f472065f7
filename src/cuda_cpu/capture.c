/* capture.c - entry points for the capture of streams. */
#include <stdlib.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/queue.h"

static struct CUstream_st *checked(CUstream stream)
{
    struct CUstream_st *s = cc_check_context() ? NULL : cc_stream_of(stream);
    return s && s != cc_stream_of(NULL) ? s : NULL; /* the default stream cannot be captured */
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    struct CUstream_st *s = checked(stream);
    struct cc_capture *c = calloc(1, sizeof *c);
    CUresult r = !s ? CC_ERROR_CAPTURE_UNSUPPORTED : !c ? CUDA_ERROR_OUT_OF_MEMORY : cuGraphCreate(&c->graph, 0);
    if (r) {
        free(c);
        return r;
    }
    *c = (struct cc_capture){.graph = c->graph, .origin = s, .mode = mode, .thread = pthread_self()};
    pthread_mutex_lock(&cc_lock);
    if (s->captured.of || mode < CC_CAPTURE_GLOBAL || mode > CC_CAPTURE_RELAXED)
        r = CUDA_ERROR_INVALID_VALUE;
    else
        r = cc_captured_join(&s->captured, &(struct cc_captured){.of = c});
    pthread_mutex_unlock(&cc_lock);
    if (r) {
        cuGraphDestroy(c->graph);
        free(c);
    }
    return r;
}

/* With the lock: the streams of the capture run commands again. */
static void leave(struct cc_capture *c)
{
    c->users++;
    c->ended = true;
    for (struct CUstream_st *s = cc_streams(); s; s = s->next)
        if (s->captured.of == c)
            cc_captured_leave(&s->captured);
    if (!--c->users)
        free(c);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    struct CUstream_st *s = checked(stream);
    CUgraph made = NULL;
    *graph = NULL;
    if (!s)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&cc_lock);
    struct cc_capture *c = s->captured.of;
    CUresult r = !c                                                                                   ? CUDA_ERROR_INVALID_VALUE
                 : c->origin != s                                                                     ? cc_capture_spoil(&s->captured, CC_ERROR_CAPTURE_UNMATCHED)
                 : c->mode != CC_CAPTURE_RELAXED && !pthread_equal(c->thread, pthread_self())         ? CC_ERROR_CAPTURE_WRONG_THREAD
                 : c->invalid                                                                         ? CC_ERROR_CAPTURE_INVALIDATED
                 : !cc_captured_is_whole(&s->captured)                                                ? CC_ERROR_CAPTURE_UNJOINED
                                                                                                      : CUDA_SUCCESS;
    if (c && c->origin == s && r != CC_ERROR_CAPTURE_WRONG_THREAD) {
        made = c->graph;
        leave(c);
    }
    pthread_mutex_unlock(&cc_lock);
    if (r && made)
        cuGraphDestroy(made);
    if (!r)
        *graph = made;
    return r;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    struct CUstream_st *s = cc_check_context() ? NULL : cc_stream_of(stream);
    if (!s)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&cc_lock);
    *status = !s->captured.of ? CC_CAPTURE_NONE : s->captured.of->invalid ? CC_CAPTURE_INVALIDATED : CC_CAPTURE_ACTIVE;
    pthread_mutex_unlock(&cc_lock);
    return CUDA_SUCCESS;
}

/* Calls that a GPU's driver forbids during a capture, such as cuMemAlloc, are allowed here in every mode. */
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode own __attribute__((tls_model("initial-exec")));
    CUstreamCaptureMode before = own;
    if (*mode < CC_CAPTURE_GLOBAL || *mode > CC_CAPTURE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    own = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
