/* ipc.c - IPC handles of device memory. Interface: entries.h. */
#include <string.h>
#include <sys/stat.h>

#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/mem.h"

/*
 * As in Intel's driver, the exporter's file descriptor comes first in the handle. The importer must get that descriptor
 * (SCM_RIGHTS, pidfd_getfd) and replace it by its own number before it opens the handle.
 */
struct ipc {
    int32_t fd;
    uint32_t device; /* index */
    uint64_t size, magic;
};
_Static_assert(sizeof(struct ipc) <= ZE_MAX_IPC_HANDLE_SIZE && offsetof(struct ipc, fd) == 0, "fits the handle");
static const uint64_t ipc_magic = 0x75706370695f657aull;

ze_result_t zc_MemGetIpcHandle(ze_context_handle_t c, const void *p, ze_ipc_mem_handle_t *out)
{
    (void)c;
    struct zc_alloc a;
    if (!zc_mem_find(p, &a) || a.fd < 0)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct ipc h = {.fd = a.fd, .device = zc_device_index(a.device), .size = a.size, .magic = ipc_magic};
    memset(out, 0, sizeof *out);
    memcpy(out, &h, sizeof h);
    return ZE_RESULT_SUCCESS;
}

/* The allocation keeps the descriptor: nothing to release. */
ze_result_t zc_MemPutIpcHandle(ze_context_handle_t c, ze_ipc_mem_handle_t handle)
{
    (void)c, (void)handle;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_MemOpenIpcHandle(ze_context_handle_t c, ze_device_handle_t device, ze_ipc_mem_handle_t handle,
                                ze_ipc_memory_flags_t flags, void **out)
{
    (void)flags;
    struct ipc h;
    struct stat st;
    memcpy(&h, &handle, sizeof h);
    if (h.magic != ipc_magic || fstat(h.fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < h.size)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (!zc_config.peers && h.device != zc_device_index(device))
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    const ze_external_memory_import_fd_t file = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, .fd = h.fd};
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .pNext = &file};
    return zc_MemAllocDevice(c, &desc, h.size, 0, device, out);
}
