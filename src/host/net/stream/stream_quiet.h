/* stream_quiet.h - order and completion for stream_tx.c; fence, quiet and local are in stream.h. The lane is locked. */
#ifndef SHI_STREAM_QUIET_H
#define SHI_STREAM_QUIET_H

#include "host/net/stream/lane.h"

/* May a record be sent now, given the writes before it? */
int shi_stream_behind_writes(struct shi_lane *l, int pe, int after_writes, struct shi_stream_wait *w);

/* May a write be posted now, given the records and writes before the last fence? */
int shi_stream_behind_fence(struct shi_lane *l, int pe, struct shi_stream_wait *w);

/* Have a called back when the message that it names is acknowledged, which none of the list precedes. */
void shi_stream_add_after(struct stream *s, struct shi_after *a);

#endif
