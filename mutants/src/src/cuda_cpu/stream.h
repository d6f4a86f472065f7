/* stream.h - streams: queues of commands, each with a thread. */
#ifndef CC_STREAM_H
#define CC_STREAM_H

#include "cuda_cpu/entries.h"

struct zc_launch;

/* Run a launch on the stream, which frees it. */
CUresult cc_stream_launch(CUstream stream, struct zc_launch *launch);
/* Wait for all streams. */
CUresult cc_stream_wait_all(void);

#endif
