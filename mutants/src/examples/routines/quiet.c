/* Many nonblocking puts, completed by one shmem_quiet. */
#include <shmem.h>

static int table[64], mine[64];

int main(void)
{
    shmem_init();
    int next = (shmem_my_pe() + 1) % shmem_n_pes();
    for (int i = 0; i < 64; i++) {
        mine[i] = i * i;
        shmem_int_put_nbi(&table[i], &mine[i], 1, next); /* mine[i] must not change yet */
    }
    shmem_quiet(); /* all puts are complete; mine may be reused */
    shmem_barrier_all();
    int wrong = table[63] != 63 * 63;
    shmem_finalize();
    return wrong;
}
