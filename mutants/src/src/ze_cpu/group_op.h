/* group_op.h - operations of work-groups and sub-groups. */
#ifndef ZC_GROUP_OP_H
#define ZC_GROUP_OP_H

#include "ze_cpu/launch.h"

/* OP_GROUP: compute the results for the work-items [first, end) of a scope that wait at one and let them continue, if no other
 * work-item can still arrive. stalled: the others only poll, do not wait for them. Returns whether any continue. */
bool zc_group_pass(struct zc_group *g, const struct zc_launch *l, uint32_t first, uint32_t end, unsigned scope,
                   bool stalled);
/* OP_GATHER: a result that a work-item takes from a ballot by itself. */
void zc_group_ballot(const struct zc_item *it, const struct zc_ins *i);

#endif
