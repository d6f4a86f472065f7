/* graph_calls.h - the calls of the CUDA driver API for graphs and the capture of streams, and their types, for the library and its tests. */
#ifndef CC_GRAPH_CALLS_H
#define CC_GRAPH_CALLS_H

#include "device/cuda_driver.h"

typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef int CUgraphNodeType, CUstreamCaptureMode, CUstreamCaptureStatus;
typedef void (*CUhostFn)(void *arg);

enum { CC_NODE_KERNEL, CC_NODE_MEMCPY, CC_NODE_MEMSET, CC_NODE_HOST, CC_NODE_GRAPH, CC_NODE_EMPTY, CC_NODE_WAIT_EVENT, CC_NODE_EVENT_RECORD };
enum { CC_CAPTURE_GLOBAL, CC_CAPTURE_THREAD_LOCAL, CC_CAPTURE_RELAXED };
enum { CC_CAPTURE_NONE, CC_CAPTURE_ACTIVE, CC_CAPTURE_INVALIDATED };
enum {
    CC_ERROR_CAPTURE_UNSUPPORTED = 900, CC_ERROR_CAPTURE_INVALIDATED, CC_ERROR_CAPTURE_MERGE, CC_ERROR_CAPTURE_UNMATCHED, CC_ERROR_CAPTURE_UNJOINED,
    CC_ERROR_CAPTURE_ISOLATION, CC_ERROR_CAPTURE_IMPLICIT, CC_ERROR_CAPTURED_EVENT, CC_ERROR_CAPTURE_WRONG_THREAD, CC_ERROR_EXEC_UPDATE = 910
};
enum { CC_EVENT_EXTERNAL = 1 }; /* a flag of cuEventRecordWithFlags and cuStreamWaitEvent */
enum { CC_UPDATE_TOPOLOGY = 2, CC_UPDATE_TYPE = 3 };

typedef struct {
    CUfunction func;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra;
    void *kernel, *context;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct {
    size_t x, y, z, level;
    int memory; /* CU_MEMORYTYPE_: 1 host, 2 device, 4 unified */
    void *host;
    CUdeviceptr device;
    void *array, *reserved;
    size_t pitch, height;
} cc_copy_end;
typedef struct {
    cc_copy_end from, to;
    size_t width_bytes, height, depth;
} CUDA_MEMCPY3D;

typedef struct {
    CUdeviceptr to;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct {
    CUhostFn fn;
    void *arg;
} CUDA_HOST_NODE_PARAMS;

typedef struct {
    int result;
    CUgraphNode node, from;
} CUgraphExecUpdateResultInfo;

#define CC_ADD_NODE_ CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n
#define CC_GRAPH_CALLS(X)                                                                                             \
    X(cuGraphCreate, (CUgraph * graph, unsigned flags))                                                               \
    X(cuGraphDestroy, (CUgraph graph))                                                                                \
    X(cuGraphClone, (CUgraph * copy, CUgraph graph))                                                                  \
    X(cuGraphAddKernelNode, (CC_ADD_NODE_, const CUDA_KERNEL_NODE_PARAMS *params))                                    \
    X(cuGraphAddMemcpyNode, (CC_ADD_NODE_, const CUDA_MEMCPY3D *params, CUcontext context))                           \
    X(cuGraphAddMemsetNode, (CC_ADD_NODE_, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context))                 \
    X(cuGraphAddHostNode, (CC_ADD_NODE_, const CUDA_HOST_NODE_PARAMS *params))                                        \
    X(cuGraphAddChildGraphNode, (CC_ADD_NODE_, CUgraph child))                                                        \
    X(cuGraphAddEmptyNode, (CC_ADD_NODE_))                                                                            \
    X(cuGraphAddEventRecordNode, (CC_ADD_NODE_, CUevent event))                                                       \
    X(cuGraphAddEventWaitNode, (CC_ADD_NODE_, CUevent event))                                                         \
    X(cuGraphKernelNodeGetParams, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params))                                \
    X(cuGraphKernelNodeSetParams, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params))                          \
    X(cuGraphMemsetNodeGetParams, (CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params))                                \
    X(cuGraphMemsetNodeSetParams, (CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params))                          \
    X(cuGraphMemcpyNodeSetParams, (CUgraphNode node, const CUDA_MEMCPY3D *params))                                    \
    X(cuGraphHostNodeGetParams, (CUgraphNode node, CUDA_HOST_NODE_PARAMS *params))                                    \
    X(cuGraphHostNodeSetParams, (CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params))                              \
    X(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType *type))                                                  \
    X(cuGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *n))                                                \
    X(cuGraphGetRootNodes, (CUgraph graph, CUgraphNode *nodes, size_t *n))                                            \
    X(cuGraphDestroyNode, (CUgraphNode node))                                                                         \
    X(cuGraphInstantiate, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                              \
    X(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags)) /* the same */       \
    X(cuGraphExecDestroy, (CUgraphExec exec))                                                                         \
    X(cuGraphUpload, (CUgraphExec exec, CUstream stream))                                                             \
    X(cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                                             \
    X(cuGraphExecKernelNodeSetParams, (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params))    \
    X(cuGraphExecMemcpyNodeSetParams, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params,               \
                                       CUcontext context))                                                            \
    X(cuGraphExecMemsetNodeSetParams, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params,     \
                                       CUcontext context))                                                            \
    X(cuGraphExecHostNodeSetParams, (CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params))        \
    X(cuGraphExecUpdate, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info))                        \
    X(cuStreamBeginCapture, (CUstream stream, CUstreamCaptureMode mode))                                              \
    X(cuStreamEndCapture, (CUstream stream, CUgraph *graph))                                                          \
    X(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status))                                          \
    X(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))                                                \
    X(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags))                                       \
    X(cuGraphAddDependencies, (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n))              \
    X(cuGraphNodeGetDependencies, (CUgraphNode node, CUgraphNode *nodes, size_t *n))                                  \
    /* `data` says what an edge means: NULL or, in answers, zero. */                                                  \
    X(cuGraphAddDependencies_v2, (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const void *data,    \
                                  size_t n))                                                                          \
    X(cuGraphNodeGetDependencies_v2, (CUgraphNode node, CUgraphNode *nodes, void *data, size_t *n))

#endif
