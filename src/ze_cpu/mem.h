/* mem.h - USM allocations. */
#ifndef ZC_MEM_H
#define ZC_MEM_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zc_alloc {
    uint8_t *base; /* address for the host and for kernels */
    size_t size, mapped;
    ze_memory_type_t type;
    uint64_t id;
    int fd; /* the memory's file, -1 without */
    bool imported;
    bool part; /* of a reservation: not freed by itself */
    ze_device_handle_t device;
};

void zc_mem_up(void);
/* The allocation that contains p, copied to *out. */
bool zc_mem_find(const void *p, struct zc_alloc *out);
/* Changes whenever an allocation is freed: a result of zc_mem_find from before may be stale. */
uint64_t zc_mem_changes(void);
/* The address at which kernels and copies access p: differs from p only for device memory under ZE_CPU_PRIVATE. */
void *zc_mem_device_view(void *p);

/* Addresses that the program reserves and maps files to itself. Sizes are multiples of the page; a part is unmapped as it was mapped. */
void *zc_mem_reserve(size_t bytes, size_t align, void *hint); /* or NULL; the program needs no memory for them */
void zc_mem_unreserve(void *at, size_t bytes);
bool zc_mem_part_map(void *at, size_t bytes, int fd, bool of_host); /* without access */
void zc_mem_part_unmap(void *at, size_t bytes);
/* prot: of mprotect. With access it is an allocation for zc_mem_find. */
bool zc_mem_part_access(void *at, size_t bytes, int prot, ze_device_handle_t device, bool of_host);

/* Addresses from lo on, to which it adds delta; bytes 0: none. */
struct zc_window {
    uint64_t lo, bytes, delta;
};
struct zc_window zc_mem_window(void);

#endif
