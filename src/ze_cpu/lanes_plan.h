/* lanes_plan.h - which values of a kernel are the same for 8 work-items, which grow by a stride, and which differ. */
#ifndef ZC_LANES_PLAN_H
#define ZC_LANES_PLAN_H

#include "ze_cpu/access.h"
#include "ze_cpu/lanes_run.h"
#include "ze_cpu/op.h"

struct zc_value {
    uint8_t kind; /* enum zc_lanes_kind */
    int64_t stride;
};

struct zc_lanes_plan {
    const struct zc_module *m;
    const struct zc_kernel_info *k;
    bool *reached;          /* of each instruction of the module */
    uint32_t first, end;    /* all those are among these */
    uint32_t *called_at;    /* of each function that the kernel calls, directly or not: the only call; ZC_NONE: none */
    uint32_t *region_of;    /* of each byte of the frame: 1 + index, 0: none */
    struct zc_lanes_region *region;
    uint32_t regions;
    uint64_t bytes; /* of the vectors */
};

/* Plan a kernel. False: it has an instruction that 8 work-items cannot execute at once, or there is no memory. */
bool zc_lanes_plan(struct zc_lanes_plan *p, const struct zc_module *m, const struct zc_kernel_info *k);
/* Find the local regions. is_target: of each instruction, whether a jump leads to it. Without memory there are none. */
void zc_lanes_find_local(struct zc_lanes_plan *p, const bool *is_target);
void zc_lanes_plan_free(struct zc_lanes_plan *p);

/* The n-th step of an instruction, or false: the instruction itself, but for calls and returns the moves of the values. */
bool zc_lanes_step(const struct zc_lanes_plan *p, uint32_t pc, uint32_t n, struct zc_ins *step);
/* A basic block starts at pc. */
bool zc_lanes_starts_block(const struct zc_lanes_plan *p, const bool *is_target, uint32_t pc);
/* A branch. The 8 work-items may leave at it, and then repeat it one by one. */
bool zc_lanes_is_branch(const struct zc_ins *i);
/* The value in these bytes. An affine one that is read in part, except for its low half, counts as varying. */
struct zc_value zc_lanes_value(const struct zc_lanes_plan *p, uint32_t slot, uint32_t size);
/* The result of i, from its operands; LANES_UNIFORM for an instruction without operands. */
struct zc_value zc_lanes_result(const struct zc_lanes_plan *p, const struct zc_ins *i);

#endif
