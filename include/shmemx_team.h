/*
 * shmemx_team.h - teams of any PEs in any order, and what teams have in common; included by shmemx.h.
 *
 * The splits are collective over the parent, on which all members agree; config and config_mask are those of shmem_team_split_strided,
 * which returns the same values. A context, a collective, a tag or a kernel takes such a team as any other.
 */
#ifndef SHMEMX_TEAM_H
#define SHMEMX_TEAM_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* For shmemx_team_split_color: the calling PE joins no team. Any negative color means it. */
#define SHMEMX_TEAM_NO_COLOR (-1)

/* Results of shmemx_team_compare: the same team; the same members in the same order; the same members; others. */
enum { SHMEMX_TEAM_IDENT, SHMEMX_TEAM_CONGRUENT, SHMEMX_TEAM_SIMILAR, SHMEMX_TEAM_UNEQUAL };

/*
 * shmemx_team_split_list: PE i of the new team is PE pes[i] of the parent. All members pass the same list of n_pes different PEs.
 * shmemx_team_split_color: a team of the PEs with the same color, in the order of their keys, and of the parent where keys are equal.
 * shmemx_team_create: PE i of the new team is PE pes[i] of the world. Collective over the n_pes different PEs of the list alone, which pass the
 * same one; others need not know of it. psync is a symmetric array of a long for each PE of the world, all SHMEM_SYNC_VALUE, for this
 * routine alone. At most 1,024 different lists and active sets in a job. -1: the list is none, or lacks the calling PE.
 * shmemx_team_dup: a team of the same PEs with the same configuration, whose collectives and contexts are separate. Collective over the team.
 *
 * The others communicate with no PE. shmemx_team_translate_pes stores in dest_pes[i] the number in dest_team of PE src_pes[i] of
 * src_team, or -1; src_pes may be NULL, for PEs 0 to n_pes - 1. It returns -1 for SHMEM_TEAM_INVALID, else 0.
 * shmemx_team_n_nodes counts the nodes on which the team's PEs are; shmemx_team_node is the number of PE pe's among them, from 0, or -1;
 * shmemx_team_node_pes stores the team's PEs on that node in pes, ascending, unless it is NULL, and returns how many they are.
 */
#define SHMEMX_FOR_EACH_TEAM(U)                                                                                      \
    U(int, shmemx_team_split_list,                                                                                   \
      (shmem_team_t parent_team, const int *pes, int n_pes, const shmem_team_config_t *config, long config_mask,     \
       shmem_team_t *new_team))                                                                                      \
    U(int, shmemx_team_split_color,                                                                                  \
      (shmem_team_t parent_team, int color, int key, const shmem_team_config_t *config, long config_mask,            \
       shmem_team_t *new_team))                                                                                      \
    U(int, shmemx_team_create,                                                                                       \
      (const int *pes, int n_pes, long *psync, const shmem_team_config_t *config, long config_mask,                  \
       shmem_team_t *new_team))                                                                                      \
    U(int, shmemx_team_dup, (shmem_team_t team, shmem_team_t *new_team))                                             \
    U(int, shmemx_team_translate_pes,                                                                                \
      (shmem_team_t src_team, const int *src_pes, int n_pes, shmem_team_t dest_team, int *dest_pes))                 \
    U(int, shmemx_team_compare, (shmem_team_t a, shmem_team_t b))                                                    \
    U(int, shmemx_team_n_nodes, (shmem_team_t team))                                                                 \
    U(int, shmemx_team_node, (shmem_team_t team, int pe))                                                            \
    U(int, shmemx_team_node_pes, (shmem_team_t team, int node, int *pes))

#define SHMEMX_FN_(R, NAME, PARAMS) R NAME PARAMS; R p##NAME PARAMS;
SHMEMX_FOR_EACH_TEAM(SHMEMX_FN_)
#undef SHMEMX_FN_

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
