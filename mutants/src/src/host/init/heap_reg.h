/*
 * heap_reg.h - the part of the symmetric heap that the network can access.
 *
 * Networks that pin registered memory (FI_MR_ALLOCATED) would make the whole heap real at start-up. There the heap is
 * registered from its start as far as the program allocates blocks, in growing steps. Other networks register all of it.
 */
#ifndef SHI_HEAP_REG_H
#define SHI_HEAP_REG_H

#include <stddef.h>

/* At shmem_init, when the network is up. */
void shi_heap_reg_up(void);

/* Let all PEs access the first `bytes` of every PE's heap. Collective. 0, or -errno on all PEs, after one line on those that
 * cannot. */
int shi_heap_reg_reach(const char *routine, size_t bytes);

/* Bytes whose pages must stay. */
size_t shi_heap_reg_pinned(void);

#endif
