/* device.c - entry points of the device symmetric heap. */
#include "host/api/def.h"

#include <shmemx.h>

#include "device/device.h"
#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/init/device_heap.h"
#include "host/ops/dheap.h"
#include "host/ops/heap.h"
#include "host/util/log.h"

static void *get(const char *routine, size_t bytes, size_t align, int clear)
{
    shi_need_up(routine);
    if (bytes == 0)
        return NULL;
    SHI_AGREE(routine, &shi_team_world, {"size", (int64_t)bytes}, {"alignment", (int64_t)align});
    if (shi_device_heap_up())
        return NULL;
    void *p = NULL;
    int serves = align == SHI_HEAP_ALIGN || shi_team_all(routine, &shi_team_world, shi_world.dev_lo % align == 0);
    if (!serves || shi_dheap_get(bytes, align, &p))
        shi_report_full(routine, bytes, align, "device heap", shi_dheap_blocks(), shi_world.dev_bytes,
                        "SHMEM_DEVICE_SYMMETRIC_SIZE");
    else if (clear)
        shi_dheap_clear(routine, p, bytes);
    shi_team_heap_sync(routine);
    return p;
}

void *shmemg_malloc(size_t size)
{
    return get(__func__, size, SHI_HEAP_ALIGN, 0);
}

void *shmemg_calloc(size_t count, size_t size)
{
    size_t bytes;
    return get(__func__, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, SHI_HEAP_ALIGN, 1);
}

void *shmemg_align(size_t alignment, size_t size)
{
    shi_need_up(__func__);
    if (alignment == 0 || (alignment & (alignment - 1)))
        return NULL;
    return get(__func__, size, alignment, 0);
}

void shmemg_free(void *ptr)
{
    shi_need_up(__func__);
    if (!ptr)
        return;
    SHI_AGREE(__func__, &shi_team_world, {"ptr's offset in the heap", (int64_t)((uintptr_t)ptr - shi_world.dev_lo)});
    shi_team_heap_sync(__func__);
    if (shi_dheap_put(ptr))
        shi_die(__func__, "ptr = %p was not returned by a shmemg_ allocation, or is free already (pe = %d)", ptr,
                shi_world.pe);
}

int shmemx_device_describe(int i, char *text, size_t bytes)
{
    return i >= 0 && shi_device_describe(i, text, bytes) == 0 ? 0 : -1;
}
