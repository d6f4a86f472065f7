/* The PEs take numbers from a counter at PE 0; no number is taken twice. */
#include <shmem.h>

static long counter, sum;

int main(void)
{
    shmem_init();
    for (int i = 0; i < 10; i++) {
        long mine = shmem_long_atomic_fetch_inc(&counter, 0); /* the old value */
        shmem_long_atomic_add(&sum, mine, 0);
    }
    shmem_barrier_all();
    long n = 10L * shmem_n_pes();
    int wrong = shmem_long_atomic_fetch(&counter, 0) != n || shmem_long_atomic_fetch(&sum, 0) != n * (n - 1) / 2;
    shmem_finalize();
    return wrong;
}
