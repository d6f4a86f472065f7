/*
 * dheap.h - the device symmetric heap: memory of this PE's device, at the same offsets on every PE, mapped by all PEs of
 * the node. init/device_heap.h brings it up and down.
 */
#ifndef SHI_DHEAP_H
#define SHI_DHEAP_H

#include <stddef.h>
#include <string.h>

#include "host/ops/added.h"
#include "host/ops/copy.h"
#include "host/ops/state.h"

/* By which way this PE reaches a PE's device memory, X(WORD, NAME). STORES: loads and stores. KERNELS: loads and stores of its
 * kernels; the device copies for the host. COPIES: the device copies for both. REGISTERED: transfers of the network to memory
 * that the NIC accesses. STAGED: records, and copies in pieces, by the owner. */
#define SHI_FOR_EACH_DHEAP_WAY(X)                                                                                    \
    X(STORES, stores) X(KERNELS, kernels) X(COPIES, copies) X(REGISTERED, registered) X(STAGED, staged)
enum shi_dheap_way {
#define X(WORD, NAME) SHI_DHEAP_##WORD,
    SHI_FOR_EACH_DHEAP_WAY(X) SHI_DHEAP_WAYS
#undef X
};
extern const char *const shi_dheap_way_name[SHI_DHEAP_WAYS];

/* The heap as init/device_heap.c brings it up; no base: there is none. */
struct shi_dheap {
    char *base; /* this PE's */
    size_t bytes;
    void **mapped; /* [n_pes], this PE's own among them */
    unsigned char *way; /* [n_pes] enum shi_dheap_way */
    int indirect;  /* some PE of the job has a peer whose heap its device does not access */
    struct shi_heap *blocks;
    int host_access; /* the host can load and store it */
};
void shi_dheap_set(const struct shi_dheap *d);

/* The address of PE pe's device heap on this PE's device, or NULL. direct: for kernels' loads and stores, not only for copies. */
void *shi_dheap_of(int pe);
void *shi_dheap_direct(int pe);

/* The number of PEs by way, this PE among them; after the heap's end those of the last one. The same as text, such as
 * " 2 by stores, 1 by staged", or "". */
void shi_dheap_count(int n[SHI_DHEAP_WAYS]);

/* The process leaves the job: it has counted no way. */
void shi_dheap_leave(void);
void shi_dheap_describe_ways(char *text, size_t bytes);

/* 1: kernels update words by requests only, see device/lib/amo.h. */
int shi_dheap_ring_updates(void);

/* The device library's words at the start of every device heap, zero at first: a few for each team. */
enum { SHI_DHEAP_HEAD_BYTES = 512 * 25 * 8 };

/* Offsets as in heap.h; callers hold the collective order. */
int shi_dheap_get(size_t bytes, size_t align, void **addr);
int shi_dheap_put(void *addr);
struct shi_heap *shi_dheap_blocks(void); /* while it is up */

/* 1: the range is in this PE's own device heap. */
int shi_dheap_holds(const void *addr, size_t bytes);

/* 1: the same, or in memory of its device that the program has added, and neither the host nor the network can access it. */
static inline int shi_dheap_hides(const void *addr, size_t bytes)
{
    return shi_unlikely(shi_world.dev_private) && (shi_dheap_holds(addr, bytes) || shi_added_is_device(addr, 0));
}

/* 1: the address is in device memory that the host cannot access: in this PE's device heap, in memory that it has added, or in a
 * peer's that is mapped. */
int shi_dheap_is_private(const void *addr);

/* The lock for updates of words in the device memory of world PE pe, which is on this node: proxy/staged.c. */
uint64_t *shi_dheap_word_lock(int pe);

/* Copy where one side or both are device memory that the host cannot load and store. Dies when the device fails. */
void shi_dheap_copy(const char *routine, void *to, const void *from, size_t bytes);

/* Copy where either side may be in a device heap, this PE's or a mapped one. */
void shi_dheap_move(void *to, const void *from, size_t bytes);

/* memcpy, where either side may be in this PE's device heap, or in memory of its device that the program has added. */
static inline void shi_dheap_memcpy(void *to, const void *from, size_t bytes)
{
    if (shi_dheap_hides(to, bytes) || shi_dheap_hides(from, bytes))
        shi_dheap_move(to, from, bytes);
    else
        shi_copy_lines(to, from, bytes);
}

/* shi_copy and shi_copy_strided, where either side may be device memory, this PE's or a mapped peer's. */
static inline void shi_dheap_copy_any(const char *routine, void *to, const void *from, size_t bytes)
{
    if (shi_unlikely(shi_world.dev_private) && bytes && (shi_dheap_is_private(to) || shi_dheap_is_private(from)))
        shi_dheap_copy(routine, to, from, bytes);
    else
        shi_copy(to, from, bytes);
}
void shi_dheap_copy_strided(const char *routine, char *to, const char *from, const struct shi_strided *s);

/* Fill this PE's own device memory with zeros. */
void shi_dheap_clear(const char *routine, void *addr, size_t bytes);

#endif
