/*
 * lifeline.h - a connection that ends when a process of another host ends, or its host does not answer.
 *
 * The PEs form a ring by their numbers. Each PE holds a connection to the next PE that has neither failed nor left, if that is on another host; on
 * the same host a pidfd watches it. Nothing is sent or accepted: the kernel makes the connection, resets it when the process ends, and answers
 * keepalives. So a PE that has failed is found by the one before it: at once if its host is up, else after SHMEM_HEARTBEAT. If that one has failed
 * too, the one before is found first by its own predecessor, which then watches this one. All of a host that does not answer have failed.
 */
#ifndef SHI_LIFELINE_H
#define SHI_LIFELINE_H

#include <poll.h>

#include "host/survive/message.h"

/* Listen; then tell all PEs of other hosts. is_over(pe): 1 for a PE that has failed or left. 0 or -errno after one line. */
int shi_lifeline_up(int (*is_over)(int pe));
void shi_lifeline_tell(void);
void shi_lifeline_down(void);

/* An address has come. */
shi_message_take shi_lifeline_take;

/* By the thread that watches: what to poll for, and for how many ms at most (-1: for ever); then what that has brought. Returns the PE that has
 * failed, or -1; *silent: its host does not answer. */
struct pollfd shi_lifeline_poll(int *limit_ms);
int shi_lifeline_look(short revents, int *silent);

#endif
