/*
 * shmemx_ze.h - Fulmar for programs with their own Level Zero objects: devices, contexts, modules, queues.
 *
 * Such a program builds its modules (from sources that include shmemg.h) and launches its kernels itself. Either it uses the
 * handles of Fulmar's device symmetric heap, or Fulmar uses the program's handles; Fulmar prepares the modules:
 *
 *   shmem_init();
 *   shmemx_ze_get(&driver, &context, &device);     or  shmemx_ze_init(), zeDriverGet .., shmemx_ze_use(..)
 *   data = shmemg_malloc(bytes);
 *   zeModuleCreate(context, device, ..., &module, NULL);
 *   shmemx_ze_module_enter(module);
 *   ... zeKernelSetArgumentValue(kernel, 0, sizeof data, &data); zeCommandListAppendLaunchKernel ...; synchronise ...
 *   shmemx_device_sync();                           completes the operations of the kernels, reports their errors
 *   shmemx_ze_module_leave(module);
 *
 * Kernels that call shmemg_ need ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST and _DEVICE. Contexts and teams for kernels are those
 * of shmemx.h: the pointer is the argument. All routines return 0, or a negative errno after one line that gives the reason;
 * -ENODEV if the device is not a Level Zero device. They are not collective.
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
 * Call zeInit with the drivers that SHMEM_DEVICE selects; without a GPU this is the driver on the CPU. For programs that
 * enumerate devices before shmemg_malloc or shmemx_ze_get. Call shmem_init first.
 */
int shmemx_ze_init(void);

/*
 * Use this device and context for this PE's device symmetric heap and kernels, even if SHMEM_DEVICE selects another Level
 * Zero device. Call it before shmemx_ze_get and the first shmemg_malloc, else it returns -EBUSY. The program owns the context
 * and must not destroy it before shmem_finalize, which ends the use of this device.
 */
int shmemx_ze_use(ze_driver_handle_t driver, ze_context_handle_t context, ze_device_handle_t device);

/*
 * Store the handles in use; open the device if it is not open. The device symmetric heap is allocated in this context.
 * Unless they come from shmemx_ze_use, Fulmar owns the handles, which become invalid with shmem_finalize.
 */
int shmemx_ze_get(ze_driver_handle_t *driver, ze_context_handle_t *context, ze_device_handle_t *device);

/*
 * Write the default context into a module built with the context in use, so that its kernels may call shmemg_ routines without a
 * context argument; shmemx_launch also finds its kernels. Call it after shmemg_malloc. -EINVAL for a module without shmemg_
 * routines, -EALREADY for a module that was already entered. Before the module is destroyed and before shmem_finalize, when
 * none of its kernels runs, call shmemx_ze_module_leave: it completes the operations of the kernels.
 */
int shmemx_ze_module_enter(ze_module_handle_t module);
int shmemx_ze_module_leave(ze_module_handle_t module);

/*
 * For ishmem.h in SYCL, which calls them. shmemx_sycl_claim, before main: where the device will be the CPU, name its driver to Level Zero's
 * loader; the device symmetric heap has 512 MiB or what ISHMEM_SYMMETRIC_SIZE says, if SHMEM_DEVICE_SYMMETRIC_SIZE is not set.
 * shmemx_sycl_up, collective: use these handles, or with NULL those that SHMEM_DEVICE selects, for the device symmetric heap, and give
 * kernels their default context. shmemx_sycl_state: its address for kernels of this Level Zero context, or NULL.
 */
void shmemx_sycl_claim(void);
int shmemx_sycl_up(ze_driver_handle_t driver, ze_context_handle_t context, ze_device_handle_t device);
void *shmemx_sycl_state(ze_context_handle_t context, ze_device_handle_t device);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
