/* lanes.h - translation of kernels for 8 work-items at once. */
#ifndef ZC_LANES_H
#define ZC_LANES_H

#include "ze_cpu/module.h"

/* Translate the kernels of m that can run so; before zc_native. entered: set for each instruction at which work-items may leave
 * that code and enter their own. */
void zc_lanes(struct zc_module *m, bool *entered);

#endif
