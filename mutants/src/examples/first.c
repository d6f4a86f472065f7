#include <shmem.h>
#include <stdio.h>

static long hits; /* static data is symmetric: the same variable exists on every PE */

int main(void)
{
    shmem_init();
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        shmem_long_atomic_add(&hits, 1, pe);
    shmem_barrier_all();
    printf("PE %d of %d: %ld hits\n", shmem_my_pe(), shmem_n_pes(), hits);
    shmem_finalize();
}
