/* cuda_launch.h - launches of kernels and host calls of the CUDA backend: the functions of struct shi_device_ops that concern them. */
#ifndef SHI_DEVICE_CUDA_LAUNCH_H
#define SHI_DEVICE_CUDA_LAUNCH_H

#include "device/device.h"

/* Make the stream of kernels; the context is there. 0 or -errno. Down waits for the kernels and unloads the modules. */
int shi_cuda_launch_up(void);
void shi_cuda_launch_down(void);

int shi_cuda_launch(void *module, const char *kernel, const struct shi_device_grid *g, void *const *args,
                    const size_t *arg_bytes, int n_args);
int shi_cuda_host_call(void (*fn)(void *), void *arg);
int shi_cuda_finish(void);
int shi_cuda_busy(void);

#endif
