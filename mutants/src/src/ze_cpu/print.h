/* print.h - printf of kernels. */
#ifndef ZC_PRINT_H
#define ZC_PRINT_H

#include "ze_cpu/launch.h"

/* args: slot, kind, width and components of each argument. Returns 0 or -1, as printf of OpenCL. */
int zc_print(struct zc_vm *x, const struct zc_item *it, uint64_t fmt, const uint32_t *args, uint32_t n);

/* printf of CUDA: the arguments follow each other in memory, each aligned to its size; the format gives their types.
 * Returns the number of arguments or -1. */
int zc_print_packed(struct zc_vm *x, const struct zc_item *it, uint64_t fmt, uint64_t args);

#endif
