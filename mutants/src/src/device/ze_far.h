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

/* A device with its immediate and synchronous list. */
struct shi_ze_copier {
    ze_context_handle_t context;
    ze_device_handle_t device;
    ze_command_list_handle_t copies;
};

/* Is it such memory? */
int shi_ze_is_far(const void *addr);

/* Copy by our device, where either side may be such memory. Complete on return. 0, or -errno after one line. */
int shi_ze_far_copy(const struct shi_ze_copier *own, void *to, const void *from, size_t bytes);

#endif
