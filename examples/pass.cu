#include <shmemg.h>

extern "C" __global__ void pass_on(long *slot, uint64_t *arrived)
{
    if (threadIdx.x == 0) {
        long mine = shmemg_my_pe();
        int next = (shmemg_my_pe() + 1) % shmemg_n_pes();
        shmemg_putmem_signal(slot, &mine, sizeof mine, arrived, 1, SHMEM_SIGNAL_SET, next);
        shmemg_signal_wait_until(arrived, SHMEM_CMP_EQ, 1);
        *slot *= 10; /* the value from the previous PE */
    }
}
