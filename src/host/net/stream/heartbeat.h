/* heartbeat.h - end the job when a PE of another node no longer answers, or a message is lost. */
#ifndef SHI_HEARTBEAT_H
#define SHI_HEARTBEAT_H

#include "host/net/stream/lane.h"

/* At the end of a poll: ping PEs that are silent, declare those dead that stay silent for longer than SHMEM_HEARTBEAT, and tell
 * all PEs when a debugger comes or goes. */
void shi_heartbeat_poll(void);

/* The polling thread has the first message of PE pe. */
void shi_heartbeat_know(int pe);

/* 1: message seq of the lane has come, but waits for an earlier one. */
int shi_is_stashed(const struct peer_rx *x, int lane, uint64_t seq);

#endif
