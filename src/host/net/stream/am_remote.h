/* am_remote.h - active messages between nodes: the network's stream as a carrier of am.h. */
#ifndef SHI_AM_REMOTE_H
#define SHI_AM_REMOTE_H

#include "host/net/am/am_carrier.h"

/* Carry messages between nodes; with all, also between PEs of one node. After shi_stream_up and shi_am_up. Pair:
 * shi_am_remote_down, after shi_am_down. */
void shi_am_remote_up(int all);
void shi_am_remote_down(void);

/* A message has come: call its handler now, or later from the carrier's poll. Any thread, one at a time. */
void shi_am_remote_arrived(int pe, unsigned id, const void *msg, size_t bytes);

#endif
