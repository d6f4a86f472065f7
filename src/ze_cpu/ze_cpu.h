/*
 * ze_cpu.h - what the driver's files share: settings, devices, memory, events and command queues.
 *
 * ze_cpu is a Level Zero driver that executes kernels on the processor's cores. It is a library of its own, found by
 * the loader through ZE_ENABLE_ALT_DRIVERS, and uses nothing else of this project.
 */
#ifndef ZE_CPU_H
#define ZE_CPU_H

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ze_cpu/entries.h"

enum { ZC_DEVICES = 16, ZC_PATTERN = 128 };

/* From the environment, set once by zeInit. */
struct zc_config {
    unsigned devices, threads;   /* ZE_CPU_DEVICES, ZE_CPU_THREADS */
    bool check, private_memory;  /* ZE_CPU_CHECK, ZE_CPU_PRIVATE */
    bool reorder;                /* ZE_CPU_REORDER */
    bool native;                 /* ZE_CPU_NATIVE, and nobody checks what kernels access */
};
extern struct zc_config zc_config;

struct _ze_driver_handle_t {
    int unused;
};
struct _ze_device_handle_t {
    uint32_t index;
};
struct _ze_context_handle_t {
    int unused;
};

/* Time in nanoseconds: that of events, timestamps and time limits. */
uint64_t zc_now_ns(void);

/* ---- mem.c ------------------------------------------------------------------------------------------------------ */

struct zc_alloc {
    uint8_t *base; /* as kernels and the host name it */
    size_t size, mapped;
    ze_memory_type_t type;
    uint64_t id;
    int fd; /* the memory's file, -1 without */
    bool imported;
    ze_device_handle_t device;
};

void zc_mem_up(void);
/* The allocation that holds an address, copied out. */
bool zc_mem_find(const void *p, struct zc_alloc *out);
/* Changes whenever an allocation is freed: what was found before may be gone. */
uint64_t zc_mem_changes(void);
/* Where device and copy engine find p: elsewhere than the host only for device memory under ZE_CPU_PRIVATE. */
void *zc_mem_device_view(void *p);

/* ---- event.c ---------------------------------------------------------------------------------------------------- */

enum zc_flag_value { FLAG_CLEAR, FLAG_DONE, FLAG_LOST };

/* A word that is set once and wakes those who wait; may lie in memory of several processes. */
struct zc_flag {
    _Atomic uint32_t value; /* enum zc_flag_value */
    _Atomic uint32_t waiters;
};
void zc_flag_set(struct zc_flag *f, enum zc_flag_value v);
enum zc_flag_value zc_flag_get(struct zc_flag *f);
/* Success once the flag is done, device lost when it says so, not ready when the time ran out. */
ze_result_t zc_flag_wait(struct zc_flag *f, uint64_t timeout_ns);

/* The part of an event that processes share. */
struct zc_event_state {
    struct zc_flag flag;
    uint64_t began_ns, ended_ns;
};
struct _ze_event_handle_t {
    struct zc_event_state *state;
};
struct _ze_fence_handle_t {
    struct zc_flag flag;
};

/* ---- run.c ------------------------------------------------------------------------------------------------------ */

/* The extension zexCpuWhileIdle: threads of kernels whose items all poll memory that does not change call fn in
 * between, which returns whether it did anything; NULL: no longer. */
void zc_while_idle(int (*fn)(void));

/* ---- stalled.c -------------------------------------------------------------------------------------------------- */

struct zc_worker;
struct zc_launch;
/* The items of the thread's groups have only polled for some time, until leave of what enter returned. */
unsigned zc_stalled_enter(const struct zc_launch *l, const struct zc_worker *w);
void zc_stalled_leave(unsigned entered);
/* The extension zexCpuStalled: the next such thread at or after *at, which moves on; 0: there is none. Its kernel, how many
 * items it has, and the words that the first of them polls, up to *words; address 0: not known. Async-signal-safe. */
int zc_stalled(int *at, char *kernel, size_t room, uint32_t *items, uint64_t *addr, uint64_t *value, uint32_t *words);

/* ---- guard.c ---------------------------------------------------------------------------------------------------- */

/* Say of a crash (SIGSEGV, SIGBUS) whose kernel's it was, and let it happen. From now on; this thread runs l, NULL: none. */
void zc_guard_up(void);
void zc_guard_run(const struct zc_launch *l);

/* ---- kernel.c --------------------------------------------------------------------------------------------------- */

/* What a launch of k needs, as k's arguments are now; freed by free(). The launch refers to memory in the same block.
 */
ze_result_t zc_kernel_capture(ze_kernel_handle_t k, const ze_group_count_t *count, bool cooperative,
                              struct zc_launch **out);

/* The extension zexKernelGetArgumentSize: how many bytes argument i takes; of local memory 0. */
ze_result_t zc_kernel_argument_size(ze_kernel_handle_t k, uint32_t i, uint32_t *bytes);

/* ---- queue.c ---------------------------------------------------------------------------------------------------- */

enum zc_command_kind { COMMAND_BARRIER, COMMAND_COPY, COMMAND_REGION, COMMAND_FILL, COMMAND_KERNEL, COMMAND_NOTHING,
                       COMMAND_RESET, COMMAND_TIME, COMMAND_QUERY };

/* A command in a list; list.c makes them, queue.c executes them. */
struct zc_command {
    struct zc_command *next;
    enum zc_command_kind kind;
    void *to;
    const void *from;
    size_t size;
    uint8_t *pattern; /* of a fill */
    size_t pattern_size;
    size_t rows, slices, to_pitch, to_slice_pitch, from_pitch, from_slice_pitch; /* of a region; size: of a row */
    struct zc_launch *launch;
    const ze_group_count_t *indirect; /* group counts, read when the kernel starts */
    ze_event_handle_t signal, reset;
    uint32_t waits, queries;
    ze_event_handle_t *wait, *query;
    const size_t *offsets; /* of queried timestamps, or NULL */
};
void zc_command_free(struct zc_command *c);

struct zc_queue;
struct zc_queue *zc_queue_new(bool synchronous);
void zc_queue_free(struct zc_queue *q);
/* Execute the chain c, then set the fence. owned: the commands are freed afterwards. Waits on synchronous queues. */
ze_result_t zc_queue_submit(struct zc_queue *q, struct zc_command *c, ze_fence_handle_t fence, bool owned);
ze_result_t zc_queue_wait(struct zc_queue *q, uint64_t timeout_ns);

struct _ze_command_queue_handle_t {
    struct zc_queue *q;
};

#endif
