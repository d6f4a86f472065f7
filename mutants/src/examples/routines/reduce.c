/* The sum and the maximum of values of all PEs. */
#include <shmem.h>

static long mine, sum, largest;

int main(void)
{
    shmem_init();
    long n = shmem_n_pes();
    mine = shmem_my_pe() + 1;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, &largest, &mine, 1);
    int wrong = sum != n * (n + 1) / 2 || largest != n;
    shmem_finalize();
    return wrong;
}
