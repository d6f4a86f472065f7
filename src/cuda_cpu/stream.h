/* stream.h - launches in streams, and waits for streams. */
#ifndef CC_STREAM_H
#define CC_STREAM_H

#include "cuda_cpu/entries.h"

struct zc_launch;

/* Run a launch of the function on the stream, which frees it. */
CUresult cc_stream_launch(CUstream stream, CUfunction function, struct zc_launch *launch);
/* Wait for the stream; its error. Needs no context. */
CUresult cc_stream_wait(CUstream stream);
/* Wait for all streams. */
CUresult cc_stream_wait_all(void);
/* Before memory is freed: wait for what all streams have been given, whatever its result. Streams that capture have been given nothing. */
void cc_stream_settle(void);

#endif
