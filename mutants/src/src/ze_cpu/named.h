/* named.h - barriers of CUDA that have a number. */
#ifndef ZC_NAMED_H
#define ZC_NAMED_H

#include "ze_cpu/launch.h"

/* OP_NAMED: let the work-items of each barrier that is complete continue. Returns whether any continue. */
bool zc_named_pass(struct zc_group *g);

#endif
