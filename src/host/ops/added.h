/*
 * added.h - memory that is symmetric beside the heaps and the static data: the program's own, and spaces; and memory of the program's device
 * that host calls take as a local buffer. init/adding.h adds and removes it. What misses the fast table is looked up here, when there is any.
 */
#ifndef SHI_ADDED_H
#define SHI_ADDED_H

#include <stddef.h>
#include <stdint.h>

#include "host/util/base.h"

enum { SHI_ADDED = 32, SHI_ADDED_LOCAL = 64 };

/* A heap of the members of a team in memory that the library has allocated. */
struct shmem_team;
struct shi_space {
    struct shi_heap *blocks;
    struct shmem_team *team;
    uint64_t number; /* of its handle */
    long flags;
    int numa_node;
};

/* Symmetric memory; the same index on all PEs that have it, at addresses that differ. */
struct shi_added {
    uintptr_t lo; /* this PE's */
    size_t bytes; /* 0: free */
    int device;   /* memory of this PE's device; 0: of the host */
    void **at;    /* [n_pes] where this PE has mapped that of a PE of the node; NULL */
    int16_t *of;  /* [n_pes] SHI_ADDED_ABSENT: the PE has none; SHI_ADDED_HERE; or the NUMA node of its pages */
    struct shi_space *space; /* NULL: memory of the program */
};
enum { SHI_ADDED_HERE = -1, SHI_ADDED_ABSENT = -2 };
enum shi_added_kind { SHI_ADDED_HOST = 1, SHI_ADDED_DEVICE = 2 };

/* The i-th, for the caller of a collective call; its users look it up. set, clear: while no PE uses it. */
const struct shi_added *shi_added_at(int i);
void shi_added_set(int i, const struct shi_added *a);
void shi_added_clear(int i);

/* Memory that was set is that of a space, which init/adding.c frees with it. */
void shi_added_be_space(int i, struct shi_space *s);

/* Local device memory: 0, or -ENOMEM. forget: 0, or -EINVAL when none begins there. NULL: all. */
int shi_added_local(const void *addr, size_t bytes);
int shi_added_forget_local(const void *addr);

/* Is there any? */
extern int shi_added_n;
static inline int shi_added_any(void)
{
    return shi_unlikely(__atomic_load_n(&shi_added_n, __ATOMIC_RELAXED) != 0);
}

/* The index of the memory with this range, which is this PE's, and the range's offset in it; -1: none. */
int shi_added_find(const void *addr, size_t bytes, uint64_t *off);

/* 1: PE pe has the i-th, too. */
int shi_added_has(int i, int pe);

/* Where this PE reaches PE pe's, of a kind of SHI_ADDED_, or NULL. */
void *shi_added_reach_slow(int pe, int kinds, const void *addr, size_t bytes);
static inline void *shi_added_reach(int pe, int kinds, const void *addr, size_t bytes)
{
    return shi_added_any() ? shi_added_reach_slow(pe, kinds, addr, bytes) : NULL;
}

/* 1: the address is in device memory of it: this PE's, a local buffer, with `peers` also what this PE has mapped of others. */
int shi_added_is_device_slow(const void *addr, int peers);
static inline int shi_added_is_device(const void *addr, int peers)
{
    return shi_added_any() && shi_added_is_device_slow(addr, peers);
}

#endif
