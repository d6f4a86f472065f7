/*
 * nvshmem.h - NVSHMEM's names for programs in CUDA C++: the same routines on the host and in kernels.
 *
 * oshcc --cuda, the default for sources that mention nvshmem, adds this folder to the include path and the library of src/nvshmem to the
 * program. Typed routines are emitted from nvshmem_table.h. What is not there: see nvshmem_names.txt.
 */
#ifndef NVSHMEM_H
#define NVSHMEM_H

#include <assert.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem.h"
#include "shmemx.h"
#include "shmemx_cuda.h"

#include "nvshmem_table.h"
#include "nvshmem_types.h"
#ifdef __CUDACC__
#include "nvshmem_device.h"
#endif

/* The body in a kernel, and on the host. */
#ifdef __CUDA_ARCH__
#define FULMAR_EITHER_(device, host) device
#else
#define FULMAR_EITHER_(device, host) host
#endif
#define FULMAR_BOTH_ static inline __host__ __device__
#define FULMAR_CTX_ SHI_CTX_DEFAULT_

/* ---- the library: src/nvshmem ---------------------------------------------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif
int nvshmemx_init_attr(unsigned flags, nvshmemx_init_attr_t *attributes);
int nvshmemx_hostlib_init_attr(unsigned flags, nvshmemx_init_attr_t *attributes);
int nvshmem_init_thread(int requested, int *provided);
int nvshmemx_init_status(void);
void nvshmem_finalize(void);
void nvshmemx_hostlib_finalize(void);
void nvshmem_query_thread(int *provided);
void *nvshmem_malloc(size_t size);
void *nvshmem_calloc(size_t count, size_t size);
void *nvshmem_align(size_t alignment, size_t size);
void nvshmem_free(void *ptr);
int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride, int size, const nvshmem_team_config_t *config,
                               long config_mask, nvshmem_team_t *new_team);
int nvshmem_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t *xaxis_config, long xaxis_mask,
                          nvshmem_team_t *xaxis_team, const nvshmem_team_config_t *yaxis_config, long yaxis_mask,
                          nvshmem_team_t *yaxis_team);
int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid);
int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config, long config_mask, int npes, int pe_idx_in_team);
void nvshmem_team_destroy(nvshmem_team_t team);
void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config);
/* Fulmar's own: a team's handle on the host; the device heap comes up, if it has not (all PEs call); completion of what kernels have started; the type of a reduction, its operation. */
shmem_team_t fulmar_nvshmem_team(nvshmem_team_t team);
void fulmar_nvshmem_begin(void);
void fulmar_nvshmem_complete(void);
int fulmar_nvshmem_reduce(int type, int op, nvshmem_team_t team, void *dest, const void *source, size_t n, int scatter, cudaStream_t stream, int wait);
#ifdef __cplusplus
}
#endif

enum { FULMAR_OP_MAX, FULMAR_OP_MIN, FULMAR_OP_SUM, FULMAR_OP_PROD, FULMAR_OP_AND, FULMAR_OP_OR, FULMAR_OP_XOR }; /* as SHI_FOLD_ */
#define FULMAR_TYPE_(N, T, ...) FULMAR_TYPE_##N,
enum { NVSHMEM_TYPES_REDUCE_(FULMAR_TYPE_, ) FULMAR_TYPES };

static inline void nvshmem_init(void)
{
    int provided;
    if (nvshmem_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided))
        exit(1);
}

/* ---- queries ----------------------------------------------------------------------------------------------------------------- */

FULMAR_BOTH_ int nvshmem_my_pe(void)
{
    return FULMAR_EITHER_(shi_device::shi_my_pe(FULMAR_CTX_), shmem_my_pe());
}
FULMAR_BOTH_ int nvshmem_n_pes(void)
{
    return FULMAR_EITHER_(shi_device::shi_n_pes(FULMAR_CTX_), shmem_n_pes());
}
FULMAR_BOTH_ void *nvshmem_ptr(const void *ptr, int pe)
{
    return FULMAR_EITHER_(shi_device::shi_ptr(FULMAR_CTX_, ptr, pe), shmemx_cuda_ptr(ptr, pe));
}
FULMAR_BOTH_ int nvshmem_team_my_pe(nvshmem_team_t team)
{
    return FULMAR_EITHER_(shi_device::shi_team_my_pe(shi_device::fulmar_team(FULMAR_CTX_, team)), shmem_team_my_pe(fulmar_nvshmem_team(team)));
}
FULMAR_BOTH_ int nvshmem_team_n_pes(nvshmem_team_t team)
{
    return FULMAR_EITHER_(shi_device::shi_team_n_pes(shi_device::fulmar_team(FULMAR_CTX_, team)), shmem_team_n_pes(fulmar_nvshmem_team(team)));
}
FULMAR_BOTH_ int nvshmem_team_translate_pe(nvshmem_team_t from, int pe, nvshmem_team_t to)
{
    return FULMAR_EITHER_(shi_device::shi_team_translate(shi_device::fulmar_team(FULMAR_CTX_, from), pe, shi_device::fulmar_team(FULMAR_CTX_, to)),
                          shmem_team_translate_pe(fulmar_nvshmem_team(from), pe, fulmar_nvshmem_team(to)));
}
FULMAR_BOTH_ void nvshmem_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}
FULMAR_BOTH_ void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}
FULMAR_BOTH_ void nvshmem_info_get_name(char *name)
{
    const char from[] = NVSHMEM_VENDOR_STRING;
    for (size_t i = 0; i < sizeof from; i++)
        name[i] = from[i];
}
/* Multicast addresses need NVLink's switches: there are none. */
FULMAR_BOTH_ void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr)
{
    (void)team, (void)ptr;
    return 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

#define FULMAR_PUT_(NAME, P, D, B, NBI, ATTR, G, S)                                                                   \
    ATTR void P##NAME##S(D *dest, const D *source, size_t nelems, int pe)                                             \
    {                                                                                                                 \
        FULMAR_EITHER_(shi_device::shi_put(FULMAR_CTX_, shi_device::G, dest, source, nelems * (B), pe, NBI),          \
                       (NBI ? shmem_putmem_nbi(dest, source, nelems * (B), pe) : shmem_putmem(dest, source, nelems * (B), pe))); \
    }
#define FULMAR_GET_(NAME, P, D, B, NBI, ATTR, G, S)                                                                   \
    ATTR void P##NAME##S(D *dest, const D *source, size_t nelems, int pe)                                             \
    {                                                                                                                 \
        FULMAR_EITHER_(shi_device::shi_get(FULMAR_CTX_, shi_device::G, dest, source, nelems * (B), pe, NBI),          \
                       (NBI ? shmem_getmem_nbi(dest, source, nelems * (B), pe) : shmem_getmem(dest, source, nelems * (B), pe))); \
    }
/* Strided, on the host element by element. */
#define FULMAR_STRIDED_(NAME, P, D, B, IS_GET, ATTR, G, S)                                                            \
    ATTR void P##NAME##S(D *dest, const D *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)               \
    {                                                                                                                 \
        FULMAR_EITHER_(shi_device::shi_strided(FULMAR_CTX_, shi_device::G, IS_GET, dest, source, dst, sst, 1, nelems, B, pe), \
                       for (size_t i = 0; i < nelems; i++)(IS_GET ? shmem_getmem : shmem_putmem)(                     \
                           (char *)dest + (ptrdiff_t)i * dst * (ptrdiff_t)(B), (const char *)source + (ptrdiff_t)i * sst * (ptrdiff_t)(B), B, pe)); \
    }
#define FULMAR_PUT_SIGNAL_(NAME, P, D, B, NBI, G, S)                                                                  \
    static inline __device__ void P##NAME##S(D *dest, const D *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    {                                                                                                                 \
        shi_device::shi_put_signal(FULMAR_CTX_, shi_device::G, dest, source, nelems * (B), sig_addr, signal,          \
                                   shi_device::fulmar_signal_op(sig_op), pe, NBI);                                    \
    }

#define FULMAR_RMA_HOST_(N, T, P, M, ...)                                                                             \
    FULMAR_PUT_(M##put, P, T, sizeof(T), 0, FULMAR_BOTH_, SHI_THREAD, )                                               \
    FULMAR_PUT_(M##put_nbi, P, T, sizeof(T), 1, FULMAR_BOTH_, SHI_THREAD, )                                           \
    FULMAR_GET_(M##get, P, T, sizeof(T), 0, FULMAR_BOTH_, SHI_THREAD, )                                               \
    FULMAR_GET_(M##get_nbi, P, T, sizeof(T), 1, FULMAR_BOTH_, SHI_THREAD, )                                           \
    FULMAR_STRIDED_(M##iput, P, T, sizeof(T), 0, FULMAR_BOTH_, SHI_THREAD, )                                          \
    FULMAR_STRIDED_(M##iget, P, T, sizeof(T), 1, FULMAR_BOTH_, SHI_THREAD, )
#define FULMAR_TYPED_RMA_(N, T, ...)                                                                                  \
    FULMAR_RMA_HOST_(N, T, nvshmem_##N, _)                                                                            \
    FULMAR_BOTH_ void nvshmem_##N##_p(T *dest, const T value, int pe)                                                 \
    {                                                                                                                 \
        FULMAR_EITHER_(shi_device::shi_p(FULMAR_CTX_, dest, shi_device::fulmar_bits(value), sizeof(T), pe),           \
                       shmem_putmem(dest, &value, sizeof value, pe));                                                 \
    }                                                                                                                 \
    FULMAR_BOTH_ T nvshmem_##N##_g(const T *source, int pe)                                                           \
    {                                                                                                                 \
        T value;                                                                                                      \
        FULMAR_EITHER_(value = shi_device::fulmar_value<T>(shi_device::shi_g(FULMAR_CTX_, source, sizeof(T), pe)),    \
                       shmem_getmem(&value, source, sizeof value, pe));                                               \
        return value;                                                                                                 \
    }
NVSHMEM_TYPES_RMA_(FULMAR_TYPED_RMA_, )
#define FULMAR_SIZED_RMA_(BITS, B, ...)                                                                               \
    FULMAR_PUT_(put##BITS, nvshmem_, void, B, 0, FULMAR_BOTH_, SHI_THREAD, )                                          \
    FULMAR_PUT_(put##BITS##_nbi, nvshmem_, void, B, 1, FULMAR_BOTH_, SHI_THREAD, )                                    \
    FULMAR_GET_(get##BITS, nvshmem_, void, B, 0, FULMAR_BOTH_, SHI_THREAD, )                                          \
    FULMAR_GET_(get##BITS##_nbi, nvshmem_, void, B, 1, FULMAR_BOTH_, SHI_THREAD, )
#define FULMAR_SIZED_STRIDED_(BITS, B, ...)                                                                           \
    FULMAR_STRIDED_(iput##BITS, nvshmem_, void, B, 0, FULMAR_BOTH_, SHI_THREAD, )                                     \
    FULMAR_STRIDED_(iget##BITS, nvshmem_, void, B, 1, FULMAR_BOTH_, SHI_THREAD, )
NVSHMEM_SIZES_(FULMAR_SIZED_RMA_, )
NVSHMEM_SIZES_(FULMAR_SIZED_STRIDED_, )
FULMAR_SIZED_RMA_(mem, 1)

/* ---- atomic operations ------------------------------------------------------------------------------------------------------- */

#define FULMAR_AMO_(N, T, NAME, OP, V, PARAMS, ARGS)                                                                  \
    FULMAR_BOTH_ void nvshmem_##N##_atomic_##NAME PARAMS                                                              \
    {                                                                                                                 \
        FULMAR_EITHER_(shi_device::shi_amo(FULMAR_CTX_, shi_device::OP, dest, sizeof(T), V, 0, pe, shi_device::SHI_RESULT_NONE), \
                       shmem_##N##_atomic_##NAME ARGS);                                                               \
    }
#define FULMAR_AMO_FETCH_(N, T, NAME, OP, V, C, PARAMS, ARGS)                                                         \
    FULMAR_BOTH_ T nvshmem_##N##_atomic_##NAME PARAMS                                                                 \
    {                                                                                                                 \
        return FULMAR_EITHER_(shi_device::fulmar_value<T>(shi_device::shi_amo(FULMAR_CTX_, shi_device::OP, dest, sizeof(T), V, C, pe, \
                                                                              shi_device::SHI_RESULT_SLOT)),          \
                              shmem_##N##_atomic_##NAME ARGS);                                                        \
    }
#define FULMAR_VALUE_ shi_device::fulmar_bits(value)
#define FULMAR_EXTENDED_AMO_(N, T, ...)                                                                               \
    FULMAR_AMO_FETCH_(N, T, fetch, SHI_AMO_FETCH, 0, 0, (const T *dest, int pe), (dest, pe))                          \
    FULMAR_AMO_(N, T, set, SHI_AMO_SET, FULMAR_VALUE_, (T *dest, T value, int pe), (dest, value, pe))                 \
    FULMAR_AMO_FETCH_(N, T, swap, SHI_AMO_SWAP, FULMAR_VALUE_, 0, (T *dest, T value, int pe), (dest, value, pe))
#define FULMAR_STANDARD_AMO_(N, T, ...)                                                                               \
    FULMAR_AMO_(N, T, inc, SHI_AMO_ADD, 1, (T *dest, int pe), (dest, pe))                                             \
    FULMAR_AMO_(N, T, add, SHI_AMO_ADD, FULMAR_VALUE_, (T *dest, T value, int pe), (dest, value, pe))                 \
    FULMAR_AMO_FETCH_(N, T, fetch_inc, SHI_AMO_ADD, 1, 0, (T *dest, int pe), (dest, pe))                              \
    FULMAR_AMO_FETCH_(N, T, fetch_add, SHI_AMO_ADD, FULMAR_VALUE_, 0, (T *dest, T value, int pe), (dest, value, pe))  \
    FULMAR_AMO_FETCH_(N, T, compare_swap, SHI_AMO_CSWAP, FULMAR_VALUE_, shi_device::fulmar_bits(cond),                \
                      (T *dest, T cond, T value, int pe), (dest, cond, value, pe))
#define FULMAR_BITWISE_AMO_(N, T, ...) FULMAR_BIT_(N, T, and, AND) FULMAR_BIT_(N, T, or, OR) FULMAR_BIT_(N, T, xor, XOR)
#define FULMAR_BIT_(N, T, NAME, OP)                                                                                   \
    FULMAR_AMO_(N, T, NAME, SHI_AMO_##OP, FULMAR_VALUE_, (T *dest, T value, int pe), (dest, value, pe))               \
    FULMAR_AMO_FETCH_(N, T, fetch_##NAME, SHI_AMO_##OP, FULMAR_VALUE_, 0, (T *dest, T value, int pe), (dest, value, pe))
NVSHMEM_TYPES_EXTENDED_AMO_(FULMAR_EXTENDED_AMO_, )
NVSHMEM_TYPES_STANDARD_AMO_(FULMAR_STANDARD_AMO_, )
NVSHMEM_TYPES_BITWISE_AMO_(FULMAR_BITWISE_AMO_, )

/* ---- order, signals ---------------------------------------------------------------------------------------------------------- */

FULMAR_BOTH_ void nvshmem_fence(void)
{
    FULMAR_EITHER_(shi_device::shi_fence(FULMAR_CTX_, shi_device::SHI_THREAD), shmem_fence());
}
FULMAR_BOTH_ void nvshmem_quiet(void)
{
    FULMAR_EITHER_((void)shi_device::shi_quiet(FULMAR_CTX_, shi_device::SHI_THREAD), (fulmar_nvshmem_complete(), shmem_quiet()));
}
FULMAR_BOTH_ uint64_t nvshmem_signal_fetch(uint64_t *sig_addr)
{
    return FULMAR_EITHER_(shi_device::shi_signal_fetch(FULMAR_CTX_, sig_addr), shmem_signal_fetch(sig_addr));
}
static inline __host__ __device__ void nvshmem_global_exit(int status)
{
    FULMAR_EITHER_(((void)status, __trap()), shmem_global_exit(status));
}

/* ---- collectives ------------------------------------------------------------------------------------------------------------- */

FULMAR_BOTH_ int nvshmem_barrier(nvshmem_team_t team)
{
    return FULMAR_EITHER_(shi_device::fulmar_barrier(shi_device::SHI_THREAD, team),
                          (fulmar_nvshmem_complete(), shmem_quiet(), shmem_team_sync(fulmar_nvshmem_team(team))));
}
FULMAR_BOTH_ void nvshmem_barrier_all(void)
{
    FULMAR_EITHER_((void)shi_device::fulmar_barrier(shi_device::SHI_THREAD, NVSHMEM_TEAM_WORLD), (fulmar_nvshmem_begin(), fulmar_nvshmem_complete(), shmem_barrier_all()));
}
FULMAR_BOTH_ int nvshmem_team_sync(nvshmem_team_t team)
{
    return FULMAR_EITHER_(shi_device::shi_sync(FULMAR_CTX_, shi_device::SHI_THREAD, shi_device::fulmar_team(FULMAR_CTX_, team)),
                          shmem_team_sync(fulmar_nvshmem_team(team)));
}
#define nvshmem_sync nvshmem_team_sync
FULMAR_BOTH_ void nvshmem_sync_all(void)
{
    FULMAR_EITHER_((void)nvshmem_team_sync(NVSHMEM_TEAM_WORLD), (fulmar_nvshmem_begin(), shmem_sync_all()));
}

#define FULMAR_COLL_(P, N, T, B, ATTR, G, S)                                                                          \
    ATTR int P##N##alltoall##S(nvshmem_team_t team, T *dest, const T *source, size_t nelems)                          \
    {                                                                                                                 \
        return FULMAR_EITHER_(shi_device::shi_alltoall(FULMAR_CTX_, shi_device::G, shi_device::fulmar_team(FULMAR_CTX_, team), dest, source, nelems * (B)), \
                              shmem_alltoallmem(fulmar_nvshmem_team(team), dest, source, nelems * (B)));              \
    }                                                                                                                 \
    ATTR int P##N##fcollect##S(nvshmem_team_t team, T *dest, const T *source, size_t nelems)                          \
    {                                                                                                                 \
        return FULMAR_EITHER_(shi_device::shi_fcollect(FULMAR_CTX_, shi_device::G, shi_device::fulmar_team(FULMAR_CTX_, team), dest, source, nelems * (B)), \
                              shmem_fcollectmem(fulmar_nvshmem_team(team), dest, source, nelems * (B)));              \
    }                                                                                                                 \
    ATTR int P##N##collect##S(nvshmem_team_t team, T *dest, const T *source, size_t nelems)                           \
    {                                                                                                                 \
        return FULMAR_EITHER_(shi_device::shi_collect(FULMAR_CTX_, shi_device::G, shi_device::fulmar_team(FULMAR_CTX_, team), dest, source, nelems * (B)), \
                              shmem_collectmem(fulmar_nvshmem_team(team), dest, source, nelems * (B)));               \
    }                                                                                                                 \
    ATTR int P##N##broadcast##S(nvshmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root)            \
    {                                                                                                                 \
        return FULMAR_EITHER_(shi_device::shi_broadcast(FULMAR_CTX_, shi_device::G, shi_device::fulmar_team(FULMAR_CTX_, team), dest, source, nelems * (B), PE_root), \
                              shmem_broadcastmem(fulmar_nvshmem_team(team), dest, source, nelems * (B), PE_root));    \
    }
#define FULMAR_TYPED_COLL_(N, T, ...) FULMAR_COLL_(nvshmem_, N##_, T, sizeof(T), FULMAR_BOTH_, SHI_THREAD, )
NVSHMEM_TYPES_RMA_(FULMAR_TYPED_COLL_, )
FULMAR_COLL_(nvshmem_, , void, 1, FULMAR_BOTH_, SHI_THREAD, mem)

/* On the host by a kernel. */
#define FULMAR_REDUCES_(P, N, T, NAME, OP, ATTR, G, S)                                                                \
    ATTR int P##N##_##NAME##_reduce##S(nvshmem_team_t team, T *dest, const T *source, size_t nreduce)                 \
    {                                                                                                                 \
        return FULMAR_EITHER_(shi_device::fulmar_reduce_##N(shi_device::G, team, dest, source, nreduce, FULMAR_OP_##OP, 0), \
                              fulmar_nvshmem_reduce(FULMAR_TYPE_##N, FULMAR_OP_##OP, team, dest, source, nreduce, 0, 0, 1)); \
    }                                                                                                                 \
    ATTR int P##N##_##NAME##_reducescatter##S(nvshmem_team_t team, T *dest, const T *source, size_t nreduce)          \
    {                                                                                                                 \
        return FULMAR_EITHER_(shi_device::fulmar_reduce_##N(shi_device::G, team, dest, source, nreduce, FULMAR_OP_##OP, 1), \
                              fulmar_nvshmem_reduce(FULMAR_TYPE_##N, FULMAR_OP_##OP, team, dest, source, nreduce, 1, 0, 1)); \
    }
#define FULMAR_BITWISE_REDUCE_(N, T, P, ATTR, G, S)                                                                   \
    FULMAR_REDUCES_(P, N, T, and, AND, ATTR, G, S) FULMAR_REDUCES_(P, N, T, or, OR, ATTR, G, S) FULMAR_REDUCES_(P, N, T, xor, XOR, ATTR, G, S)
#define FULMAR_ARITH_REDUCE_(N, T, P, ATTR, G, S)                                                                     \
    FULMAR_REDUCES_(P, N, T, max, MAX, ATTR, G, S) FULMAR_REDUCES_(P, N, T, min, MIN, ATTR, G, S)                     \
    FULMAR_REDUCES_(P, N, T, sum, SUM, ATTR, G, S) FULMAR_REDUCES_(P, N, T, prod, PROD, ATTR, G, S)
NVSHMEM_TYPES_BITWISE_REDUCE_(FULMAR_BITWISE_REDUCE_, nvshmem_, FULMAR_BOTH_, SHI_THREAD, )
NVSHMEM_TYPES_REDUCE_(FULMAR_ARITH_REDUCE_, nvshmem_, FULMAR_BOTH_, SHI_THREAD, )

#ifdef __CUDACC__
#include "nvshmem_kernel.h"
#include "nvshmem_qp.h"
#endif
#endif
