/*
 * grow.h - new processes take the places of PEs that have died (shmemx_grow; oshrun --replace). One node, also over the network, without its device heap or added memory.
 *
 *   The PEs that live                                              A new process
 *   wait until new processes have come, or for as long as told     shmem_init: find the node's file, store WAITS, wait
 *   agree; the lowest one chooses the processes that have come
 *   agree (a shrink's agreement): the team's slot and number
 *   forget what they know of the dead ones' messages, watch the
 *   new processes
 *   agree; the lowest one stores GO                                clear its range of the file, take the heap's blocks, make the team, READY
 *   wait until all are READY or have died                          wait until all are READY or have died
 *   over the network: begin anew with the new processes' streams,
 *   agree; the lowest one stores IN                                over the network: wait until all are IN or have died; before it, send nothing
 *   agree, with the new PEs                                        agree, with the others; shmem_init returns
 *
 * A PE that dies meanwhile is a failed member of the new team. When no PE is left that could let in a new process, the processes that wait end. Model: test/model/join.pml.
 * A choice is written before the second agreement or not at all, so all read the same after it.
 */
#ifndef SHI_GROW_H
#define SHI_GROW_H

#include "host/coll/team.h"

/* In every init, within shi_survive_up: before messages are taken. 0 or -errno. */
int shi_grow_up(void);

/* At the end of shmem_init of a new process. */
void shi_grow_join(void);

/* 1: this PE is a new process, and shi_survive_grow has not returned in it. */
int shi_grow_is_new(void);

/* 1: this PE is a new process, to which the others do not listen yet. */
int shi_grow_is_outside(void);

/* Which process has the number of PE pe, as this PE knows; 0: the first one. */
uint32_t shi_grow_life(int pe);

/* 1: in this job some have grown. */
int shi_grow_has(void);

/* Collective over all that live. *out: a team of them and of the new PEs, in the order of their numbers; how many of these are new, or -errno, the same at all that
 * return. wait_ns: for a new process for each PE that has failed, at most. */
int shi_survive_grow(const char *routine, uint64_t wait_ns, struct shmem_team **out);

/* This process as a lock's holder, and whether that process has failed. */
uint32_t shi_grow_holder(void);
int shi_grow_has_holder_failed(uint32_t tail);

#endif
