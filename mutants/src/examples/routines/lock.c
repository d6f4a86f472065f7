/* A lock protects a record at PE 0 of two words that change together. */
#include <shmem.h>

static long lock;
static int record[2];

int main(void)
{
    shmem_init();
    int wrong = 0, both[2];
    for (int i = 0; i < 10; i++) {
        shmem_set_lock(&lock); /* also orders the accesses below */
        shmem_int_get(both, record, 2, 0);
        wrong |= both[0] != both[1];
        both[0]++, both[1]++;
        shmem_int_put(record, both, 2, 0);
        shmem_clear_lock(&lock); /* completes the put */
    }
    shmem_barrier_all();
    wrong |= shmem_int_g(record, 0) != 10 * shmem_n_pes();
    shmem_finalize();
    return wrong;
}
