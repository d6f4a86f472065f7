/*
 * shmem_generic.h - the C11 type-generic forms of shmem.h, which includes it; one line per routine.
 *
 * The first argument selects the form with or without a context; the association list of a class of types is emitted from
 * shmem_table.h. An argument of another type selects shmem_no_such_type_, which the compiler's message then names.
 */
#ifndef SHMEM_GENERIC_H
#define SHMEM_GENERIC_H

void shmem_no_such_type_(void);

#define SHMEM_ARG1_(a, ...) a
#define SHMEM_ARG2_(a, b, ...) b

#define SHMEM_BOTH_(T, FUNC) T * : FUNC, const T * : FUNC,
#define SHMEM_ASSOC_RMA(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                     \
    SHMEM_IF_##GEN(SHMEM_IF_##RMA(SHMEM_BOTH_(T, F(N))))
#define SHMEM_ASSOC_AMO(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                     \
    SHMEM_IF_##GEN(SHMEM_IF_##AMO(SHMEM_BOTH_(T, F(N))))
#define SHMEM_ASSOC_EXT(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                     \
    SHMEM_IF_##GEN(SHMEM_IF_##EXT(SHMEM_BOTH_(T, F(N))))
#define SHMEM_ASSOC_WT(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                      \
    SHMEM_IF_##GEN(SHMEM_IF_##WT(SHMEM_BOTH_(T, F(N))))
#define SHMEM_ASSOC_MAX(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                     \
    SHMEM_IF_##GEN(SHMEM_IF_##MAX(SHMEM_BOTH_(T, F(N))))
#define SHMEM_ASSOC_SUM(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                     \
    SHMEM_IF_##GEN(SHMEM_IF_##SUM(SHMEM_BOTH_(T, F(N))))
/* The fixed-width signed types have no base type in these two classes: int and long stand for int32_t and int64_t. */
#define SHMEM_ASSOC_BIT(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                     \
    SHMEM_IF_##GEN(SHMEM_IF_##BIT(SHMEM_BOTH_(T, F(N))))
#define SHMEM_ASSOC_AND(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                     \
    SHMEM_IF_##GEN(SHMEM_IF_##AND(SHMEM_BOTH_(T, F(N))))
#define SHMEM_MORE_BIT(F) SHMEM_BOTH_(int32_t, F(int32)) SHMEM_BOTH_(int64_t, F(int64))
#define SHMEM_MORE_AND(F)                                                                                            \
    SHMEM_BOTH_(int8_t, F(int8)) SHMEM_BOTH_(int16_t, F(int16)) SHMEM_MORE_BIT(F)
#define SHMEM_MORE_RMA(F)
#define SHMEM_MORE_AMO(F)
#define SHMEM_MORE_EXT(F)
#define SHMEM_MORE_WT(F)
#define SHMEM_MORE_MAX(F)
#define SHMEM_MORE_SUM(F)

#define SHMEM_SELECT_(CLASS, F, sel)                                                                                 \
    _Generic((sel), SHMEM_TYPES(SHMEM_ASSOC_##CLASS, F) SHMEM_MORE_##CLASS(F) default : shmem_no_such_type_)
/* With a context as first argument, or without. */
#define SHMEM_CTX_OR_(CLASS, F, FC, ...)                                                                             \
    _Generic((SHMEM_ARG1_(__VA_ARGS__, 0)),                                                                          \
        shmem_ctx_t : SHMEM_SELECT_(CLASS, FC, SHMEM_ARG2_(__VA_ARGS__, 0, 0)),                                      \
        default : SHMEM_SELECT_(CLASS, F, SHMEM_ARG1_(__VA_ARGS__, 0)))(__VA_ARGS__)
#define SHMEM_PLAIN_(CLASS, F, ...) SHMEM_SELECT_(CLASS, F, SHMEM_ARG1_(__VA_ARGS__, 0))(__VA_ARGS__)
#define SHMEM_TEAMED_(CLASS, F, ...) SHMEM_SELECT_(CLASS, F, SHMEM_ARG2_(__VA_ARGS__, 0))(__VA_ARGS__)

#define SHMEM_N_p(N) shmem_##N##_p
#define SHMEM_NC_p(N) shmem_ctx_##N##_p
#define shmem_p(...) SHMEM_CTX_OR_(RMA, SHMEM_N_p, SHMEM_NC_p, __VA_ARGS__)
#define SHMEM_N_g(N) shmem_##N##_g
#define SHMEM_NC_g(N) shmem_ctx_##N##_g
#define shmem_g(...) SHMEM_CTX_OR_(RMA, SHMEM_N_g, SHMEM_NC_g, __VA_ARGS__)
#define SHMEM_N_put(N) shmem_##N##_put
#define SHMEM_NC_put(N) shmem_ctx_##N##_put
#define shmem_put(...) SHMEM_CTX_OR_(RMA, SHMEM_N_put, SHMEM_NC_put, __VA_ARGS__)
#define SHMEM_N_get(N) shmem_##N##_get
#define SHMEM_NC_get(N) shmem_ctx_##N##_get
#define shmem_get(...) SHMEM_CTX_OR_(RMA, SHMEM_N_get, SHMEM_NC_get, __VA_ARGS__)
#define SHMEM_N_put_nbi(N) shmem_##N##_put_nbi
#define SHMEM_NC_put_nbi(N) shmem_ctx_##N##_put_nbi
#define shmem_put_nbi(...) SHMEM_CTX_OR_(RMA, SHMEM_N_put_nbi, SHMEM_NC_put_nbi, __VA_ARGS__)
#define SHMEM_N_get_nbi(N) shmem_##N##_get_nbi
#define SHMEM_NC_get_nbi(N) shmem_ctx_##N##_get_nbi
#define shmem_get_nbi(...) SHMEM_CTX_OR_(RMA, SHMEM_N_get_nbi, SHMEM_NC_get_nbi, __VA_ARGS__)
#define SHMEM_N_iput(N) shmem_##N##_iput
#define SHMEM_NC_iput(N) shmem_ctx_##N##_iput
#define shmem_iput(...) SHMEM_CTX_OR_(RMA, SHMEM_N_iput, SHMEM_NC_iput, __VA_ARGS__)
#define SHMEM_N_iget(N) shmem_##N##_iget
#define SHMEM_NC_iget(N) shmem_ctx_##N##_iget
#define shmem_iget(...) SHMEM_CTX_OR_(RMA, SHMEM_N_iget, SHMEM_NC_iget, __VA_ARGS__)
#define SHMEM_N_ibput(N) shmem_##N##_ibput
#define SHMEM_NC_ibput(N) shmem_ctx_##N##_ibput
#define shmem_ibput(...) SHMEM_CTX_OR_(RMA, SHMEM_N_ibput, SHMEM_NC_ibput, __VA_ARGS__)
#define SHMEM_N_ibget(N) shmem_##N##_ibget
#define SHMEM_NC_ibget(N) shmem_ctx_##N##_ibget
#define shmem_ibget(...) SHMEM_CTX_OR_(RMA, SHMEM_N_ibget, SHMEM_NC_ibget, __VA_ARGS__)
#define SHMEM_N_put_signal(N) shmem_##N##_put_signal
#define SHMEM_NC_put_signal(N) shmem_ctx_##N##_put_signal
#define shmem_put_signal(...) SHMEM_CTX_OR_(RMA, SHMEM_N_put_signal, SHMEM_NC_put_signal, __VA_ARGS__)
#define SHMEM_N_put_signal_nbi(N) shmem_##N##_put_signal_nbi
#define SHMEM_NC_put_signal_nbi(N) shmem_ctx_##N##_put_signal_nbi
#define shmem_put_signal_nbi(...) SHMEM_CTX_OR_(RMA, SHMEM_N_put_signal_nbi, SHMEM_NC_put_signal_nbi, __VA_ARGS__)
#define SHMEM_N_atomic_inc(N) shmem_##N##_atomic_inc
#define SHMEM_NC_atomic_inc(N) shmem_ctx_##N##_atomic_inc
#define shmem_atomic_inc(...) SHMEM_CTX_OR_(AMO, SHMEM_N_atomic_inc, SHMEM_NC_atomic_inc, __VA_ARGS__)
#define SHMEM_N_atomic_add(N) shmem_##N##_atomic_add
#define SHMEM_NC_atomic_add(N) shmem_ctx_##N##_atomic_add
#define shmem_atomic_add(...) SHMEM_CTX_OR_(AMO, SHMEM_N_atomic_add, SHMEM_NC_atomic_add, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_inc(N) shmem_##N##_atomic_fetch_inc
#define SHMEM_NC_atomic_fetch_inc(N) shmem_ctx_##N##_atomic_fetch_inc
#define shmem_atomic_fetch_inc(...) SHMEM_CTX_OR_(AMO, SHMEM_N_atomic_fetch_inc, SHMEM_NC_atomic_fetch_inc, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_add(N) shmem_##N##_atomic_fetch_add
#define SHMEM_NC_atomic_fetch_add(N) shmem_ctx_##N##_atomic_fetch_add
#define shmem_atomic_fetch_add(...) SHMEM_CTX_OR_(AMO, SHMEM_N_atomic_fetch_add, SHMEM_NC_atomic_fetch_add, __VA_ARGS__)
#define SHMEM_N_atomic_compare_swap(N) shmem_##N##_atomic_compare_swap
#define SHMEM_NC_atomic_compare_swap(N) shmem_ctx_##N##_atomic_compare_swap
#define shmem_atomic_compare_swap(...) SHMEM_CTX_OR_(AMO, SHMEM_N_atomic_compare_swap, SHMEM_NC_atomic_compare_swap, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_inc_nbi(N) shmem_##N##_atomic_fetch_inc_nbi
#define SHMEM_NC_atomic_fetch_inc_nbi(N) shmem_ctx_##N##_atomic_fetch_inc_nbi
#define shmem_atomic_fetch_inc_nbi(...) SHMEM_CTX_OR_(AMO, SHMEM_N_atomic_fetch_inc_nbi, SHMEM_NC_atomic_fetch_inc_nbi, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_add_nbi(N) shmem_##N##_atomic_fetch_add_nbi
#define SHMEM_NC_atomic_fetch_add_nbi(N) shmem_ctx_##N##_atomic_fetch_add_nbi
#define shmem_atomic_fetch_add_nbi(...) SHMEM_CTX_OR_(AMO, SHMEM_N_atomic_fetch_add_nbi, SHMEM_NC_atomic_fetch_add_nbi, __VA_ARGS__)
#define SHMEM_N_atomic_compare_swap_nbi(N) shmem_##N##_atomic_compare_swap_nbi
#define SHMEM_NC_atomic_compare_swap_nbi(N) shmem_ctx_##N##_atomic_compare_swap_nbi
#define shmem_atomic_compare_swap_nbi(...) SHMEM_CTX_OR_(AMO, SHMEM_N_atomic_compare_swap_nbi, SHMEM_NC_atomic_compare_swap_nbi, __VA_ARGS__)
#define SHMEM_N_atomic_fetch(N) shmem_##N##_atomic_fetch
#define SHMEM_NC_atomic_fetch(N) shmem_ctx_##N##_atomic_fetch
#define shmem_atomic_fetch(...) SHMEM_CTX_OR_(EXT, SHMEM_N_atomic_fetch, SHMEM_NC_atomic_fetch, __VA_ARGS__)
#define SHMEM_N_atomic_set(N) shmem_##N##_atomic_set
#define SHMEM_NC_atomic_set(N) shmem_ctx_##N##_atomic_set
#define shmem_atomic_set(...) SHMEM_CTX_OR_(EXT, SHMEM_N_atomic_set, SHMEM_NC_atomic_set, __VA_ARGS__)
#define SHMEM_N_atomic_swap(N) shmem_##N##_atomic_swap
#define SHMEM_NC_atomic_swap(N) shmem_ctx_##N##_atomic_swap
#define shmem_atomic_swap(...) SHMEM_CTX_OR_(EXT, SHMEM_N_atomic_swap, SHMEM_NC_atomic_swap, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_nbi(N) shmem_##N##_atomic_fetch_nbi
#define SHMEM_NC_atomic_fetch_nbi(N) shmem_ctx_##N##_atomic_fetch_nbi
#define shmem_atomic_fetch_nbi(...) SHMEM_CTX_OR_(EXT, SHMEM_N_atomic_fetch_nbi, SHMEM_NC_atomic_fetch_nbi, __VA_ARGS__)
#define SHMEM_N_atomic_swap_nbi(N) shmem_##N##_atomic_swap_nbi
#define SHMEM_NC_atomic_swap_nbi(N) shmem_ctx_##N##_atomic_swap_nbi
#define shmem_atomic_swap_nbi(...) SHMEM_CTX_OR_(EXT, SHMEM_N_atomic_swap_nbi, SHMEM_NC_atomic_swap_nbi, __VA_ARGS__)
#define SHMEM_N_atomic_and(N) shmem_##N##_atomic_and
#define SHMEM_NC_atomic_and(N) shmem_ctx_##N##_atomic_and
#define shmem_atomic_and(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_and, SHMEM_NC_atomic_and, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_and(N) shmem_##N##_atomic_fetch_and
#define SHMEM_NC_atomic_fetch_and(N) shmem_ctx_##N##_atomic_fetch_and
#define shmem_atomic_fetch_and(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_fetch_and, SHMEM_NC_atomic_fetch_and, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_and_nbi(N) shmem_##N##_atomic_fetch_and_nbi
#define SHMEM_NC_atomic_fetch_and_nbi(N) shmem_ctx_##N##_atomic_fetch_and_nbi
#define shmem_atomic_fetch_and_nbi(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_fetch_and_nbi, SHMEM_NC_atomic_fetch_and_nbi, __VA_ARGS__)
#define SHMEM_N_atomic_or(N) shmem_##N##_atomic_or
#define SHMEM_NC_atomic_or(N) shmem_ctx_##N##_atomic_or
#define shmem_atomic_or(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_or, SHMEM_NC_atomic_or, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_or(N) shmem_##N##_atomic_fetch_or
#define SHMEM_NC_atomic_fetch_or(N) shmem_ctx_##N##_atomic_fetch_or
#define shmem_atomic_fetch_or(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_fetch_or, SHMEM_NC_atomic_fetch_or, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_or_nbi(N) shmem_##N##_atomic_fetch_or_nbi
#define SHMEM_NC_atomic_fetch_or_nbi(N) shmem_ctx_##N##_atomic_fetch_or_nbi
#define shmem_atomic_fetch_or_nbi(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_fetch_or_nbi, SHMEM_NC_atomic_fetch_or_nbi, __VA_ARGS__)
#define SHMEM_N_atomic_xor(N) shmem_##N##_atomic_xor
#define SHMEM_NC_atomic_xor(N) shmem_ctx_##N##_atomic_xor
#define shmem_atomic_xor(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_xor, SHMEM_NC_atomic_xor, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_xor(N) shmem_##N##_atomic_fetch_xor
#define SHMEM_NC_atomic_fetch_xor(N) shmem_ctx_##N##_atomic_fetch_xor
#define shmem_atomic_fetch_xor(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_fetch_xor, SHMEM_NC_atomic_fetch_xor, __VA_ARGS__)
#define SHMEM_N_atomic_fetch_xor_nbi(N) shmem_##N##_atomic_fetch_xor_nbi
#define SHMEM_NC_atomic_fetch_xor_nbi(N) shmem_ctx_##N##_atomic_fetch_xor_nbi
#define shmem_atomic_fetch_xor_nbi(...) SHMEM_CTX_OR_(BIT, SHMEM_N_atomic_fetch_xor_nbi, SHMEM_NC_atomic_fetch_xor_nbi, __VA_ARGS__)
#define SHMEM_N_wait_until(N) shmem_##N##_wait_until
#define shmem_wait_until(...) SHMEM_PLAIN_(WT, SHMEM_N_wait_until, __VA_ARGS__)
#define SHMEM_N_test(N) shmem_##N##_test
#define shmem_test(...) SHMEM_PLAIN_(WT, SHMEM_N_test, __VA_ARGS__)
#define SHMEM_N_wait_until_all(N) shmem_##N##_wait_until_all
#define shmem_wait_until_all(...) SHMEM_PLAIN_(WT, SHMEM_N_wait_until_all, __VA_ARGS__)
#define SHMEM_N_wait_until_all_vector(N) shmem_##N##_wait_until_all_vector
#define shmem_wait_until_all_vector(...) SHMEM_PLAIN_(WT, SHMEM_N_wait_until_all_vector, __VA_ARGS__)
#define SHMEM_N_wait_until_any(N) shmem_##N##_wait_until_any
#define shmem_wait_until_any(...) SHMEM_PLAIN_(WT, SHMEM_N_wait_until_any, __VA_ARGS__)
#define SHMEM_N_wait_until_any_vector(N) shmem_##N##_wait_until_any_vector
#define shmem_wait_until_any_vector(...) SHMEM_PLAIN_(WT, SHMEM_N_wait_until_any_vector, __VA_ARGS__)
#define SHMEM_N_wait_until_some(N) shmem_##N##_wait_until_some
#define shmem_wait_until_some(...) SHMEM_PLAIN_(WT, SHMEM_N_wait_until_some, __VA_ARGS__)
#define SHMEM_N_wait_until_some_vector(N) shmem_##N##_wait_until_some_vector
#define shmem_wait_until_some_vector(...) SHMEM_PLAIN_(WT, SHMEM_N_wait_until_some_vector, __VA_ARGS__)
#define SHMEM_N_test_all(N) shmem_##N##_test_all
#define shmem_test_all(...) SHMEM_PLAIN_(WT, SHMEM_N_test_all, __VA_ARGS__)
#define SHMEM_N_test_all_vector(N) shmem_##N##_test_all_vector
#define shmem_test_all_vector(...) SHMEM_PLAIN_(WT, SHMEM_N_test_all_vector, __VA_ARGS__)
#define SHMEM_N_test_any(N) shmem_##N##_test_any
#define shmem_test_any(...) SHMEM_PLAIN_(WT, SHMEM_N_test_any, __VA_ARGS__)
#define SHMEM_N_test_any_vector(N) shmem_##N##_test_any_vector
#define shmem_test_any_vector(...) SHMEM_PLAIN_(WT, SHMEM_N_test_any_vector, __VA_ARGS__)
#define SHMEM_N_test_some(N) shmem_##N##_test_some
#define shmem_test_some(...) SHMEM_PLAIN_(WT, SHMEM_N_test_some, __VA_ARGS__)
#define SHMEM_N_test_some_vector(N) shmem_##N##_test_some_vector
#define shmem_test_some_vector(...) SHMEM_PLAIN_(WT, SHMEM_N_test_some_vector, __VA_ARGS__)
#define SHMEM_N_broadcast(N) shmem_##N##_broadcast
#define shmem_broadcast(...) SHMEM_TEAMED_(RMA, SHMEM_N_broadcast, __VA_ARGS__)
#define SHMEM_N_collect(N) shmem_##N##_collect
#define shmem_collect(...) SHMEM_TEAMED_(RMA, SHMEM_N_collect, __VA_ARGS__)
#define SHMEM_N_fcollect(N) shmem_##N##_fcollect
#define shmem_fcollect(...) SHMEM_TEAMED_(RMA, SHMEM_N_fcollect, __VA_ARGS__)
#define SHMEM_N_alltoall(N) shmem_##N##_alltoall
#define shmem_alltoall(...) SHMEM_TEAMED_(RMA, SHMEM_N_alltoall, __VA_ARGS__)
#define SHMEM_N_alltoalls(N) shmem_##N##_alltoalls
#define shmem_alltoalls(...) SHMEM_TEAMED_(RMA, SHMEM_N_alltoalls, __VA_ARGS__)
#define SHMEM_N_and_reduce(N) shmem_##N##_and_reduce
#define shmem_and_reduce(...) SHMEM_TEAMED_(AND, SHMEM_N_and_reduce, __VA_ARGS__)
#define SHMEM_N_or_reduce(N) shmem_##N##_or_reduce
#define shmem_or_reduce(...) SHMEM_TEAMED_(AND, SHMEM_N_or_reduce, __VA_ARGS__)
#define SHMEM_N_xor_reduce(N) shmem_##N##_xor_reduce
#define shmem_xor_reduce(...) SHMEM_TEAMED_(AND, SHMEM_N_xor_reduce, __VA_ARGS__)
#define SHMEM_N_max_reduce(N) shmem_##N##_max_reduce
#define shmem_max_reduce(...) SHMEM_TEAMED_(MAX, SHMEM_N_max_reduce, __VA_ARGS__)
#define SHMEM_N_min_reduce(N) shmem_##N##_min_reduce
#define shmem_min_reduce(...) SHMEM_TEAMED_(MAX, SHMEM_N_min_reduce, __VA_ARGS__)
#define SHMEM_N_sum_reduce(N) shmem_##N##_sum_reduce
#define shmem_sum_reduce(...) SHMEM_TEAMED_(SUM, SHMEM_N_sum_reduce, __VA_ARGS__)
#define SHMEM_N_prod_reduce(N) shmem_##N##_prod_reduce
#define shmem_prod_reduce(...) SHMEM_TEAMED_(SUM, SHMEM_N_prod_reduce, __VA_ARGS__)
#define SHMEM_N_sum_inscan(N) shmem_##N##_sum_inscan
#define shmem_sum_inscan(...) SHMEM_TEAMED_(SUM, SHMEM_N_sum_inscan, __VA_ARGS__)
#define SHMEM_N_sum_exscan(N) shmem_##N##_sum_exscan
#define shmem_sum_exscan(...) SHMEM_TEAMED_(SUM, SHMEM_N_sum_exscan, __VA_ARGS__)
#define SHMEM_N_inc(N) shmem_##N##_inc
#define shmem_inc(...) SHMEM_PLAIN_(AMO, SHMEM_N_inc, __VA_ARGS__)
#define SHMEM_N_add(N) shmem_##N##_add
#define shmem_add(...) SHMEM_PLAIN_(AMO, SHMEM_N_add, __VA_ARGS__)
#define SHMEM_N_finc(N) shmem_##N##_finc
#define shmem_finc(...) SHMEM_PLAIN_(AMO, SHMEM_N_finc, __VA_ARGS__)
#define SHMEM_N_fadd(N) shmem_##N##_fadd
#define shmem_fadd(...) SHMEM_PLAIN_(AMO, SHMEM_N_fadd, __VA_ARGS__)
#define SHMEM_N_cswap(N) shmem_##N##_cswap
#define shmem_cswap(...) SHMEM_PLAIN_(AMO, SHMEM_N_cswap, __VA_ARGS__)
#define SHMEM_N_fetch(N) shmem_##N##_fetch
#define shmem_fetch(...) SHMEM_PLAIN_(EXT, SHMEM_N_fetch, __VA_ARGS__)
#define SHMEM_N_set(N) shmem_##N##_set
#define shmem_set(...) SHMEM_PLAIN_(EXT, SHMEM_N_set, __VA_ARGS__)
#define SHMEM_N_swap(N) shmem_##N##_swap
#define shmem_swap(...) SHMEM_PLAIN_(EXT, SHMEM_N_swap, __VA_ARGS__)

#define shmem_signal_add(...)                                                                                        \
    _Generic((SHMEM_ARG1_(__VA_ARGS__, 0)), shmem_ctx_t : shmem_ctx_signal_add, default : shmem_signal_add)(__VA_ARGS__)
#define shmem_signal_set(...)                                                                                        \
    _Generic((SHMEM_ARG1_(__VA_ARGS__, 0)), shmem_ctx_t : shmem_ctx_signal_set, default : shmem_signal_set)(__VA_ARGS__)
#define shmem_sync(...)                                                                                              \
    _Generic((SHMEM_ARG1_(__VA_ARGS__, 0)), shmem_team_t : shmem_team_sync, default : shmem_sync)(__VA_ARGS__)

#endif
