/* ze.c - entry points for programs that have their own Level Zero objects. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx_ze.h>

#include "device/ze.h"
#include "host/api/launch.h"
#include "host/init/device_heap.h"
#include "host/util/log.h"

static int need_ze(const char *routine, const struct shi_device_ops *ops)
{
    if (shi_ze_is(ops))
        return 0;
    shi_log_error("%s: this PE's device is %s's, not Level Zero's; SHMEM_DEVICE chooses", routine, ops->name);
    return -ENODEV;
}

/* 0 when the backend that SHMEM_DEVICE names has devices and is Level Zero, else -errno after one line. */
static int find(const char *routine)
{
    const struct shi_device_ops *ops;
    int n, err = shi_device_find(&shi_world.config.device, &ops, &n);
    return err ? err : need_ze(routine, ops);
}

int shmemx_ze_init(void)
{
    shi_need_up(__func__);
    return find(__func__);
}

int shmemx_ze_use(ze_driver_handle_t driver, ze_context_handle_t context, ze_device_handle_t device)
{
    shi_config_device choice;
    shi_need_up(__func__);
    int err = find(__func__);
    if (!err)
        err = shi_device_heap_choose(NULL);
    if (err == -EBUSY)
        shi_log_error("%s: this PE has taken a device already; call this before shmemx_ze_get and shmemg_malloc", __func__);
    if (!err)
        err = shi_ze_lend(driver, context, device, &choice);
    return err ? err : shi_device_heap_choose(&choice);
}

int shmemx_ze_get(ze_driver_handle_t *driver, ze_context_handle_t *context, ze_device_handle_t *device)
{
    shi_need_up(__func__);
    int err = shi_device_heap_take();
    if (!err)
        err = need_ze(__func__, shi_device);
    if (!err)
        shi_ze_handles(driver, context, device);
    return err;
}

int shmemx_ze_module_enter(ze_module_handle_t module)
{
    shi_need_device(__func__);
    int err = need_ze(__func__, shi_device);
    return err ? err : shi_module_enter(__func__, module);
}

int shmemx_ze_module_leave(ze_module_handle_t module)
{
    shi_need_device(__func__);
    return shi_module_leave(__func__, module);
}
