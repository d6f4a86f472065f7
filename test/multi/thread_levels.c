/* thread_levels.c - PEs that ask for different thread levels split teams together. */
#include "../tap_pes.h"

#include <shmemx.h>
#include <unistd.h>

enum { ROUNDS = 20 };

/* The members' numbers are the team's, and its collectives work. */
static void check_team(const char *what, shmem_team_t team, int size)
{
    static int from, sum;
    if (team == SHMEM_TEAM_INVALID)
        return;
    from = shmem_team_my_pe(team) + 1;
    CHECKF(shmem_team_n_pes(team) == size, "%s: %d members, not %d", what, shmem_team_n_pes(team), size);
    shmem_team_sync(team);
    shmem_int_sum_reduce(team, &sum, &from, 1);
    CHECKF(sum == size * (size + 1) / 2, "%s: the sum is %d", what, sum);
    shmem_team_sync(team);
    shmem_team_destroy(team);
}

/* Catches: what the split does next is decided by this PE's level, so that PEs wait for each other in different steps. */
static void test_splits(void)
{
    shmem_team_t team, x, y;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team) == 0 && team != SHMEM_TEAM_INVALID);
        check_team("strided", team, n_pes);
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &x, NULL, 0, &y) == 0);
        check_team("x", x, 1);
        check_team("y", y, n_pes);
        CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, me % 2, -me, NULL, 0, &team) == 0);
        check_team("color", team, (n_pes + 1 - me % 2) / 2);
        CHECK(shmemx_team_dup(SHMEM_TEAM_WORLD, &team) == 0);
        check_team("dup", team, n_pes);
    }
}

int main(void)
{
    static const int level[] = {SHMEM_THREAD_MULTIPLE, SHMEM_THREAD_SINGLE, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_FUNNELED};
    const char *id = getenv("PMIX_RANK");
    int provided, want = level[(id ? atoi(id) : (int)getpid()) % 4];
    shmem_init_thread(want, &provided);
    tap_pes_begin();
    CHECK(provided >= want);
    RUN(test_splits, "teams of PEs with different levels");
    shmem_finalize();
    return tap_end();
}
