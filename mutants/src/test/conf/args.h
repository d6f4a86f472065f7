/*
 * args.h - the arguments of every typed and sized routine, by the parameter names of shmem_table.h, so that a macro
 * can call each routine of the table: shmem_##N##NAME(ARGS##NAME). A new routine of the table fails to compile here.
 */
#ifndef ARGS_H
#define ARGS_H

/* Expands to `result =` before a routine that returns a value. */
#define RESULT(NAME) RESULT_1(RETURNS##NAME, , )
#define RESULT_1(...) RESULT_2(__VA_ARGS__)
#define RESULT_2(a, b, ...) b
#define RETURNS_g ~, result =
#define RETURNS_atomic_fetch_inc RETURNS_g
#define RETURNS_atomic_fetch_add RETURNS_g
#define RETURNS_atomic_compare_swap RETURNS_g
#define RETURNS_atomic_fetch RETURNS_g
#define RETURNS_atomic_swap RETURNS_g
#define RETURNS_atomic_fetch_and RETURNS_g
#define RETURNS_atomic_fetch_or RETURNS_g
#define RETURNS_atomic_fetch_xor RETURNS_g
#define RETURNS_finc RETURNS_g
#define RETURNS_fadd RETURNS_g
#define RETURNS_cswap RETURNS_g
#define RETURNS_fetch RETURNS_g
#define RETURNS_swap RETURNS_g
#define RETURNS_test RETURNS_g
#define RETURNS_test_all RETURNS_g
#define RETURNS_test_any RETURNS_g
#define RETURNS_test_some RETURNS_g
#define RETURNS_test_all_vector RETURNS_g
#define RETURNS_test_any_vector RETURNS_g
#define RETURNS_test_some_vector RETURNS_g
#define RETURNS_wait_until_any RETURNS_g
#define RETURNS_wait_until_some RETURNS_g
#define RETURNS_wait_until_any_vector RETURNS_g
#define RETURNS_wait_until_some_vector RETURNS_g

#define ARGS_p dest, value, pe
#define ARGS_g source, pe
#define ARGS_put dest, source, nelems, pe
#define ARGS_get ARGS_put
#define ARGS_put_nbi ARGS_put
#define ARGS_get_nbi ARGS_put
#define ARGS_iput dest, source, dst, sst, nelems, pe
#define ARGS_iget ARGS_iput
#define ARGS_ibput dest, source, dst, sst, bsize, nblocks, pe
#define ARGS_ibget ARGS_ibput
#define ARGS_put_signal dest, source, nelems, sig_addr, signal, sig_op, pe
#define ARGS_put_signal_nbi ARGS_put_signal

#define ARGS_atomic_inc dest, pe
#define ARGS_atomic_add dest, value, pe
#define ARGS_atomic_fetch_inc dest, pe
#define ARGS_atomic_fetch_add dest, value, pe
#define ARGS_atomic_compare_swap dest, cond, value, pe
#define ARGS_atomic_fetch_inc_nbi fetch, dest, pe
#define ARGS_atomic_fetch_add_nbi fetch, dest, value, pe
#define ARGS_atomic_compare_swap_nbi fetch, dest, cond, value, pe
#define ARGS_atomic_fetch source, pe
#define ARGS_atomic_set dest, value, pe
#define ARGS_atomic_swap dest, value, pe
#define ARGS_atomic_fetch_nbi fetch, source, pe
#define ARGS_atomic_swap_nbi fetch, dest, value, pe
#define ARGS_atomic_and dest, value, pe
#define ARGS_atomic_or dest, value, pe
#define ARGS_atomic_xor dest, value, pe
#define ARGS_atomic_fetch_and dest, value, pe
#define ARGS_atomic_fetch_or dest, value, pe
#define ARGS_atomic_fetch_xor dest, value, pe
#define ARGS_atomic_fetch_and_nbi fetch, dest, value, pe
#define ARGS_atomic_fetch_or_nbi fetch, dest, value, pe
#define ARGS_atomic_fetch_xor_nbi fetch, dest, value, pe
#define ARGS_inc dest, pe
#define ARGS_add dest, value, pe
#define ARGS_finc dest, pe
#define ARGS_fadd dest, value, pe
#define ARGS_cswap dest, cond, value, pe
#define ARGS_fetch source, pe
#define ARGS_set dest, value, pe
#define ARGS_swap dest, value, pe

#define ARGS_wait_until ivar, cmp, cmp_value
#define ARGS_test ARGS_wait_until
#define ARGS_wait_until_all ivars, nelems, status, cmp, cmp_value
#define ARGS_wait_until_any ARGS_wait_until_all
#define ARGS_wait_until_some ivars, nelems, indices, status, cmp, cmp_value
#define ARGS_wait_until_all_vector ivars, nelems, status, cmp, cmp_values
#define ARGS_wait_until_any_vector ARGS_wait_until_all_vector
#define ARGS_wait_until_some_vector ivars, nelems, indices, status, cmp, cmp_values
#define ARGS_test_all ARGS_wait_until_all
#define ARGS_test_any ARGS_wait_until_all
#define ARGS_test_some ARGS_wait_until_some
#define ARGS_test_all_vector ARGS_wait_until_all_vector
#define ARGS_test_any_vector ARGS_wait_until_all_vector
#define ARGS_test_some_vector ARGS_wait_until_some_vector

#define ARGS_broadcast team, dest, source, nelems, PE_root
#define ARGS_collect team, dest, source, nelems
#define ARGS_fcollect ARGS_collect
#define ARGS_alltoall ARGS_collect
#define ARGS_alltoalls team, dest, source, dst, sst, nelems
#define ARGS_and_reduce ARGS_collect
#define ARGS_or_reduce ARGS_collect
#define ARGS_xor_reduce ARGS_collect
#define ARGS_max_reduce ARGS_collect
#define ARGS_min_reduce ARGS_collect
#define ARGS_sum_reduce ARGS_collect
#define ARGS_prod_reduce ARGS_collect
#define ARGS_sum_inscan ARGS_collect
#define ARGS_sum_exscan ARGS_collect

#endif
