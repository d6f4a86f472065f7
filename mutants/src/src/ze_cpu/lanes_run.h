/*
 * lanes_run.h - code that runs 8 consecutive work-items of a sub-group at once.
 *
 * A frame that they share has the values that are the same for all 8, and the first of those that grow by a known stride from one
 * work-item to the next; all others are arrays of 8 elements in a scratch area of the thread, the vectors.
 */
#ifndef ZC_LANES_RUN_H
#define ZC_LANES_RUN_H

#include "ze_cpu/launch.h"

enum { ZC_LANES = 8 };

/* A value that the code may have written; each: bytes of an element of its vector. */
struct zc_lanes_region {
    uint32_t slot, size, vector, each;
    uint8_t kind; /* enum zc_lanes_kind */
    bool written, local; /* local: only one basic block accesses it, and writes all of it first */
    int64_t stride;
};
enum zc_lanes_kind { LANES_NEW, LANES_UNIFORM, LANES_AFFINE, LANES_VARYING };

/* A vector that code only reads: first, first + step ... in elements of `width` bytes. */
struct zc_lanes_constant {
    uint32_t vector, width;
    uint64_t first, step;
};

struct zc_lanes {
    const void *code;
    uint64_t bytes; /* of the vectors */
    uint32_t regions, constants;
    struct zc_lanes_constant *constant;
    uint32_t *called_at; /* of each function: the only instruction that calls it, or ZC_NONE */
    struct zc_lanes_region region[];
};

/* Write the constants of a kernel into new vectors. */
void zc_lanes_prepare(const struct zc_lanes *k, uint8_t *vectors);
/* Run the work-items it[0] to it[7] in frame f, which has constants, arguments and the built-in variables of the first. NULL: they
 * have ended. Otherwise all of them have come to this instruction; zc_lanes_spill makes them continue there, if they are at their
 * start. */
const struct zc_ins *zc_lanes_run(const struct zc_lanes *k, struct zc_item *it, uint8_t *f, uint8_t *vectors);
void zc_lanes_spill(const struct zc_launch *l, struct zc_item *it, const uint8_t *f, const uint8_t *vectors, const struct zc_ins *pc);
/* The function that an instruction belongs to. */
uint32_t zc_lanes_function(const struct zc_module *m, uint32_t pc);

/* Run one instruction that reads and writes only its operands. */
void zc_lanes_interpret(uint8_t *f, const struct zc_ins *i, const struct zc_module *m);

#endif
