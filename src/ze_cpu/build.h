/* build.h - build a module from SPIR-V. */
#ifndef ZC_BUILD_H
#define ZC_BUILD_H

#include <stddef.h>
#include <stdint.h>

struct zc_module;

/* Values of specialization constants: that of ids[i] lies at values[i], as large as its type. */
struct zc_specialization {
    uint32_t n;
    const uint32_t *ids;
    const void *const *values;
};

/* spec may be NULL. Returns NULL, and why in *log (to be freed), when the words are no module that this driver can run. */
struct zc_module *zc_module_build(const void *words, size_t bytes, const struct zc_specialization *spec, char **log);
void zc_module_free(struct zc_module *m);

#endif
