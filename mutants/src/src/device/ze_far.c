/* ze_far.c - copies to and from devices that ours cannot access: see ze_far.h. */
#include "device/ze_far.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "device/ze_loader.h"
#include "host/util/log.h"

enum { BOUNCE_BYTES = 1 << 18 };

struct far {
    const char *at;
    size_t bytes;
    struct shi_ze_copier owner;
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
        err = SHI_ZE(zeCommandListCreateImmediate, context, owner, &q, &f->owner.copies);
    if (!err) {
        f->at = *addr = at;
        f->bytes = bytes;
        f->owner.context = context;
        f->owner.device = owner;
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
    shi_ze.zeCommandListDestroy(gone->owner.copies);
    shi_ze.zeMemFree(gone->owner.context, gone->bounce);
    free(gone);
}

static const struct far *far_of(const void *addr)
{
    const struct far *f = maps;
    while (f && (uintptr_t)addr - (uintptr_t)f->at >= f->bytes)
        f = f->next;
    return f;
}

int shi_ze_is_far(const void *addr)
{
    return maps && far_of(addr);
}

/* The program's memory of another device than this one? */
static int is_of_another(const struct shi_ze_copier *by, const void *addr)
{
    ze_memory_allocation_properties_t p = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t owner = NULL;
    return !shi_ze.zeMemGetAllocProperties(by->context, addr, &p, &owner) && p.type == ZE_MEMORY_TYPE_DEVICE &&
           owner != by->device;
}

static int copy(const struct shi_ze_copier *by, void *to, const void *from, size_t bytes)
{
    ze_result_t r = shi_ze.zeCommandListAppendMemoryCopy(by->copies, to, from, bytes, NULL, 0, NULL);
    const void *other = !r ? NULL : is_of_another(by, to) ? to : is_of_another(by, from) ? from : NULL;
    if (!other)
        return shi_ze_checked("zeCommandListAppendMemoryCopy", r);
    shi_log_error("%p is memory of another device, which this PE's device cannot access", other);
    return -EFAULT;
}

int shi_ze_far_copy(const struct shi_ze_copier *own, void *to, const void *from, size_t bytes)
{
    const struct far *t = maps ? far_of(to) : NULL, *f = maps ? far_of(from) : NULL;
    if (t == f)
        return copy(t ? &t->owner : own, to, from, bytes);
    char *bounce = t ? t->bounce : f->bounce;
    int err = 0;
    for (size_t done = 0, n; !err && done < bytes; done += n) {
        n = bytes - done < BOUNCE_BYTES ? bytes - done : BOUNCE_BYTES;
        err = copy(f ? &f->owner : own, bounce, (const char *)from + done, n);
        if (!err)
            err = copy(t ? &t->owner : own, (char *)to + done, bounce, n);
    }
    return err;
}
