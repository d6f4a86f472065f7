/* A team of the PEs with even numbers; a reduction among them. */
#include <shmem.h>

static int one = 1, members;

int main(void)
{
    shmem_init();
    int even = (shmem_n_pes() + 1) / 2, wrong = 0;
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, even, NULL, 0, &team); /* all PEs of the parent call it */
    if (team != SHMEM_TEAM_INVALID) {
        shmem_int_sum_reduce(team, &members, &one, 1);
        int world = shmem_team_translate_pe(team, shmem_team_my_pe(team), SHMEM_TEAM_WORLD);
        wrong = members != even || world != shmem_my_pe();
        shmem_team_destroy(team);
    }
    shmem_finalize();
    return wrong;
}
