/* graph.c - graphs and the capture of streams: the driver's, with the runtime's structures of parameters. */
#include "runtime.h"

#include <string.h>

SAME(cudaStreamBeginCapture, cuStreamBeginCapture, (cudaStream_t s, enum cudaStreamCaptureMode mode), s, (CUstreamCaptureMode)mode)
SAME(cudaStreamEndCapture, cuStreamEndCapture, (cudaStream_t s, cudaGraph_t *g), s, g)
SAME(cudaStreamIsCapturing, cuStreamIsCapturing, (cudaStream_t s, enum cudaStreamCaptureStatus *status), s, (CUstreamCaptureStatus *)status)
SAME(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode *mode), (CUstreamCaptureMode *)mode)

SAME(cudaGraphCreate, cuGraphCreate, (cudaGraph_t *g, unsigned flags), g, flags)
SAME(cudaGraphDestroy, cuGraphDestroy, (cudaGraph_t g), g)
SAME(cudaGraphClone, cuGraphClone, (cudaGraph_t *copy, cudaGraph_t g), copy, g)
SAME(cudaGraphDestroyNode, cuGraphDestroyNode, (cudaGraphNode_t node), node)
SAME(cudaGraphNodeGetType, cuGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type), node, (CUgraphNodeType *)type)
SAME(cudaGraphGetNodes, cuGraphGetNodes, (cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n), g, nodes, n)
SAME(cudaGraphGetRootNodes, cuGraphGetRootNodes, (cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n), g, nodes, n)
#if CUDART_VERSION >= 13000
SAME(cudaGraphAddDependencies, cuGraphAddDependencies,
     (cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *data, size_t n), g, from, to, (const CUgraphEdgeData *)data, n)
SAME(cudaGraphNodeGetDependencies, cuGraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *n),
     node, nodes, (CUgraphEdgeData *)data, n)
#else
SAME(cudaGraphAddDependencies, cuGraphAddDependencies, (cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n), g, from, to, n)
SAME(cudaGraphNodeGetDependencies, cuGraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *n), node, nodes, n)
#endif

SAME(cudaGraphInstantiateWithFlags, cuGraphInstantiate, (cudaGraphExec_t *x, cudaGraph_t g, unsigned long long flags), x, g, flags)
SAME(cudaGraphInstantiate, cuGraphInstantiate, (cudaGraphExec_t *x, cudaGraph_t g, unsigned long long flags), x, g, flags)
SAME(cudaGraphExecDestroy, cuGraphExecDestroy, (cudaGraphExec_t x), x)
SAME(cudaGraphUpload, cuGraphUpload, (cudaGraphExec_t x, cudaStream_t s), x, s)
SAME(cudaGraphLaunch, cuGraphLaunch, (cudaGraphExec_t x, cudaStream_t s), x, s)
SAME(cudaGraphExecUpdate, cuGraphExecUpdate, (cudaGraphExec_t x, cudaGraph_t g, cudaGraphExecUpdateResultInfo *info), x, g, (CUgraphExecUpdateResultInfo *)info)

#define ADD cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after, size_t n
SAME(cudaGraphAddEmptyNode, cuGraphAddEmptyNode, (ADD), node, g, after, n)
SAME(cudaGraphAddChildGraphNode, cuGraphAddChildGraphNode, (ADD, cudaGraph_t child), node, g, after, n, child)
SAME(cudaGraphAddEventRecordNode, cuGraphAddEventRecordNode, (ADD, cudaEvent_t e), node, g, after, n, e)
SAME(cudaGraphAddEventWaitNode, cuGraphAddEventWaitNode, (ADD, cudaEvent_t e), node, g, after, n, e)

static CUcontext context(void)
{
    CUcontext c = NULL;
    DRIVER(cuCtxGetCurrent)(&c);
    return c;
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

static cudaError_t kernel_of(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *out)
{
    memset(out, 0, sizeof *out);
    out->gridDimX = p->gridDim.x, out->gridDimY = p->gridDim.y, out->gridDimZ = p->gridDim.z;
    out->blockDimX = p->blockDim.x, out->blockDimY = p->blockDim.y, out->blockDimZ = p->blockDim.z;
    out->sharedMemBytes = p->sharedMemBytes;
    out->kernelParams = p->kernelParams;
    out->extra = p->extra;
    return rt_function(p->func, &out->func);
}

cudaError_t cudaGraphAddKernelNode(ADD, const struct cudaKernelNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS k;
    cudaError_t e = kernel_of(p, &k);
    return e ? e : CALL(cuGraphAddKernelNode, node, g, after, n, &k);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS k;
    cudaError_t e = kernel_of(p, &k);
    return e ? e : CALL(cuGraphKernelNodeSetParams, node, &k);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t x, cudaGraphNode_t node, const struct cudaKernelNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS k;
    cudaError_t e = kernel_of(p, &k);
    return e ? e : CALL(cuGraphExecKernelNodeSetParams, x, node, &k);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS k;
    RT_BEGIN;
    cudaError_t e = CALL(cuGraphKernelNodeGetParams, node, &k);
    if (e)
        return e;
    *p = (struct cudaKernelNodeParams){.func = (void *)rt_host_of(k.func), .gridDim = {k.gridDimX, k.gridDimY, k.gridDimZ},
                                       .blockDim = {k.blockDimX, k.blockDimY, k.blockDimZ}, .sharedMemBytes = k.sharedMemBytes,
                                       .kernelParams = k.kernelParams, .extra = k.extra};
    return cudaSuccess;
}

/* ---- copies and fills ------------------------------------------------------------------------------------------------ */

static CUDA_MEMCPY3D copy_1d(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const struct cudaMemcpy3DParms p = {.srcPtr = {(void *)from, bytes, bytes, 1}, .dstPtr = {to, bytes, bytes, 1}, .extent = {bytes, 1, 1}, .kind = kind};
    return rt_copy_of(&p);
}

cudaError_t cudaGraphAddMemcpyNode(ADD, const struct cudaMemcpy3DParms *p)
{
    RT_BEGIN;
    CUDA_MEMCPY3D c = rt_copy_of(p);
    return CALL(cuGraphAddMemcpyNode, node, g, after, n, &c, context());
}

cudaError_t cudaGraphAddMemcpyNode1D(ADD, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    RT_BEGIN;
    CUDA_MEMCPY3D c = copy_1d(to, from, bytes, kind);
    return CALL(cuGraphAddMemcpyNode, node, g, after, n, &c, context());
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *p)
{
    RT_BEGIN;
    CUDA_MEMCPY3D c = rt_copy_of(p);
    return CALL(cuGraphMemcpyNodeSetParams, node, &c);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    RT_BEGIN;
    CUDA_MEMCPY3D c = copy_1d(to, from, bytes, kind);
    return CALL(cuGraphMemcpyNodeSetParams, node, &c);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t x, cudaGraphNode_t node, const struct cudaMemcpy3DParms *p)
{
    RT_BEGIN;
    CUDA_MEMCPY3D c = rt_copy_of(p);
    return CALL(cuGraphExecMemcpyNodeSetParams, x, node, &c, context());
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t x, cudaGraphNode_t node, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    RT_BEGIN;
    CUDA_MEMCPY3D c = copy_1d(to, from, bytes, kind);
    return CALL(cuGraphExecMemcpyNodeSetParams, x, node, &c, context());
}

static CUDA_MEMSET_NODE_PARAMS fill_of(const struct cudaMemsetParams *p)
{
    return (CUDA_MEMSET_NODE_PARAMS){(CUdeviceptr)(size_t)p->dst, p->pitch, p->value, p->elementSize, p->width, p->height};
}

cudaError_t cudaGraphAddMemsetNode(ADD, const struct cudaMemsetParams *p)
{
    RT_BEGIN;
    CUDA_MEMSET_NODE_PARAMS f = fill_of(p);
    return CALL(cuGraphAddMemsetNode, node, g, after, n, &f, context());
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *p)
{
    RT_BEGIN;
    CUDA_MEMSET_NODE_PARAMS f = fill_of(p);
    return CALL(cuGraphMemsetNodeSetParams, node, &f);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *p)
{
    CUDA_MEMSET_NODE_PARAMS f;
    RT_BEGIN;
    cudaError_t e = CALL(cuGraphMemsetNodeGetParams, node, &f);
    if (!e)
        *p = (struct cudaMemsetParams){(void *)(size_t)f.dst, f.pitch, f.value, f.elementSize, f.width, f.height};
    return e;
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t x, cudaGraphNode_t node, const struct cudaMemsetParams *p)
{
    RT_BEGIN;
    CUDA_MEMSET_NODE_PARAMS f = fill_of(p);
    return CALL(cuGraphExecMemsetNodeSetParams, x, node, &f, context());
}

/* ---- host functions: the structures are the same -------------------------------------------------------------------- */

static CUDA_HOST_NODE_PARAMS host_of(const struct cudaHostNodeParams *p)
{
    return (CUDA_HOST_NODE_PARAMS){.fn = p->fn, .userData = p->userData};
}

cudaError_t cudaGraphAddHostNode(ADD, const struct cudaHostNodeParams *p)
{
    RT_BEGIN;
    CUDA_HOST_NODE_PARAMS h = host_of(p);
    return CALL(cuGraphAddHostNode, node, g, after, n, &h);
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *p)
{
    RT_BEGIN;
    CUDA_HOST_NODE_PARAMS h = host_of(p);
    return CALL(cuGraphHostNodeSetParams, node, &h);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t x, cudaGraphNode_t node, const struct cudaHostNodeParams *p)
{
    RT_BEGIN;
    CUDA_HOST_NODE_PARAMS h = host_of(p);
    return CALL(cuGraphExecHostNodeSetParams, x, node, &h);
}
