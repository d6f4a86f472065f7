/* Two phases, separated by a barrier. */
#include <shmem.h>

static int votes;

int main(void)
{
    shmem_init();
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        shmem_int_atomic_inc(&votes, pe);
    shmem_barrier_all(); /* completes the updates of all PEs */
    int wrong = votes != shmem_n_pes();
    shmem_finalize();
    return wrong;
}
