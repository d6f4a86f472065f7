/* shm_map.h - the control block of a node's file, and how a PE maps its heap: for net_shm.c and shm_join.c. */
#ifndef SHI_SHM_MAP_H
#define SHI_SHM_MAP_H

#include "host/net/node/shm_region.h"
#include "host/util/base.h"

enum { SHI_SHM_MAGIC = 0x466c6d73 };

struct shi_shm_control {
    uint32_t magic;
    char library[28]; /* version of the first PE's library; up to here the same in all versions */
    int32_t abort;
    uint64_t reserved_off;
    uint64_t file_bytes;
    _Alignas(SHI_LINE_BYTES) uint32_t arrived; /* a futex word */
    _Alignas(SHI_LINE_BYTES) struct shi_shm_region region[];
};

/* Log a failed call. -errno. */
int shi_shm_failed(const char *what);

/* Log that the heaps of the node's n PEs do not fit into this PE's addresses. -errno. */
int shi_shm_no_addresses(size_t heap_bytes, int n);

size_t shi_shm_heap_mapping(size_t heap_bytes);
void *shi_shm_map_aligned(int fd, uint64_t off, size_t bytes);
int shi_shm_map_heap(int fd, const struct shi_shm_params *params, uint64_t off, int n, uintptr_t *lo);

#endif
