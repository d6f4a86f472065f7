/* list.c - command lists. A list keeps the commands appended to it; an immediate list submits each to its queue at once. */
#include <stdlib.h>
#include <string.h>

#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/kernel.h"
#include "ze_cpu/mem.h"
#include "ze_cpu/queue.h"

struct _ze_command_list_handle_t {
    struct zc_command *head, **tail;
    bool closed;
    struct zc_queue *immediate; /* or NULL */
    ze_device_handle_t device;
};

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static ze_result_t create(struct zc_queue *immediate, ze_device_handle_t device, ze_command_list_handle_t *out)
{
    struct _ze_command_list_handle_t *l = calloc(1, sizeof *l);
    if (!l)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    l->tail = &l->head;
    l->immediate = immediate;
    l->device = device;
    *out = l;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_CommandListCreate(ze_context_handle_t c, ze_device_handle_t d, const ze_command_list_desc_t *desc,
                                 ze_command_list_handle_t *out)
{
    (void)c, (void)desc;
    return create(NULL, d, out);
}

ze_result_t zc_CommandListCreateImmediate(ze_context_handle_t c, ze_device_handle_t d,
                                          const ze_command_queue_desc_t *desc, ze_command_list_handle_t *out)
{
    (void)c;
    struct zc_queue *q = zc_queue_new(desc && desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_result_t r = q ? create(q, d, out) : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (r && q)
        zc_queue_free(q);
    return r;
}

ze_result_t zc_CommandListReset(ze_command_list_handle_t l)
{
    for (struct zc_command *c = l->head, *next; c; c = next) {
        next = c->next;
        zc_command_free(c);
    }
    l->head = NULL;
    l->tail = &l->head;
    l->closed = false;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_CommandListDestroy(ze_command_list_handle_t l)
{
    if (l->immediate)
        zc_queue_free(l->immediate);
    zc_CommandListReset(l);
    free(l);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_CommandListClose(ze_command_list_handle_t l)
{
    l->closed = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_CommandListHostSynchronize(ze_command_list_handle_t l, uint64_t timeout)
{
    return l->immediate ? zc_queue_wait(l->immediate, timeout) : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t zc_CommandQueueExecuteCommandLists(ze_command_queue_handle_t h, uint32_t n, ze_command_list_handle_t *lists,
                                               ze_fence_handle_t fence)
{
    for (uint32_t i = 0; i < n; i++)
        if (!lists[i]->closed || lists[i]->immediate)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < n; i++) {
        ze_result_t r = zc_queue_submit(h->q, lists[i]->head, i + 1 == n ? fence : NULL, false);
        if (r)
            return r;
    }
    return ZE_RESULT_SUCCESS;
}

/* ---- commands --------------------------------------------------------------------------------------------------- */

/* NULL when out of memory. */
static struct zc_command *command(enum zc_command_kind kind, ze_event_handle_t signal, uint32_t n,
                                  const ze_event_handle_t *wait)
{
    struct zc_command *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->kind = kind;
    c->signal = signal;
    if (n) {
        c->wait = malloc(n * sizeof *wait);
        if (!c->wait) {
            free(c);
            return NULL;
        }
        memcpy(c->wait, wait, n * sizeof *wait);
        c->waits = n;
    }
    return c;
}

/* Takes ownership of c; NULL: out of memory. */
static ze_result_t append(ze_command_list_handle_t l, struct zc_command *c)
{
    if (!c)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (l->closed) {
        zc_command_free(c);
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    if (l->immediate)
        return zc_queue_submit(l->immediate, c, NULL, true);
    *l->tail = c;
    l->tail = &c->next;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_CommandListAppendBarrier(ze_command_list_handle_t l, ze_event_handle_t signal, uint32_t n,
                                        ze_event_handle_t *wait)
{
    return append(l, command(COMMAND_BARRIER, signal, n, wait));
}

ze_result_t zc_CommandListAppendMemoryRangesBarrier(ze_command_list_handle_t l, uint32_t ranges, const size_t *sizes,
                                                    const void **ptrs, ze_event_handle_t signal, uint32_t n,
                                                    ze_event_handle_t *wait)
{
    (void)ranges, (void)sizes, (void)ptrs;
    return append(l, command(COMMAND_BARRIER, signal, n, wait));
}

ze_result_t zc_CommandListAppendSignalEvent(ze_command_list_handle_t l, ze_event_handle_t signal)
{
    return append(l, command(COMMAND_NOTHING, signal, 0, NULL));
}

ze_result_t zc_CommandListAppendWaitOnEvents(ze_command_list_handle_t l, uint32_t n, ze_event_handle_t *wait)
{
    return append(l, command(COMMAND_BARRIER, NULL, n, wait));
}

ze_result_t zc_CommandListAppendEventReset(ze_command_list_handle_t l, ze_event_handle_t e)
{
    struct zc_command *c = command(COMMAND_RESET, NULL, 0, NULL);
    if (c)
        c->reset = e;
    return append(l, c);
}

ze_result_t zc_CommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t l, uint64_t *to, ze_event_handle_t signal,
                                                     uint32_t n, ze_event_handle_t *wait)
{
    struct zc_command *c = command(COMMAND_TIME, signal, n, wait);
    if (c)
        c->to = to;
    return append(l, c);
}

ze_result_t zc_CommandListAppendQueryKernelTimestamps(ze_command_list_handle_t l, uint32_t events, ze_event_handle_t *v,
                                                      void *to, const size_t *offsets, ze_event_handle_t signal,
                                                      uint32_t n, ze_event_handle_t *wait)
{
    struct zc_command *c = command(COMMAND_QUERY, signal, n, wait);
    if (c) {
        c->query = malloc((events + 1) * sizeof *v);
        c->queries = c->query ? events : 0;
        if (c->query)
            memcpy(c->query, v, events * sizeof *v);
        c->to = to;
        c->offsets = offsets;
    }
    return append(l, c);
}

static bool is_of_another(ze_device_handle_t d, const void *p)
{
    struct zc_alloc a;
    return zc_mem_find(p, &a) && a.type == ZE_MEMORY_TYPE_DEVICE && a.device != d;
}

ze_result_t zc_CommandListAppendMemoryCopy(ze_command_list_handle_t l, void *to, const void *from, size_t size,
                                           ze_event_handle_t signal, uint32_t n, ze_event_handle_t *wait)
{
    if (!to || !from)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!zc_config.peers && (is_of_another(l->device, to) || is_of_another(l->device, from)))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct zc_command *c = command(COMMAND_COPY, signal, n, wait);
    if (c) {
        c->to = to;
        c->from = from;
        c->size = size;
    }
    return append(l, c);
}

ze_result_t zc_CommandListAppendMemoryCopyFromContext(ze_command_list_handle_t l, void *to, ze_context_handle_t other,
                                                      const void *from, size_t size, ze_event_handle_t signal,
                                                      uint32_t n, ze_event_handle_t *wait)
{
    (void)other;
    return zc_CommandListAppendMemoryCopy(l, to, from, size, signal, n, wait);
}

ze_result_t zc_CommandListAppendMemoryCopyRegion(ze_command_list_handle_t l, void *to, const ze_copy_region_t *tr,
                                                 uint32_t to_pitch, uint32_t to_slice, const void *from,
                                                 const ze_copy_region_t *fr, uint32_t from_pitch, uint32_t from_slice,
                                                 ze_event_handle_t signal, uint32_t n, ze_event_handle_t *wait)
{
    if (!to || !from || !tr || !fr)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (tr->width != fr->width || tr->height != fr->height || tr->depth != fr->depth)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    struct zc_command *c = command(COMMAND_REGION, signal, n, wait);
    if (c) {
        c->to = (uint8_t *)to + (size_t)tr->originZ * to_slice + (size_t)tr->originY * to_pitch + tr->originX;
        c->from =
            (const uint8_t *)from + (size_t)fr->originZ * from_slice + (size_t)fr->originY * from_pitch + fr->originX;
        c->size = tr->width;
        c->rows = tr->height ? tr->height : 1;
        c->slices = tr->depth ? tr->depth : 1;
        c->to_pitch = to_pitch;
        c->to_slice_pitch = to_slice;
        c->from_pitch = from_pitch;
        c->from_slice_pitch = from_slice;
    }
    return append(l, c);
}

ze_result_t zc_CommandListAppendMemoryFill(ze_command_list_handle_t l, void *to, const void *pattern,
                                           size_t pattern_size, size_t size, ze_event_handle_t signal, uint32_t n,
                                           ze_event_handle_t *wait)
{
    if (!to || !pattern)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!pattern_size || pattern_size > ZC_PATTERN)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    uint8_t *copy = malloc(pattern_size);
    struct zc_command *c = copy ? command(COMMAND_FILL, signal, n, wait) : NULL;
    if (!c) {
        free(copy);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    memcpy(copy, pattern, pattern_size);
    c->pattern = copy;
    c->pattern_size = pattern_size;
    c->to = to;
    c->size = size;
    return append(l, c);
}

/* Hints: ignored, as there is one kind of memory. */
ze_result_t zc_CommandListAppendMemoryPrefetch(ze_command_list_handle_t l, const void *p, size_t size)
{
    (void)l, (void)p, (void)size;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_CommandListAppendMemAdvise(ze_command_list_handle_t l, ze_device_handle_t d, const void *p, size_t size,
                                          ze_memory_advice_t advice)
{
    (void)l, (void)d, (void)p, (void)size, (void)advice;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t launch(ze_command_list_handle_t l, ze_kernel_handle_t k, const ze_group_count_t *count,
                          bool cooperative, bool indirect, ze_event_handle_t signal, uint32_t n,
                          ze_event_handle_t *wait)
{
    static const ze_group_count_t none;
    struct zc_launch *made;
    ze_result_t r = zc_kernel_capture(k, indirect ? &none : count, cooperative, &made);
    if (r)
        return r;
    struct zc_command *c = command(COMMAND_KERNEL, signal, n, wait);
    if (!c) {
        free(made);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    c->launch = made;
    c->indirect = indirect ? count : NULL;
    return append(l, c);
}

ze_result_t zc_CommandListAppendLaunchKernel(ze_command_list_handle_t l, ze_kernel_handle_t k,
                                             const ze_group_count_t *count, ze_event_handle_t signal, uint32_t n,
                                             ze_event_handle_t *wait)
{
    return launch(l, k, count, false, false, signal, n, wait);
}

ze_result_t zc_CommandListAppendLaunchCooperativeKernel(ze_command_list_handle_t l, ze_kernel_handle_t k,
                                                        const ze_group_count_t *count, ze_event_handle_t signal,
                                                        uint32_t n, ze_event_handle_t *wait)
{
    return launch(l, k, count, true, false, signal, n, wait);
}

ze_result_t zc_CommandListAppendLaunchKernelIndirect(ze_command_list_handle_t l, ze_kernel_handle_t k,
                                                     const ze_group_count_t *count, ze_event_handle_t signal,
                                                     uint32_t n, ze_event_handle_t *wait)
{
    return launch(l, k, count, false, true, signal, n, wait);
}
