/* capture.c - entry points for the capture of streams. */
#include <stdlib.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/queue.h"

static struct CUstream_st *checked(CUstream stream)
{
    struct CUstream_st *s = cc_check_context() ? NULL : cc_stream_of(stream);
    return s && s != cc_stream_of(NULL) ? s : NULL; /* the default stream cannot be captured */
}

/* Into a graph of its own, or into one of the program, behind these nodes. */
static CUresult begin(CUstream stream, CUgraph graph, const CUgraphNode *after, size_t n, CUstreamCaptureMode mode)
{
    static uint64_t captures;
    struct CUstream_st *s = checked(stream);
    struct cc_capture *c = s ? calloc(1, sizeof *c) : NULL;
    CUgraph own = c && !graph ? cc_graph_new() : NULL;
    CUresult r = !s ? CC_ERROR_CAPTURE_UNSUPPORTED : !c || (!graph && !own) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    for (size_t k = 0; !r && k < n; k++)
        r = !after[k] || after[k]->graph != graph ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!r) {
        *c = (struct cc_capture){.graph = graph ? graph : own, .is_programs = graph, .before = graph ? graph->nodes : 0, .origin = s, .mode = mode,
                                 .thread = pthread_self()};
        pthread_mutex_lock(&cc_lock);
        c->id = ++captures;
        if (s->captured.of || mode < CC_CAPTURE_GLOBAL || mode > CC_CAPTURE_RELAXED)
            r = CUDA_ERROR_INVALID_VALUE;
        else
            r = cc_captured_join(&s->captured, &(struct cc_captured){.of = c, .after = (CUgraphNode *)(uintptr_t)after, .n = n});
        pthread_mutex_unlock(&cc_lock);
    }
    if (r && own)
        cuGraphDestroy(own);
    if (r)
        free(c);
    return r;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    return begin(stream, NULL, NULL, 0, mode);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *after, const void *data, size_t n, CUstreamCaptureMode mode)
{
    return !graph ? CUDA_ERROR_INVALID_VALUE : data ? CUDA_ERROR_NOT_SUPPORTED : begin(stream, graph, after, n, mode);
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
    bool is_programs = false;
    if (graph)
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
        is_programs = c->is_programs;
        leave(c);
    }
    pthread_mutex_unlock(&cc_lock);
    if (made && !is_programs && (r || !graph))
        cuGraphDestroy(made);
    if (!r && graph)
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

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph, const CUgraphNode **after, size_t *n)
{
    CUresult r = cuStreamIsCapturing(stream, status);
    struct CUstream_st *s = r ? NULL : cc_stream_of(stream);
    if (!s || *status != CC_CAPTURE_ACTIVE)
        return r;
    pthread_mutex_lock(&cc_lock);
    if (s->captured.of) {
        if (id)
            *id = s->captured.of->id;
        if (graph)
            *graph = s->captured.of->graph;
        if (after)
            *after = s->captured.after;
        if (n)
            *n = s->captured.n;
    }
    pthread_mutex_unlock(&cc_lock);
    return r;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph, const CUgraphNode **after,
                                   const void **data, size_t *n)
{
    if (data)
        *data = NULL;
    return cuStreamGetCaptureInfo(stream, status, id, graph, after, n);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *after, size_t n, unsigned flags)
{
    enum { ADD, SET };
    struct CUstream_st *s = checked(stream);
    CUresult r = s && flags <= SET ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (r)
        return r;
    pthread_mutex_lock(&cc_lock);
    if (!s->captured.of)
        r = CC_ERROR_ILLEGAL_STATE;
    for (size_t k = 0; !r && k < n; k++)
        r = !after[k] || after[k]->graph != s->captured.of->graph ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!r)
        r = cc_captured_wait_for(&s->captured, after, n, flags == SET);
    pthread_mutex_unlock(&cc_lock);
    return r;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *after, const void *data, size_t n, unsigned flags)
{
    return data ? CUDA_ERROR_NOT_SUPPORTED : cuStreamUpdateCaptureDependencies(stream, after, n, flags);
}
