/*
 * ishmemx.h - Intel SHMEM's extensions; see ishmem.h. In kernels: the _work_group forms.
 */
#ifndef ISHMEMX_H
#define ISHMEMX_H
#include "ishmem.h"

#if defined(SHI_SYCL)
#include "ishmemx_sycl.h"
#elif defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#include "ishmemx_device.h"
#else

#include "ishmemx_attr.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline void ishmemx_init_attr(ishmemx_attr_t *attr)
{
    if (!ishmemx_init_by_uid_(attr))
        ishmem_init();
}

static inline ishmemx_runtime_type_t ishmemx_runtime_get_type(void)
{
    return ISHMEMX_RUNTIME_OPENSHMEM;
}

ISHMEM_SAME_(void, ishmemx_query_initialized, shmem_query_initialized, (int *initialized))
ISHMEM_SAME_(void, ishmemx_signal_add, shmem_signal_add, (uint64_t * sig_addr, uint64_t signal, int pe))
ISHMEM_SAME_(void, ishmemx_signal_set, shmem_signal_set, (uint64_t * sig_addr, uint64_t signal, int pe))

#define ISHMEMX_C(R, NAME, N, T, PARAMS) ISHMEM_SAME_(R, ishmemx_##N##NAME, shmem_##N##NAME, PARAMS)
#define ISHMEMX_S(R, NAME, KEY, B, PARAMS) ISHMEM_SAME_(R, ishmemx_##NAME, shmem_##NAME, PARAMS)
#define ISHMEMX_ROW_(F, N, T, RMA, ...) SHMEM_IF_##RMA(SHMEM_API_BLOCK(F##_C, F##_C, N, T))
SHMEM_TYPES(ISHMEMX_ROW_, ISHMEMX)
SHMEM_API_SIZED_BLOCK(ISHMEMX_S)

#ifdef __cplusplus
}
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define ishmemx_ibput shmem_ibput
#define ishmemx_ibget shmem_ibget
#endif

#endif
#endif
