/*
 * ishmem_generic.h - Intel SHMEM's templates as C11 generic forms; ishmem.h includes it. One line per routine.
 */
#if !defined(ISHMEM_GENERIC_H) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define ISHMEM_GENERIC_H

#include "shmem.h"

#define ishmem_p shmem_p
#define ishmem_g shmem_g
#define ishmem_put shmem_put
#define ishmem_get shmem_get
#define ishmem_put_nbi shmem_put_nbi
#define ishmem_get_nbi shmem_get_nbi
#define ishmem_iput shmem_iput
#define ishmem_iget shmem_iget
#define ishmem_put_signal shmem_put_signal
#define ishmem_put_signal_nbi shmem_put_signal_nbi
#define ishmem_atomic_inc shmem_atomic_inc
#define ishmem_atomic_add shmem_atomic_add
#define ishmem_atomic_fetch_inc shmem_atomic_fetch_inc
#define ishmem_atomic_fetch_add shmem_atomic_fetch_add
#define ishmem_atomic_compare_swap shmem_atomic_compare_swap
#define ishmem_atomic_fetch_inc_nbi shmem_atomic_fetch_inc_nbi
#define ishmem_atomic_fetch_add_nbi shmem_atomic_fetch_add_nbi
#define ishmem_atomic_compare_swap_nbi shmem_atomic_compare_swap_nbi
#define ishmem_atomic_fetch shmem_atomic_fetch
#define ishmem_atomic_set shmem_atomic_set
#define ishmem_atomic_swap shmem_atomic_swap
#define ishmem_atomic_fetch_nbi shmem_atomic_fetch_nbi
#define ishmem_atomic_swap_nbi shmem_atomic_swap_nbi
#define ishmem_atomic_and shmem_atomic_and
#define ishmem_atomic_fetch_and shmem_atomic_fetch_and
#define ishmem_atomic_fetch_and_nbi shmem_atomic_fetch_and_nbi
#define ishmem_atomic_or shmem_atomic_or
#define ishmem_atomic_fetch_or shmem_atomic_fetch_or
#define ishmem_atomic_fetch_or_nbi shmem_atomic_fetch_or_nbi
#define ishmem_atomic_xor shmem_atomic_xor
#define ishmem_atomic_fetch_xor shmem_atomic_fetch_xor
#define ishmem_atomic_fetch_xor_nbi shmem_atomic_fetch_xor_nbi
#define ishmem_wait_until shmem_wait_until
#define ishmem_wait_until_all shmem_wait_until_all
#define ishmem_wait_until_any shmem_wait_until_any
#define ishmem_wait_until_some shmem_wait_until_some
#define ishmem_wait_until_all_vector shmem_wait_until_all_vector
#define ishmem_wait_until_any_vector shmem_wait_until_any_vector
#define ishmem_wait_until_some_vector shmem_wait_until_some_vector
#define ishmem_test shmem_test
#define ishmem_test_all shmem_test_all
#define ishmem_test_any shmem_test_any
#define ishmem_test_some shmem_test_some
#define ishmem_test_all_vector shmem_test_all_vector
#define ishmem_test_any_vector shmem_test_any_vector
#define ishmem_test_some_vector shmem_test_some_vector

/* With a team as first argument, or over all PEs. */
#define ISHMEM_TEAM_OR_(CLASS, F, FT, ...)                                                                            \
    _Generic((SHMEM_ARG1_(__VA_ARGS__, 0)),                                                                           \
        shmem_team_t : SHMEM_SELECT_(CLASS, FT, SHMEM_ARG2_(__VA_ARGS__, 0, 0)),                                      \
        default : SHMEM_SELECT_(CLASS, F, SHMEM_ARG1_(__VA_ARGS__, 0)))(__VA_ARGS__)
#define ISHMEM_N_broadcast(N) ishmem_##N##_broadcast
#define ishmem_broadcast(...) ISHMEM_TEAM_OR_(RMA, ISHMEM_N_broadcast, SHMEM_N_broadcast, __VA_ARGS__)
#define ISHMEM_N_collect(N) ishmem_##N##_collect
#define ishmem_collect(...) ISHMEM_TEAM_OR_(RMA, ISHMEM_N_collect, SHMEM_N_collect, __VA_ARGS__)
#define ISHMEM_N_fcollect(N) ishmem_##N##_fcollect
#define ishmem_fcollect(...) ISHMEM_TEAM_OR_(RMA, ISHMEM_N_fcollect, SHMEM_N_fcollect, __VA_ARGS__)
#define ISHMEM_N_alltoall(N) ishmem_##N##_alltoall
#define ishmem_alltoall(...) ISHMEM_TEAM_OR_(RMA, ISHMEM_N_alltoall, SHMEM_N_alltoall, __VA_ARGS__)
#define ISHMEM_N_and_reduce(N) ishmem_##N##_and_reduce
#define ishmem_and_reduce(...) ISHMEM_TEAM_OR_(AND, ISHMEM_N_and_reduce, SHMEM_N_and_reduce, __VA_ARGS__)
#define ISHMEM_N_or_reduce(N) ishmem_##N##_or_reduce
#define ishmem_or_reduce(...) ISHMEM_TEAM_OR_(AND, ISHMEM_N_or_reduce, SHMEM_N_or_reduce, __VA_ARGS__)
#define ISHMEM_N_xor_reduce(N) ishmem_##N##_xor_reduce
#define ishmem_xor_reduce(...) ISHMEM_TEAM_OR_(AND, ISHMEM_N_xor_reduce, SHMEM_N_xor_reduce, __VA_ARGS__)
#define ISHMEM_N_max_reduce(N) ishmem_##N##_max_reduce
#define ishmem_max_reduce(...) ISHMEM_TEAM_OR_(MAX, ISHMEM_N_max_reduce, SHMEM_N_max_reduce, __VA_ARGS__)
#define ISHMEM_N_min_reduce(N) ishmem_##N##_min_reduce
#define ishmem_min_reduce(...) ISHMEM_TEAM_OR_(MAX, ISHMEM_N_min_reduce, SHMEM_N_min_reduce, __VA_ARGS__)
#define ISHMEM_N_sum_reduce(N) ishmem_##N##_sum_reduce
#define ishmem_sum_reduce(...) ISHMEM_TEAM_OR_(SUM, ISHMEM_N_sum_reduce, SHMEM_N_sum_reduce, __VA_ARGS__)
#define ISHMEM_N_prod_reduce(N) ishmem_##N##_prod_reduce
#define ishmem_prod_reduce(...) ISHMEM_TEAM_OR_(SUM, ISHMEM_N_prod_reduce, SHMEM_N_prod_reduce, __VA_ARGS__)
#define ISHMEM_N_sum_inscan(N) ishmem_##N##_sum_inscan
#define ishmem_sum_inscan(...) ISHMEM_TEAM_OR_(SUM, ISHMEM_N_sum_inscan, SHMEM_N_sum_inscan, __VA_ARGS__)
#define ISHMEM_N_sum_exscan(N) ishmem_##N##_sum_exscan
#define ishmem_sum_exscan(...) ISHMEM_TEAM_OR_(SUM, ISHMEM_N_sum_exscan, SHMEM_N_sum_exscan, __VA_ARGS__)

#endif
