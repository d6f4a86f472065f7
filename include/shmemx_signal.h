/*
 * shmemx_signal.h - waits for several signals at once, and counted signals; included by shmemx.h. Nothing here is collective.
 */
#ifndef SHMEMX_SIGNAL_H
#define SHMEMX_SIGNAL_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/*
 * The calling PE waits until all, one, or some of its nelems signals at sig_addrs satisfy the comparison, as shmem_uint64_wait_until_all and
 * the like do for words: signals with a nonzero status are left out, and the _vector forms have a value for each signal. Afterwards the data
 * sent with these signals can be read. Unless values is NULL it gets what the signals were: values[i] of signal i for all, values[0] of the
 * one for any, values[k] of signal indices[k] for some.
 *
 * A counted signal completes after n arrivals, from any PEs: each adds 1, by put with signal, shmem_signal_add or a kernel's.
 * shmemx_signal_wait_count waits until the signal is at least n, then takes n off, so that later arrivals, which may be there already,
 * count for the next wait; the result is what it was before. shmemx_signal_test_count does the same without waiting: 1 if there were n
 * arrivals, else 0. Only one thread at a time may wait for or test a counted signal, and no PE may set it during that time.
 */
#define SHMEMX_SIGNAL_WAITS_(U, S, VALUE)                                                                            \
    U(void, shmemx_signal_wait_until_all##S,                                                                         \
      (uint64_t * sig_addrs, size_t nelems, const int *status, int cmp, VALUE, uint64_t *values))                    \
    U(size_t, shmemx_signal_wait_until_any##S,                                                                       \
      (uint64_t * sig_addrs, size_t nelems, const int *status, int cmp, VALUE, uint64_t *values))                    \
    U(size_t, shmemx_signal_wait_until_some##S,                                                                      \
      (uint64_t * sig_addrs, size_t nelems, size_t *indices, const int *status, int cmp, VALUE, uint64_t *values))
#define SHMEMX_FOR_EACH_SIGNAL(U)                                                                                    \
    SHMEMX_SIGNAL_WAITS_(U, , uint64_t cmp_value)                                                                    \
    SHMEMX_SIGNAL_WAITS_(U, _vector, const uint64_t *cmp_values)                                                     \
    U(uint64_t, shmemx_signal_wait_count, (uint64_t * sig_addr, uint64_t n))                                         \
    U(int, shmemx_signal_test_count, (uint64_t * sig_addr, uint64_t n))

#define SHMEMX_FN_(R, NAME, PARAMS) R NAME PARAMS; R p##NAME PARAMS;
SHMEMX_FOR_EACH_SIGNAL(SHMEMX_FN_)
#undef SHMEMX_FN_

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
