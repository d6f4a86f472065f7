/* cuda.c - entry points for programs that have their own CUDA modules. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx_cuda.h>
#include <stdio.h>

#include "device/cuda_loader.h"
#include "device/device.h"
#include "device/lib/state.h"
#include "host/api/launch.h"
#include "host/coll/team.h"
#include "host/init/device_heap.h"
#include "host/ops/dheap.h"
#include "host/util/log.h"

static int is_cuda(const struct shi_device_ops *ops)
{
    return ops == &shi_device_cuda || ops == &shi_device_cuda_cpu;
}

static int need_cuda(const char *routine, const struct shi_device_ops *ops)
{
    if (is_cuda(ops))
        return 0;
    shi_log_error("%s: this PE's device is %s's, not CUDA's; SHMEM_DEVICE chooses", routine, ops->name);
    return -ENODEV;
}

int shmemx_cuda_use(int device)
{
    const struct shi_device_ops *ops;
    shi_config_device choice = {.index = device};
    int n;
    shi_need_up(__func__);
    int err = shi_device_find(&shi_world.config.device, &ops, &n);
    if (!err)
        err = need_cuda(__func__, ops);
    if (!err && shi_device_heap_choose(NULL)) {
        shi_log_error("%s: this PE has taken a device already; call this before shmemg_malloc", __func__);
        return -EBUSY;
    }
    if (err)
        return err;
    snprintf(choice.backend, sizeof choice.backend, "%s", ops->name);
    return shi_device_heap_choose(&choice);
}

static int session, in_session; /* under the lock of cudart/launch.c, which calls shmemx_cuda_session */

static void end_session(void)
{
    in_session = 0;
}

int shmemx_cuda_session(int device)
{
    if (!shi_world.dev_lo || !is_cuda(shi_device) || shi_cuda.device != device ||
        shi_device_heap_adopted())
        return 0;
    if (!in_session) {
        shi_device_heap_on_down(NULL, end_session);
        session++;
        in_session = 1;
    }
    return session;
}

void *shmemx_cuda_ptr(const void *dest, int pe)
{
    shi_need_up(__func__);
    uint64_t offset = (uintptr_t)dest - shi_world.dev_lo;
    char *base = shi_world.dev_lo && offset < shi_world.dev_bytes && pe >= 0 && pe < shi_world.n_pes ? shi_dheap_direct(pe) : NULL;
    return base ? base + offset : pe >= 0 && pe < shi_world.n_pes ? shi_added_reach(pe, SHI_ADDED_DEVICE, dest, 1) : NULL;
}

int shmemx_cuda_team_index(shmem_team_t team)
{
    shi_need_up(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    return t && t->index < SHI_SLOTS ? (int)t->index - SHI_SLOT_WORLD : -1;
}

int shmemx_cuda_module_enter(struct CUmod_st *module)
{
    void *at;
    shi_need_device(__func__);
    int err = need_cuda(__func__, shi_device);
    if (!err)
        err = shi_device->variable(module, SHMEMG_DEFAULT_NAME_, &at);
    return err ? err : shi_module_enter(__func__, module);
}

int shmemx_cuda_module_leave(struct CUmod_st *module)
{
    shi_need_device(__func__);
    return shi_module_leave(__func__, module);
}
