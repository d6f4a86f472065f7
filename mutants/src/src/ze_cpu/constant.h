/* constant.h - constants and module-scope variables, evaluated while the module is parsed. */
#ifndef ZC_CONSTANT_H
#define ZC_CONSTANT_H

#include "ze_cpu/module.h"

void zc_constant(struct zc_module *m, const uint32_t *p);
void zc_module_variable(struct zc_module *m, const uint32_t *p);
uint64_t zc_constant_u64(struct zc_module *m, uint32_t id); /* fails unless an integer or pointer constant */
int64_t zc_constant_s64(struct zc_module *m, uint32_t id);  /* sign extended */
void zc_constant_use(struct zc_module *m, uint32_t id);     /* a function uses it as a value: give it a slot */

#endif
