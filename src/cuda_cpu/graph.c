/* graph.c - graphs that the program builds: nodes, the order between them, their parameters. */
#include "cuda_cpu/graph.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/kernel.h"
#include "cuda_cpu/texture.h"

CUresult cc_graph_append(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t n, struct cc_command *c)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < n; k++)
        if (!after[k] || after[k]->graph != graph) {
            cc_command_free(c);
            return CUDA_ERROR_INVALID_VALUE;
        }
    *out = cc_graph_add(graph, after, n, cc_graph_type(c), c);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- parameters and commands ------------------------------------------------------------------------------------ */

struct cc_command *cc_graph_kernel(const CUDA_KERNEL_NODE_PARAMS *p)
{
    struct cc_command *c = p->extra || !p->func ? NULL : cc_command_new(CC_KERNEL);
    if (c && cc_kernel_launch(p->func, p->grid, p->block, p->shared_bytes, p->params, false, &c->launch)) {
        cc_command_free(c);
        return NULL;
    }
    if (c)
        c->function = p->func;
    return c;
}

/* An end of a copy: its first byte, and the bytes from row to row and from plane to plane. */
struct end {
    char *at;
    size_t pitch, plane;
};

static struct end end_of(const cc_copy_end *e)
{
    enum { HOST = 1, ARRAY = 3 };
    const struct CUarray_st *a = e->memory == ARRAY ? e->array : NULL;
    struct end d = {e->memory == HOST ? e->host : (char *)(uintptr_t)e->device, e->pitch, e->pitch * e->height};
    if (a)
        d = (struct end){(char *)a->t.at, a->t.pitch, a->t.plane};
    d.at += e->z * d.plane + e->y * d.pitch + e->x;
    return d;
}

/* Is this part inside the array, if it is one? */
static bool is_inside(const cc_copy_end *e, const CUDA_MEMCPY3D *p)
{
    enum { ARRAY = 3 };
    const struct CUarray_st *a = e->array;
    return e->memory != ARRAY || (a && e->x + p->width_bytes <= a->t.pitch && e->y + p->height <= a->t.height && e->z + p->depth <= a->t.depth);
}

struct cc_command *cc_graph_memcpy(const CUDA_MEMCPY3D *p)
{
    bool good = is_inside(&p->from, p) && is_inside(&p->to, p) && p->width_bytes && p->height && p->depth;
    struct cc_command *c = good ? cc_command_new(CC_COPY) : NULL;
    if (!c)
        return NULL;
    struct end from = end_of(&p->from), to = end_of(&p->to);
    c->to = to.at;
    c->from = from.at;
    c->bytes = p->width_bytes;
    c->rows = p->height - 1;
    c->planes = p->depth - 1;
    c->to_pitch = to.pitch;
    c->from_pitch = from.pitch;
    c->to_plane = to.plane;
    c->from_plane = from.plane;
    return c;
}

struct cc_command *cc_graph_memset(const CUDA_MEMSET_NODE_PARAMS *p)
{
    bool good = (p->element_bytes == 1 || p->element_bytes == 2 || p->element_bytes == 4) && p->width && p->height;
    struct cc_command *c = good ? cc_command_new(CC_FILL) : NULL;
    if (!c)
        return NULL;
    c->to = (void *)(uintptr_t)p->to;
    c->value = p->value;
    c->element = p->element_bytes;
    c->bytes = p->width * p->element_bytes;
    c->rows = p->height - 1;
    c->to_pitch = p->pitch;
    return c;
}

struct cc_command *cc_graph_host(const CUDA_HOST_NODE_PARAMS *p)
{
    struct cc_command *c = p->fn ? cc_command_new(CC_HOST) : NULL;
    if (c) {
        c->fn = p->fn;
        c->from = p->arg;
    }
    return c;
}

static struct cc_command *of_event(enum cc_what what, CUevent event)
{
    struct cc_command *c = event ? cc_command_new(what) : NULL;
    if (c) {
        c->event = event;
        c->external = true;
    }
    return c;
}

static CUresult set(CUgraphNode node, struct cc_command *c)
{
    if (!c || node->type != cc_graph_type(c)) {
        cc_command_free(c);
        return CUDA_ERROR_INVALID_VALUE;
    }
    cc_command_free(node->command);
    node->command = c;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
    if (node->type != CC_NODE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    struct zc_launch *l = node->command->launch;
    *p = (CUDA_KERNEL_NODE_PARAMS){.func = node->command->function, .shared_bytes = l->local[l->k->nargs - 1]};
    memcpy(p->grid, l->count, sizeof p->grid);
    memcpy(p->block, l->group, sizeof p->block);
    p->params = (void **)(uintptr_t)l->arg;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
    return set(node, cc_graph_kernel(p));
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p)
{
    return set(node, cc_graph_memcpy(p));
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *p)
{
    const struct cc_command *c = node->command;
    if (node->type != CC_NODE_MEMSET)
        return CUDA_ERROR_INVALID_VALUE;
    *p = (CUDA_MEMSET_NODE_PARAMS){(CUdeviceptr)(uintptr_t)c->to, c->to_pitch, c->value, c->element, c->bytes / c->element, c->rows + 1};
    return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
    return set(node, cc_graph_memset(p));
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *p)
{
    if (node->type != CC_NODE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    *p = (CUDA_HOST_NODE_PARAMS){node->command->fn, (void *)(uintptr_t)node->command->from};
    return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
    return set(node, cc_graph_host(p));
}

/* ---- building --------------------------------------------------------------------------------------------------- */

CUresult cuGraphCreate(CUgraph *out, unsigned flags)
{
    *out = flags ? NULL : cc_graph_new();
    return flags ? CUDA_ERROR_INVALID_VALUE : *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph g)
{
    cc_graph_free(g);
    return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CC_ADD_NODE_, const CUDA_KERNEL_NODE_PARAMS *params)
{
    return cc_graph_append(node, graph, after, n, cc_graph_kernel(params));
}

CUresult cuGraphAddMemcpyNode(CC_ADD_NODE_, const CUDA_MEMCPY3D *params, CUcontext context)
{
    (void)context;
    return cc_graph_append(node, graph, after, n, cc_graph_memcpy(params));
}

CUresult cuGraphAddMemsetNode(CC_ADD_NODE_, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    (void)context;
    return cc_graph_append(node, graph, after, n, cc_graph_memset(params));
}

CUresult cuGraphAddHostNode(CC_ADD_NODE_, const CUDA_HOST_NODE_PARAMS *params)
{
    return cc_graph_append(node, graph, after, n, cc_graph_host(params));
}

CUresult cuGraphAddEventRecordNode(CC_ADD_NODE_, CUevent event)
{
    return cc_graph_append(node, graph, after, n, of_event(CC_RECORD, event));
}

CUresult cuGraphAddEventWaitNode(CC_ADD_NODE_, CUevent event)
{
    return cc_graph_append(node, graph, after, n, of_event(CC_WAIT, event));
}

CUresult cuGraphAddEmptyNode(CC_ADD_NODE_)
{
    for (size_t k = 0; k < n; k++)
        if (!after[k] || after[k]->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
    *node = cc_graph_add(graph, after, n, CC_NODE_EMPTY, NULL);
    return *node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphAddChildGraphNode(CC_ADD_NODE_, CUgraph child)
{
    CUgraph own;
    CUresult r = cuGraphClone(&own, child);
    r = r ? r : cuGraphAddEmptyNode(node, graph, after, n);
    if (r)
        return r;
    (*node)->type = CC_NODE_GRAPH;
    (*node)->child = own;
    return CUDA_SUCCESS;
}

/* The node of the copy that stands where `node` does in the graph. */
static CUgraphNode same_place(CUgraph copy, CUgraph graph, CUgraphNode node)
{
    CUgraphNode c = copy->first, g = graph->first;
    while (g != node) {
        g = g->next;
        c = c->next;
    }
    return c;
}

/* A copy of a node would be for the same memory, or the same condition. */
static bool may_be_copied(CUgraph graph)
{
    for (CUgraphNode node = graph->first; node; node = node->next)
        if (node->condition || node->type == CC_NODE_MEM_ALLOC || node->type == CC_NODE_MEM_FREE)
            return false;
    return true;
}

CUresult cuGraphClone(CUgraph *out, CUgraph graph)
{
    CUgraph copy = NULL;
    CUresult r = may_be_copied(graph) ? cuGraphCreate(&copy, 0) : CUDA_ERROR_NOT_SUPPORTED;
    for (CUgraphNode node = graph->first; !r && node; node = node->next) {
        struct cc_command *c = node->command ? cc_command_copy(node->command) : NULL;
        CUgraphNode own = node->command && !c ? NULL : cc_graph_add(copy, NULL, 0, node->type, c);
        r = !own ? CUDA_ERROR_OUT_OF_MEMORY : node->child ? cuGraphClone(&own->child, node->child) : CUDA_SUCCESS;
    }
    CUgraphNode own = r ? NULL : copy->first;
    for (CUgraphNode node = graph->first; !r && node; node = node->next, own = own->next)
        for (size_t k = 0; k < node->n; k++)
            if (!cc_node_wait_for(own, same_place(copy, graph, node->after[k])))
                r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r && copy)
        cc_graph_free(copy);
    *out = r ? NULL : copy;
    return r;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (from[k]->graph != graph || to[k]->graph != graph || from[k] == to[k])
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < n; k++)
        if (!cc_node_wait_for(to[k], from[k]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const void *data, size_t n)
{
    return data ? CUDA_ERROR_NOT_SUPPORTED : cuGraphAddDependencies(graph, from, to, n);
}

CUresult cuGraphDestroyNode(CUgraphNode node)
{
    CUgraph g = node->graph;
    CUgraphNode *at = &g->first;
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    for (CUgraphNode other = g->first; other; other = other->next)
        for (size_t k = other->n; k-- > 0;)
            if (other->after[k] == node)
                other->after[k] = other->after[--other->n];
    if (g->tail == &node->next)
        g->tail = at;
    g->nodes--;
    cc_node_free(node);
    return CUDA_SUCCESS;
}

/* ---- queries ---------------------------------------------------------------------------------------------------- */

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    *type = node->type;
    return CUDA_SUCCESS;
}

/* A list as CUDA returns it: without `nodes` its length; places that are left over become NULL. */
static void put(CUgraphNode *nodes, size_t room, size_t *n, CUgraphNode node)
{
    if (nodes && *n < room)
        nodes[*n] = node;
    ++*n;
}

static CUresult listed(CUgraphNode *nodes, size_t room, size_t *n)
{
    for (size_t k = *n; nodes && k < room; k++)
        nodes[k] = NULL;
    *n = nodes && *n > room ? room : *n;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
    size_t room = *n;
    *n = 0;
    for (CUgraphNode node = graph->first; node; node = node->next)
        put(nodes, room, n, node);
    return listed(nodes, room, n);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
    size_t room = *n;
    *n = 0;
    for (CUgraphNode node = graph->first; node; node = node->next)
        if (!node->n)
            put(nodes, room, n, node);
    return listed(nodes, room, n);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *n)
{
    size_t room = *n;
    *n = 0;
    for (size_t k = 0; k < node->n; k++)
        put(nodes, room, n, node->after[k]);
    return listed(nodes, room, n);
}

/* All edges are plain ones: their data is zero. */
enum { EDGE_BYTES = 8 };

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, void *data, size_t *n)
{
    if (data && nodes)
        memset(data, 0, *n * EDGE_BYTES);
    return cuGraphNodeGetDependencies(node, nodes, n);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *n)
{
    size_t room = *n;
    *n = 0;
    for (CUgraphNode other = node->graph->first; other; other = other->next)
        for (size_t k = 0; k < other->n; k++)
            if (other->after[k] == node)
                put(nodes, room, n, other);
    return listed(nodes, room, n);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, void *data, size_t *n)
{
    if (data && nodes)
        memset(data, 0, *n * EDGE_BYTES);
    return cuGraphNodeGetDependentNodes(node, nodes, n);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
    size_t room = *n, same;
    *n = 0;
    for (CUgraphNode node = graph->first; node; node = node->next)
        for (size_t k = 0; k < node->n; k++) {
            size_t at = *n;
            put(from, room, n, node->after[k]);
            put(to, room, &at, node);
        }
    same = *n;
    listed(to, room, &same);
    return listed(from, room, n);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, void *data, size_t *n)
{
    if (data && from)
        memset(data, 0, *n * EDGE_BYTES);
    return cuGraphGetEdges(graph, from, to, n);
}
