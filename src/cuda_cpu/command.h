/*
 * command.h - what streams execute and nodes of graphs hold: copies, fills, kernels, host functions, records of events and waits for them,
 * allocations, frees, calls of this library.
 */
#ifndef CC_COMMAND_H
#define CC_COMMAND_H

#include <stdbool.h>

#include "cuda_cpu/graph_calls.h"
#include "ze_cpu/launch.h"

enum cc_what { CC_COPY, CC_FILL, CC_KERNEL, CC_HOST, CC_RECORD, CC_WAIT, CC_ALLOC, CC_FREE, CC_CALL };

struct cc_command {
    struct cc_command *next;
    uint64_t number; /* of all commands of all streams */
    enum cc_what what;
    void *to;
    const void *from; /* or the argument of fn or call */
    size_t bytes;     /* of a row */
    size_t rows, planes, to_pitch, from_pitch, to_plane, from_plane; /* COPY, FILL; rows and planes: less one */
    uint32_t value, element; /* FILL: element bytes of value, in each element */
    CUhostFn fn;
    CUresult (*call)(void *arg); /* CALL: what it returns is the stream's error */
    struct cc_owned *owned;      /* ALLOC, FREE: the memory, which the command uses; FREE without it: the memory at `to` ends. Or NULL */
    CUevent event;
    bool external;        /* RECORD, WAIT: part of a graph where the stream is captured */
    uint64_t turn;        /* of the event */
    CUstream joined;      /* WAIT: fail if this stream has failed; or NULL */
    struct zc_launch *launch;
    CUfunction function;  /* of the launch */
    void *clock;          /* of the thread that submitted it, see ze_cpu/clocks.h */
};

struct cc_command *cc_command_new(enum cc_what what); /* NULL: out of memory, also below */
struct cc_command *cc_command_copy(const struct cc_command *c);
void cc_command_free(struct cc_command *c); /* or NULL */
void cc_command_copy_bytes(const struct cc_command *c); /* execute a COPY */
void cc_command_fill(const struct cc_command *c);       /* execute a FILL */
CUresult cc_command_free_memory(const struct cc_command *c); /* execute a FREE */

/* A launch of the kernel with these arguments, its own copies of them; the group sizes are to be set. */
struct zc_launch *cc_launch_new(const struct zc_module *m, const struct zc_kernel_info *info, void **args, unsigned shared_bytes);

#endif
