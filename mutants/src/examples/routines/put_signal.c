/* PE 0 sends a block to the last PE, which waits for the signal. */
#include <shmem.h>

static double block[100];
static uint64_t arrived;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1, wrong = 0;
    if (me == 0) {
        double mine[100];
        for (int i = 0; i < 100; i++)
            mine[i] = i / 2.0;
        shmem_double_put_signal(block, mine, 100, &arrived, 1, SHMEM_SIGNAL_SET, last);
    }
    if (me == last) {
        shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
        wrong = block[99] != 49.5; /* the data arrived before the signal */
    }
    shmem_finalize();
    return wrong;
}
