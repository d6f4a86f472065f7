/*
 * shmemx_survive.h - a job that goes on when a PE dies; included by shmemx.h. With SHMEM_FAULTS=continue, which oshrun --survive sets; else the death
 * of a PE ends the job. Names and meaning are near those of MPI's proposal ULFM.
 */
#ifndef SHMEMX_SURVIVE_H
#define SHMEMX_SURVIVE_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Results of collectives and of shmemx_status: a PE of the team has failed; the team was revoked. */
enum { SHMEMX_ERR_PE_FAILED = 101, SHMEMX_ERR_REVOKED = 102 };

/*
 * A PE has failed when its process has ended before all PEs came to shmem_finalize. The others learn of it without a call, at different times.
 * From then on, at a PE that knows of it:
 * - A collective on a team with the PE returns SHMEMX_ERR_PE_FAILED, also while it waits, and so does each later one on that team. Others may
 *   still store to the dest until shmemx_agree or shmemx_team_shrink on the team has returned. Of one collective, some members may return an error and
 *   others success: after a split, they agree before they use the new team. shmem_barrier_all, shmem_sync_all and the routines over active sets return without a result; shmemx_status tells.
 * - A wait for words (shmem_wait_until*, shmem_signal_wait_until) returns, its condition false: _any with SIZE_MAX, _some with 0; and so do
 *   the next ones, until shmemx_ack_failed. After shmemx_wait_team, only members of that team matter, acknowledged or not.
 * - Waits of kernels for words return, their condition false, and syncs and collectives of kernels return -1, until shmemx_ack_failed; requests of kernels
 *   complete. shmemx_device_sync sets the status of shmemx_status. A program calls shmemx_ack_failed when kernels that have met the failure have ended.
 * - shmem_set_lock and shmem_test_lock get a lock that the PE held; shmemx_status then returns SHMEMX_ERR_PE_FAILED once.
 * - The routines of the heap are collective over the PEs that live, and go on.
 * - Tagged messages with the PE complete, also receives from any source until shmemx_ack_failed, with `failed` in their status; on a revoked team
 *   all complete that are not matched.
 * - Nonblocking collectives with the PE complete, and shmemx_status then returns the error. Procedure calls fail with -EIO and the PE's number.
 * - The memory of the PE may be accessed; what it holds is not defined. Where only the network reached it (another host, or SHMEM_TRANSPORT=ofi), puts and
 *   atomics to it do nothing, gets and fetches return a value that is not defined, and fence and quiet do not wait for them.
 * - Each lock has a PE that keeps its state. If that has failed and the job uses the network, no PE gets the lock any more: shmem_set_lock and
 *   shmem_test_lock return without it, the latter with 1, and shmemx_status then returns SHMEMX_ERR_REVOKED; shmem_clear_lock does nothing.
 * On several hosts a PE has also failed when its host does not answer for SHMEM_HEARTBEAT, or a transfer with it fails. A PE that the others take for failed, and
 * that runs, ends itself when it hears of that; but if the network between two groups of hosts fails, each group goes on without the other.
 * SHMEM_TEAM_WORLD with a failed PE stays failed; PE numbers do not change.
 *
 * shmemx_failed_pes: how many PEs this PE knows to have failed. It stores the numbers of at most max of them in pes, in the order in which this PE learned of
 * them; pes may be NULL where max is 0.
 * shmemx_ack_failed: waits for words, also of kernels that are launched later, go on although the PEs that have failed until now have, with all that
 * shmemx_agree has named. How many these are.
 * shmemx_status: 0, or the last SHMEMX_ERR_ that a call of the calling thread has met since the last shmemx_status.
 * shmemx_ctx_status: 0, or SHMEMX_ERR_PE_FAILED: an operation of the context, complete since the last shmemx_ctx_status, may not have been carried out as its PE has
 * failed. So 0 after a quiet: all puts and atomics before it were. Only operations over the network: to a PE of the same node they are carried out in memory that
 * stays, and this returns 0. Contexts with neither SHMEM_CTX_SERIALIZED nor SHMEM_CTX_PRIVATE share what they report with SHMEM_CTX_DEFAULT, which also reports
 * messages of collectives; others share it when there are more of them than the network has lanes. Kernels' operations are not reported.
 * shmemx_wait_team: waits for words of the calling thread depend on this team; SHMEM_TEAM_INVALID: as at the start.
 * shmemx_team_revoke: not collective. All members' calls on the team, also those that wait, return SHMEMX_ERR_REVOKED from then on, but
 * shmemx_agree and shmemx_team_shrink. 0, or -1 for SHMEM_TEAM_INVALID.
 * shmemx_agree: collective over the members that live. *value becomes the AND of the values of at least all of them. It stores the numbers in the team of at most max of the
 * members that have failed, as all agree, and returns how many they are: the same at all PEs that return. -1 for SHMEM_TEAM_INVALID.
 * shmemx_team_shrink: collective over the members that live: a team of them, in the same order. If one dies meanwhile, it may be a member of the new team,
 * which then has failed. 0 and *new_team, or another value and SHMEM_TEAM_INVALID, the same at all that return.
 *
 * shmemx_grow: processes that are started in place of PEs that have died, by oshrun --replace or by the unique id, become PEs with the same numbers. Collective over all
 * PEs that live; it waits for such a process for each PE that has failed, for at most wait_ms milliseconds (negative: without limit), and takes in those
 * that have come. *new_team: all PEs that live then, in the order of their numbers; what shmemx_team_shrink says of a PE that dies meanwhile holds here.
 * Returns how many PEs are new, or -1 and SHMEM_TEAM_INVALID, the same at all that return. It works on one node, also with SHMEM_TRANSPORT=ofi, without device heap
 * and without memory or spaces that were added. At the call no other thread of the PE is in a call, no lock is held, and all requests, calls of procedures and nonblocking
 * collectives with the dead PEs are complete.
 * In a new process shmem_init waits until the others have called shmemx_grow. It then has the blocks of the symmetric heap that they have, at the same
 * addresses, all bytes 0; its static data is as at the start of a program. It calls shmemx_grow as its first collective, which returns the team and 0 at once. For all
 * PEs, teams made earlier stay failed, SHMEM_TEAM_WORLD among them, but shmemx_agree and shmemx_team_shrink on SHMEM_TEAM_WORLD are then among all that live.
 * shmemx_is_new: 1 in a new process until shmemx_grow has returned, else 0.
 */
#define SHMEMX_FOR_EACH_SURVIVE(U)                                                                                   \
    U(int, shmemx_failed_pes, (int *pes, int max))                                                                   \
    U(int, shmemx_ack_failed, (void))                                                                                \
    U(int, shmemx_status, (void))                                                                                    \
    U(int, shmemx_ctx_status, (shmem_ctx_t ctx))                                                                     \
    U(void, shmemx_wait_team, (shmem_team_t team))                                                                   \
    U(int, shmemx_team_revoke, (shmem_team_t team))                                                                  \
    U(int, shmemx_agree, (shmem_team_t team, uint64_t *value, int *pes, int max))                                    \
    U(int, shmemx_team_shrink, (shmem_team_t team, shmem_team_t *new_team))                                          \
    U(int, shmemx_is_new, (void))                                                                                    \
    U(int, shmemx_grow, (long wait_ms, shmem_team_t *new_team))

#define SHMEMX_FN_(R, NAME, PARAMS) R NAME PARAMS; R p##NAME PARAMS;
SHMEMX_FOR_EACH_SURVIVE(SHMEMX_FN_)
#undef SHMEMX_FN_

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
