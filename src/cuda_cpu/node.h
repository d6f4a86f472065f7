/*
 * node.h - graphs: nodes with a command each, or a graph, and the nodes that they wait for. A graph is not shared by threads without
 * the program's own order, as in CUDA.
 */
#ifndef CC_NODE_H
#define CC_NODE_H

#include "cuda_cpu/command.h"
#include "cuda_cpu/owned.h"

struct CUgraphNode_st {
    CUgraph graph;
    CUgraphNode next;
    CUgraphNodeType type;
    struct cc_command *command; /* NULL: an empty node, or a graph */
    CUgraph child;
    struct cc_condition *condition; /* of a conditional node, or NULL */
    CUgraphNode *after; /* the n nodes that it waits for */
    size_t n;
    unsigned mark; /* of a traversal */
    unsigned step; /* its last step in the graph that is being made executable */
};

/* A conditional node: its word, whose address is the handle, and graphs by its value. */
struct cc_condition {
    struct cc_owned *word;
    int kind; /* CC_IF ... */
    unsigned n;
    CUgraph body[];
};

struct CUgraph_st {
    CUgraphNode first, *tail;
    size_t nodes;
    struct cc_command **word; /* for each handle of a condition: the fill with its value at a launch; of no bytes: it has none */
    unsigned words;
};

/* Takes over the command, which may be NULL with type EMPTY. NULL: out of memory. */
CUgraphNode cc_graph_add(CUgraph graph, const CUgraphNode *after, size_t n, CUgraphNodeType type, struct cc_command *command);
struct CUgraph_st *cc_graph_new(void); /* NULL: out of memory */
CUgraphNodeType cc_graph_type(const struct cc_command *c);
bool cc_node_wait_for(CUgraphNode node, CUgraphNode other); /* false: out of memory */
void cc_node_free(CUgraphNode node);
void cc_graph_free(CUgraph graph);

#endif
