/* ishmem_sycl_args.h - the arguments of Intel SHMEM's routines by their names in shmem_table.h, without a team. ishmem_sycl.h includes it. */
#ifndef ISHMEM_SYCL_ARGS_H
#define ISHMEM_SYCL_ARGS_H

#define ISHMEM_ARGS_p dest, value, pe
#define ISHMEM_ARGS_g source, pe
#define ISHMEM_ARGS_put dest, source, nelems, pe
#define ISHMEM_ARGS_get ISHMEM_ARGS_put
#define ISHMEM_ARGS_put_nbi ISHMEM_ARGS_put
#define ISHMEM_ARGS_get_nbi ISHMEM_ARGS_put
#define ISHMEM_ARGS_iput dest, source, dst, sst, nelems, pe
#define ISHMEM_ARGS_iget ISHMEM_ARGS_iput
#define ISHMEM_ARGS_ibput dest, source, dst, sst, bsize, nblocks, pe
#define ISHMEM_ARGS_ibget ISHMEM_ARGS_ibput
#define ISHMEM_ARGS_put_signal dest, source, nelems, sig_addr, signal, sig_op, pe
#define ISHMEM_ARGS_put_signal_nbi ISHMEM_ARGS_put_signal

#define ISHMEM_ARGS_atomic_inc dest, pe
#define ISHMEM_ARGS_atomic_fetch_inc dest, pe
#define ISHMEM_ARGS_atomic_add dest, value, pe
#define ISHMEM_ARGS_atomic_set ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_and ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_or ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_xor ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_swap ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_fetch_add ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_fetch_and ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_fetch_or ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_fetch_xor ISHMEM_ARGS_atomic_add
#define ISHMEM_ARGS_atomic_fetch source, pe
#define ISHMEM_ARGS_atomic_compare_swap dest, cond, value, pe
#define ISHMEM_ARGS_atomic_fetch_nbi fetch, source, pe
#define ISHMEM_ARGS_atomic_fetch_inc_nbi fetch, dest, pe
#define ISHMEM_ARGS_atomic_fetch_add_nbi fetch, dest, value, pe
#define ISHMEM_ARGS_atomic_fetch_and_nbi ISHMEM_ARGS_atomic_fetch_add_nbi
#define ISHMEM_ARGS_atomic_fetch_or_nbi ISHMEM_ARGS_atomic_fetch_add_nbi
#define ISHMEM_ARGS_atomic_fetch_xor_nbi ISHMEM_ARGS_atomic_fetch_add_nbi
#define ISHMEM_ARGS_atomic_swap_nbi ISHMEM_ARGS_atomic_fetch_add_nbi
#define ISHMEM_ARGS_atomic_compare_swap_nbi fetch, dest, cond, value, pe

#define ISHMEM_ARGS_wait_until ivar, cmp, cmp_value
#define ISHMEM_ARGS_test ISHMEM_ARGS_wait_until
#define ISHMEM_ARGS_wait_until_all ivars, nelems, status, cmp, cmp_value
#define ISHMEM_ARGS_wait_until_any ISHMEM_ARGS_wait_until_all
#define ISHMEM_ARGS_test_all ISHMEM_ARGS_wait_until_all
#define ISHMEM_ARGS_test_any ISHMEM_ARGS_wait_until_all
#define ISHMEM_ARGS_wait_until_some ivars, nelems, indices, status, cmp, cmp_value
#define ISHMEM_ARGS_test_some ISHMEM_ARGS_wait_until_some
#define ISHMEM_ARGS_wait_until_all_vector ivars, nelems, status, cmp, cmp_values
#define ISHMEM_ARGS_wait_until_any_vector ISHMEM_ARGS_wait_until_all_vector
#define ISHMEM_ARGS_test_all_vector ISHMEM_ARGS_wait_until_all_vector
#define ISHMEM_ARGS_test_any_vector ISHMEM_ARGS_wait_until_all_vector
#define ISHMEM_ARGS_wait_until_some_vector ivars, nelems, indices, status, cmp, cmp_values
#define ISHMEM_ARGS_test_some_vector ISHMEM_ARGS_wait_until_some_vector

#define ISHMEM_ARGS_broadcast dest, source, nelems, PE_root
#define ISHMEM_ARGS_collect dest, source, nelems
#define ISHMEM_ARGS_fcollect ISHMEM_ARGS_collect
#define ISHMEM_ARGS_alltoall ISHMEM_ARGS_collect
#define ISHMEM_ARGS_sum_inscan ISHMEM_ARGS_collect
#define ISHMEM_ARGS_sum_exscan ISHMEM_ARGS_collect
#define ISHMEM_ARGS_and_reduce dest, source, nreduce
#define ISHMEM_ARGS_or_reduce ISHMEM_ARGS_and_reduce
#define ISHMEM_ARGS_xor_reduce ISHMEM_ARGS_and_reduce
#define ISHMEM_ARGS_max_reduce ISHMEM_ARGS_and_reduce
#define ISHMEM_ARGS_min_reduce ISHMEM_ARGS_and_reduce
#define ISHMEM_ARGS_sum_reduce ISHMEM_ARGS_and_reduce
#define ISHMEM_ARGS_prod_reduce ISHMEM_ARGS_and_reduce

/* What _on_queue forms divide among work-items: the elements that move, or nothing. */
#define ISHMEM_COUNT_put nelems
#define ISHMEM_COUNT_get nelems
#define ISHMEM_COUNT_put_nbi nelems
#define ISHMEM_COUNT_get_nbi nelems
#define ISHMEM_COUNT_iput nelems
#define ISHMEM_COUNT_iget nelems
#define ISHMEM_COUNT_put_signal nelems
#define ISHMEM_COUNT_put_signal_nbi nelems
#define ISHMEM_COUNT_ibput bsize *nblocks
#define ISHMEM_COUNT_ibget bsize *nblocks
#define ISHMEM_COUNT_p 1
#define ISHMEM_COUNT_g 1
#define ISHMEM_COUNT_wait_until 1
#define ISHMEM_COUNT_test 1
#define ISHMEM_COUNT_wait_until_all 1
#define ISHMEM_COUNT_wait_until_any 1
#define ISHMEM_COUNT_test_all 1
#define ISHMEM_COUNT_test_any 1
#define ISHMEM_COUNT_wait_until_some 1
#define ISHMEM_COUNT_test_some 1
#define ISHMEM_COUNT_wait_until_all_vector 1
#define ISHMEM_COUNT_wait_until_any_vector 1
#define ISHMEM_COUNT_test_all_vector 1
#define ISHMEM_COUNT_test_any_vector 1
#define ISHMEM_COUNT_wait_until_some_vector 1
#define ISHMEM_COUNT_test_some_vector 1
#define ISHMEM_COUNT_broadcast nelems
#define ISHMEM_COUNT_collect nelems
#define ISHMEM_COUNT_fcollect nelems
#define ISHMEM_COUNT_alltoall nelems
#define ISHMEM_COUNT_sum_inscan nelems
#define ISHMEM_COUNT_sum_exscan nelems
#define ISHMEM_COUNT_and_reduce nreduce
#define ISHMEM_COUNT_or_reduce nreduce
#define ISHMEM_COUNT_xor_reduce nreduce
#define ISHMEM_COUNT_max_reduce nreduce
#define ISHMEM_COUNT_min_reduce nreduce
#define ISHMEM_COUNT_sum_reduce nreduce
#define ISHMEM_COUNT_prod_reduce nreduce

#endif
