/* added.c - entry points for the program's own memory that becomes symmetric, or a local buffer. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx_memory.h>

#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/init/adding.h"
#include "host/init/device_heap.h"
#include "host/util/cancel.h"
#include "host/util/log.h"
#include "proxy/handle.h"

/* Before memory changes its pages, all that was sent has arrived; after it, all PEs reach it. */
SHI_DEF(int, shmemx_symmetric_add, (void *addr, size_t bytes, int memory))
{
    SHI_UNCANCELLED;
    const char *routine = shi_log_routine(__func__);
    shi_need_up(routine);
    if (memory != SHMEMX_MEMORY_HOST && memory != SHMEMX_MEMORY_DEVICE)
        shi_die(routine, "memory = %d is neither SHMEMX_MEMORY_HOST nor SHMEMX_MEMORY_DEVICE", memory);
    SHI_AGREE(routine, &shi_team_world, {"bytes", (int64_t)bytes}, {"memory", memory});
    int device = memory == SHMEMX_MEMORY_DEVICE;
    if (device && shi_device_heap_adopted()) {
        shi_log_error("%s: the device heap is the program's own (shmemx_heap_create)", routine);
        return -EBUSY;
    }
    int err = device ? shi_device_heap_up() : 0;
    if (err)
        return err;
    shi_team_quiet_barrier(routine, &shi_team_world);
    const struct shi_adding what = {.addr = addr, .bytes = bytes, .device = device};
    int i = shi_adding_add(routine, &shi_team_world, &what);
    if (i >= 0 && device && (err = shi_handle_added(i)))
        shi_die(routine, "the device has no memory for the addresses of the PEs");
    shi_team_quiet_barrier(routine, &shi_team_world);
    return i < 0 ? i : 0;
}

SHI_DEF(int, shmemx_symmetric_remove, (void *addr))
{
    uint64_t off;
    SHI_UNCANCELLED;
    const char *routine = shi_log_routine(__func__);
    shi_need_up(routine);
    int i = shi_added_find(addr, 1, &off);
    i = i >= 0 && off == 0 && !shi_added_at(i)->space ? i : -EINVAL;
    if (i < 0)
        shi_log_error("%s: addr = %p is not where memory begins that shmemx_symmetric_add was given", routine, addr);
    SHI_AGREE(routine, &shi_team_world, {"addr's memory", i});
    shi_team_quiet_barrier(routine, &shi_team_world);
    if (i >= 0 && shi_added_at(i)->device)
        shi_handle_removed(i);
    return shi_adding_remove(routine, &shi_team_world, i);
}

SHI_DEF(int, shmemx_local_add, (void *addr, size_t bytes))
{
    shi_need_up(__func__);
    return shi_adding_local(shi_log_routine(__func__), addr, bytes);
}

SHI_DEF(int, shmemx_local_remove, (void *addr))
{
    shi_need_up(__func__);
    return shi_adding_forget_local(addr);
}
