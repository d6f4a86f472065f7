/*
 * shmemx_ze.h - Fulmar for programs that hold Level Zero objects of their own: devices, contexts, modules, queues.
 *
 * Such a program builds its modules (with shmemg.h inside) and starts its kernels itself; Fulmar gives it the handles
 * that its symmetric memory belongs to, or takes the program's own, and fits the modules for communication:
 *
 *   shmem_init();
 *   shmemx_ze_get(&driver, &context, &device);     or  shmemx_ze_init(), zeDriverGet .., shmemx_ze_use(..)
 *   data = shmemg_malloc(bytes);
 *   zeModuleCreate(context, device, ..., &module, NULL);
 *   shmemx_ze_module_enter(module);
 *   ... zeKernelSetArgumentValue(kernel, 0, sizeof data, &data); zeCommandListAppendLaunchKernel ...; synchronise ...
 *   shmemx_device_sync();                           completes what the kernels asked for, reports what was refused
 *   shmemx_ze_module_leave(module);
 *
 * Kernels that call shmemg_ need ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST and _DEVICE. Contexts and teams for kernels are those
 * of shmemx.h: the pointer is the argument. All routines return 0, or a negative errno after one line that says why;
 * with a device of another kind that is -ENODEV. None is collective.
 */
#ifndef SHMEMX_ZE_H
#define SHMEMX_ZE_H
#include <level_zero/ze_api.h>

#include "shmemx.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/*
 * zeInit as Fulmar does it: with the drivers that SHMEM_DEVICE names, the driver on the CPU where there is no GPU's. For
 * programs that look for devices before shmemg_malloc or shmemx_ze_get; needs shmem_init.
 */
int shmemx_ze_init(void);

/*
 * Use this device, by this context, for this PE's symmetric memory and kernels, whatever SHMEM_DEVICE says. Before
 * shmemx_ze_get and the first shmemg_malloc, else -EBUSY. The context stays the program's and must outlive
 * shmem_finalize, after which the choice is forgotten.
 */
int shmemx_ze_use(ze_driver_handle_t driver, ze_context_handle_t context, ze_device_handle_t device);

/*
 * The handles in use; the device is taken if that has not been. Symmetric memory belongs to this context. The handles are
 * Fulmar's, unless shmemx_ze_use gave them, and go with shmem_finalize.
 */
int shmemx_ze_get(ze_driver_handle_t *driver, ze_context_handle_t *context, ze_device_handle_t *device);

/*
 * Write the default context into a module built with Fulmar's context, so that its kernels may call shmemg_ routines
 * without one; shmemx_launch finds its kernels, too. After shmemg_malloc. -EINVAL for a module without shmemg_ routines,
 * -EALREADY for one that is in. The module must be taken out by shmemx_ze_module_leave before it is destroyed and
 * before shmem_finalize, when none of its kernels runs any more: this completes what they asked for.
 */
int shmemx_ze_module_enter(ze_module_handle_t module);
int shmemx_ze_module_leave(ze_module_handle_t module);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
