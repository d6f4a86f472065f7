/* mem.c - entry points of symmetric memory management. All are collective over the world and end in a barrier. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx_memory.h>
#include <string.h>

#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/init/heap_reg.h"
#include "host/ops/heap.h"
#include "host/ops/span.h"
#include "host/util/cancel.h"
#include "host/util/end.h"
#include "host/util/log.h"
#include "host/util/memory.h"
#include "host/util/pages.h"
#include "host/util/poison.h"

/* Under AddressSanitizer: memory behind all blocks that is poisoned, too, no more, because its shadow is an eighth as long. */
enum { POISONED_BYTES = 1 << 20 };

static void *at_offset(size_t off)
{
    return (void *)(shi_world.heap_lo + off);
}

/* The offset of the block ptr; dies when ptr is not a block. */
static size_t offset_of(const char *routine, const void *ptr)
{
    size_t off = (uintptr_t)ptr - shi_world.heap_lo;
    if (off >= shi_world.heap_bytes || shi_heap_length(shi_world.heap, off) == 0)
        shi_die(routine, "ptr = %p was not returned by a shmem allocation, or is free already (pe = %d)", ptr,
                shi_world.pe);
    return off;
}

/* 1: the heap bases of all PEs are multiples of `align`, so that offsets can give such addresses. */
static int base_serves(const char *routine, size_t align)
{
    return align <= SHI_HUGE_BYTES || shi_team_all(routine, &shi_team_world, shi_world.heap_lo % align == 0);
}

void shi_report_full(const char *routine, size_t bytes, size_t align, const char *heap, const struct shi_heap *h,
                     size_t h_bytes, const char *setting)
{
    size_t free_bytes, largest;
    if (shi_world.pe != 0 || !(shi_world.check || shi_world.config.debug))
        return;
    shi_heap_room(h, &free_bytes, &largest);
    shi_log_error("%s: no room for %zu bytes at a multiple of %zu in the %s: of its %zu bytes %zu are free, the largest free "
                  "block has %zu; %s gives more", shi_log_routine(routine), bytes, align, heap, h_bytes, free_bytes, largest,
                  setting);
}

static void report_full(const char *routine, size_t bytes, size_t align)
{
    shi_report_full(routine, bytes, align, "symmetric heap", shi_world.heap, shi_world.heap_bytes, "SHMEM_SYMMETRIC_SIZE");
}

/* The block is the program's memory now; what follows it up to the next block is not. It had `had` bytes before. */
static void block_begins(size_t off, size_t bytes, size_t had)
{
    size_t end = off + bytes, most = shi_world.heap_bytes - end, from = end > shi_world.poisoned_bytes ? end : shi_world.poisoned_bytes;
    most = end + (most < POISONED_BYTES ? most : POISONED_BYTES);
    shi_unpoison(at_offset(off), bytes);
    shi_poison(at_offset(end), had > bytes ? had - bytes : shi_round_up(end, SHI_HEAP_ALIGN) - end);
    if (most > from) {
        shi_poison(at_offset(from), most - from);
        shi_world.poisoned_bytes = most;
    }
}

static void free_block(size_t off)
{
    shi_poison(at_offset(off), shi_heap_length(shi_world.heap, off));
    shi_heap_put(shi_world.heap, off);
}

/* A block that peers can access. 0 and *off, or -errno on every PE. */
static int get_block(const char *routine, size_t bytes, size_t align, size_t *off)
{
    int err = base_serves(routine, align) ? shi_heap_get(shi_world.heap, bytes, align, off) : -ENOMEM;
    if (err) {
        report_full(routine, bytes, align);
        return err;
    }
    err = shi_heap_reg_reach(routine, *off + bytes);
    if (err)
        shi_heap_put(shi_world.heap, *off);
    else
        block_begins(*off, bytes, 0);
    return err;
}

/* Hints: words that other PEs update lie alone in two lines, which processors fetch together, and their pages are there before the
 * first update; huge pages. What the system refuses remains undone. */
enum { LINES_BYTES = 2 * SHI_LINE_BYTES, UPDATED = SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE };

static size_t alignment_for(size_t bytes, long hints)
{
    if ((hints & SHMEMX_MALLOC_HUGE_PAGES) && bytes >= SHI_HUGE_BYTES)
        return SHI_HUGE_BYTES;
    return hints & UPDATED ? LINES_BYTES : SHI_HEAP_ALIGN;
}

static void obey(const char *routine, size_t off, size_t bytes, long hints)
{
    const char *why = "they would end behind the heap";
    size_t from = off / SHI_HUGE_BYTES * SHI_HUGE_BYTES, to = shi_round_up(off + bytes, SHI_HUGE_BYTES);
    int err = to <= shi_world.heap_bytes ? 0 : -ENOMEM;
    if (hints & UPDATED)
        shi_memory_populate(at_offset(off / SHI_PAGE_BYTES * SHI_PAGE_BYTES), off % SHI_PAGE_BYTES + bytes, shi_world.shm.n);
    if (!(hints & SHMEMX_MALLOC_HUGE_PAGES))
        return;
    if (!err)
        err = shi_pages_huge(at_offset(from), to - from, shi_world.shm.n, &why);
    if (err)
        shi_log_debug("%s: no huge pages for %zu bytes: %s: %s", routine, bytes, why, strerror(-err));
}

/* NULL without a barrier for 0 bytes; NULL on every PE when the heap is full. */
static void *get_with_hints(const char *routine, size_t bytes, size_t align, int clear, long hints)
{
    SHI_UNCANCELLED;
    shi_need_up(routine);
    if (bytes == 0)
        return NULL;
    SHI_AGREE(routine, &shi_team_world, {"size", (int64_t)bytes}, {"alignment", (int64_t)align});
    SHI_SPAN(span, SHI_MEMORY, routine, NULL, SHI_TO_NONE, bytes);
    size_t off;
    int err = get_block(routine, bytes, align, &off);
    if (!err && clear)
        memset(at_offset(off), 0, bytes);
    if (!err && hints)
        obey(routine, off, bytes, hints);
    shi_team_heap_sync(routine);
    return err ? NULL : at_offset(off);
}

static void *get(const char *routine, size_t bytes, size_t align, int clear)
{
    return get_with_hints(routine, bytes, align, clear, 0);
}

/* Other PEs may still store into the block: free it after a barrier. */
static void put(const char *routine, void *ptr)
{
    SHI_UNCANCELLED;
    shi_need_up(routine);
    if (!ptr || shi_end_under_way()) /* a destructor after shmem_global_exit: other PEs do not call this */
        return;
    SHI_SPAN(span, SHI_MEMORY, routine, NULL, SHI_TO_NONE, 0);
    size_t off = offset_of(routine, ptr);
    SHI_AGREE(routine, &shi_team_world, {"ptr's offset in the heap", (int64_t)off});
    shi_team_heap_sync(routine);
    free_block(off);
}

static void *resize(const char *routine, void *ptr, size_t bytes)
{
    SHI_UNCANCELLED;
    shi_need_up(routine);
    if (!ptr)
        return get(routine, bytes, SHI_HEAP_ALIGN, 0);
    if (bytes == 0) {
        put(routine, ptr);
        return NULL;
    }
    SHI_SPAN(span, SHI_MEMORY, routine, NULL, SHI_TO_NONE, bytes);
    size_t off = offset_of(routine, ptr), had = shi_heap_length(shi_world.heap, off), to;
    SHI_AGREE(routine, &shi_team_world, {"size", (int64_t)bytes}, {"ptr's offset in the heap", (int64_t)off});
    shi_team_heap_sync(routine);
    if (shi_heap_resize(shi_world.heap, off, bytes) == 0) {
        to = off;
        if (shi_heap_reg_reach(routine, off + bytes)) {
            shi_heap_resize(shi_world.heap, off, had);
            ptr = NULL;
        } else {
            block_begins(off, bytes, had);
        }
    } else if (get_block(routine, bytes, SHI_HEAP_ALIGN, &to) == 0) {
        memcpy(at_offset(to), ptr, had < bytes ? had : bytes);
        free_block(off);
    } else {
        ptr = NULL; /* no room: the old block stays as it was */
    }
    shi_team_heap_sync(routine);
    return ptr ? at_offset(to) : NULL;
}

SHI_DEF(void *, shmem_malloc, (size_t size))
{
    return get(__func__, size, SHI_HEAP_ALIGN, 0);
}

SHI_DEF(void *, shmem_malloc_with_hints, (size_t size, long hints))
{
    int pad = (hints & UPDATED) && size < PTRDIFF_MAX && !shi_world.check; /* checks need the size that was asked for */
    return get_with_hints(__func__, pad ? shi_round_up(size, LINES_BYTES) : size, alignment_for(size, hints), 0, hints);
}

SHI_DEF(void *, shmem_calloc, (size_t count, size_t size))
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX; /* more than any heap has: NULL, after the barrier, which the others enter */
    return get(__func__, bytes, SHI_HEAP_ALIGN, 1);
}

SHI_DEF(void *, shmem_align, (size_t alignment, size_t size))
{
    shi_need_up(__func__);
    if (alignment == 0 || (alignment & (alignment - 1)))
        return NULL;
    return get(__func__, size, alignment, 0);
}

SHI_DEF(void *, shmem_realloc, (void *ptr, size_t size))
{
    return resize(__func__, ptr, size);
}

SHI_DEF(void, shmem_free, (void *ptr))
{
    put(__func__, ptr);
}

SHI_DEF(void *, shmalloc, (size_t size))
{
    return get(__func__, size, SHI_HEAP_ALIGN, 0);
}

SHI_DEF(void *, shmemalign, (size_t alignment, size_t size))
{
    return pshmem_align(alignment, size);
}

SHI_DEF(void *, shrealloc, (void *ptr, size_t size))
{
    return resize(__func__, ptr, size);
}

SHI_DEF(void, shfree, (void *ptr))
{
    put(__func__, ptr);
}
