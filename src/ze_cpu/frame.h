/* frame.h - frames and local memory of a group's work-items. */
#ifndef ZC_FRAME_H
#define ZC_FRAME_H

#include "ze_cpu/launch.h"

/* Make frames for a group of this launch, before its first start. 0, or -1 without memory. */
int zc_frame_prepare(struct zc_group *g, const struct zc_launch *l);
/* Make g the group of this number. */
void zc_frame_start(struct zc_group *g, const struct zc_launch *l, uint64_t id);
/* Put a work-item at the start of the kernel. */
void zc_frame_start_item(const struct zc_group *g, const struct zc_launch *l, struct zc_item *it);
/* Set the built-in variables of a work-item in frame f that are the same for all groups. */
void zc_frame_fixed(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f);
/* The same for those that differ from group to group. */
void zc_frame_group(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f);
/* Let the built-in variables of a work-item in frame f be those of `it`, the n-th after it in the same row. */
void zc_frame_step(const struct zc_launch *l, const struct zc_group *g, const struct zc_item *it, uint8_t *f, uint32_t n);

#endif
