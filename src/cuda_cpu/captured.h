/*
 * captured.h - captures: streams whose commands become nodes of a graph. A stream or an event that takes part has the nodes that its next
 * command waits for. All under the lock of streams.
 */
#ifndef CC_CAPTURED_H
#define CC_CAPTURED_H

#include <pthread.h>

#include "cuda_cpu/node.h"

struct cc_capture {
    CUgraph graph;
    bool is_programs;  /* the graph existed before, with this many nodes, and stays */
    size_t before;
    uint64_t id;
    CUstream origin; /* the stream with which it began, and ends */
    CUstreamCaptureMode mode;
    pthread_t thread;
    CUresult invalid; /* why it cannot end well, or 0 */
    bool ended;
    unsigned users;
};

struct cc_captured {
    struct cc_capture *of; /* NULL: not captured */
    CUgraphNode *after;
    size_t n;
};

/* Is a capture in progress? */
static inline bool cc_is_captured(const struct cc_captured *c)
{
    return c->of && !c->of->ended;
}

void cc_captured_leave(struct cc_captured *c);
/* Take part in the capture of the other, and wait for its nodes, too. */
CUresult cc_captured_join(struct cc_captured *c, const struct cc_captured *other);
/* The command becomes a node. Takes over c. */
CUresult cc_captured_add(struct cc_captured *at, struct cc_command *c);
/* Wait for these nodes of the graph, too, or for these alone. */
CUresult cc_captured_wait_for(struct cc_captured *c, const CUgraphNode *after, size_t n, bool alone);
/* Have all nodes of the capture a way to what these wait for? */
bool cc_captured_is_whole(const struct cc_captured *c);

#endif
