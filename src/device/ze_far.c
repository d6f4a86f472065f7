/* ze_far.c - copies to and from devices that ours cannot access: see ze_far.h. */
#include "device/ze_far.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "device/ze_loader.h"

enum { BOUNCE_BYTES = 1 << 18 };

struct far {
    const char *at;
    size_t bytes;
    ze_context_handle_t context;
    ze_command_list_handle_t copies; /* of the owner's device; immediate and synchronous */
    void *bounce;                    /* host memory */
    struct far *next;
};
static struct far *maps;

int shi_ze_far_map(ze_context_handle_t context, ze_device_handle_t owner, const ze_ipc_mem_handle_t *handle, size_t bytes,
                   void **addr)
{
    ze_command_queue_desc_t q = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    struct far *f = calloc(1, sizeof *f);
    void *at = NULL;
    int err = f ? SHI_ZE(zeMemOpenIpcHandle, context, owner, *handle, 0, &at) : -ENOMEM;
    if (!err)
        err = SHI_ZE(zeMemAllocHost, context, &host, BOUNCE_BYTES, 0, &f->bounce);
    if (!err)
        err = SHI_ZE(zeCommandListCreateImmediate, context, owner, &q, &f->copies);
    if (!err) {
        f->at = *addr = at;
        f->bytes = bytes;
        f->context = context;
        f->next = maps;
        maps = f;
        return 0;
    }
    if (f && f->bounce)
        shi_ze.zeMemFree(context, f->bounce);
    if (at)
        shi_ze.zeMemCloseIpcHandle(context, at);
    free(f);
    return err;
}

void shi_ze_far_forget(void *addr)
{
    struct far **f = &maps, *gone;
    while (*f && (*f)->at != addr)
        f = &(*f)->next;
    if (!(gone = *f))
        return;
    *f = gone->next;
    shi_ze.zeCommandListDestroy(gone->copies);
    shi_ze.zeMemFree(gone->context, gone->bounce);
    free(gone);
}

int shi_ze_far_maps(void)
{
    return maps != NULL;
}

static const struct far *far_of(const void *addr)
{
    const struct far *f = maps;
    while (f && (uintptr_t)addr - (uintptr_t)f->at >= f->bytes)
        f = f->next;
    return f;
}

static int copy(ze_command_list_handle_t list, void *to, const void *from, size_t bytes)
{
    return SHI_ZE(zeCommandListAppendMemoryCopy, list, to, from, bytes, NULL, 0, NULL);
}

int shi_ze_far_copy(ze_command_list_handle_t copies, void *to, const void *from, size_t bytes)
{
    const struct far *t = far_of(to), *f = far_of(from);
    if (t == f)
        return copy(t ? t->copies : copies, to, from, bytes);
    char *bounce = t ? t->bounce : f->bounce;
    int err = 0;
    for (size_t done = 0, n; !err && done < bytes; done += n) {
        n = bytes - done < BOUNCE_BYTES ? bytes - done : BOUNCE_BYTES;
        err = copy(f ? f->copies : copies, bounce, (const char *)from + done, n);
        if (!err)
            err = copy(t ? t->copies : copies, (char *)to + done, bounce, n);
    }
    return err;
}
