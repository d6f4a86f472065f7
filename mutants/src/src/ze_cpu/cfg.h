/* cfg.h - the control-flow graph of the function being lowered. */
#ifndef ZC_CFG_H
#define ZC_CFG_H

#include "ze_cpu/module.h"

/* The reachable blocks of f into m->ranked, in reverse postorder, with their immediate dominators. */
void zc_cfg(struct zc_module *m, const struct zc_fn *f);
bool zc_dominates(const struct zc_module *m, uint32_t label, uint32_t other); /* of the function of the last zc_cfg */
const uint32_t *zc_label(struct zc_module *m, uint32_t id); /* the OpLabel; fails unless it is one of this function */
uint32_t zc_cases(struct zc_module *m, const uint32_t *p, uint32_t *each); /* cases of OpSwitch; words of each */

#endif
