/* build.h - build a module from SPIR-V. */
#ifndef ZC_BUILD_H
#define ZC_BUILD_H

#include "ze_cpu/module.h"

/* spec may be NULL. Returns NULL if the module is invalid or not supported; *log then has the reason, to be freed. */
struct zc_module *zc_module_build(const void *words, size_t bytes, const struct zc_specialization *spec, char **log);

#endif
