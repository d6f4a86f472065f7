/* Each PE sends one value to every PE and gets one from every PE. */
#include <shmem.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), wrong = 0;
    long *to = shmem_malloc((size_t)n * sizeof *to), *from = shmem_malloc((size_t)n * sizeof *from);
    for (int pe = 0; pe < n; pe++)
        to[pe] = 1000 * me + pe; /* for PE pe */
    shmem_long_alltoall(SHMEM_TEAM_WORLD, from, to, 1);
    for (int pe = 0; pe < n; pe++)
        wrong |= from[pe] != 1000 * pe + me;
    shmem_finalize();
    return wrong;
}
