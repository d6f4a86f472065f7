/*
 * survive.h - SHMEM_FAULTS=continue: the job goes on when a PE dies. The core knows only shi_wait_fails, shi_lock_faults, `failed` of a team, and
 * shi_team_heap_barrier.
 *
 *   files      watch (a process has ended), failed (the PEs known to have failed), survive (which waits end, status of threads, revocation, up and down),
 *              message (about teams), agreement and agree (agreements), shrink (a team of those that live), grow (new processes in place of dead ones)
 *
 *   a PE       lives -> has left (it has passed the agreement of shmem_finalize), or lives -> failed (its process ended before)
 *   a team     whole -> failed: here a wait on it found a failed member, or it was revoked. A failed team sends no notification, and each call
 *              on it returns an error at once, but revocation, agreement and shrink. It stays so, also its slot: members may be in different
 *              operations, and one that is behind may still store to the slots of the others.
 *
 *   word                 written by               read by             order
 *   team.failed          waits of this PE,        calls on the team   relaxed: a thread that sees it late waits once more
 *                        handler of REVOKE
 *   shi_wait_fails       watching thread,         waits               R1 -> A1 what it looks at is there; set once
 *                        handler of REVOKE
 *   left_job (net_shm)   its PE                   PEs of the node     R2 -> A2 its last agreement is decided
 */
#ifndef SHI_SURVIVE_H
#define SHI_SURVIVE_H

#include "host/coll/team.h"

/* In every init and finalize, with the other parts. 0 or -errno after one line. */
int shi_survive_up(void);
void shi_survive_stop(void);
void shi_survive_down(void);

/* The job ends with this status, on all hosts: there may be no launcher that ends it. */
void shi_survive_exit(int status);

/* 1: the job goes on without PEs that have failed. */
int shi_survive_is_on(void);

/* In place of a barrier of all PEs: of those that live, with quiet. */
void shi_survive_barrier(const char *routine);

/* What the calling thread's calls have met since the last call: 0 or SHMEMX_ERR_. */
int shi_survive_status(void);

/* 0, or SHMEMX_ERR_PE_FAILED: a PE has failed, and shmemx_ack_failed was not called since. */
int shi_survive_unacknowledged(void);

/* Waits of kernels that have ended now may have ended for that: the calling thread's status. */
void shi_survive_note_kernels(void);

/* Waits for words of the calling thread end when a member of the team fails; NULL: when any PE does that is not acknowledged. */
void shi_survive_wait_for(struct shmem_team *t);

/* All members' calls on the team fail from now on. */
void shi_survive_revoke(struct shmem_team *t);

/* Collective over the living members: a team of them in the same order. 0 and *out, or -errno, the same on all. */
int shi_survive_shrink(const char *routine, struct shmem_team *t, struct shmem_team **out);

#endif
