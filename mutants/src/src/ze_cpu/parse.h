/* parse.h - the first pass over a SPIR-V module. */
#ifndef ZC_PARSE_H
#define ZC_PARSE_H

#include "ze_cpu/module.h"

/* Check m->w, fill in ids, types, constants, functions and kernels. Fails by zc_fail. */
void zc_parse(struct zc_module *m);

#endif
