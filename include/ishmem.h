/*
 * ishmem.h - Intel SHMEM's names for Fulmar: on the host from C and C++, in kernels from OpenCL C and CUDA C++, in SYCL for both.
 *
 * ishmem_malloc allocates from the device symmetric heap, as in Intel SHMEM; routines accept any symmetric object. On the
 * host, typed names are declarations of the shmem_ symbols: they cost nothing, and profiling libraries intercept the calls.
 * ishmem(7) describes differences and missing routines. Typed routines are emitted from shmem_table.h.
 */
#ifndef ISHMEM_H
#define ISHMEM_H

#define ISHMEM_MAJOR_VERSION 1
#define ISHMEM_MINOR_VERSION 5
#define ISHMEM_PATCH_VERSION 1
#define ISHMEM_MAX_NAME_LEN 256
#define ISHMEM_VENDOR_STRING "Fulmar 0.1"

/* As in shmem.h; test/lint/ishmem.sh compares them. */
#define ISHMEM_CMP_EQ 1
#define ISHMEM_CMP_NE 2
#define ISHMEM_CMP_GT 3
#define ISHMEM_CMP_GE 4
#define ISHMEM_CMP_LT 5
#define ISHMEM_CMP_LE 6
#define ISHMEM_SIGNAL_SET 1
#define ISHMEM_SIGNAL_ADD 2
#define ISHMEM_THREAD_SINGLE 0
#define ISHMEM_THREAD_FUNNELED 1
#define ISHMEM_THREAD_SERIALIZED 2
#define ISHMEM_THREAD_MULTIPLE 3
#define ISHMEM_TEAM_NUM_CONTEXTS 1L

#if defined(SYCL_LANGUAGE_VERSION) || defined(__ACPP__) || defined(__ADAPTIVECPP__)
#include "ishmem_sycl.h"
#elif defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#define ISHMEM_TEAM_INVALID ((ishmem_team_t)0)
#include "ishmem_device.h"
#else

#include "shmem.h"

#define ISHMEM_TEAM_INVALID ((ishmem_team_t)0)
#define ISHMEM_TEAM_WORLD SHMEM_TEAM_WORLD
#define ISHMEM_TEAM_SHARED SHMEM_TEAM_SHARED
#define ISHMEMX_TEAM_NODE SHMEM_TEAM_SHARED
typedef shmem_team_t ishmem_team_t;
typedef shmem_team_config_t ishmem_team_config_t;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- declarations of shmem_ symbols --------------------------------------------------------------------------------- */

#define ISHMEM_SAME_(R, NAME, SYMBOL, PARAMS) R NAME PARAMS __asm__(#SYMBOL);
#define ISHMEM_C(R, NAME, N, T, PARAMS) ISHMEM_SAME_(R, ishmem_##N##NAME, shmem_##N##NAME, PARAMS)
#define ISHMEM_P ISHMEM_C
#define ISHMEM_S(R, NAME, KEY, B, PARAMS) ISHMEM_SAME_(R, ishmem_##NAME, shmem_##NAME, PARAMS)
#define ISHMEM_U(R, NAME, PARAMS) ISHMEM_SAME_(R, i##NAME, NAME, PARAMS)

ISHMEM_U(void, shmem_init, (void))
ISHMEM_U(int, shmem_init_thread, (int requested, int *provided))
ISHMEM_U(void, shmem_query_thread, (int *provided))
ISHMEM_U(void, shmem_finalize, (void))
ISHMEM_U(int, shmem_my_pe, (void))
ISHMEM_U(int, shmem_n_pes, (void))
ISHMEM_U(void *, shmem_ptr, (const void *dest, int pe))
ISHMEM_U(void, shmem_info_get_version, (int *major, int *minor))
ISHMEM_U(void, shmem_info_get_name, (char *name))
ISHMEM_SAME_(void *, ishmem_malloc, shmemg_malloc, (size_t size))
ISHMEM_SAME_(void *, ishmem_calloc, shmemg_calloc, (size_t count, size_t size))
ISHMEM_SAME_(void *, ishmem_align, shmemg_align, (size_t alignment, size_t size))
ISHMEM_SAME_(void, ishmem_free, shmemg_free, (void *ptr))
SHMEM_API_TEAM(ISHMEM_U)
ISHMEM_U(void, shmem_fence, (void))
ISHMEM_U(void, shmem_quiet, (void))
ISHMEM_U(void, shmem_barrier_all, (void))
ISHMEM_U(void, shmem_sync_all, (void))
ISHMEM_U(int, shmem_team_sync, (shmem_team_t team))
ISHMEM_SAME_(uint64_t, ishmem_signal_fetch, shmem_signal_fetch, (uint64_t * sig_addr))
ISHMEM_U(uint64_t, shmem_signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value))

#define ISHMEM_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                  \
    SHMEM_IF_##RMA(SHMEM_API_ONE(F##_C, F##_P, N, T) SHMEM_API_PUTGET(F##_C, F##_P, N, T))                            \
    SHMEM_IF_##AMO(SHMEM_API_AMO(F##_C, F##_P, N, T)) SHMEM_IF_##EXT(SHMEM_API_EXT(F##_C, F##_P, N, T))               \
    SHMEM_IF_##BIT(SHMEM_API_BIT(F##_C, F##_P, N, T))                                                                 \
    SHMEM_IF_##WT(SHMEM_API_WT(F##_C, F##_P, N, T) SHMEM_API_SYN(F##_C, F##_P, N, T))
SHMEM_TYPES(ISHMEM_ROW_, ISHMEM)
SHMEM_API_SIZED_PUTGET(ISHMEM_S)

#ifdef __cplusplus
}
#endif

/* ---- collectives over all PEs; with a team: in C++ under the same names, in C under the shmem_ names ----------------- */

#define ISHMEM_ALL_P(R, NAME, N, T, PARAMS)                                                                           \
    static inline R ishmem_##N##NAME(T *dest, const T *source, size_t nelems)                                         \
    {                                                                                                                 \
        return shmem_##N##NAME(SHMEM_TEAM_WORLD, dest, source, nelems);                                               \
    }
#define ISHMEM_ALL_BROADCAST_P(R, NAME, N, T, PARAMS)                                                                 \
    static inline R ishmem_##N##NAME(T *dest, const T *source, size_t nelems, int root)                               \
    {                                                                                                                 \
        return shmem_##N##NAME(SHMEM_TEAM_WORLD, dest, source, nelems, root);                                         \
    }
#define ISHMEM_MEM_(R, NAME, PARAMS)                                                                                  \
    static inline R i##NAME(void *dest, const void *source, size_t nelems)                                            \
    {                                                                                                                 \
        return NAME(SHMEM_TEAM_WORLD, dest, source, nelems);                                                          \
    }
#ifdef __cplusplus
#define ISHMEM_TEAM_P(R, NAME, N, T, PARAMS) R ishmem_##N##NAME PARAMS __asm__("shmem_" #N #NAME);
#define ISHMEM_TEAM_MEM_(R, NAME, PARAMS) R i##NAME PARAMS __asm__(#NAME);
#else
#define ISHMEM_TEAM_P(R, NAME, N, T, PARAMS)
#define ISHMEM_TEAM_MEM_(R, NAME, PARAMS)
#endif
#define ISHMEM_COLL_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                             \
    SHMEM_IF_##RMA(ISHMEM_MOVES_(ISHMEM_ALL, N, T) ISHMEM_MOVES_(ISHMEM_TEAM, N, T)                                   \
                   SHMEM_API_BROADCAST(, ISHMEM_ALL_BROADCAST_P, N, T) SHMEM_API_BROADCAST(, ISHMEM_TEAM_P, N, T))    \
    SHMEM_IF_##AND(ISHMEM_AND_(ISHMEM_ALL, N, T) ISHMEM_AND_(ISHMEM_TEAM, N, T))                                      \
    SHMEM_IF_##MAX(ISHMEM_MAX_(ISHMEM_ALL, N, T) ISHMEM_MAX_(ISHMEM_TEAM, N, T))                                      \
    SHMEM_IF_##SUM(ISHMEM_SUM_(ISHMEM_ALL, N, T) ISHMEM_SUM_(ISHMEM_TEAM, N, T))
#define ISHMEM_MOVES_(F, N, T) SHMEM_API_GATHER(F##_C, F##_P, N, T)
#define ISHMEM_AND_(F, N, T) SHMEM_API_AND(F##_C, F##_P, N, T)
#define ISHMEM_MAX_(F, N, T) SHMEM_API_MAX(F##_C, F##_P, N, T)
#define ISHMEM_SUM_(F, N, T) SHMEM_API_SUM(F##_C, F##_P, N, T)
SHMEM_TYPES(ISHMEM_COLL_ROW_, )

/* Intel SHMEM also has bitwise reductions of signed char: those of int8_t. */
#define ISHMEM_SCHAR_P(R, NAME, N, T, PARAMS)                                                                         \
    static inline R ishmem_schar##NAME(T *dest, const T *source, size_t nelems)                                       \
    {                                                                                                                 \
        return shmem_##N##NAME(SHMEM_TEAM_WORLD, dest, source, nelems);                                               \
    }
SHMEM_API_AND(, ISHMEM_SCHAR_P, int8, int8_t)

#define ISHMEM_MEMS_(U)                                                                                               \
    U(int, shmem_collectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))                      \
    U(int, shmem_fcollectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))                     \
    U(int, shmem_alltoallmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))
ISHMEM_MEMS_(ISHMEM_MEM_)
ISHMEM_MEMS_(ISHMEM_TEAM_MEM_)
ISHMEM_TEAM_MEM_(int, shmem_broadcastmem,
                 (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))
static inline int ishmem_broadcastmem(void *dest, const void *source, size_t nelems, int root)
{
    return shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, nelems, root);
}

#if defined(__cplusplus) && __cplusplus >= 201103L
#include "ishmem_cxx.h"
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "ishmem_generic.h"
#endif

#endif
#endif
