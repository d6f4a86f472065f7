/* native.h - translation to the code of this processor. */
#ifndef ZC_NATIVE_H
#define ZC_NATIVE_H

#include "ze_cpu/module.h"

/* Translate the lowered code of m, where there is a translator for this processor; elsewhere do nothing. */
void zc_native(struct zc_module *m);

#endif
