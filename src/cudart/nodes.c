/* nodes.c - graphs: nodes of memory, conditional nodes, nodes of any type, edges; more of the capture of streams. */
#include "runtime.h"

#include <string.h>

#define ADD cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after, size_t n

#if CUDART_VERSION >= 13000
#define EDGES const cudaGraphEdgeData *data,
#define DATA (const CUgraphEdgeData *)data,
#define ANSWER cudaGraphEdgeData *data,
#define ANSWERED (CUgraphEdgeData *)data,
#else
#define EDGES
#define DATA
#define ANSWER
#define ANSWERED
#endif

SAME(cudaGraphGetEdges, cuGraphGetEdges, (cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, ANSWER size_t *n), g, from, to, ANSWERED n)
SAME(cudaGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes, (cudaGraphNode_t node, cudaGraphNode_t *nodes, ANSWER size_t *n), node, nodes, ANSWERED n)

/* ---- memory: the structures are the same ---------------------------------------------------------------------------- */

_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "the runtime's structure is the driver's");
SAME(cudaGraphAddMemAllocNode, cuGraphAddMemAllocNode, (ADD, struct cudaMemAllocNodeParams *p), node, g, after, n, (CUDA_MEM_ALLOC_NODE_PARAMS *)p)
SAME(cudaGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, (cudaGraphNode_t node, struct cudaMemAllocNodeParams *p), node, (CUDA_MEM_ALLOC_NODE_PARAMS *)p)
SAME(cudaGraphAddMemFreeNode, cuGraphAddMemFreeNode, (ADD, void *p), node, g, after, n, (CUdeviceptr)(size_t)p)
SAME(cudaGraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *p), node, (CUdeviceptr *)p)
SAME(cudaDeviceGraphMemTrim, cuDeviceGraphMemTrim, (int device), device)
SAME(cudaDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType a, void *value), device, (CUgraphMem_attribute)a, value)
SAME(cudaDeviceSetGraphMemAttribute, cuDeviceSetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType a, void *value), device, (CUgraphMem_attribute)a, value)

/* ---- capture --------------------------------------------------------------------------------------------------------- */

#if CUDART_VERSION >= 12030
SAME(cudaStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph,
     (cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t *after, const cudaGraphEdgeData *data, size_t n, enum cudaStreamCaptureMode mode),
     s, g, after, (const CUgraphEdgeData *)data, n, (CUstreamCaptureMode)mode)
#endif
#if CUDART_VERSION >= 13000
SAME(cudaStreamGetCaptureInfo, cuStreamGetCaptureInfo,
     (cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *g, const cudaGraphNode_t **after,
      const cudaGraphEdgeData **data, size_t *n),
     s, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, g, after, (const CUgraphEdgeData **)data, n)
#else
SAME(cudaStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo,
     (cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *g, const cudaGraphNode_t **after, size_t *n),
     s, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, g, after, n)
#endif
SAME(cudaStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies, (cudaStream_t s, cudaGraphNode_t *after, EDGES size_t n, unsigned flags),
     s, after, DATA n, flags)

/* ---- conditions, nodes of any type ----------------------------------------------------------------------------------- */

#if CUDART_VERSION >= 12030
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t g, unsigned value, unsigned flags)
{
    CUcontext c = NULL;
    RT_BEGIN;
    DRIVER(cuCtxGetCurrent)(&c);
    return CALL(cuGraphConditionalHandleCreate, handle, g, c, value, flags);
}

static cudaError_t add_conditional(ADD, struct cudaConditionalNodeParams *p)
{
    CUgraphNodeParams d;
    memset(&d, 0, sizeof d);
    d.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    d.conditional.handle = p->handle;
    d.conditional.type = (CUgraphConditionalNodeType)p->type;
    d.conditional.size = p->size;
    DRIVER(cuCtxGetCurrent)(&d.conditional.ctx);
#if CUDART_VERSION >= 13000
    cudaError_t e = CALL(cuGraphAddNode, node, g, after, NULL, n, &d);
#else
    cudaError_t e = CALL(cuGraphAddNode, node, g, after, n, &d);
#endif
    p->phGraph_out = e ? NULL : d.conditional.phGraph_out;
    return e;
}

static cudaError_t add_node(ADD, struct cudaGraphNodeParams *p)
{
    RT_BEGIN;
    switch (p->type) {
    case cudaGraphNodeTypeKernel: {
        const struct cudaKernelNodeParams k = {.func = p->kernel.func, .gridDim = p->kernel.gridDim, .blockDim = p->kernel.blockDim,
                                               .sharedMemBytes = p->kernel.sharedMemBytes, .kernelParams = p->kernel.kernelParams,
                                               .extra = p->kernel.extra};
        return cudaGraphAddKernelNode(node, g, after, n, &k);
    }
    case cudaGraphNodeTypeMemcpy:
        return cudaGraphAddMemcpyNode(node, g, after, n, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
        const struct cudaMemsetParams m = {p->memset.dst, p->memset.pitch, p->memset.value, p->memset.elementSize, p->memset.width, p->memset.height};
        return cudaGraphAddMemsetNode(node, g, after, n, &m);
    }
    case cudaGraphNodeTypeHost: {
        const struct cudaHostNodeParams h = {p->host.fn, p->host.userData};
        return cudaGraphAddHostNode(node, g, after, n, &h);
    }
    case cudaGraphNodeTypeGraph:
        return cudaGraphAddChildGraphNode(node, g, after, n, p->graph.graph);
    case cudaGraphNodeTypeEmpty:
        return cudaGraphAddEmptyNode(node, g, after, n);
    case cudaGraphNodeTypeWaitEvent:
        return cudaGraphAddEventWaitNode(node, g, after, n, p->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
        return cudaGraphAddEventRecordNode(node, g, after, n, p->eventRecord.event);
    case cudaGraphNodeTypeMemAlloc:
        return cudaGraphAddMemAllocNode(node, g, after, n, (struct cudaMemAllocNodeParams *)&p->alloc);
    case cudaGraphNodeTypeMemFree:
        return cudaGraphAddMemFreeNode(node, g, after, n, p->free.dptr);
    case cudaGraphNodeTypeConditional:
        return add_conditional(node, g, after, n, &p->conditional);
    default:
        return rt_result(cudaErrorNotSupported);
    }
}

/* Edges that are more than an order are for launches by kernels. */
#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after, const cudaGraphEdgeData *data, size_t n, struct cudaGraphNodeParams *p)
{
    return data ? rt_result(cudaErrorNotSupported) : add_node(node, g, after, n, p);
}
#else
cudaError_t cudaGraphAddNode(ADD, struct cudaGraphNodeParams *p)
{
    return add_node(node, g, after, n, p);
}
#endif
#endif
