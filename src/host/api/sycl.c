/* sycl.c - what ishmem.h in SYCL needs of the library. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx_ze.h>

#include "device/ze_loader.h"
#include "device/ze_patch.h"
#include "host/api/launch.h"
#include "host/init/device_heap.h"
#include "host/util/log.h"
#include "proxy/handle.h"
#include "proxy/proxy.h"

void shmemx_sycl_claim(void)
{
    shi_ze_claim(1);
}

static void forget(void)
{
    shi_ze_patch_tell(NULL);
}

int shmemx_sycl_up(ze_driver_handle_t driver, ze_context_handle_t context, ze_device_handle_t device)
{
    int err = driver ? shmemx_ze_use(driver, context, device) : 0;
    void *first = shmemg_malloc(1); /* collective: the device heap comes up */
    if (!first)
        return err ? err : -ENODEV;
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
