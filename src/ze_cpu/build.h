/* build.h - build a module from SPIR-V. */
#ifndef ZC_BUILD_H
#define ZC_BUILD_H

#include "ze_cpu/module.h"

/* spec may be NULL. Returns NULL, and why in *log (to be freed), when the words are no module that this driver can run. */
struct zc_module *zc_module_build(const void *words, size_t bytes, const struct zc_specialization *spec, char **log);
void zc_module_free(struct zc_module *m);

#endif
