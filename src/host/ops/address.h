/*
 * address.h - the slow half of address translation: what missed the fast table is translated or diagnosed here.
 */
#ifndef SHI_ADDRESS_H
#define SHI_ADDRESS_H

#include "host/ops/added.h"
#include "host/ops/state.h"

/* What a routine does with a symmetric object. Constant static data can only be read. */
enum shi_use { SHI_WRITE, SHI_READ };

/*
 * Diagnose what missed the fast table, or translate where it is empty, with SHMEM_CHECK=1 after every check. Returns an
 * address to load from and, unless SHI_READ, to store to; never NULL. `arg` names the argument.
 */
void *shi_resolve_slow(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg,
                       const void *addr, size_t bytes, int pe);

/* The same for callers that let the device copy (dheap.h): also device memory that the host cannot load and store. */
void *shi_resolve_slow_copy(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg,
                            const void *addr, size_t bytes, int pe);

/* With SHMEM_CHECK=1: die if the range begins in the symmetric or the device heap, but is not inside one block. This PE's table of
 * blocks counts, which is the same on all PEs. `arg` may be a local buffer. */
void shi_check_block_slow(const char *routine, const char *arg, const void *addr, size_t bytes, int pe);
SHI_INLINE void shi_check_block(const char *routine, const char *arg, const void *addr, size_t bytes, int pe)
{
    if (shi_unlikely(shi_world.check) && bytes)
        shi_check_block_slow(routine, arg, addr, bytes, pe);
}

/* Their first check: die unless the library is up, the context valid, pe one of its PEs, the thread allowed. */
void shi_check_call(const char *routine, const struct shmem_ctx *ctx, int pe);

/* End the job with the reason why the address is not symmetric on PE pe. */
_Noreturn void shi_not_symmetric(const char *routine, enum shi_use use, const char *arg, const void *addr, size_t bytes,
                                 int pe);

/* shi_fast, else shi_resolve_slow. */
SHI_INLINE void *shi_at(const char *routine, const struct shmem_ctx *ctx, const char *arg, const void *addr,
                        size_t bytes, int pe)
{
    void *at = shi_fast(ctx, addr, bytes, pe);
    return shi_likely(at != NULL) ? at : shi_resolve_slow(routine, ctx, SHI_WRITE, arg, addr, bytes, pe);
}

/* The peer's address of [addr, + bytes) of the device heap, or NULL; of all symmetric device memory. */
static inline void *shi_reach_device_heap(const struct shi_peer *p, const void *addr, size_t bytes)
{
    uintptr_t a = (uintptr_t)addr, off = a - shi_world.dev_lo;
    return off < p->dev_bytes && bytes <= p->dev_bytes - off ? (void *)(a + p->dev_delta) : NULL;
}

static inline void *shi_reach_device(const struct shi_peer *p, const void *addr, size_t bytes)
{
    void *at = shi_reach_device_heap(p, addr, bytes);
    return at ? at : shi_added_reach(p->pe, SHI_ADDED_DEVICE, addr, bytes);
}

/* The peer's address of [addr, + bytes), or NULL when it is not symmetric or the host cannot access it; never dies. */
static inline void *shi_reach(const struct shi_peer *p, const void *addr, size_t bytes)
{
    uintptr_t a = (uintptr_t)addr, heap = a - shi_world.heap_lo, data = a - shi_world.data_lo;
    if (heap < p->heap_bytes && bytes <= p->heap_bytes - heap)
        return (void *)(a + p->heap_delta);
    if (data < p->data_bytes && bytes <= p->data_bytes - data)
        return (void *)(a + p->data_delta);
    if (shi_world.dev_private)
        return shi_added_reach(p->pe, SHI_ADDED_HOST, addr, bytes);
    void *device = shi_reach_device_heap(p, addr, bytes);
    return device ? device : shi_added_reach(p->pe, SHI_ADDED_HOST | SHI_ADDED_DEVICE, addr, bytes);
}

/* The same for loads only: constant static data too; constants without addresses even of a remote PE. */
const void *shi_reach_read(const struct shi_peer *p, const void *addr, size_t bytes);

/* Die if a word of width bytes is not aligned to its width: no update of it is atomic. */
void shi_check_aligned(const char *routine, const char *arg, const void *addr, size_t width, int pe);

#endif
