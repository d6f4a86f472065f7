/*
 * ishmem_cxx.h - Intel SHMEM's templates for the host, from shmem_table.h; ishmem.h and ishmemx.h include it.
 *
 * The first pointer determines TYPE, or the caller names it: ishmem_put<float>(...). For an unsupported type no overload
 * matches. A collective without a team as first argument is over all PEs.
 */
#if !defined(ISHMEM_CXX_H) && defined(__cplusplus) && __cplusplus >= 201103L
#define ISHMEM_CXX_H

#include "shmem.h"

#define ISHMEM_TEMPLATE_(IN, PREFIX, NAME)                                                                            \
    template <typename TYPE, typename... Rest>                                                                        \
    inline auto PREFIX##NAME(IN TYPE *first, Rest... rest)->decltype(shmem##NAME(first, rest...))                     \
    {                                                                                                                 \
        return shmem##NAME(first, rest...);                                                                           \
    }
#define ISHMEM_CXX_C(R, NAME, N, T, PARAMS) ISHMEM_TEMPLATE_(, ishmem, NAME)
#define ISHMEM_CXX_P ISHMEM_CXX_C
#define ISHMEM_CXX_X(R, NAME, N, T, PARAMS) ISHMEM_TEMPLATE_(, ishmemx, NAME)
#define ISHMEM_CXX_T(R, NAME, N, T, PARAMS)                                                                           \
    template <typename TYPE, typename... Rest>                                                                        \
    inline auto ishmem##NAME(shmem_team_t team, TYPE *dest, Rest... rest)->decltype(shmem##NAME(team, dest, rest...)) \
    {                                                                                                                 \
        return shmem##NAME(team, dest, rest...);                                                                      \
    }                                                                                                                 \
    template <typename TYPE, typename... Rest>                                                                        \
    inline auto ishmem##NAME(TYPE *dest, Rest... rest)                                                                \
        ->decltype(shmem##NAME(SHMEM_TEAM_WORLD, dest, rest...))                                                      \
    {                                                                                                                 \
        return shmem##NAME(SHMEM_TEAM_WORLD, dest, rest...);                                                          \
    }

SHMEM_API_ONE(ISHMEM_CXX_C, ISHMEM_CXX_P, , )
SHMEM_API_PUTGET(ISHMEM_CXX_C, ISHMEM_CXX_P, , )
SHMEM_API_BLOCK(ISHMEM_CXX_X, ISHMEM_CXX_X, , )
SHMEM_API_AMO(ISHMEM_CXX_C, ISHMEM_CXX_P, , )
SHMEM_API_EXT(ISHMEM_CXX_C, ISHMEM_CXX_P, , )
SHMEM_API_BIT(ISHMEM_CXX_C, ISHMEM_CXX_P, , )
SHMEM_API_WT(ISHMEM_CXX_C, ISHMEM_CXX_P, , )
SHMEM_API_SYN(ISHMEM_CXX_C, ISHMEM_CXX_P, , )
SHMEM_API_BROADCAST(, ISHMEM_CXX_T, , )
SHMEM_API_GATHER(, ISHMEM_CXX_T, , )
SHMEM_API_AND(, ISHMEM_CXX_T, , )
SHMEM_API_MAX(, ISHMEM_CXX_T, , )
SHMEM_API_SUM(, ISHMEM_CXX_T, , )

#endif
