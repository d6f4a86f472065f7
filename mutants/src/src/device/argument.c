/* argument.c - check the size of one kernel argument. */
#include "device/device.h"

#include <errno.h>

#include "host/util/log.h"

int shi_device_check_argument(const char *kernel, int i, const size_t *given, const size_t *taken)
{
    if (!given == !taken && (!given || *given == *taken))
        return 0;
    shi_log_error("shmemx_launch: kernel %s takes %s argument %d%s: %zu bytes were given, %zu are taken", kernel,
                  taken ? "an" : "no", i, given ? "" : ", which is missing", given ? *given : 0, taken ? *taken : 0);
    return -EINVAL;
}
