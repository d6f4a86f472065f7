/* ze_launch.h - modules, kernels and host calls of the Level Zero backend: the functions of struct shi_device_ops that concern them. */
#ifndef SHI_DEVICE_ZE_LAUNCH_H
#define SHI_DEVICE_ZE_LAUNCH_H

#include <level_zero/ze_api.h>

#include "device/device.h"

struct shi_ze_device {
    ze_driver_handle_t driver;
    ze_context_handle_t context;
    ze_device_handle_t device;
};

/* Make the queue of kernels. 0, or -errno after one line. Down waits for the kernels and unloads the modules. */
int shi_ze_launch_up(const struct shi_ze_device *device);
void shi_ze_launch_down(void);

/* Is this image in the format that the backend loads? */
int shi_ze_is_spirv(const void *image, size_t bytes);

int shi_ze_load_module(const void *image, size_t bytes, void **module);
int shi_ze_variable(void *module, const char *name, void **addr);
int shi_ze_launch(void *module, const char *kernel, const struct shi_device_grid *grid, void *const *args,
                  const size_t *arg_bytes, int n_args);
int shi_ze_host_call(void (*fn)(void *), void *arg);
int shi_ze_finish(void);
int shi_ze_busy(void);

#endif
