/*
 * left.h - PEs that have come to the end of shmem_finalize's own work, or of that at exit: they make no further call, so a wait that
 * needs one never ends.
 *
 * Looked at only by waits that have lasted for a second, then seldom (ops/wait.h). What counts as certain:
 * - in a barrier or collective over a team: a member that is awaited has left;
 * - over the world, and in shmem_finalize itself: a PE has left, and the epochs say that it has made other collective calls than this one,
 *   which its last barriers may have stood in for;
 * - in a wait for a symmetric word: all other PEs have left, and this PE has no other thread and no kernel that could store into it;
 * - in shmem_set_lock: the PE ahead in the queue has left.
 */
#ifndef SHI_LEFT_H
#define SHI_LEFT_H

/* At the start of shmem_init's last barrier; after it. */
void shi_left_up(void);
void shi_left_watch(void);

/* This PE's operations are complete, and it makes no further call of the program, but the barriers of shmem_finalize. by_exit: the program
 * has ended without the call. */
void shi_left_say(int by_exit);

/* After the last of these barriers. */
void shi_left_down(void);

/* The process leaves the job. */
void shi_left_leave(void);

#endif
