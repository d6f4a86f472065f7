/*
 * adding.h - make memory symmetric beside the heaps, and take that back: the program's own, or memory of a kind that the library allocates
 * for a space. ops/added.h has the table that operations look at.
 *
 * Collective calls over a team: the same result on all members, and a line where one cannot. Several threads may make them for different
 * teams. Everything has arrived, nothing is sent.
 */
#ifndef SHI_ADDING_H
#define SHI_ADDING_H

#include "host/init/adding_memory.h"

struct shmem_team;

/* The index of the memory, or -errno. device: the device heap is up. */
int shi_adding_add(const char *routine, struct shmem_team *team, const struct shi_adding *what);
int shi_adding_remove(const char *routine, struct shmem_team *team, int i);

/* Device memory as a local buffer of host calls. forget: -EINVAL when none begins there; NULL: all. */
int shi_adding_local(const char *routine, void *addr, size_t bytes);
int shi_adding_forget_local(void *addr);

/* No PE sends any more: all is the program's own again, and there are no spaces. */
void shi_adding_down(void);

/* In a forked child: the memory is its own. 0 or -ENOMEM. */
int shi_adding_forked(void);

#endif
