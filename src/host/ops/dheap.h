/*
 * dheap.h - the device symmetric heap: memory of this PE's device, at the same offsets on every PE, mapped by all PEs of
 * the node. It comes up with the first allocation, which is collective.
 */
#ifndef SHI_DHEAP_H
#define SHI_DHEAP_H

#include <stddef.h>
#include <string.h>

#include "host/ops/state.h"
#include "host/util/config.h"

struct shmem_ctx;

/* Take this PE's device if that has not been. 0, or -errno after one line. shi_dheap_choose says which it will be, in
 * place of SHMEM_DEVICE, until it goes down; NULL: no change. -EBUSY, not logged, when one is taken. */
int shi_dheap_take(void);
int shi_dheap_choose(const shi_config_device *choice);

/* Collective. 0 when every PE has its device heap; else -errno on all, and the PE that failed has said why. */
int shi_dheap_up(void);
void shi_dheap_down(void);

/* Before it comes up: these bytes of the program's own device memory are to be the heap, until shi_dheap_down. Nothing is
 * written to them, so kernels of the device library have no place there. 0, or -EBUSY when there is one already. */
int shi_dheap_adopt(void *addr, size_t bytes);
int shi_dheap_adopted(void);

/* Wait for this PE's kernels and host calls to end; told as a wait of the routine. 0 or -errno after one line. */
int shi_dheap_sync(const char *routine);

/* Wait for this PE's kernels, which may need the proxy and other PEs' kernels until they end, and for what they asked
 * of the proxy. */
void shi_dheap_finish(void);

/* Have finish called when this PE's kernels have ended and their work is to be complete, and stop, once, by
 * shi_dheap_stop, before progress stops and the device heap goes down; the last registered first. finish may be NULL. */
void shi_dheap_on_down(void (*finish)(void), void (*stop)(void));
void shi_dheap_stop(void);

/* Where PE pe's device heap is for this PE's device. */
void *shi_dheap_of(int pe);

/* What the device library keeps at the start of every device heap, zero at first: a few words for each team. */
enum { SHI_DHEAP_HEAD_BYTES = 512 * 25 * 8 };

/* Offsets as in heap.h; callers hold the collective order. */
int shi_dheap_get(size_t bytes, size_t align, void **addr);
int shi_dheap_put(void *addr);
const struct shi_heap *shi_dheap_blocks(void); /* while it is up */

/* Is the range in this PE's own device heap? */
int shi_dheap_holds(const void *addr, size_t bytes);

/* The same, and neither the host nor the network can touch it? */
int shi_dheap_hides(const void *addr, size_t bytes);

/* Copy where one side or both are device memory that the host cannot load and store. Dies when the device fails. */
void shi_dheap_copy(const char *routine, void *to, const void *from, size_t bytes);

/* Copy where either side may be in a device heap, this PE's or a mapped one. */
void shi_dheap_move(void *to, const void *from, size_t bytes);

/* memcpy, where either side may be in this PE's device heap. */
static inline void shi_dheap_memcpy(void *to, const void *from, size_t bytes)
{
    if (shi_unlikely(shi_world.dev_private) && (shi_dheap_holds(to, bytes) || shi_dheap_holds(from, bytes)))
        shi_dheap_move(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* Fill this PE's own device memory with zeros. */
void shi_dheap_clear(const char *routine, void *addr, size_t bytes);

#endif
