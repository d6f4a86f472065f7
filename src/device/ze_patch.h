/*
 * ze_patch.h - the default context of kernels that AdaptiveCpp compiles (see lib/sycl.h): in every module that the process makes through the
 * Level Zero loader, the constants that stand for the context's address become its address.
 */
#ifndef SHI_DEVICE_ZE_PATCH_H
#define SHI_DEVICE_ZE_PATCH_H

#include <level_zero/ze_api.h>
#include <stdint.h>

#include "device/lib/state.h"

/* The context of kernels from now on, in modules that are made later too; NULL: none. */
void shi_ze_patch_tell(const struct shi_dev_ctx *ctx);

/* The context and device of the symmetric heap's memory: kernels, also of modules that are made later, that cannot access it get one line. */
void shi_ze_patch_heap(ze_context_handle_t context, ze_device_handle_t device);

/* The default context's address for the kernels of a Level Zero context, as a kernel's argument; NULL after one line. For compilers that
 * have a variable for it. */
struct shi_sycl_state *shi_ze_patch_state(ze_context_handle_t context, ze_device_handle_t device);

/* The first error of a routine that was called without a valid context, or 0; it is cleared. */
uint64_t shi_ze_patch_fault(void);

#endif
