/*
 * object.h - what is at an address: the name of the static variable, or where the block of the heap was allocated.
 */
#ifndef RACE_OBJECT_H
#define RACE_OBJECT_H

#include "race/cell.h"

void race_object_allocated(const void *block, size_t bytes, const void *pc, const char *routine);
void race_object_freed(const void *block);
/* The memory is gone with all its blocks. */
void race_object_gone(uintptr_t lo, size_t bytes);

/* "name" or "name + 8", "block of 64 bytes from shmem_malloc at file:line + 8", "private memory". */
void race_object_name(const struct race_where *w, char *name, size_t bytes);

#endif
