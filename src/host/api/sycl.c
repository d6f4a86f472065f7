/* sycl.c - what ishmem.h in SYCL needs of the library. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx_ze.h>
#include <stdlib.h>

#include "device/device.h"
#include "device/ze_loader.h"
#include "device/ze_patch.h"
#include "host/api/launch.h"
#include "host/init/device_heap.h"
#include "host/util/log.h"
#include "proxy/handle.h"
#include "proxy/proxy.h"

/* Before main, so before the library reads its variables. The heap is as large as Intel SHMEM's. */
void shmemx_sycl_claim(void)
{
    const char *size = getenv("ISHMEM_SYMMETRIC_SIZE");
    setenv("SHMEM_DEVICE_SYMMETRIC_SIZE", size ? size : "512M", 0);
    shi_ze_claim(1);
}

static void forget(void)
{
    shi_ze_patch_heap(NULL, NULL);
    shi_ze_patch_tell(NULL);
}

/* SYCL's default device is the first that a process sees: one line of the node's first PE where its PEs see more than one. */
static void warn_of_one_device(void)
{
    const struct shi_device_ops *ops;
    int n;
    if (shi_world.boot.local_index == 0 && shi_world.boot.n_local > 1 && !shi_device_find(&shi_world.config.device, &ops, &n) && n > 1)
        shi_log_error("ishmem_init: %d PEs of this node use SYCL's default device, 1 of %d: ZE_AFFINITY_MASK gives each PE its own, see ishmem(7)",
                      shi_world.boot.n_local, n);
}

int shmemx_sycl_up(ze_driver_handle_t driver, ze_context_handle_t context, ze_device_handle_t device)
{
    int err = driver ? shmemx_ze_use(driver, context, device) : 0;
    void *first = shmemg_malloc(1); /* collective: the device heap comes up */
    if (!first)
        return err ? err : -ENODEV;
    if (driver && !err) {
        warn_of_one_device();
        shi_ze_patch_heap(context, device);
    }
    shmemg_free(first);
    shi_need_device(__func__);
    shi_module_faults(shi_ze_patch_fault);
    shi_proxy_others_launch();
    shi_device_heap_on_down(NULL, forget);
    shi_ze_patch_tell(shi_handle_default());
    return err;
}

void *shmemx_sycl_state(ze_context_handle_t context, ze_device_handle_t device)
{
    return shi_ze_patch_state(context, device);
}
