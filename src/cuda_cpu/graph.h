/* graph.h - the commands of nodes by their parameters; nodes that are added with a command. */
#ifndef CC_GRAPH_H
#define CC_GRAPH_H

#include "cuda_cpu/node.h"

/* A command of these parameters. NULL: they are not valid, or out of memory. */
struct cc_command *cc_graph_kernel(const CUDA_KERNEL_NODE_PARAMS *p);
struct cc_command *cc_graph_memcpy(const CUDA_MEMCPY3D *p);
struct cc_command *cc_graph_memset(const CUDA_MEMSET_NODE_PARAMS *p);
struct cc_command *cc_graph_host(const CUDA_HOST_NODE_PARAMS *p);

/* A node with this command, which it takes over; NULL: it was not valid. */
CUresult cc_graph_append(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t n, struct cc_command *c);
/* Memory of a graph that is captured; NULL: out of memory, or of no bytes. */
struct cc_owned *cc_graph_memory(size_t bytes, int device);

#endif
