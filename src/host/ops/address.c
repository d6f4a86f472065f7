/* address.c - translate what missed the fast table, or end the job with the reason. */
#include "host/ops/address.h"

#include "host/ops/caller.h"
#include "host/ops/ctx.h"
#include "host/ops/dheap.h"
#include "host/ops/heap.h"
#include "host/ops/statics.h"
#include "host/ops/wait.h"
#include "host/util/log.h"

/* 1: constant data that holds addresses. */
static int is_relro(const void *addr, size_t bytes)
{
    uintptr_t off = (uintptr_t)addr - (shi_world.data_lo - shi_world.relro_bytes);
    return off < shi_world.relro_bytes && bytes <= shi_world.relro_bytes - off;
}

const void *shi_reach_read(const struct shi_peer *p, const void *addr, size_t bytes)
{
    const void *at = shi_reach(p, addr, bytes);
    if (at || !p->same_program)
        return at;
    if (shi_statics_same(addr, bytes))
        return addr;
    return !p->remote && is_relro(addr, bytes) ? (const char *)addr + p->data_delta : NULL;
}

_Noreturn void shi_not_symmetric(const char *routine, enum shi_use use, const char *arg, const void *addr, size_t bytes,
                                 int pe)
{
    uintptr_t heap = (uintptr_t)addr - shi_world.heap_lo, data = (uintptr_t)addr - shi_world.data_lo;
    if (bytes > PTRDIFF_MAX)
        shi_die(routine, "%s = %p: %zu bytes: the size overflows (pe = %d)", arg, addr, bytes, pe);
    if (heap < shi_world.heap_bytes && bytes <= shi_world.heap_bytes - heap && shi_world.heap_reach < shi_world.heap_bytes)
        shi_die(routine, "%s = %p: %zu bytes behind all blocks of the symmetric heap, which the network cannot access (pe = %d)",
                arg, addr, bytes, pe);
    if (heap < shi_world.heap_bytes)
        shi_die(routine, "%s = %p: %zu bytes run past the end of the symmetric heap by %zu (pe = %d)", arg, addr, bytes,
                heap + bytes - shi_world.heap_bytes, pe);
    if (data < shi_world.data_bytes && bytes > shi_world.data_bytes - data)
        shi_die(routine, "%s = %p: %zu bytes run past the end of the static data by %zu (pe = %d)", arg, addr, bytes,
                data + bytes - shi_world.data_bytes, pe);
    int constant = shi_statics_same(addr, bytes) || is_relro(addr, bytes);
    if (constant && use == SHI_WRITE)
        shi_die(routine, "%s = %p: constant data, which can only be read (pe = %d)", arg, addr, pe);
    if (data < shi_world.data_bytes || constant)
        shi_die(routine, "%s = %p: static data of another program than PE %d runs", arg, addr, pe);
    if (!addr)
        shi_die(routine, "%s = (nil) is not symmetric; shmem_malloc may have failed, which SHMEM_DEBUG=1 shows (pe = %d)", arg,
                pe);
    uint64_t off;
    if (shi_added_find(addr, 1, &off) >= 0)
        shi_die(routine, "%s = %p: %zu bytes are not all in a space or in added memory that the PE has, too (pe = %d)", arg, addr, bytes, pe);
    shi_die(routine, "%s = %p is not symmetric: neither in the symmetric heap nor in static data (pe = %d)", arg, addr,
            pe);
}

/* The heap with this range, its name, and the range's offset in it, or NULL: shi_not_symmetric reports a target that runs past a heap's end. */
static struct shi_heap *heap_of(const void *addr, size_t bytes, const char **name, uint64_t *off)
{
    *off = (uintptr_t)addr - shi_world.heap_lo;
    *name = "symmetric heap";
    if (*off < shi_world.heap_bytes && bytes <= shi_world.heap_bytes - *off)
        return shi_world.heap;
    if (shi_dheap_holds(addr, bytes)) {
        *off = (uintptr_t)addr - shi_world.dev_lo;
        *name = "device heap";
        return shi_dheap_blocks();
    }
    int i = shi_added_any() ? shi_added_find(addr, bytes, off) : -1;
    *name = "space";
    return i >= 0 && shi_added_at(i)->space ? shi_added_at(i)->space->blocks : NULL;
}

void shi_check_block_slow(const char *routine, const char *arg, const void *addr, size_t bytes, int pe)
{
    const char *name;
    uint64_t off;
    struct shi_heap_part b;
    struct shi_heap *heap = heap_of(addr, bytes, &name, &off);
    if (!heap)
        return;
    if (!shi_heap_find(heap, off, &b) || !b.used)
        shi_die(routine, "%s = %p, %zu bytes, is in no block of the %s: freed, or never allocated (pe = %d)", arg, addr, bytes, name, pe);
    if (off - b.off + bytes > b.bytes)
        shi_die(routine, "%s = %p: %zu bytes run past the end of a block of %zu bytes of the %s by %zu (pe = %d)", arg, addr, bytes,
                b.bytes, name, off - b.off + bytes - b.bytes, pe);
}

void shi_check_call(const char *routine, const struct shmem_ctx *ctx, int pe)
{
    shi_need_up(routine);
    if (!ctx->team)
        shi_ctx_die(routine, ctx);
    if ((unsigned)pe >= ctx->n_pes)
        shi_die(routine, "pe = %d: not a PE of the context, which has PEs 0 to %d", pe, (int)ctx->n_pes - 1);
    /* Without SHMEM_CHECK only some calls come here: a program that passes on one node has to run over a network too. */
    if (shi_unlikely(shi_world.check)) {
        shi_caller_check(routine);
        shi_caller_check_ctx(routine, ctx);
    }
}

void *shi_resolve_slow(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg,
                       const void *addr, size_t bytes, int pe)
{
    shi_check_call(routine, ctx, pe);
    shi_check_block(routine, arg, addr, bytes, pe);
    const struct shi_peer *p = &ctx->peers[pe];
    void *at = !bytes ? (void *)addr : use == SHI_READ ? (void *)shi_reach_read(p, addr, bytes) : shi_reach(p, addr, bytes);
    if (at || !bytes)
        return at;
    if (shi_world.dev_private && shi_reach_device(p, addr, bytes))
        shi_die(routine, "%s = %p is in device memory that the host cannot load and store (pe = %d)", arg, addr, pe);
    shi_not_symmetric(routine, use, arg, addr, bytes, pe);
}

void *shi_resolve_slow_copy(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg,
                            const void *addr, size_t bytes, int pe)
{
    shi_check_call(routine, ctx, pe);
    shi_check_block(routine, arg, addr, bytes, pe);
    void *at = shi_world.dev_private && bytes ? shi_reach_device(&ctx->peers[pe], addr, bytes) : NULL;
    return at ? at : shi_resolve_slow(routine, ctx, use, arg, addr, bytes, pe);
}

void shi_check_aligned(const char *routine, const char *arg, const void *addr, size_t width, int pe)
{
    if ((uintptr_t)addr % width)
        shi_die(routine, "%s = %p is not aligned to %zu bytes, so no update of it is atomic (pe = %d)", arg, addr, width, pe);
}
