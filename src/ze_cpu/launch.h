/* launch.h - the state of running kernels: work-items, resident groups, and the launch they belong to. */
#ifndef ZC_LAUNCH_H
#define ZC_LAUNCH_H

#include <stdatomic.h>

#include "ze_cpu/module.h"
#include "ze_cpu/op.h"

/* One execution of a kernel, shared by the threads that run it. */
struct zc_launch {
    const struct zc_module *m;
    const struct zc_kernel_info *k;
    uint32_t group[3], count[3], offset[3]; /* work-items of a group, groups, global offset */
    bool cooperative;
    uint32_t grid_barrier[2]; /* of a cooperative launch, for the barrier of all groups that CUDA's compiler writes: size, state */
    const void *arg[ZC_ARGS];
    uint32_t local[ZC_ARGS]; /* bytes of each argument in local memory */
    uint64_t total;          /* groups */
    unsigned workers;        /* threads that may run it */
    _Atomic uint64_t next;   /* next group to start */
    _Atomic int fault;
    struct zc_launch *waiting; /* pool.c: next launch that needs helpers */
    unsigned wanted, helping;  /* helpers still needed; running it */
    void **after, *done;       /* clocks, see clocks.h: what it is after; what its ended groups have done */
};

enum zc_state { ITEM_RUN, ITEM_BARRIER, ITEM_GROUP, ITEM_DONE };

enum { ZC_POLLED = 4, ZC_SPINS = 3 };

/* A work-item between two quanta. Only the thread that runs its group accesses it. */
struct zc_item {
    uint8_t *f; /* frame */
    const struct zc_ins *pc;
    const struct zc_ins **stack; /* call stack; right after the frame */
    struct {
        const struct zc_ins *pc;
        uint64_t value;
    } polled[ZC_POLLED]; /* the last polling instructions and the values they read */
    uint16_t *chain;      /* of each byte of the frame, see count.h; after the call stack. NULL: not counted */
    const uint8_t *local; /* the group's memory */
    uint64_t local_bytes;
    uint32_t sp, index, lid[3];
    uint8_t state, spins, oldest; /* spins: polls since a value changed or a write; oldest: next entry of polled to replace */
    uint8_t waited;               /* rounds at an OP_WARP that takes those that arrive */
    bool fresh;                   /* polled a new value in this quantum */
    bool prepared;                /* its frame holds constants and arguments of the launch */
};

struct zc_group {
    struct zc_item *item;
    uint8_t *frames, *local;
    uint8_t *shared;           /* the frame of the work-items that run at once; it holds constants and arguments of the launch */
    uint64_t bytes;       /* capacity of frames and local */
    uint32_t items, room; /* room: capacity of item */
    uint32_t live, at_barrier; /* work-items that have not ended; that wait at the barrier */
    uint32_t started;          /* work-items that have begun the kernel: the first ones */
    uint32_t arrived[ZC_NAMED]; /* threads that arrived at each numbered barrier and did not wait */
    uint32_t id[3];
    void *race; /* of race.h; NULL: nothing is reported */
    bool ready; /* for the launch */
};

/* What one thread keeps from launch to launch: groups with their memory. */
struct zc_worker {
    struct zc_group *group;
    uint32_t groups;
    uint64_t next, end; /* numbers of groups that it has taken from the launch and not started */
    unsigned stalled; /* result of zc_stalled_enter while all work-items only poll, else 0 */
    uint8_t *vectors; /* of lanes.h; room: bytes */
    uint64_t room;
    uint64_t busy_ns, busy_until_ns; /* waits sleep for so long, until then, because other processes use the core */
};

/* For threads that run kernels: waits sleep for microseconds, to which the system's default would add 50. */
enum { ZC_TIMER_SLACK_NS = 1000 };

/* Why a work-item stopped. NOT: it continues. SPIN: it polls memory that does not change. */
enum zc_stop { STOP_NOT, STOP_DONE, STOP_BARRIER, STOP_GROUP, STOP_QUANTUM, STOP_SPIN, STOP_FAULT };

/* One thread's execution of a launch. */
struct zc_vm {
    const struct zc_launch *l;
    const struct zc_module *m;
    const struct zc_group *g;
    uint8_t *vectors;          /* of the kernel's lanes, or NULL: run work-items one by one */
    unsigned spills;           /* grows when 8 work-items that ran at once diverged, shrinks when they ended */
    uint64_t at_once, diverged; /* how often */
    bool guarded;              /* addresses are checked or translated, or accesses counted or reported */
    bool races;                /* accesses are reported, see racing.h */
    struct zc_counts *counts;  /* of this thread; NULL: not counted */
    uint64_t lo, hi, changes;  /* the allocation found last, and zc_mem_changes at that time */
    uint64_t bad, bad_bytes;   /* address and size of a faulting access */
    const char *what;          /* the kind of fault, or NULL */
};

#endif
