/* added.c - entry points for the program's own memory that becomes symmetric, or a local buffer. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx.h>

#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/init/adding.h"
#include "host/init/device_heap.h"
#include "host/util/cancel.h"
#include "host/util/log.h"
#include "proxy/handle.h"

/* Before memory changes its pages, all that was sent has arrived; after it, all PEs reach it. */
int shmemx_symmetric_add(void *addr, size_t bytes, int memory)
{
    SHI_UNCANCELLED;
    shi_need_up(__func__);
    if (memory != SHMEMX_MEMORY_HOST && memory != SHMEMX_MEMORY_DEVICE)
        shi_die(__func__, "memory = %d is neither SHMEMX_MEMORY_HOST nor SHMEMX_MEMORY_DEVICE", memory);
    SHI_AGREE(__func__, &shi_team_world, {"bytes", (int64_t)bytes}, {"memory", memory});
    int device = memory == SHMEMX_MEMORY_DEVICE;
    if (device && shi_device_heap_adopted()) {
        shi_log_error("%s: the device heap is the program's own (shmemx_heap_create)", __func__);
        return -EBUSY;
    }
    int err = device ? shi_device_heap_up() : 0;
    if (err)
        return err;
    shi_team_quiet_barrier(__func__, &shi_team_world);
    int i = shi_adding_add(__func__, addr, bytes, device);
    if (i >= 0 && device && (err = shi_handle_added(i)))
        shi_die(__func__, "the device has no memory for the addresses of the PEs");
    shi_team_quiet_barrier(__func__, &shi_team_world);
    return i < 0 ? i : 0;
}

int shmemx_symmetric_remove(void *addr)
{
    uint64_t off;
    SHI_UNCANCELLED;
    shi_need_up(__func__);
    int i = shi_added_find(addr, 1, &off);
    i = i >= 0 && off == 0 ? i : -EINVAL;
    if (i < 0)
        shi_log_error("%s: addr = %p is not where memory begins that shmemx_symmetric_add was given", __func__, addr);
    SHI_AGREE(__func__, &shi_team_world, {"addr's memory", i});
    shi_team_quiet_barrier(__func__, &shi_team_world);
    if (i >= 0 && shi_added_at(i)->device)
        shi_handle_removed(i);
    int err = shi_adding_remove(__func__, i);
    shi_team_quiet_barrier(__func__, &shi_team_world);
    return err;
}

int shmemx_local_add(void *addr, size_t bytes)
{
    shi_need_up(__func__);
    return shi_adding_local(__func__, addr, bytes);
}

int shmemx_local_remove(void *addr)
{
    shi_need_up(__func__);
    return shi_adding_forget_local(addr);
}
