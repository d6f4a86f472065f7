/* group_op.h - what an OP_GROUP instruction computes, and an OP_GATHER from a ballot. */
#ifndef ZC_GROUP_OP_H
#define ZC_GROUP_OP_H

#include "ze_cpu/launch.h"

/* Those up to GROUP_EQUAL have results of a type of their own; from GROUP_ADD on they have a mode. */
enum zc_group_op {
    GROUP_BARRIER, GROUP_ELECT, GROUP_ALL, GROUP_ANY, GROUP_BALLOT, GROUP_EQUAL,
    GROUP_BROADCAST, GROUP_FIRST, GROUP_SHUFFLE, GROUP_SHUFFLE_XOR, GROUP_SHUFFLE_UP, GROUP_SHUFFLE_DOWN,
    GROUP_SHUFFLE_UP2, GROUP_SHUFFLE_DOWN2,
    GROUP_ADD, GROUP_MUL, GROUP_SMIN, GROUP_UMIN, GROUP_SMAX, GROUP_UMAX, GROUP_AND, GROUP_OR, GROUP_XOR,
    GROUP_FADD, GROUP_FMUL, GROUP_FMIN, GROUP_FMAX,
};

/* With the mode: all items of the scope come to it by the rules, so that it waits for those that poll, too. The others
 * are of those that happen to be there. */
enum { GROUP_UNIFORM = 0x80 };

enum zc_ballot_op { BALLOT_INVERSE, BALLOT_EXTRACT, BALLOT_COUNT, BALLOT_LOW, BALLOT_HIGH };
/* OP_GATHER: a work-item takes a result from a ballot (i->w: enum zc_ballot_op) without the other work-items. */
void zc_ballot(const struct zc_item *it, const struct zc_ins *i);

/* Let the items of one scope pass the OP_GROUP they wait at. Returns whether any did. */
bool zc_group_pass(struct zc_group *g, const struct zc_launch *l, uint32_t first, uint32_t end, unsigned scope,
                   bool stalled);

#endif
