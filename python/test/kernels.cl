/* kernels.cl - for test_fulmar.py: passes each PE's number on, and multiplies what arrives. */
#include <shmemg.h>

SHMEMG_KERNEL void pass_on(SHMEMG_GLOBAL int64_t *slot, SHMEMG_GLOBAL uint64_t *arrived, int64_t factor)
{
    if (shmemg_global_id(0) == 0) {
        int64_t mine = shmemg_my_pe();
        int next = (shmemg_my_pe() + 1) % shmemg_n_pes();
        shmemg_putmem_signal(slot, &mine, sizeof mine, arrived, 1, SHMEM_SIGNAL_SET, next);
        shmemg_signal_wait_until(arrived, SHMEM_CMP_EQ, 1);
        *slot *= factor;
    }
}
