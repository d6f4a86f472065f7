/* none.c - a build without a device backend: every use says what is missing. */
#include "device/device.h"

#include <errno.h>

#include "host/util/log.h"

static int up(int *host_access)
{
    (void)host_access;
    shi_log_error("this build has no device backend: install libze-dev (the Level Zero loader) and configure again");
    return -ENODEV;
}

/* Nothing else is called after a failed up. */
const struct shi_device_ops shi_device = {.name = "none", .up = up};
