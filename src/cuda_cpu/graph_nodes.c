/* graph_nodes.c - nodes that allocate and free memory, conditional nodes, and nodes of any type by one structure. */
#include <stdlib.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/graph.h"
#include "cuda_cpu/stream.h"
#include "ze_cpu/config.h"
#include "ze_cpu/mem.h"

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Of the graphs of each device. */
static struct cc_usage usage[ZC_DEVICES] = {[0 ... ZC_DEVICES - 1] = {.is_static = true}};

static bool is_device(const CUmemLocation *l)
{
    return l->type == CU_MEM_LOCATION_TYPE_DEVICE && l->id >= 0 && l->id < (int)zc_config.devices;
}

struct cc_owned *cc_graph_memory(size_t bytes, int device)
{
    return bytes ? cc_owned_new(bytes, device, &usage[device]) : NULL;
}

/* Takes over a use of the memory. */
static struct cc_command *of_memory(enum cc_what what, struct cc_owned *o)
{
    struct cc_command *c = o ? cc_command_new(what) : NULL;
    if (c)
        c->owned = o;
    else
        cc_owned_drop(o);
    return c;
}

CUresult cuGraphAddMemAllocNode(CC_ADD_NODE_, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    enum { PINNED = 1 };
    CUresult r = cc_check_context();
    if (r || p->pool.type != PINNED || p->pool.handles || !is_device(&p->pool.location) || !p->bytes)
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    struct cc_owned *o = cc_graph_memory(p->bytes, p->pool.location.id);
    if (!o)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = cc_graph_append(node, graph, after, n, of_memory(CC_ALLOC, o));
    if (!r)
        p->at = (CUdeviceptr)(uintptr_t)o->at;
    return r;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    if (node->type != CC_NODE_MEM_ALLOC)
        return CUDA_ERROR_INVALID_VALUE;
    const struct cc_owned *o = node->command->owned;
    *p = (CUDA_MEM_ALLOC_NODE_PARAMS){.pool = {.type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, (int)(o->of - usage)}}, .bytes = o->bytes,
                                      .at = (CUdeviceptr)(uintptr_t)o->at};
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CC_ADD_NODE_, CUdeviceptr at)
{
    struct cc_owned *o = cc_owned_find(at);
    for (CUgraphNode other = o ? graph->first : NULL; other; other = other->next)
        if (other->type == CC_NODE_MEM_FREE && other->command->owned == o) {
            cc_owned_drop(o); /* the graph frees it twice */
            return CUDA_ERROR_INVALID_VALUE;
        }
    return cc_graph_append(node, graph, after, n, of_memory(CC_FREE, o));
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *at)
{
    if (node->type != CC_NODE_MEM_FREE)
        return CUDA_ERROR_INVALID_VALUE;
    *at = (CUdeviceptr)(uintptr_t)node->command->owned->at;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult r = device < 0 || device >= (int)zc_config.devices ? CUDA_ERROR_INVALID_DEVICE : cc_stream_wait_all();
    if (!r)
        cc_owned_trim(&usage[device]);
    return r;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *value)
{
    if (device < 0 || device >= (int)zc_config.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    struct cc_usage u = cc_usage_get(&usage[device]);
    const uint64_t values[] = {[CC_GRAPH_LIVE] = u.live, [CC_GRAPH_LIVE_MOST] = u.live_most, [CC_GRAPH_TAKEN] = u.taken, [CC_GRAPH_TAKEN_MOST] = u.taken_most};
    if (attribute < 0 || attribute > CC_GRAPH_TAKEN_MOST)
        return CUDA_ERROR_INVALID_VALUE;
    *(uint64_t *)value = values[attribute];
    return CUDA_SUCCESS;
}

/* Only the highest values can be set, to 0, which means what is there. */
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, int attribute, void *value)
{
    if (device < 0 || device >= (int)zc_config.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    if ((attribute != CC_GRAPH_LIVE_MOST && attribute != CC_GRAPH_TAKEN_MOST) || *(uint64_t *)value)
        return CUDA_ERROR_INVALID_VALUE;
    cc_usage_reset(&usage[device], attribute == CC_GRAPH_LIVE_MOST, attribute == CC_GRAPH_TAKEN_MOST);
    return CUDA_SUCCESS;
}

/* ---- conditions ------------------------------------------------------------------------------------------------- */

/* A handle is the address of a word, which kernels store to (cudaGraphSetConditional in link.c). */
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph, CUcontext context, unsigned value, unsigned flags)
{
    static struct cc_usage words = {.is_static = true};
    CUresult r = cc_check_context();
    (void)context;
    if (r || (flags & ~(unsigned)CC_ASSIGN_DEFAULT))
        return r ? r : CUDA_ERROR_INVALID_VALUE;
    struct cc_owned *o = cc_owned_new(sizeof value, cc_current_device(), &words);
    struct cc_command *c = of_memory(CC_FILL, o);
    struct cc_command **more = c ? realloc(graph->word, (graph->words + 1) * sizeof(struct cc_command *)) : NULL;
    if (!more) {
        cc_command_free(c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    c->to = o->at;
    c->value = value;
    c->element = sizeof value;
    c->bytes = flags ? sizeof value : 0;
    graph->word = more;
    graph->word[graph->words++] = c;
    *out = (CUgraphConditionalHandle)(uintptr_t)o->at;
    return CUDA_SUCCESS;
}

static CUresult add_conditional(CC_ADD_NODE_, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    unsigned most = p->kind == CC_IF ? 2 : p->kind == CC_WHILE ? 1 : UINT16_MAX;
    struct cc_owned *word = p->kind >= CC_IF && p->kind <= CC_SWITCH && p->size && p->size <= most ? cc_owned_find(p->handle) : NULL;
    if (!word || word->bytes != sizeof(unsigned)) {
        cc_owned_drop(word);
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct cc_condition *c = calloc(1, sizeof *c + p->size * sizeof *c->body);
    CUresult r = c ? cuGraphAddEmptyNode(node, graph, after, n) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        cc_owned_drop(word);
        free(c);
        return r;
    }
    (*node)->type = CC_NODE_CONDITIONAL;
    (*node)->condition = c;
    c->word = word;
    c->kind = p->kind;
    for (unsigned k = 0; !r && k < p->size; k++)
        if ((c->body[k] = cc_graph_new()))
            c->n++;
        else
            r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r)
        cuGraphDestroyNode(*node);
    p->body = r ? NULL : c->body;
    return r;
}

/* ---- any type --------------------------------------------------------------------------------------------------- */

CUresult cuGraphAddNode(CC_ADD_NODE_, CUgraphNodeParams *p)
{
    switch (p->type) {
    case CC_NODE_KERNEL:
        return cuGraphAddKernelNode(node, graph, after, n, &p->kernel);
    case CC_NODE_MEMCPY:
        return cuGraphAddMemcpyNode(node, graph, after, n, &p->memcpy.copy, p->memcpy.context);
    case CC_NODE_MEMSET:
        return cuGraphAddMemsetNode(node, graph, after, n, &p->memset, NULL);
    case CC_NODE_HOST:
        return cuGraphAddHostNode(node, graph, after, n, &p->host);
    case CC_NODE_GRAPH:
        return cuGraphAddChildGraphNode(node, graph, after, n, p->graph);
    case CC_NODE_EMPTY:
        return cuGraphAddEmptyNode(node, graph, after, n);
    case CC_NODE_WAIT_EVENT:
        return cuGraphAddEventWaitNode(node, graph, after, n, p->event);
    case CC_NODE_EVENT_RECORD:
        return cuGraphAddEventRecordNode(node, graph, after, n, p->event);
    case CC_NODE_MEM_ALLOC:
        return cuGraphAddMemAllocNode(node, graph, after, n, &p->alloc);
    case CC_NODE_MEM_FREE:
        return cuGraphAddMemFreeNode(node, graph, after, n, p->free);
    case CC_NODE_CONDITIONAL:
        return add_conditional(node, graph, after, n, &p->conditional);
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const void *data, size_t n, CUgraphNodeParams *p)
{
    return data ? CUDA_ERROR_NOT_SUPPORTED : cuGraphAddNode(node, graph, after, n, p);
}
