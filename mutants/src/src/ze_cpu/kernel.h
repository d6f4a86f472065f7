/* kernel.h - kernels and their arguments. */
#ifndef ZC_KERNEL_H
#define ZC_KERNEL_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>

struct zc_launch;

/* A launch of k with copies of its present arguments, in one block of memory: free() frees it. */
ze_result_t zc_kernel_capture(ze_kernel_handle_t k, const ze_group_count_t *count, bool cooperative,
                              struct zc_launch **out);

/* The extension zexKernelGetArgumentSize: the size of argument i; 0 for local memory. */
ze_result_t zc_kernel_argument_size(ze_kernel_handle_t k, uint32_t i, uint32_t *bytes);

#endif
