/* Each PE reads an array of the next PE. */
#include <shmem.h>

static long data[3];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    for (int i = 0; i < 3; i++)
        data[i] = 100 * me + i;
    shmem_barrier_all(); /* the other PEs have written their arrays */
    long copy[3];
    shmem_long_get(copy, data, 3, next);
    int wrong = copy[2] != 100 * next + 2 || shmem_long_g(&data[1], next) != 100 * next + 1;
    shmem_finalize();
    return wrong;
}
