/*
 * uid_tree.h - the tree of connections between the processes of a job that is started by a unique id: how they come together, fences, and
 * the end of the job when one dies. Who is whose parent: uid_wire.h.
 *
 * A thread of the library owns all connections and answers others while the program computes:
 *
 *     MEETING    at seat 0, until all have a seat: answer SHI_UID_MEET. Any other: uid_meet.c has done this before the thread starts
 *     JOINING    until all children have joined: answer SHI_UID_JOIN. Then the sockets that listen are closed
 *     FENCE      own fence, and SHI_UID_UP of all children: send UP to the parent; seat 0: learn it, send DOWN. DOWN: learn it, pass it on
 *     LEAVING    send BYE, close
 *     OPEN       seat 0 of a job that goes on when a PE dies, from the end of shmem_init on: the end of a connection means nothing; answer SHI_UID_MEET
 *                of a process that takes the place of a PE. All others have left the tree
 *     ENDING     a child's connection ends without BYE, or a PE aborts: SHI_UID_FAILED goes to seat 0, which writes the one line and sends
 *                END. Each process passes END on and ends with its status. Where the parent's connection ends, seat 0 hears it from the
 *                parent's parent: this process ends its subtree without a line; but seat 1, whose parent is seat 0, writes it
 *
 * After the first BYE, sent or received, all processes have passed shmem_finalize's last barrier, and the end of a connection means nothing.
 */
#ifndef SHI_UID_TREE_H
#define SHI_UID_TREE_H

#include <stddef.h>

#include "host/boot/uid_id.h"
#include "host/boot/uid_link.h"
#include "host/boot/uid_wire.h"

struct shi_uid_tree {
    int n_pes, seat;
    struct shi_uid_who self, parent;
    long silence_s; /* after which a host that does not answer is dead; 0: never */
    struct shi_uid_own own; /* the id, for its secret; the sockets that listen, which the tree takes over */
    struct shi_uid_link up; /* to the parent; the tree takes it over. Seat 0: closed */
    int survives;           /* the job goes on when a PE dies */
    int is_new;             /* the job has started already; this process is not in the tree */
};

/* Start the thread. 0, or -errno after one line. Pair: shi_uid_tree_down. */
int shi_uid_tree_up(const struct shi_uid_tree *t);

/* As in struct shi_boot_ops. */
int shi_uid_tree_fence(void);
void shi_uid_tree_abort(int status);
/* goes_on: all PEs have started, and the job goes on when one dies; it does without the tree, but seat 0 stays OPEN. */
void shi_uid_tree_down(int goes_on);

/* At seat 0: name the PEs that have not come; elsewhere "". */
void shi_uid_tree_missing(char *text, size_t bytes);

#endif
