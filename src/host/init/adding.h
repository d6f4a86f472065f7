/*
 * adding.h - make memory of the program symmetric, and take that back. ops/added.h has the table that operations look at.
 *
 * Memory of the host moves to pages of the node's file, at its address; memory of the device is exported and mapped as the device heap
 * is. Collective calls: the same result on all PEs, and a line where one cannot.
 */
#ifndef SHI_ADDING_H
#define SHI_ADDING_H

#include <stddef.h>

/* The index of the memory, or -errno. device: the device heap is up. Everything has arrived, nothing is sent, on all PEs. */
int shi_adding_add(const char *routine, void *addr, size_t bytes, int device);
int shi_adding_remove(const char *routine, int i);

/* Device memory as a local buffer of host calls. forget: -EINVAL when none begins there; NULL: all. */
int shi_adding_local(const char *routine, void *addr, size_t bytes);
int shi_adding_forget_local(void *addr);

/* No PE sends any more: all is the program's own again. */
void shi_adding_down(void);

/* In a forked child: the memory is its own. 0 or -ENOMEM. */
int shi_adding_forked(void);

#endif
