/* ze.h - the Level Zero objects behind the backends of ze.c, for programs that hold some of their own. */
#ifndef SHI_DEVICE_ZE_H
#define SHI_DEVICE_ZE_H

#include <level_zero/ze_api.h>

#include "device/device.h"

/* Is this one of ze.c's backends? */
int shi_ze_is(const struct shi_device_ops *ops);

/* Have the next device of a ze.c backend that is taken be this one, by this context, which is left to the program; the
 * backend must have been asked for its devices. 0 and what to take in *choice, or -errno after one logged line. */
int shi_ze_lend(ze_driver_handle_t driver, ze_context_handle_t context, ze_device_handle_t device,
                shi_config_device *choice);

/* The handles in use, while a device is taken. */
void shi_ze_handles(ze_driver_handle_t *driver, ze_context_handle_t *context, ze_device_handle_t *device);

#endif
