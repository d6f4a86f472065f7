/*
 * adding_memory.h - one PE's memory that becomes symmetric beside the heaps: brought to where others can map it, and taken back.
 *
 * The program's memory of the host moves to pages of the node's file, at its address; what the library allocates are such pages. Memory of
 * the device is exported and mapped as the device heap is. One thread at a time.
 */
#ifndef SHI_ADDING_MEMORY_H
#define SHI_ADDING_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

struct shi_adding {
    void *addr;    /* of the program's memory; allocate: bring sets it */
    size_t bytes;
    int device;    /* memory of this PE's device; 0: of the host */
    int allocate;  /* by flags and numa_node of shmemx_space_config_t; 0: it is the program's memory */
    long flags;
    int numa_node;
};

/* How other PEs of the node map it. */
union shi_brought {
    struct shi_device_share share;
    uint64_t off; /* of host memory, in the node's file */
};

/* 0, or -errno after one line; then everything is as before. */
int shi_adding_bring(const char *routine, struct shi_adding *a, union shi_brought *out);
void shi_adding_take_back(const struct shi_adding *a, const union shi_brought *brought);

#endif
