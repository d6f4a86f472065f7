/* nvshmem_kernel.h - the routines of nvshmem.h that only kernels have: signals, waits, and forms for a warp and a block. */
#ifndef NVSHMEM_KERNEL_H
#define NVSHMEM_KERNEL_H

#include "nvshmem.h"

#define FULMAR_DEVICE_ static inline __device__
/* E for a warp and for a block. */
#define FULMAR_GROUPS_(E, ...) E(SHI_HTG, _warp, __VA_ARGS__) E(SHI_TG, _block, __VA_ARGS__)

/* ---- put with signal, groups -------------------------------------------------------------------------------------------------- */

#define FULMAR_SIGNALS_(P, M, D, B, G, S)                                                                             \
    FULMAR_PUT_SIGNAL_(M##_signal, P, D, B, 0, G, S) FULMAR_PUT_SIGNAL_(M##_signal_nbi, P, D, B, 1, G, S)
#define FULMAR_TYPED_SIGNALS_(N, T, ...) FULMAR_SIGNALS_(nvshmem_##N, _put, T, sizeof(T), SHI_THREAD, )
#define FULMAR_SIZED_SIGNALS_(BITS, B, ...) FULMAR_SIGNALS_(nvshmem_, put##BITS, void, B, SHI_THREAD, )
NVSHMEM_TYPES_RMA_(FULMAR_TYPED_SIGNALS_, )
NVSHMEM_SIZES_(FULMAR_SIZED_SIGNALS_, )
FULMAR_SIZED_SIGNALS_(mem, 1)

#define FULMAR_MOVES_OF_GROUP_(G, S, P, M, V, D, B)                                                                   \
    FULMAR_PUT_(M##put##V, P, D, B, 0, FULMAR_DEVICE_, G, S) FULMAR_PUT_(M##put##V##_nbi, P, D, B, 1, FULMAR_DEVICE_, G, S) \
    FULMAR_GET_(M##get##V, P, D, B, 0, FULMAR_DEVICE_, G, S) FULMAR_GET_(M##get##V##_nbi, P, D, B, 1, FULMAR_DEVICE_, G, S) \
    FULMAR_SIGNALS_(P, M##put##V, D, B, G, S)
#define FULMAR_STRIDED_OF_GROUP_(G, S, P, M, V, D, B)                                                                 \
    FULMAR_STRIDED_(M##iput##V, P, D, B, 0, FULMAR_DEVICE_, G, S) FULMAR_STRIDED_(M##iget##V, P, D, B, 1, FULMAR_DEVICE_, G, S)
#define FULMAR_TYPED_GROUPS_(N, T, ...)                                                                               \
    FULMAR_GROUPS_(FULMAR_MOVES_OF_GROUP_, nvshmemx_##N, _, , T, sizeof(T))                                           \
    FULMAR_GROUPS_(FULMAR_STRIDED_OF_GROUP_, nvshmemx_##N, _, , T, sizeof(T))                                         \
    FULMAR_GROUPS_(FULMAR_COLL_OF_GROUP_, N##_, T, sizeof(T), )
#define FULMAR_SIZED_GROUPS_(BITS, B, ...) FULMAR_GROUPS_(FULMAR_MOVES_OF_GROUP_, nvshmemx_, , BITS, void, B)
#define FULMAR_SIZED_STRIDED_GROUPS_(BITS, B, ...) FULMAR_GROUPS_(FULMAR_STRIDED_OF_GROUP_, nvshmemx_, , BITS, void, B)
#define FULMAR_COLL_OF_GROUP_(G, S, N, T, B, MEM) FULMAR_COLL_(nvshmemx_, N, T, B, FULMAR_DEVICE_, G, MEM##S)
NVSHMEM_TYPES_RMA_(FULMAR_TYPED_GROUPS_, )
NVSHMEM_SIZES_(FULMAR_SIZED_GROUPS_, )
NVSHMEM_SIZES_(FULMAR_SIZED_STRIDED_GROUPS_, )
FULMAR_SIZED_GROUPS_(mem, 1)
/* NVSHMEM's table of sizes has 6 for 16, and 6 / 8 is 0: the signal alone. */
#define FULMAR_SIGNAL_ALONE_(G, S, ...) FULMAR_SIGNALS_(nvshmemx_, put6, void, 0, G, S)
FULMAR_GROUPS_(FULMAR_SIGNAL_ALONE_, )
FULMAR_GROUPS_(FULMAR_COLL_OF_GROUP_, , void, 1, mem)

NVSHMEM_TYPES_BITWISE_REDUCE_(FULMAR_BITWISE_REDUCE_, nvshmemx_, FULMAR_DEVICE_, SHI_HTG, _warp)
NVSHMEM_TYPES_BITWISE_REDUCE_(FULMAR_BITWISE_REDUCE_, nvshmemx_, FULMAR_DEVICE_, SHI_TG, _block)
NVSHMEM_TYPES_REDUCE_(FULMAR_ARITH_REDUCE_, nvshmemx_, FULMAR_DEVICE_, SHI_HTG, _warp)
NVSHMEM_TYPES_REDUCE_(FULMAR_ARITH_REDUCE_, nvshmemx_, FULMAR_DEVICE_, SHI_TG, _block)

#define FULMAR_ORDER_OF_GROUP_(G, S, ...)                                                                             \
    FULMAR_DEVICE_ int nvshmemx_barrier##S(nvshmem_team_t team)                                                       \
    {                                                                                                                 \
        return shi_device::fulmar_barrier(shi_device::G, team);                                                       \
    }                                                                                                                 \
    FULMAR_DEVICE_ void nvshmemx_barrier_all##S(void)                                                                 \
    {                                                                                                                 \
        shi_device::fulmar_barrier(shi_device::G, NVSHMEM_TEAM_WORLD);                                                \
    }                                                                                                                 \
    FULMAR_DEVICE_ int nvshmemx_team_sync##S(nvshmem_team_t team)                                                     \
    {                                                                                                                 \
        return shi_device::shi_sync(FULMAR_CTX_, shi_device::G, shi_device::fulmar_team(FULMAR_CTX_, team));          \
    }                                                                                                                 \
    FULMAR_DEVICE_ void nvshmemx_sync_all##S(void)                                                                    \
    {                                                                                                                 \
        nvshmemx_team_sync##S(NVSHMEM_TEAM_WORLD);                                                                    \
    }
FULMAR_GROUPS_(FULMAR_ORDER_OF_GROUP_, )
#define nvshmemx_sync_warp nvshmemx_team_sync_warp
#define nvshmemx_sync_block nvshmemx_team_sync_block

FULMAR_DEVICE_ int nvshmemx_barrier_warpgroup(nvshmem_team_t team)
{
    return shi_device::fulmar_barrier_warpgroup(team);
}
FULMAR_DEVICE_ int nvshmemx_double2_maxloc_reduce_block(nvshmem_team_t team, double2 *dest, const double2 *source, size_t nreduce)
{
    return shi_device::fulmar_maxloc(shi_device::SHI_TG, team, dest, source, nreduce);
}

/* ---- atomic operations on floating-point numbers, signals ---------------------------------------------------------------------- */

#define FULMAR_FLOAT_ADD_(N, T)                                                                                       \
    FULMAR_DEVICE_ T nvshmem_##N##_atomic_fetch_add(T *dest, T value, int pe)                                         \
    {                                                                                                                 \
        return shi_device::fulmar_value<T>(shi_device::shi_amo_fadd(FULMAR_CTX_, dest, sizeof(T), shi_device::fulmar_bits(value), pe, shi_device::SHI_RESULT_SLOT)); \
    }                                                                                                                 \
    FULMAR_DEVICE_ void nvshmem_##N##_atomic_add(T *dest, T value, int pe)                                            \
    {                                                                                                                 \
        shi_device::shi_amo_fadd(FULMAR_CTX_, dest, sizeof(T), shi_device::fulmar_bits(value), pe, shi_device::SHI_RESULT_NONE); \
    }
FULMAR_FLOAT_ADD_(float, float)
FULMAR_FLOAT_ADD_(double, double)

FULMAR_DEVICE_ void nvshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    shi_device::shi_put_signal(FULMAR_CTX_, shi_device::SHI_THREAD, sig_addr, sig_addr, 0, sig_addr, signal, shi_device::fulmar_signal_op(sig_op), pe, 1);
}
FULMAR_DEVICE_ uint64_t nvshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    return shi_device::shi_wait_until(FULMAR_CTX_, shi_device::SHI_THREAD, sig_addr, 8, 0, shi_device::fulmar_cmp(cmp), cmp_value);
}

/* ---- waits and tests ------------------------------------------------------------------------------------------------------------ */

#define FULMAR_MANY_(T, WAIT, KIND, INDICES, V, VS)                                                                   \
    shi_device::fulmar_many<T>(WAIT, shi_device::SHI_MANY_##KIND, ivars, nelems, INDICES, status, cmp, V, VS)
#define FULMAR_LIST_(R, N, T, NAME, PARAMS, CALL)                                                                     \
    FULMAR_DEVICE_ R nvshmem_##N##_##NAME PARAMS                                                                      \
    {                                                                                                                 \
        return (R)CALL;                                                                                               \
    }
#define FULMAR_LISTS_(N, T, NAME, WAIT, WHOLE, VEC, P, V, VS)                                                           \
    FULMAR_LIST_(WHOLE, N, T, NAME##_all##VEC, (T * ivars, size_t nelems, const int *status, int cmp, P), FULMAR_MANY_(T, WAIT, ALL, 0, V, VS)) \
    FULMAR_LIST_(size_t, N, T, NAME##_any##VEC, (T * ivars, size_t nelems, const int *status, int cmp, P), FULMAR_MANY_(T, WAIT, ANY, 0, V, VS)) \
    FULMAR_LIST_(size_t, N, T, NAME##_some##VEC, (T * ivars, size_t nelems, size_t *indices, const int *status, int cmp, P), \
                 FULMAR_MANY_(T, WAIT, SOME, indices, V, VS))
#define FULMAR_WAITS_(N, T, ...)                                                                                      \
    FULMAR_DEVICE_ void nvshmem_##N##_wait_until(T *ivar, int cmp, T cmp_value)                                       \
    {                                                                                                                 \
        shi_device::fulmar_wait<T>(ivar, cmp, cmp_value);                                                             \
    }                                                                                                                 \
    FULMAR_DEVICE_ int nvshmem_##N##_test(T *ivar, int cmp, T cmp_value)                                              \
    {                                                                                                                 \
        return shi_device::fulmar_holds<T>(ivar, cmp, cmp_value);                                                     \
    }                                                                                                                 \
    FULMAR_LISTS_(N, T, wait_until, 1, void, , T cmp_value, cmp_value, 0)                                             \
    FULMAR_LISTS_(N, T, wait_until, 1, void, _vector, T *cmp_values, 0, cmp_values)                                   \
    FULMAR_LISTS_(N, T, test, 0, int, , T cmp_value, cmp_value, 0)                                                    \
    FULMAR_LISTS_(N, T, test, 0, int, _vector, T *cmp_values, 0, cmp_values)
NVSHMEM_TYPES_WAIT_(FULMAR_WAITS_, )

#endif
