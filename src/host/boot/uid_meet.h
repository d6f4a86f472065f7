/* uid_meet.h - a process finds its place in the tree: it connects to the process that made the id, then to its parent (uid_wire.h). */
#ifndef SHI_UID_MEET_H
#define SHI_UID_MEET_H

#include "host/boot/uid_tree.h"

/* Try each address of the id once. 0: *up is a connection to the process that made it; -ECONNREFUSED: nothing listens at any of them; -ETIMEDOUT:
 * something may. Each address gets limit_ms. */
int shi_uid_reach(const struct shi_uid *id, int limit_ms, struct shi_uid_link *up);

/* Get a seat over t->up, which becomes the connection to the parent; t->self, t->n_pes and t->own.id are set. Or, in a job
 * that has started, no seat: t->is_new, and uid_data.h has what its PEs have published. 0, or -errno after one line. */
int shi_uid_sit(struct shi_uid_tree *t);

#endif
