/*
 * uid_accept.h - connections of processes that have not said who they are, at the sockets that listen: they prove that they know the
 * secret, and send one frame. Strangers get a limited number of places, for a limited time. For one thread.
 */
#ifndef SHI_UID_ACCEPT_H
#define SHI_UID_ACCEPT_H

#include "host/boot/uid_id.h"
#include "host/boot/uid_link.h"
#include "host/boot/uid_wire.h"

struct pollfd;

enum { SHI_UID_ACCEPT_POLLS = 64 + SHI_UID_ADDRS };

/* Takes the sockets over. Pair: shi_uid_accept_down. */
void shi_uid_accept_up(const struct shi_uid_own *own);
void shi_uid_accept_down(void);

/* Do sockets listen? */
int shi_uid_accept_is_up(void);

/* Add what to poll for to fds[SHI_UID_ACCEPT_POLLS]. Returns how many, and in how many ms shi_uid_accept_serve is due anyway; -1: not. */
int shi_uid_accept_polls(struct pollfd *fds, int *limit_ms);

/* After the poll: accept, receive, call frame for each frame. It may take the link over (move it, then set it closed); with a result other than
 * 0 the link is closed. */
void shi_uid_accept_serve(const struct pollfd *fds, int n, int (*frame)(struct shi_uid_link *l, const struct shi_uid_frame *f));

/* In a forked child: close the descriptors. */
void shi_uid_accept_forked(void);

/* Answer a process that comes after the start of a job of n_pes PEs: tell it all that they have published. 0 or -errno. */
int shi_uid_accept_late(struct shi_uid_link *l, const struct shi_uid_meet *m, int n_pes);

#endif
