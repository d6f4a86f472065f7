/*
 * shmem_generic_cxx.h - the type-generic forms for C++11, which has no _Generic: overloads emitted from shmem_table.h.
 *
 * An extension that other libraries have too; the specification defines the forms only for C11. The first pointer selects
 * the routine; the other arguments are forwarded unchanged.
 */
#if !defined(SHMEM_GENERIC_CXX_H) && defined(__cplusplus) && __cplusplus >= 201103L
#define SHMEM_GENERIC_CXX_H

#include "shmem.h"

#define SHMEM_CXX1_(R, NAME, N, Q)                                                                                   \
    template <class... A> inline R shmem##NAME(Q *first, A... rest) { return shmem_##N##NAME(first, rest...); }
#define SHMEM_CXX2_(R, NAME, FUNC, HANDLE, Q)                                                                        \
    template <class... A> inline R shmem##NAME(HANDLE handle, Q *first, A... rest)                                   \
    {                                                                                                                \
        return FUNC(handle, first, rest...);                                                                         \
    }
#define SHMEM_CXX_P(R, NAME, N, T, PARAMS) SHMEM_CXX1_(R, NAME, N, T) SHMEM_CXX1_(R, NAME, N, const T)
#define SHMEM_CXX_C(R, NAME, N, T, PARAMS)                                                                           \
    SHMEM_CXX_P(R, NAME, N, T, PARAMS)                                                                               \
    SHMEM_CXX2_(R, NAME, shmem_ctx_##N##NAME, shmem_ctx_t, T)                                                        \
    SHMEM_CXX2_(R, NAME, shmem_ctx_##N##NAME, shmem_ctx_t, const T)
#define SHMEM_CXX_T(R, NAME, N, T, PARAMS) SHMEM_CXX2_(R, NAME, shmem_##N##NAME, shmem_team_t, T)

#define SHMEM_CXX_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                              \
    SHMEM_IF_##GEN(                                                                                                  \
        SHMEM_IF_##RMA(SHMEM_API_RMA(F##_C, F##_P, N, T) SHMEM_API_COLL(F##_C, F##_T, N, T))                         \
        SHMEM_IF_##AMO(SHMEM_API_AMO(F##_C, F##_P, N, T) SHMEM_API_OA(F##_C, F##_P, N, T))                           \
        SHMEM_IF_##EXT(SHMEM_API_EXT(F##_C, F##_P, N, T) SHMEM_API_OX(F##_C, F##_P, N, T))                           \
        SHMEM_IF_##BIT(SHMEM_API_BIT(F##_C, F##_P, N, T))                                                            \
        SHMEM_IF_##WT(SHMEM_API_WT(F##_C, F##_P, N, T) SHMEM_API_SYN(F##_C, F##_P, N, T))                            \
        SHMEM_IF_##AND(SHMEM_API_AND(F##_C, F##_T, N, T)) SHMEM_IF_##MAX(SHMEM_API_MAX(F##_C, F##_T, N, T))          \
        SHMEM_IF_##SUM(SHMEM_API_SUM(F##_C, F##_T, N, T)))
SHMEM_TYPES(SHMEM_CXX_ROW_, SHMEM_CXX)

/* Fixed-width signed types: these two classes have them, but not their base types. */
SHMEM_API_BIT(SHMEM_CXX_C, SHMEM_CXX_P, int32, int32_t)
SHMEM_API_BIT(SHMEM_CXX_C, SHMEM_CXX_P, int64, int64_t)
SHMEM_API_AND(SHMEM_CXX_C, SHMEM_CXX_T, int8, int8_t)
SHMEM_API_AND(SHMEM_CXX_C, SHMEM_CXX_T, int16, int16_t)
SHMEM_API_AND(SHMEM_CXX_C, SHMEM_CXX_T, int32, int32_t)
SHMEM_API_AND(SHMEM_CXX_C, SHMEM_CXX_T, int64, int64_t)

inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}

#endif
