/* queue.h - command queues, and the commands that they execute. */
#ifndef ZC_QUEUE_H
#define ZC_QUEUE_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zc_launch;

enum { ZC_PATTERN = 128 }; /* bytes of a fill's pattern, at most */

enum zc_command_kind { COMMAND_BARRIER, COMMAND_COPY, COMMAND_REGION, COMMAND_FILL, COMMAND_KERNEL, COMMAND_NOTHING,
                       COMMAND_RESET, COMMAND_TIME, COMMAND_QUERY };

/* A command; list.c creates it, queue.c executes it. */
struct zc_command {
    struct zc_command *next;
    enum zc_command_kind kind;
    void *to;
    const void *from;
    size_t size;
    uint8_t *pattern; /* of a fill */
    size_t pattern_size;
    size_t rows, slices, to_pitch, to_slice_pitch, from_pitch, from_slice_pitch; /* of a region; size is that of a row */
    struct zc_launch *launch;
    const ze_group_count_t *indirect; /* NULL, or group counts to read when the kernel starts */
    ze_event_handle_t signal, reset;
    uint32_t waits, queries;
    ze_event_handle_t *wait, *query;
    const size_t *offsets; /* of queried timestamps, or NULL */
};
void zc_command_free(struct zc_command *c);

struct zc_queue;
struct zc_queue *zc_queue_new(bool synchronous);
void zc_queue_free(struct zc_queue *q);
/* Execute the chain of commands c, then set the fence. owned: free the commands afterwards. A synchronous queue waits. */
ze_result_t zc_queue_submit(struct zc_queue *q, struct zc_command *c, ze_fence_handle_t fence, bool owned);
ze_result_t zc_queue_wait(struct zc_queue *q, uint64_t timeout_ns);

struct _ze_command_queue_handle_t {
    struct zc_queue *q;
};

#endif
