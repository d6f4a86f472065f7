/* team.c - the world team and the barrier of a team. */
#include "host/ops/team.h"

#include <errno.h>
#include <stdlib.h>

#include "host/ops/wait.h"

struct shmem_team shi_team_world;

int shi_team_up(void)
{
    const struct shi_shm *shm = &shi_world.shm;
    struct shi_slot **slot = calloc(shi_world.n_pes, sizeof *slot);
    if (!slot)
        return -ENOMEM;
    for (int i = 0; i < shm->n; i++) {
        const struct shi_shm_region *r = &shm->region[i];
        slot[r->pe] = (struct shi_slot *)(shm->base + r->sync_off) + SHI_SLOT_WORLD;
    }
    shi_team_world = (struct shmem_team){.peer = shi_world.peer, .slot = slot, .n = shi_world.n_pes,
                                         .me = shi_world.pe, .stride = 1, .index = SHI_SLOT_WORLD,
                                         .crowded = shm->crowded, .epoch = shi_team_world.epoch};
    return 0;
}

void shi_team_down(void)
{
    free(shi_team_world.slot);
    shi_team_world.slot = NULL;
    shi_team_world.n = 0;
}

/* Each round tells the member 2^r further on and hears from the one 2^r back: one line crosses per round. */
static void barrier_dissemination(struct shmem_team *t, uint64_t epoch)
{
    struct shi_slot *mine = t->slot[t->me];
    for (int r = 0, step = 1; step < t->n; r++, step *= 2) {
        int to = t->me + step < t->n ? t->me + step : t->me + step - t->n;
        __atomic_store_n(&t->slot[to]->flag[r].seen, epoch, __ATOMIC_RELEASE); /* R1 */
        shi_wait_ge(&mine->flag[r].seen, epoch);                               /* A1 */
    }
}

/* With more members than cores every round costs a switch of processes, so there is only one. */
static void barrier_counting(struct shmem_team *t, uint64_t epoch)
{
    struct shi_slot *root = t->slot[0];
    if (__atomic_add_fetch(&root->arrived, 1, __ATOMIC_ACQ_REL) == (uint64_t)t->n) { /* R2, A2 */
        __atomic_store_n(&root->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&root->released, epoch, __ATOMIC_RELEASE); /* R3 */
    } else {
        shi_wait_ge(&root->released, epoch); /* A3 */
    }
}

void shi_team_barrier(struct shmem_team *t)
{
    uint64_t epoch = ++t->epoch;
    if (t->n == 1)
        return;
    if (t->crowded)
        barrier_counting(t, epoch);
    else
        barrier_dissemination(t, epoch);
}
