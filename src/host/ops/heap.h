/* heap.h - the allocator of symmetric heaps: offsets only, one instance for each kind of memory. */
#ifndef SHI_HEAP_H
#define SHI_HEAP_H

#include <stddef.h>

enum { SHI_HEAP_ALIGN = 64 }; /* a cache line: neighbours' signals do not share one */

/* Every PE must make the same calls in the same order; callers ensure this, and one caller at a time. A PE without memory for its
 * list of blocks ends the job: a result of its own would give later blocks another place than on the other PEs. */

struct shi_heap;

/* A heap of `bytes`, all free. NULL without memory. Pair: shi_heap_down, which takes NULL too. */
struct shi_heap *shi_heap_up(size_t bytes);
void shi_heap_down(struct shi_heap *h);

/* Leave at least so many bytes behind each later block: what runs past a block's end is then in no block (SHMEM_CHECK=1). */
void shi_heap_gap(struct shi_heap *h, size_t bytes);

/* Offset of a new block of at least `bytes` bytes (> 0), a multiple of the power of two `align`; the address is one too
 * if the heap's base is. 0 and *off, or -ENOMEM. */
int shi_heap_get(struct shi_heap *h, size_t bytes, size_t align, size_t *off);

/* How many bytes are free, and the largest block that they hold. */
void shi_heap_room(const struct shi_heap *h, size_t *free_bytes, size_t *largest);

/* Release the block that starts at off. 0, or -EINVAL when none does. */
int shi_heap_put(struct shi_heap *h, size_t off);

/* Bytes of the block that starts at off, as they were requested, or 0 when none does. */
size_t shi_heap_length(const struct shi_heap *h, size_t off);

/* The block, or the free memory, in which offset off is; bytes of a block: as requested. 1, or 0 when off is behind the heap's end. Unlike
 * the others it may be called by several threads, also beside a call that changes the heap. */
struct shi_heap_part {
    size_t off, bytes;
    int used;
};
int shi_heap_find(struct shi_heap *h, size_t off, struct shi_heap_part *out);

/* How many blocks and free parts there are; and all, in address order. After shi_heap_order later blocks have the same offsets as in a heap that
 * shi_heap_take has made of them. */
size_t shi_heap_parts(const struct shi_heap *h);
void shi_heap_give(const struct shi_heap *h, struct shi_heap_part *to);
void shi_heap_order(struct shi_heap *h);

/* A heap without blocks, of the same size, gets these. */
void shi_heap_take(struct shi_heap *h, const struct shi_heap_part *part, size_t n);

/* Give the block at off a new length without moving it. 0, or -ENOMEM when its neighbour is in use. */
int shi_heap_resize(struct shi_heap *h, size_t off, size_t bytes);

#endif
