/* launch.h - the state of running kernels: work-items, resident groups, and the launch they belong to. */
#ifndef ZC_LAUNCH_H
#define ZC_LAUNCH_H

#include <stdatomic.h>

#include "ze_cpu/module.h"

/* One execution of a kernel. Filled in by whoever launches; shared by the threads that work on it. */
struct zc_launch {
    const struct zc_module *m;
    const struct zc_kernel_info *k;
    uint32_t group[3], count[3], offset[3]; /* items of a group, groups, global offset */
    bool cooperative;
    const void *arg[ZC_ARGS];
    uint32_t local[ZC_ARGS]; /* bytes of each argument in local memory */
    uint64_t total;          /* groups */
    unsigned workers;        /* threads that may take part */
    _Atomic uint64_t next;   /* next group to start */
    _Atomic int fault;
    struct zc_launch *waiting; /* pool.c: next one that wants helpers */
    unsigned wanted, helping;
};

enum zc_state { ITEM_RUN, ITEM_BARRIER, ITEM_GROUP, ITEM_DONE };

enum { ZC_POLLED = 4, ZC_SPINS = 3 };

/* A work-item between two steps. Only the thread that holds its group touches it. */
struct zc_item {
    uint8_t *f; /* frame */
    const struct zc_ins *pc;
    const struct zc_ins **stack; /* calls; right behind the frame */
    struct {
        const struct zc_ins *pc;
        uint64_t value;
    } polled[ZC_POLLED]; /* the last words polled */
    const uint8_t *local; /* the group's memory */
    uint64_t local_bytes;
    uint32_t sp, index, lid[3];
    uint8_t state, spins, oldest; /* spins: polls since something was new or written; oldest: of polled */
    bool fresh;                   /* polled something new in this turn */
};

struct zc_group {
    struct zc_item *item;
    uint8_t *frames, *local;
    uint64_t bytes; /* room in frames and local */
    uint32_t items, room; /* room: items */
    uint32_t live, at_barrier;
    uint32_t id[3];
    bool ready; /* frames hold what does not change during the launch */
};

/* What one thread keeps between launches: groups with their memory. */
struct zc_worker {
    struct zc_group *group;
    uint32_t groups;
    unsigned stalled; /* of zc_stalled_enter, while all items only poll */
};

/* Why an item stopped. NOT: it goes on. SPIN: it polls memory that does not change. */
enum zc_stop { STOP_NOT, STOP_DONE, STOP_BARRIER, STOP_GROUP, STOP_QUANTUM, STOP_SPIN, STOP_FAULT };

struct zc_vm {
    const struct zc_launch *l;
    const struct zc_module *m;
    const struct zc_group *g;
    bool guarded;              /* addresses are checked or translated */
    uint64_t lo, hi, changes;  /* the allocation found last, and zc_mem_changes then */
    uint64_t bad, bad_bytes;   /* of a fault */
    const char *what;
};

#endif
