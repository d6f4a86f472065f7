/*
 * own_names.c - a program for OpenSHMEM 1.4, with routines of its own whose names are since 1.5 those of collectives over teams.
 *
 * Catches: a prototype that collides with them; a routine of the library that calls the program's in place of the library's.
 */
#define SHMEM_NO_TEAM_COLLECTIVES
#include "../tap_pes.h"

static int own_calls;

void shmem_long_alltoall(long *to, long *from);
long shmem_long_sum_reduce(long value);

void shmem_long_alltoall(long *to, long *from)
{
    own_calls++;
    for (int pe = 0; pe < n_pes; pe++)
        shmem_long_p(to + me, from[pe], pe);
    shmem_barrier_all();
}

long shmem_long_sum_reduce(long value)
{
    own_calls++;
    return -value;
}

/* All that the library may build from its collectives of teams: those of active sets, teams, memory, contexts. */
static void calls_of_the_library(void)
{
    static long psync[SHMEM_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE], one = 1, sum;
    long *from = shmem_malloc((size_t)n_pes * sizeof(long)), *to = shmem_malloc((size_t)n_pes * sizeof(long));
    for (int pe = 0; pe < n_pes; pe++)
        from[pe] = 100 * me + pe;
    shmem_long_sum_to_all(&sum, &one, 1, 0, 0, n_pes, work, psync);
    CHECK(sum == n_pes);
    shmem_alltoall64(to, from, 1, 0, 0, n_pes, psync);
    CHECK(to[0] == me && to[n_pes - 1] == 100 * (n_pes - 1) + me);
    shmem_team_t team;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team) == 0);
    shmem_team_destroy(team);
    CHECK(own_calls == 0);
    shmem_barrier_all();
    shmem_long_alltoall(to, from);
    CHECK(to[n_pes - 1] == 100 * (n_pes - 1) + me && shmem_long_sum_reduce(2) == -2 && own_calls == 2);
    shmem_free(to);
    shmem_free(from);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(calls_of_the_library, "a program may have routines with the names of collectives over teams");
    shmem_finalize();
    return tap_end();
}
