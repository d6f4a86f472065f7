/* Each PE gets two values of every PE, in the order of the PEs. */
#include <shmem.h>

int main(void)
{
    shmem_init();
    int n = shmem_n_pes(), wrong = 0;
    int *mine = shmem_malloc(2 * sizeof *mine), *all = shmem_malloc(2 * (size_t)n * sizeof *all);
    mine[0] = shmem_my_pe();
    mine[1] = -shmem_my_pe();
    shmem_int_fcollect(SHMEM_TEAM_WORLD, all, mine, 2);
    for (int pe = 0; pe < n; pe++)
        wrong |= all[2 * pe] != pe || all[2 * pe + 1] != -pe;
    shmem_finalize();
    return wrong;
}
