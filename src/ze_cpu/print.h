/* print.h - printf of kernels. */
#ifndef ZC_PRINT_H
#define ZC_PRINT_H

#include "ze_cpu/launch.h"

/* OpenCL's printf; args are slot, kind, width, components. Returns what printf returns. */
int zc_vm_print(struct zc_vm *x, const struct zc_item *it, uint64_t fmt, const uint32_t *args, uint32_t n);

#endif
