/* Each PE writes its number into an element of an array of the next PE. */
#include <shmem.h>

static int from[2];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    int two[2] = {me, 10 * me};
    shmem_int_put(from, two, 2, next); /* two elements; shmem_int_p puts one value */
    shmem_barrier_all();               /* now the data of all PEs have arrived */
    int previous = (me + n - 1) % n;
    int wrong = from[0] != previous || from[1] != 10 * previous;
    shmem_finalize();
    return wrong;
}
