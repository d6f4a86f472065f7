/*
 * owned.h - memory of graphs and of pools, in the order of the program's calls. Memory that a node of a graph allocates keeps its address for as
 * long as a graph, an executable graph or a command uses it; it is live from the launch of the node until a free, which may be of another graph.
 * Memory of a pool is live from the start.
 */
#ifndef CC_OWNED_H
#define CC_OWNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cuda_driver.h"

/* Bytes that are live, and bytes that the owner has taken: now, and the most since the program set them. */
struct cc_usage {
    uint64_t live, live_most, taken, taken_most;
    unsigned users; /* allocations, and its owner */
    bool is_static;
};

struct cc_owned {
    struct cc_owned *next;
    void *at;
    size_t bytes;
    struct cc_usage *of;
    unsigned users;
    bool live, taken;
};

/* With one user. NULL: out of memory. */
struct cc_owned *cc_owned_new(size_t bytes, int device, struct cc_usage *of);
void cc_owned_hold(struct cc_owned *o);
/* Or NULL. Without users and not live it ends. */
void cc_owned_drop(struct cc_owned *o);
/* The memory that begins here, with one more user, or NULL. */
struct cc_owned *cc_owned_find(CUdeviceptr at);
bool cc_owned_is_live(struct cc_owned *o);
/* CUDA_ERROR_INVALID_VALUE: it is live already, or not live. */
CUresult cc_owned_begin(struct cc_owned *o);
CUresult cc_owned_end(struct cc_owned *o);
/* Give the pages back of all memory that is not live. No command may be running. */
void cc_owned_trim(struct cc_usage *of);
/* A copy of the counts. */
struct cc_usage cc_usage_get(struct cc_usage *u);
void cc_usage_reset(struct cc_usage *u, bool live, bool taken); /* the most is what is there now */
struct cc_usage *cc_usage_new(void);                            /* NULL: out of memory */
void cc_usage_leave(struct cc_usage *u);                        /* the owner ends: free it, now or with its last allocation */

#endif
