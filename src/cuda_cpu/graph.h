/* graph.h - the commands of nodes by their parameters. */
#ifndef CC_GRAPH_H
#define CC_GRAPH_H

#include "cuda_cpu/node.h"

/* A command of these parameters. NULL: they are not valid, or out of memory. */
struct cc_command *cc_graph_kernel(const CUDA_KERNEL_NODE_PARAMS *p);
struct cc_command *cc_graph_memcpy(const CUDA_MEMCPY3D *p);
struct cc_command *cc_graph_memset(const CUDA_MEMSET_NODE_PARAMS *p);
struct cc_command *cc_graph_host(const CUDA_HOST_NODE_PARAMS *p);

#endif
