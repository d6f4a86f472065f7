/*
 * wrap_survive.c - jobs that go on when PEs die: an agreement orders the members that live, and completes nothing; all that PEs that have failed have
 * done is before what its members do after it.
 *
 * A PE that dies while it holds a lock of the shadow leaves it locked: others may wait for it for ever.
 */
#include "race/clock.h"
#include "race/wrap.h"

static struct race_group *before(const struct race_op *op, shmem_team_t team)
{
    if (!op->u || team == SHMEM_TEAM_INVALID)
        return NULL;
    struct race_group *g = race_group_of_team(team);
    race_group_give_agreed(op->u, g);
    return g;
}

static void after(const struct race_op *op, struct race_group *g)
{
    int failed[RACE_PES], n = g ? pshmemx_failed_pes(failed, RACE_PES) : 0;
    if (g)
        race_group_take_agreed(op->u, g);
    for (int i = 0; i < n; i++)
        race_clock_all_of(op->u, (unsigned)failed[i]);
}

RACE_WRAP(int, shmemx_agree, (shmem_team_t team, uint64_t *value, int *pes, int max))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    struct race_group *g = before(&op, team);
    int n = pshmemx_agree(team, value, pes, max);
    after(&op, g);
    return n;
}

RACE_WRAP(int, shmemx_team_shrink, (shmem_team_t team, shmem_team_t *new_team))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    struct race_group *g = before(&op, team);
    int error = pshmemx_team_shrink(team, new_team);
    after(&op, g);
    if (g)
        race_group_split(team, *new_team, 15);
    return error;
}
