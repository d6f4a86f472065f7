/*
 * shmemx_coll.h - collectives that OpenSHMEM lacks: nonblocking ones, reductions whose parts stay with their PEs, alltoalls with counts,
 * the least element and its place, half precision; included by shmemx.h.
 *
 * Every routine has a pshmemx_ name, and in C11 and C++ a form without TYPENAME, but for half and bfloat16.
 */
#ifndef SHMEMX_COLL_H
#define SHMEMX_COLL_H
#include "shmemx_complete.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/*
 * Nonblocking collectives: NAME_nb begins what the blocking routine of that name does, with the same arguments and results, and returns;
 * shmemx_req_test and shmemx_req_wait complete *req (shmemx_complete.h). Until then the program does not change source nor access dest.
 * Calls on a team match in their order, separately from the blocking ones, which may come between; they may complete in any order, and
 * progress is made while the program computes. At most 256 on a team are under way: a further one waits for an earlier one.
 * shmemx_barrier_nb also completes the operations that the PE has issued on SHMEM_CTX_DEFAULT; shmemx_sync_nb does not.
 *
 * alltoallv: src_counts[i] elements from source + src_offsets[i] go to PE i of the team, which stores them at its dest + its dst_offsets[me],
 * and whose dst_counts[me] is the same number. Offsets and counts are in elements, of alltoallvmem in bytes, and need not be symmetric.
 * reducescatter: PE i of the team gets part i of the reduction, of nreduce elements; of reducescatterv of counts[i], which all PEs give
 * alike. Parts follow each other in source; dest may be in it.
 * minloc, maxloc: of pairs of a value and a place; of equal values the one with the lowest place.
 * half: IEEE binary16; bfloat16. Elements have 16 bits, are combined as float, and the result is rounded once. dest may be source.
 */
#define SHMEMX_API_ALLTOALLV(P, N, T)                                                                                \
    P(int, _alltoallv, N, T,                                                                                         \
      (shmem_team_t team, T *dest, const size_t *dst_offsets, const size_t *dst_counts, const T *source,             \
       const size_t *src_offsets, const size_t *src_counts))
#define SHMEMX_API_SCATTER1_(P, N, T, OP)                                                                            \
    P(int, OP##_reducescatter, N, T, (shmem_team_t team, T *dest, const T *source, size_t nreduce))                  \
    P(int, OP##_reducescatterv, N, T, (shmem_team_t team, T *dest, const T *source, const size_t *counts))
#define SHMEMX_API_SCATTER_AND(P, N, T)                                                                              \
    SHMEMX_API_SCATTER1_(P, N, T, _and) SHMEMX_API_SCATTER1_(P, N, T, _or) SHMEMX_API_SCATTER1_(P, N, T, _xor)
#define SHMEMX_API_SCATTER_MAX(P, N, T) SHMEMX_API_SCATTER1_(P, N, T, _max) SHMEMX_API_SCATTER1_(P, N, T, _min)
#define SHMEMX_API_SCATTER_SUM(P, N, T) SHMEMX_API_SCATTER1_(P, N, T, _sum) SHMEMX_API_SCATTER1_(P, N, T, _prod)
#define SHMEMX_API_HALF(P, N)                                                                                        \
    SHMEM_API_RED1_(P, N, void, _sum) SHMEM_API_RED1_(P, N, void, _prod) SHMEM_API_MAX(, P, N, void)
#define SHMEMX_API_LOC(P, N, T) SHMEM_API_RED1_(P, N, T, _minloc) SHMEM_API_RED1_(P, N, T, _maxloc)

/* L(P, N, T): the numbers of such pairs. */
#define SHMEMX_LOC_TYPES(L, P)                                                                                       \
    L(P, int, int) L(P, long, long) L(P, longlong, long long) L(P, uint, unsigned int) L(P, ulong, unsigned long)    \
    L(P, ulonglong, unsigned long long) L(P, float, float) L(P, double, double)
#define SHMEMX_LOC_(P, N, T)                                                                                         \
    typedef struct {                                                                                                 \
        T value;                                                                                                     \
        int64_t place;                                                                                               \
    } shmemx_##N##_loc_t;
SHMEMX_LOC_TYPES(SHMEMX_LOC_, )
#define SHMEMX_LOC_ROUTINES_(P, N, T) SHMEMX_API_LOC(P, N, shmemx_##N##_loc_t)

/* The routines that are new, and those of shmem.h that have a nonblocking form. */
#define SHMEMX_COLL_ROW_(P, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                        \
    SHMEM_IF_##RMA(SHMEMX_API_ALLTOALLV(P, N, T)) SHMEM_IF_##AND(SHMEMX_API_SCATTER_AND(P, N, T))                    \
    SHMEM_IF_##MAX(SHMEMX_API_SCATTER_MAX(P, N, T)) SHMEM_IF_##SUM(SHMEMX_API_SCATTER_SUM(P, N, T))
#define SHMEMX_OLDER_ROW_(P, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                       \
    SHMEM_IF_##RMA(SHMEM_API_COLL(, P, N, T)) SHMEM_IF_##AND(SHMEM_API_AND(, P, N, T))                               \
    SHMEM_IF_##MAX(SHMEM_API_MAX(, P, N, T)) SHMEM_IF_##SUM(SHMEM_API_SUM(, P, N, T))
#define SHMEMX_FOR_EACH_NEW_COLL(P)                                                                                  \
    SHMEM_TYPES(SHMEMX_COLL_ROW_, P) SHMEMX_API_HALF(P, half) SHMEMX_API_HALF(P, bfloat16)                           \
    SHMEMX_LOC_TYPES(SHMEMX_LOC_ROUTINES_, P)
#define SHMEMX_FOR_EACH_NB_COLL(P) SHMEM_TYPES(SHMEMX_OLDER_ROW_, P) SHMEMX_FOR_EACH_NEW_COLL(P)
#define SHMEMX_FOR_EACH_COLLMEM(U)                                                                                   \
    U(int, shmemx_alltoallvmem,                                                                                      \
      (shmem_team_t team, void *dest, const size_t *dst_offsets, const size_t *dst_counts, const void *source,       \
       const size_t *src_offsets, const size_t *src_counts))                                                         \
    U(int, shmemx_sync_nb, (shmem_team_t team, shmemx_req_t *req))                                                   \
    U(int, shmemx_barrier_nb, (shmem_team_t team, shmemx_req_t *req))                                                \
    U(int, shmemx_broadcastmem_nb,                                                                                   \
      (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root, shmemx_req_t *req))            \
    U(int, shmemx_collectmem_nb,                                                                                     \
      (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *req))                         \
    U(int, shmemx_fcollectmem_nb,                                                                                    \
      (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *req))                         \
    U(int, shmemx_alltoallmem_nb,                                                                                    \
      (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *req))                         \
    U(int, shmemx_alltoallsmem_nb,                                                                                   \
      (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,               \
       shmemx_req_t *req))                                                                                           \
    U(int, shmemx_alltoallvmem_nb,                                                                                   \
      (shmem_team_t team, void *dest, const size_t *dst_offsets, const size_t *dst_counts, const void *source,       \
       const size_t *src_offsets, const size_t *src_counts, shmemx_req_t *req))

#define SHMEMX_FN_(R, NAME, PARAMS) R NAME PARAMS; R p##NAME PARAMS;
#define SHMEMX_NEW_(R, NAME, N, T, PARAMS) SHMEMX_FN_(R, shmemx_##N##NAME, PARAMS)
#define SHMEMX_NB_(R, NAME, N, T, PARAMS)                                                                            \
    SHMEMX_FN_(R, shmemx_##N##NAME##_nb, (SHMEM_UNWRAP PARAMS, shmemx_req_t * req))
SHMEMX_FOR_EACH_COLLMEM(SHMEMX_FN_)
SHMEMX_FOR_EACH_NEW_COLL(SHMEMX_NEW_)
SHMEMX_FOR_EACH_NB_COLL(SHMEMX_NB_)
#undef SHMEMX_FN_

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#ifndef SHMEM_NO_GENERICS
#include "shmemx_coll_generic.h"
#endif
#endif
