/* ze_queue.c - see ze_queue.h. */
#include "device/ze_queue.h"

#include "device/ze_loader.h"

static ze_event_pool_handle_t pool;
static struct queue {
    ze_command_list_handle_t list;
    ze_event_handle_t mark;
    uint64_t started, marked, ended; /* marked: how many the event covers */
} queues[SHI_DEVICE_QUEUES];

uint32_t shi_ze_copy_group(ze_device_handle_t device)
{
    enum { MOST = 16 };
    ze_command_queue_group_properties_t p[MOST];
    uint32_t n = MOST;
    for (int i = 0; i < MOST; i++)
        p[i] = (ze_command_queue_group_properties_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES};
    if (SHI_ZE(zeDeviceGetCommandQueueGroupProperties, device, &n, p))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (p[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY && !(p[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE))
            return i;
    return 0;
}

int shi_ze_queue_up(ze_context_handle_t context, ze_device_handle_t device)
{
    const ze_event_pool_desc_t p = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                    .count = SHI_DEVICE_QUEUES};
    const ze_command_queue_desc_t d = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = shi_ze_copy_group(device),
                                       .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    int err = SHI_ZE(zeEventPoolCreate, context, &p, 1, &device, &pool);
    for (uint32_t i = 0; !err && i < SHI_DEVICE_QUEUES; i++) {
        const ze_event_desc_t e = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i, .signal = ZE_EVENT_SCOPE_FLAG_HOST};
        queues[i] = (struct queue){0};
        err = SHI_ZE(zeEventCreate, pool, &e, &queues[i].mark);
        if (!err)
            err = SHI_ZE(zeCommandListCreateImmediate, context, device, &d, &queues[i].list);
    }
    return err;
}

void shi_ze_queue_down(void)
{
    for (struct queue *q = queues; q < queues + SHI_DEVICE_QUEUES; q++) {
        if (q->list)
            shi_ze.zeCommandListDestroy(q->list);
        if (q->mark)
            shi_ze.zeEventDestroy(q->mark);
        *q = (struct queue){0};
    }
    if (pool)
        shi_ze.zeEventPoolDestroy(pool);
    pool = NULL;
}

int shi_ze_queue_start(enum shi_device_queue which, void *to, const void *from, size_t bytes)
{
    struct queue *q = &queues[which];
    int err = SHI_ZE(zeCommandListAppendBarrier, q->list, NULL, 0, NULL);
    if (!err)
        err = SHI_ZE(zeCommandListAppendMemoryCopy, q->list, to, from, bytes, NULL, 0, NULL);
    q->started += !err;
    return err;
}

/* Let the event cover all copies that have been started. It is not under way. */
static int mark(struct queue *q)
{
    int err = SHI_ZE(zeEventHostReset, q->mark);
    if (!err)
        err = SHI_ZE(zeCommandListAppendBarrier, q->list, q->mark, 0, NULL);
    if (!err)
        q->marked = q->started;
    return err;
}

int shi_ze_queue_ended(enum shi_device_queue which, uint64_t *n)
{
    struct queue *q = &queues[which];
    ze_result_t r = q->marked > q->ended ? shi_ze.zeEventQueryStatus(q->mark) : ZE_RESULT_SUCCESS;
    int err = 0;
    if (!r)
        q->ended = q->marked;
    if (!r && q->started > q->ended)
        err = mark(q);
    *n = q->ended;
    return r && r != ZE_RESULT_NOT_READY ? shi_ze_checked("zeEventQueryStatus", r) : err;
}

int shi_ze_queue_drain(enum shi_device_queue which)
{
    struct queue *q = &queues[which];
    int err = 0;
    while (!err && q->ended < q->started) {
        err = q->marked > q->ended ? 0 : mark(q);
        if (!err)
            err = SHI_ZE(zeEventHostSynchronize, q->mark, UINT64_MAX);
        q->ended = err ? q->ended : q->marked;
    }
    return err;
}

void shi_ze_queue_count(enum shi_device_queue which)
{
    struct queue *q = &queues[which];
    q->ended = q->marked = ++q->started;
}
