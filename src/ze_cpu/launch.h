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

/* vm.c: run an item until it stops. */
enum zc_stop zc_vm_run(struct zc_vm *x, struct zc_item *it);
/* i has polled value: whether the item gives up its turn. Then its pc is behind i. */
enum zc_stop zc_vm_polled(struct zc_item *it, const struct zc_ins *i, uint64_t value);
/* The address a if it is of that storage class for the item, or 0. */
uint64_t zc_vm_to_space(const struct zc_item *it, uint64_t a, uint32_t storage);
/* What OP_NATIVE calls. Returns the instruction to go on with and the jumps left; or none, and why it stopped, pc set. */
struct zc_step {
    const struct zc_ins *next;
    uint64_t left; /* or enum zc_stop */
};
typedef struct zc_step (*zc_native_code)(uint8_t *frame, struct zc_item *it, uint64_t left);
/* guard.c: the address to use for one that the kernel named, or 0 after noting a fault. */
uint64_t zc_vm_guard(struct zc_vm *x, const struct zc_item *it, uint64_t addr, uint64_t bytes, const char *what);
void zc_vm_report(const struct zc_vm *x, const struct zc_item *it);
/* print.c: OpenCL's printf; args are slot, kind, width, components. Returns what printf returns. */
int zc_vm_print(struct zc_vm *x, const struct zc_item *it, uint64_t fmt, const uint32_t *args, uint32_t n);
/* group_op.c: let the items of one scope pass the OP_GROUP they wait at. Returns whether any did. */
bool zc_group_pass(struct zc_group *g, const struct zc_launch *l, uint32_t first, uint32_t end, unsigned scope,
                   bool stalled);
/* run.c: work on a launch until no group is left for this thread. */
void zc_run_groups(struct zc_worker *w, struct zc_launch *l);
void zc_worker_free(struct zc_worker *w);
/* pool.c: run a launch to its end on this thread and helpers. Returns 0, or -1 after a fault. */
int zc_run(struct zc_worker *w, struct zc_launch *l);

#endif
