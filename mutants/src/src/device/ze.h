/* ze.h - the Level Zero objects of the backends in ze.c, for programs that use Level Zero themselves. */
#ifndef SHI_DEVICE_ZE_H
#define SHI_DEVICE_ZE_H

#include <level_zero/ze_api.h>

#include "device/device.h"

/* 1 for a backend of ze.c. */
int shi_ze_is(const struct shi_device_ops *ops);

/* Make the next shi_device_take of a ze.c backend use this device and this context, which the program keeps; the backend's
 * devices must have been counted. 0 and the choice for shi_device_take, or -errno after one logged line. */
int shi_ze_lend(ze_driver_handle_t driver, ze_context_handle_t context, ze_device_handle_t device,
                shi_config_device *choice);

/* The handles in use, while a device is initialised. */
void shi_ze_handles(ze_driver_handle_t *driver, ze_context_handle_t *context, ze_device_handle_t *device);

#endif
