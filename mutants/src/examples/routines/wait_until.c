/* PE 0 waits until each other PE has set its element of an array. */
#include <shmem.h>
#include <stdlib.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), sum = 0;
    int *done = shmem_calloc((size_t)n, sizeof *done);
    if (me != 0) {
        shmem_int_p(&done[me], me, 0);
    } else {
        done[0] = 1; /* nothing to wait for */
        shmem_int_wait_until_all(done, (size_t)n, NULL, SHMEM_CMP_NE, 0);
        for (int pe = 1; pe < n; pe++)
            sum += done[pe];
    }
    int wrong = me == 0 && sum != n * (n - 1) / 2;
    shmem_finalize();
    return wrong;
}
