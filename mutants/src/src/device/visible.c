/* visible.c - the reason why a device of a peer cannot be used here. */
#include <errno.h>
#include <stdlib.h>

#include "device/device.h"
#include "host/util/log.h"

int shi_device_not_visible(int pid, const char *device, const char *variable)
{
    const char *set = getenv(variable);
    shi_log_error("cannot map the memory of process %d: its device %s is not visible to this PE (%s%s%s); let PEs see all devices, "
                  "which they use in turn, or set SHMEM_TRANSPORT=ofi", pid, device, variable, set ? "=" : " is not set",
                  set ? set : "");
    return -ENODEV;
}
