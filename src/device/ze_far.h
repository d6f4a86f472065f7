/*
 * ze_far.h - memory of a peer's device that ours cannot access: mapped on that device, copied through host memory.
 *
 * The caller makes one call at a time.
 */
#ifndef SHI_DEVICE_ZE_FAR_H
#define SHI_DEVICE_ZE_FAR_H

#include <level_zero/ze_api.h>
#include <stddef.h>

/* Map the handle for `owner`, a device of the same context. 0, or -errno after one line. Pair: shi_ze_far_forget, and then the
 * handle is closed. */
int shi_ze_far_map(ze_context_handle_t context, ze_device_handle_t owner, const ze_ipc_mem_handle_t *handle, size_t bytes,
                   void **addr);
void shi_ze_far_forget(void *addr);

/* 1: there are such mappings. */
int shi_ze_far_maps(void);

/* Copy, where either side may be such memory; `copies` is our device's list. Complete on return. 0 or -errno. */
int shi_ze_far_copy(ze_command_list_handle_t copies, void *to, const void *from, size_t bytes);

#endif
