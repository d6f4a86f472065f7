/* graph_calls.h - the calls of the CUDA driver API for graphs and the capture of streams, and their types, for the library and its tests. */
#ifndef CC_GRAPH_CALLS_H
#define CC_GRAPH_CALLS_H

#include "device/cuda_driver.h"

typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef int CUgraphNodeType, CUstreamCaptureMode, CUstreamCaptureStatus;
typedef void (*CUhostFn)(void *arg);

typedef uint64_t CUgraphConditionalHandle;

enum {
    CC_NODE_KERNEL, CC_NODE_MEMCPY, CC_NODE_MEMSET, CC_NODE_HOST, CC_NODE_GRAPH, CC_NODE_EMPTY, CC_NODE_WAIT_EVENT, CC_NODE_EVENT_RECORD,
    CC_NODE_MEM_ALLOC = 10, CC_NODE_MEM_FREE = 11, CC_NODE_CONDITIONAL = 13
};
enum { CC_IF, CC_WHILE, CC_SWITCH }; /* kinds of conditional nodes */
enum { CC_ASSIGN_DEFAULT = 1 };      /* a flag of cuGraphConditionalHandleCreate */
enum { CC_AUTO_FREE = 1 };           /* a flag of cuGraphInstantiate */
enum { CC_GRAPH_LIVE, CC_GRAPH_LIVE_MOST, CC_GRAPH_TAKEN, CC_GRAPH_TAKEN_MOST }; /* attributes of the memory of graphs */
enum { CC_CAPTURE_GLOBAL, CC_CAPTURE_THREAD_LOCAL, CC_CAPTURE_RELAXED };
enum { CC_CAPTURE_NONE, CC_CAPTURE_ACTIVE, CC_CAPTURE_INVALIDATED };
enum {
    CC_ERROR_CAPTURE_UNSUPPORTED = 900, CC_ERROR_CAPTURE_INVALIDATED, CC_ERROR_CAPTURE_MERGE, CC_ERROR_CAPTURE_UNMATCHED, CC_ERROR_CAPTURE_UNJOINED,
    CC_ERROR_CAPTURE_ISOLATION, CC_ERROR_CAPTURE_IMPLICIT, CC_ERROR_CAPTURED_EVENT, CC_ERROR_CAPTURE_WRONG_THREAD, CC_ERROR_EXEC_UPDATE = 910
};
enum { CC_EVENT_EXTERNAL = 1 }; /* a flag of cuEventRecordWithFlags and cuStreamWaitEvent */
enum { CC_UPDATE_TOPOLOGY = 2, CC_UPDATE_TYPE = 3, CC_UPDATE_NOT_SUPPORTED = 6 };

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
    int type, handles;
    CUmemLocation location;
    void *security;
    size_t most;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;

typedef struct {
    CUmemPoolProps pool;
    const CUmemAccessDesc *access;
    size_t accesses, bytes;
    CUdeviceptr at;
} CUDA_MEM_ALLOC_NODE_PARAMS;

typedef struct {
    CUgraphConditionalHandle handle;
    int kind;
    unsigned size;
    CUgraph *body;
    CUcontext context;
} CUDA_CONDITIONAL_NODE_PARAMS;

typedef struct {
    CUgraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        CUDA_KERNEL_NODE_PARAMS kernel;
        struct {
            int flags, reserved;
            CUcontext context;
            CUDA_MEMCPY3D copy;
        } memcpy;
        CUDA_MEMSET_NODE_PARAMS memset; /* and a context */
        CUDA_HOST_NODE_PARAMS host;
        CUgraph graph; /* and its owner */
        CUevent event;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        CUdeviceptr free;
        CUDA_CONDITIONAL_NODE_PARAMS conditional;
    };
    long long reserved2;
} CUgraphNodeParams;

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
    X(cuGraphNodeGetDependencies_v2, (CUgraphNode node, CUgraphNode *nodes, void *data, size_t *n))                   \
    X(cuGraphNodeGetDependentNodes, (CUgraphNode node, CUgraphNode *nodes, size_t *n))                                \
    X(cuGraphNodeGetDependentNodes_v2, (CUgraphNode node, CUgraphNode *nodes, void *data, size_t *n))                 \
    X(cuGraphGetEdges, (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n))                                \
    X(cuGraphGetEdges_v2, (CUgraph graph, CUgraphNode *from, CUgraphNode *to, void *data, size_t *n))                 \
    X(cuGraphAddMemAllocNode, (CC_ADD_NODE_, CUDA_MEM_ALLOC_NODE_PARAMS *params))                                     \
    X(cuGraphMemAllocNodeGetParams, (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params))                           \
    X(cuGraphAddMemFreeNode, (CC_ADD_NODE_, CUdeviceptr at))                                                          \
    X(cuGraphMemFreeNodeGetParams, (CUgraphNode node, CUdeviceptr *at))                                               \
    X(cuGraphConditionalHandleCreate, (CUgraphConditionalHandle *handle, CUgraph graph, CUcontext context,            \
                                       unsigned value, unsigned flags))                                               \
    X(cuGraphAddNode, (CC_ADD_NODE_, CUgraphNodeParams *params))                                                      \
    X(cuGraphAddNode_v2, (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const void *data, size_t n,     \
                          CUgraphNodeParams *params))                                                                 \
    X(cuDeviceGraphMemTrim, (CUdevice device))                                                                        \
    X(cuDeviceGetGraphMemAttribute, (CUdevice device, int attribute, void *value))                                    \
    X(cuDeviceSetGraphMemAttribute, (CUdevice device, int attribute, void *value))                                    \
    X(cuStreamBeginCaptureToGraph, (CUstream stream, CUgraph graph, const CUgraphNode *after, const void *data,       \
                                    size_t n, CUstreamCaptureMode mode))                                              \
    X(cuStreamGetCaptureInfo, (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph,          \
                               const CUgraphNode **after, size_t *n)) /* since CUDA 12 */                             \
    X(cuStreamGetCaptureInfo_v3, (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph,       \
                                  const CUgraphNode **after, const void **data, size_t *n))                           \
    X(cuStreamUpdateCaptureDependencies, (CUstream stream, CUgraphNode *after, size_t n, unsigned flags))             \
    X(cuStreamUpdateCaptureDependencies_v2, (CUstream stream, CUgraphNode *after, const void *data, size_t n,         \
                                             unsigned flags))

#endif
