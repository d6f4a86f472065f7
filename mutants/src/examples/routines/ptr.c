/* Loads and stores where the other PE's memory can be reached, a put elsewhere. */
#include <shmem.h>

static int value;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    int *direct = shmem_ptr(&value, next);
    if (direct)
        *direct = me + 1;
    else
        shmem_int_p(&value, me + 1, next);
    shmem_barrier_all();
    int wrong = value != (me + shmem_n_pes() - 1) % shmem_n_pes() + 1;
    shmem_finalize();
    return wrong;
}
