/* kernel.h - launches of a module's kernels. */
#ifndef CC_KERNEL_H
#define CC_KERNEL_H

#include <stdbool.h>

#include "cuda_cpu/entries.h"

struct zc_launch;

/* A launch of the function, not yet submitted; CUDA_ERROR_INVALID_VALUE where its sizes are not valid. */
CUresult cc_kernel_launch(CUfunction f, const unsigned *groups, const unsigned *items, unsigned shared_bytes, void **args, bool cooperative,
                          struct zc_launch **out);

#endif
