/* node.c - nodes of graphs. */
#include "cuda_cpu/node.h"

#include <stdlib.h>

bool cc_node_wait_for(CUgraphNode node, CUgraphNode other)
{
    for (size_t k = 0; k < node->n; k++)
        if (node->after[k] == other)
            return true;
    CUgraphNode *more = realloc(node->after, (node->n + 1) * sizeof *more);
    if (!more)
        return false;
    node->after = more;
    node->after[node->n++] = other;
    return true;
}

void cc_node_free(CUgraphNode node)
{
    if (node->child)
        cc_graph_free(node->child);
    for (unsigned k = 0; node->condition && k < node->condition->n; k++)
        cc_graph_free(node->condition->body[k]);
    if (node->condition)
        cc_owned_drop(node->condition->word);
    free(node->condition);
    cc_command_free(node->command);
    free(node->after);
    free(node);
}

CUgraphNode cc_graph_add(CUgraph graph, const CUgraphNode *after, size_t n, CUgraphNodeType type, struct cc_command *command)
{
    CUgraphNode node = calloc(1, sizeof *node);
    if (!node) {
        cc_command_free(command);
        return NULL;
    }
    node->graph = graph;
    node->type = type;
    node->command = command;
    for (size_t k = 0; k < n; k++)
        if (!cc_node_wait_for(node, after[k])) {
            cc_node_free(node);
            return NULL;
        }
    *graph->tail = node;
    graph->tail = &node->next;
    graph->nodes++;
    return node;
}

CUgraphNodeType cc_graph_type(const struct cc_command *c)
{
    static const CUgraphNodeType types[] = {[CC_COPY] = CC_NODE_MEMCPY, [CC_FILL] = CC_NODE_MEMSET, [CC_KERNEL] = CC_NODE_KERNEL,
                                            [CC_HOST] = CC_NODE_HOST, [CC_RECORD] = CC_NODE_EVENT_RECORD, [CC_WAIT] = CC_NODE_WAIT_EVENT,
                                            [CC_ALLOC] = CC_NODE_MEM_ALLOC, [CC_FREE] = CC_NODE_MEM_FREE, [CC_CALL] = CC_NODE_CONDITIONAL};
    return types[c->what];
}

struct CUgraph_st *cc_graph_new(void)
{
    struct CUgraph_st *g = calloc(1, sizeof *g);
    if (g)
        g->tail = &g->first;
    return g;
}

void cc_graph_free(CUgraph g)
{
    for (CUgraphNode node = g->first, next; node; node = next) {
        next = node->next;
        cc_node_free(node);
    }
    for (unsigned k = 0; k < g->words; k++)
        cc_command_free(g->word[k]);
    free(g->word);
    free(g);
}
