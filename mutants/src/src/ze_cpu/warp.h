/* warp.h - operations of CUDA's warps: sub-groups whose work-items name the participants in a mask. */
#ifndef ZC_WARP_H
#define ZC_WARP_H

#include "ze_cpu/launch.h"

/* OP_WARP: compute the results for those of the work-items [first, end), one warp, that wait at one, and let them continue,
 * if no other work-item can still arrive. stalled: the others only poll; activemask does not wait for them. Returns whether
 * any continue. */
bool zc_warp_pass(struct zc_group *g, uint32_t first, uint32_t end, bool stalled);

#endif
