/* queue.h - what streams and events are: queues of commands, each with a thread; and how a command gets there. */
#ifndef CC_QUEUE_H
#define CC_QUEUE_H

#include <pthread.h>

#include "cuda_cpu/captured.h"
#include "cuda_cpu/entries.h"

struct CUstream_st {
    struct CUstream_st *next;
    pthread_t thread;
    pthread_cond_t more;     /* commands for the thread, or stop */
    struct zc_worker worker; /* of the thread */
    struct cc_command *head, **tail;
    uint64_t submitted, finished;
    uint64_t running; /* the number of the command that executes, or 0 */
    bool blocking;    /* waits for the default stream, and that for it */
    bool stop;
    bool by_caller; /* a thread that called executes a command: the stream's thread waits */
    CUresult error;
    void *clock;              /* of what it has executed, see ze_cpu/clocks.h */
    struct cc_captured captured;
};

struct CUevent_st {
    uint64_t recorded, reached; /* records submitted, executed */
    uint64_t reached_ns;        /* when the last was executed */
    unsigned users;             /* commands in streams, and the program */
    void *clock;                /* of the records that were executed */
    struct cc_captured captured; /* recorded in a stream that is captured */
};

/* Of all streams, events and captures; changed: a command has ended. */
extern pthread_mutex_t cc_lock;
extern pthread_cond_t cc_changed;

CUresult cc_stream_start(bool blocking, CUstream *out);
/* End the stream when its commands have ended. */
void cc_stream_end(struct CUstream_st *s);
/* With the lock: the first of all streams, which `next` links. */
struct CUstream_st *cc_streams(void);
/* The stream of a handle, NULL: out of memory. */
struct CUstream_st *cc_stream_of(CUstream s);
/* Run the command in the stream, or add it to the graph that the stream is captured into. Takes over c, NULL: it had no memory. */
CUresult cc_stream_submit(CUstream stream, struct cc_command *c);
/* The same on a thread that needs no context. */
CUresult cc_stream_append(CUstream stream, struct cc_command *c);
/* With the lock: the capture that this takes part in cannot end well. Returns the reason. */
CUresult cc_capture_spoil(struct cc_captured *c, CUresult why);
/* With the lock: drop a use of the event, which may free it. */
void cc_event_drop(CUevent e);
#endif
