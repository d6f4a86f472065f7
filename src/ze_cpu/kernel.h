/* kernel.h - kernels and their arguments. */
#ifndef ZC_KERNEL_H
#define ZC_KERNEL_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>

struct zc_launch;

/* What a launch of k needs, as k's arguments are now; freed by free(). The launch refers to memory in the same block.
 */
ze_result_t zc_kernel_capture(ze_kernel_handle_t k, const ze_group_count_t *count, bool cooperative,
                              struct zc_launch **out);

/* The extension zexKernelGetArgumentSize: how many bytes argument i takes; of local memory 0. */
ze_result_t zc_kernel_argument_size(ze_kernel_handle_t k, uint32_t i, uint32_t *bytes);

#endif
