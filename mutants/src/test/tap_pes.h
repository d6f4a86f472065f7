/*
 * tap_pes.h - TAP of a program of several PEs: PE 0 sums the failures and prints the results.
 *
 * The sum uses the library under test. Even if it is lost, the PE that saw the failure prints it to stderr and exits
 * with a nonzero status, which test/pes reports.
 */
#ifndef TAP_PES_H
#define TAP_PES_H

#include <shmem.h>
#include <stdlib.h>

#include "tap.h"

static int me, n_pes;
static int tap_sum_;

static int tap_sum_up_(int bad)
{
    shmem_barrier_all();
    shmem_int_atomic_add(&tap_sum_, bad, 0);
    shmem_barrier_all();
    int all = shmem_int_atomic_fetch(&tap_sum_, 0);
    shmem_barrier_all();
    shmem_int_atomic_set(&tap_sum_, 0, 0);
    return all;
}

/* Call after shmem_init, after each one if there are several. */
__attribute__((unused)) static void tap_pes_begin(void)
{
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    tap_pe_ = me;
    tap_combine_ = tap_sum_up_;
    shmem_barrier_all();
}

/* The next PE of the ring; this PE if there is only one. */
__attribute__((unused)) static int next_pe(void)
{
    return (me + 1) % n_pes;
}

/* Is a PE out of reach of loads and stores? Long tests then run fewer rounds. */
__attribute__((unused)) static int has_remote_pes(void)
{
    for (int pe = 0; pe < n_pes; pe++)
        if (!shmem_ptr(&tap_sum_, pe))
            return 1;
    return 0;
}

/* Delay the caller by a random number of loop iterations. */
__attribute__((unused)) static void random_delay(unsigned *state)
{
    for (volatile unsigned i = tap_random(state) % 2000; i > 0; i--)
        ;
}

#endif
