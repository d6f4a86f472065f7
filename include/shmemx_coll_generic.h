/*
 * shmemx_coll_generic.h - the type-generic forms of shmemx_coll.h, which includes it: C11 macros, one line per routine, or C++11 overloads.
 */
#ifndef SHMEMX_COLL_GENERIC_H
#define SHMEMX_COLL_GENERIC_H
#include "shmemx_coll.h"

#if defined(__cplusplus) && __cplusplus >= 201103L

#define SHMEMX_CXX_(R, NAME, FUNC, T)                                                                                \
    template <class... A> inline R shmemx##NAME(shmem_team_t team, T *first, A... rest) { return FUNC(team, first, rest...); }
#define SHMEMX_CXX_NEW_(R, NAME, N, T, PARAMS) SHMEMX_CXX_(R, NAME, shmemx_##N##NAME, T)
#define SHMEMX_CXX_NB_(R, NAME, N, T, PARAMS) SHMEMX_CXX_(R, NAME##_nb, shmemx_##N##NAME##_nb, T)
#define SHMEMX_CXX_ROW_(P, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                             \
    SHMEM_IF_##GEN(SHMEMX_COLL_ROW_(SHMEMX_CXX_NEW_, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, GEN) \
                   SHMEMX_COLL_ROW_(SHMEMX_CXX_NB_, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, GEN) \
                   SHMEMX_OLDER_ROW_(SHMEMX_CXX_NB_, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, GEN))
SHMEM_TYPES(SHMEMX_CXX_ROW_, )
SHMEMX_LOC_TYPES(SHMEMX_LOC_ROUTINES_, SHMEMX_CXX_NEW_)
SHMEMX_LOC_TYPES(SHMEMX_LOC_ROUTINES_, SHMEMX_CXX_NB_)

/* Fixed-width signed types: this class has them, but not their base types. */
#define SHMEMX_CXX_AND_(N, T)                                                                                        \
    SHMEMX_API_SCATTER_AND(SHMEMX_CXX_NEW_, N, T) SHMEMX_API_SCATTER_AND(SHMEMX_CXX_NB_, N, T) SHMEM_API_AND(, SHMEMX_CXX_NB_, N, T)
SHMEMX_CXX_AND_(int8, int8_t)
SHMEMX_CXX_AND_(int16, int16_t)
SHMEMX_CXX_AND_(int32, int32_t)
SHMEMX_CXX_AND_(int64, int64_t)
#undef SHMEMX_CXX_AND_
#undef SHMEMX_CXX_ROW_
#undef SHMEMX_CXX_NB_
#undef SHMEMX_CXX_NEW_
#undef SHMEMX_CXX_

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

#define SHMEMX_N_broadcast_nb(N) shmemx_##N##_broadcast_nb
#define shmemx_broadcast_nb(...) SHMEM_TEAMED_(RMA, SHMEMX_N_broadcast_nb, __VA_ARGS__)
#define SHMEMX_N_collect_nb(N) shmemx_##N##_collect_nb
#define shmemx_collect_nb(...) SHMEM_TEAMED_(RMA, SHMEMX_N_collect_nb, __VA_ARGS__)
#define SHMEMX_N_fcollect_nb(N) shmemx_##N##_fcollect_nb
#define shmemx_fcollect_nb(...) SHMEM_TEAMED_(RMA, SHMEMX_N_fcollect_nb, __VA_ARGS__)
#define SHMEMX_N_alltoall_nb(N) shmemx_##N##_alltoall_nb
#define shmemx_alltoall_nb(...) SHMEM_TEAMED_(RMA, SHMEMX_N_alltoall_nb, __VA_ARGS__)
#define SHMEMX_N_alltoalls_nb(N) shmemx_##N##_alltoalls_nb
#define shmemx_alltoalls_nb(...) SHMEM_TEAMED_(RMA, SHMEMX_N_alltoalls_nb, __VA_ARGS__)
#define SHMEMX_N_alltoallv(N) shmemx_##N##_alltoallv
#define shmemx_alltoallv(...) SHMEM_TEAMED_(RMA, SHMEMX_N_alltoallv, __VA_ARGS__)
#define SHMEMX_N_alltoallv_nb(N) shmemx_##N##_alltoallv_nb
#define shmemx_alltoallv_nb(...) SHMEM_TEAMED_(RMA, SHMEMX_N_alltoallv_nb, __VA_ARGS__)
#define SHMEMX_N_and_reduce_nb(N) shmemx_##N##_and_reduce_nb
#define shmemx_and_reduce_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_and_reduce_nb, __VA_ARGS__)
#define SHMEMX_N_and_reducescatter(N) shmemx_##N##_and_reducescatter
#define shmemx_and_reducescatter(...) SHMEM_TEAMED_(AND, SHMEMX_N_and_reducescatter, __VA_ARGS__)
#define SHMEMX_N_and_reducescatter_nb(N) shmemx_##N##_and_reducescatter_nb
#define shmemx_and_reducescatter_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_and_reducescatter_nb, __VA_ARGS__)
#define SHMEMX_N_and_reducescatterv(N) shmemx_##N##_and_reducescatterv
#define shmemx_and_reducescatterv(...) SHMEM_TEAMED_(AND, SHMEMX_N_and_reducescatterv, __VA_ARGS__)
#define SHMEMX_N_and_reducescatterv_nb(N) shmemx_##N##_and_reducescatterv_nb
#define shmemx_and_reducescatterv_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_and_reducescatterv_nb, __VA_ARGS__)
#define SHMEMX_N_or_reduce_nb(N) shmemx_##N##_or_reduce_nb
#define shmemx_or_reduce_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_or_reduce_nb, __VA_ARGS__)
#define SHMEMX_N_or_reducescatter(N) shmemx_##N##_or_reducescatter
#define shmemx_or_reducescatter(...) SHMEM_TEAMED_(AND, SHMEMX_N_or_reducescatter, __VA_ARGS__)
#define SHMEMX_N_or_reducescatter_nb(N) shmemx_##N##_or_reducescatter_nb
#define shmemx_or_reducescatter_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_or_reducescatter_nb, __VA_ARGS__)
#define SHMEMX_N_or_reducescatterv(N) shmemx_##N##_or_reducescatterv
#define shmemx_or_reducescatterv(...) SHMEM_TEAMED_(AND, SHMEMX_N_or_reducescatterv, __VA_ARGS__)
#define SHMEMX_N_or_reducescatterv_nb(N) shmemx_##N##_or_reducescatterv_nb
#define shmemx_or_reducescatterv_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_or_reducescatterv_nb, __VA_ARGS__)
#define SHMEMX_N_xor_reduce_nb(N) shmemx_##N##_xor_reduce_nb
#define shmemx_xor_reduce_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_xor_reduce_nb, __VA_ARGS__)
#define SHMEMX_N_xor_reducescatter(N) shmemx_##N##_xor_reducescatter
#define shmemx_xor_reducescatter(...) SHMEM_TEAMED_(AND, SHMEMX_N_xor_reducescatter, __VA_ARGS__)
#define SHMEMX_N_xor_reducescatter_nb(N) shmemx_##N##_xor_reducescatter_nb
#define shmemx_xor_reducescatter_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_xor_reducescatter_nb, __VA_ARGS__)
#define SHMEMX_N_xor_reducescatterv(N) shmemx_##N##_xor_reducescatterv
#define shmemx_xor_reducescatterv(...) SHMEM_TEAMED_(AND, SHMEMX_N_xor_reducescatterv, __VA_ARGS__)
#define SHMEMX_N_xor_reducescatterv_nb(N) shmemx_##N##_xor_reducescatterv_nb
#define shmemx_xor_reducescatterv_nb(...) SHMEM_TEAMED_(AND, SHMEMX_N_xor_reducescatterv_nb, __VA_ARGS__)
#define SHMEMX_N_max_reduce_nb(N) shmemx_##N##_max_reduce_nb
#define shmemx_max_reduce_nb(...) SHMEM_TEAMED_(MAX, SHMEMX_N_max_reduce_nb, __VA_ARGS__)
#define SHMEMX_N_max_reducescatter(N) shmemx_##N##_max_reducescatter
#define shmemx_max_reducescatter(...) SHMEM_TEAMED_(MAX, SHMEMX_N_max_reducescatter, __VA_ARGS__)
#define SHMEMX_N_max_reducescatter_nb(N) shmemx_##N##_max_reducescatter_nb
#define shmemx_max_reducescatter_nb(...) SHMEM_TEAMED_(MAX, SHMEMX_N_max_reducescatter_nb, __VA_ARGS__)
#define SHMEMX_N_max_reducescatterv(N) shmemx_##N##_max_reducescatterv
#define shmemx_max_reducescatterv(...) SHMEM_TEAMED_(MAX, SHMEMX_N_max_reducescatterv, __VA_ARGS__)
#define SHMEMX_N_max_reducescatterv_nb(N) shmemx_##N##_max_reducescatterv_nb
#define shmemx_max_reducescatterv_nb(...) SHMEM_TEAMED_(MAX, SHMEMX_N_max_reducescatterv_nb, __VA_ARGS__)
#define SHMEMX_N_min_reduce_nb(N) shmemx_##N##_min_reduce_nb
#define shmemx_min_reduce_nb(...) SHMEM_TEAMED_(MAX, SHMEMX_N_min_reduce_nb, __VA_ARGS__)
#define SHMEMX_N_min_reducescatter(N) shmemx_##N##_min_reducescatter
#define shmemx_min_reducescatter(...) SHMEM_TEAMED_(MAX, SHMEMX_N_min_reducescatter, __VA_ARGS__)
#define SHMEMX_N_min_reducescatter_nb(N) shmemx_##N##_min_reducescatter_nb
#define shmemx_min_reducescatter_nb(...) SHMEM_TEAMED_(MAX, SHMEMX_N_min_reducescatter_nb, __VA_ARGS__)
#define SHMEMX_N_min_reducescatterv(N) shmemx_##N##_min_reducescatterv
#define shmemx_min_reducescatterv(...) SHMEM_TEAMED_(MAX, SHMEMX_N_min_reducescatterv, __VA_ARGS__)
#define SHMEMX_N_min_reducescatterv_nb(N) shmemx_##N##_min_reducescatterv_nb
#define shmemx_min_reducescatterv_nb(...) SHMEM_TEAMED_(MAX, SHMEMX_N_min_reducescatterv_nb, __VA_ARGS__)
#define SHMEMX_N_sum_reduce_nb(N) shmemx_##N##_sum_reduce_nb
#define shmemx_sum_reduce_nb(...) SHMEM_TEAMED_(SUM, SHMEMX_N_sum_reduce_nb, __VA_ARGS__)
#define SHMEMX_N_sum_reducescatter(N) shmemx_##N##_sum_reducescatter
#define shmemx_sum_reducescatter(...) SHMEM_TEAMED_(SUM, SHMEMX_N_sum_reducescatter, __VA_ARGS__)
#define SHMEMX_N_sum_reducescatter_nb(N) shmemx_##N##_sum_reducescatter_nb
#define shmemx_sum_reducescatter_nb(...) SHMEM_TEAMED_(SUM, SHMEMX_N_sum_reducescatter_nb, __VA_ARGS__)
#define SHMEMX_N_sum_reducescatterv(N) shmemx_##N##_sum_reducescatterv
#define shmemx_sum_reducescatterv(...) SHMEM_TEAMED_(SUM, SHMEMX_N_sum_reducescatterv, __VA_ARGS__)
#define SHMEMX_N_sum_reducescatterv_nb(N) shmemx_##N##_sum_reducescatterv_nb
#define shmemx_sum_reducescatterv_nb(...) SHMEM_TEAMED_(SUM, SHMEMX_N_sum_reducescatterv_nb, __VA_ARGS__)
#define SHMEMX_N_prod_reduce_nb(N) shmemx_##N##_prod_reduce_nb
#define shmemx_prod_reduce_nb(...) SHMEM_TEAMED_(SUM, SHMEMX_N_prod_reduce_nb, __VA_ARGS__)
#define SHMEMX_N_prod_reducescatter(N) shmemx_##N##_prod_reducescatter
#define shmemx_prod_reducescatter(...) SHMEM_TEAMED_(SUM, SHMEMX_N_prod_reducescatter, __VA_ARGS__)
#define SHMEMX_N_prod_reducescatter_nb(N) shmemx_##N##_prod_reducescatter_nb
#define shmemx_prod_reducescatter_nb(...) SHMEM_TEAMED_(SUM, SHMEMX_N_prod_reducescatter_nb, __VA_ARGS__)
#define SHMEMX_N_prod_reducescatterv(N) shmemx_##N##_prod_reducescatterv
#define shmemx_prod_reducescatterv(...) SHMEM_TEAMED_(SUM, SHMEMX_N_prod_reducescatterv, __VA_ARGS__)
#define SHMEMX_N_prod_reducescatterv_nb(N) shmemx_##N##_prod_reducescatterv_nb
#define shmemx_prod_reducescatterv_nb(...) SHMEM_TEAMED_(SUM, SHMEMX_N_prod_reducescatterv_nb, __VA_ARGS__)
#define SHMEMX_N_sum_inscan_nb(N) shmemx_##N##_sum_inscan_nb
#define shmemx_sum_inscan_nb(...) SHMEM_TEAMED_(SUM, SHMEMX_N_sum_inscan_nb, __VA_ARGS__)
#define SHMEMX_N_sum_exscan_nb(N) shmemx_##N##_sum_exscan_nb
#define shmemx_sum_exscan_nb(...) SHMEM_TEAMED_(SUM, SHMEMX_N_sum_exscan_nb, __VA_ARGS__)

#define SHMEMX_LOC_ASSOC_(F, N, T) shmemx_##N##_loc_t * : F(N), const shmemx_##N##_loc_t * : F(N),
#define SHMEMX_LOC_SELECT_(F, ...)                                                                                   \
    _Generic((SHMEM_ARG2_(__VA_ARGS__, 0)), SHMEMX_LOC_TYPES(SHMEMX_LOC_ASSOC_, F) default : shmem_no_such_type_)(__VA_ARGS__)
#define SHMEMX_N_minloc_reduce(N) shmemx_##N##_minloc_reduce
#define shmemx_minloc_reduce(...) SHMEMX_LOC_SELECT_(SHMEMX_N_minloc_reduce, __VA_ARGS__)
#define SHMEMX_N_minloc_reduce_nb(N) shmemx_##N##_minloc_reduce_nb
#define shmemx_minloc_reduce_nb(...) SHMEMX_LOC_SELECT_(SHMEMX_N_minloc_reduce_nb, __VA_ARGS__)
#define SHMEMX_N_maxloc_reduce(N) shmemx_##N##_maxloc_reduce
#define shmemx_maxloc_reduce(...) SHMEMX_LOC_SELECT_(SHMEMX_N_maxloc_reduce, __VA_ARGS__)
#define SHMEMX_N_maxloc_reduce_nb(N) shmemx_##N##_maxloc_reduce_nb
#define shmemx_maxloc_reduce_nb(...) SHMEMX_LOC_SELECT_(SHMEMX_N_maxloc_reduce_nb, __VA_ARGS__)

#endif
#endif
