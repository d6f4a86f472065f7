/* ze_queue.c - see ze_queue.h. */
#include "device/ze_queue.h"

#include "device/marks.h"
#include "device/ze_loader.h"

static ze_event_pool_handle_t pool;
static struct queue {
    ze_command_list_handle_t list;
    ze_event_handle_t event[SHI_MARKS];
    struct shi_marks marks;
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
                                    .count = SHI_DEVICE_QUEUES * SHI_MARKS};
    const ze_command_queue_desc_t d = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = shi_ze_copy_group(device),
                                       .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    int err = SHI_ZE(zeEventPoolCreate, context, &p, 1, &device, &pool);
    for (uint32_t i = 0; !err && i < SHI_DEVICE_QUEUES; i++) {
        queues[i] = (struct queue){0};
        for (uint32_t k = 0; !err && k < SHI_MARKS; k++) {
            const ze_event_desc_t e = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i * SHI_MARKS + k, .signal = ZE_EVENT_SCOPE_FLAG_HOST};
            err = SHI_ZE(zeEventCreate, pool, &e, &queues[i].event[k]);
        }
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
        for (int k = 0; k < SHI_MARKS; k++)
            if (q->event[k])
                shi_ze.zeEventDestroy(q->event[k]);
        *q = (struct queue){0};
    }
    if (pool)
        shi_ze.zeEventPoolDestroy(pool);
    pool = NULL;
}

/* Place an event behind all copies that have been started, if one is free. Its barrier holds back later copies, too. */
static int mark(struct queue *q)
{
    int i = shi_marks_place(&q->marks);
    int err = i < 0 ? 0 : SHI_ZE(zeEventHostReset, q->event[i]);
    if (!err && i >= 0)
        err = SHI_ZE(zeCommandListAppendBarrier, q->list, q->event[i], 0, NULL);
    if (!err && i >= 0)
        shi_marks_placed(&q->marks);
    return err;
}

/* Is the last command the barrier of an event? */
static int is_marked(const struct shi_marks *m)
{
    return m->next && m->covers[(m->next - 1) % SHI_MARKS] == m->started;
}

int shi_ze_queue_start(enum shi_device_queue which, const struct shi_device_copy *c, int n)
{
    struct queue *q = &queues[which];
    int err = 0;
    for (int i = 0; !err && i < n; i++) {
        if (i ? !c[i].beside : !is_marked(&q->marks))
            err = SHI_ZE(zeCommandListAppendBarrier, q->list, NULL, 0, NULL);
        if (!err)
            err = SHI_ZE(zeCommandListAppendMemoryCopy, q->list, c[i].to, c[i].from, c[i].bytes, NULL, 0, NULL);
    }
    q->marks.started += err ? 0 : (uint64_t)n;
    return err ? err : mark(q);
}

int shi_ze_queue_ended(enum shi_device_queue which, uint64_t *n)
{
    struct queue *q = &queues[which];
    ze_result_t r = ZE_RESULT_SUCCESS;
    for (int i; !r && (i = shi_marks_first(&q->marks)) >= 0;) {
        r = shi_ze.zeEventQueryStatus(q->event[i]);
        if (!r)
            shi_marks_passed(&q->marks);
    }
    *n = q->marks.ended;
    return r && r != ZE_RESULT_NOT_READY ? shi_ze_checked("zeEventQueryStatus", r) : mark(q);
}

int shi_ze_queue_drain(enum shi_device_queue which)
{
    struct queue *q = &queues[which];
    int err = 0;
    while (!err && q->marks.ended < q->marks.started) {
        int i = shi_marks_first(&q->marks);
        err = i < 0 ? mark(q) : SHI_ZE(zeEventHostSynchronize, q->event[i], UINT64_MAX);
        if (!err && i >= 0)
            shi_marks_passed(&q->marks);
    }
    return err;
}

void shi_ze_queue_count(enum shi_device_queue which)
{
    struct shi_marks *m = &queues[which].marks;
    m->ended = ++m->started;
}
