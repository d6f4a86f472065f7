/* barrier.c - how the members of a team synchronise: barriers, notifications of members, of nodes' firsts in rounds. */
#include "host/coll/team.h"
#include "host/net/node/doorbell.h"
#include "host/ops/remote.h"
#include "host/ops/wait.h"
#include "host/policy/schedule.h"

/* Until *word >= value, in the barrier that the team's epoch counts now. */
#define AWAIT_BARRIER(t, word, value)                                                                                \
    SHI_WAIT_UNTIL(__atomic_load_n(word, __ATOMIC_ACQUIRE) >= (value), .routine = (t)->routine,                      \
                   .kind = SHI_FOR_BARRIER, .team = (t), .epoch = (t)->epoch)

/* Each round notifies the member 2^r above and waits for the one 2^r below: one cache line crosses per round. */
static void barrier_dissemination(struct shmem_team *t, uint64_t epoch)
{
    const struct shi_slot *mine = t->slot[t->me];
    for (int r = 0, step = 1; step < t->n && shi_likely(!shi_team_failed(t)); r++, step *= 2) {
        int to = t->me + step < t->n ? t->me + step : t->me + step - t->n;
        __atomic_store_n(&t->slot[to]->flag[r].seen, epoch, __ATOMIC_RELEASE); /* R1 */
        shi_doorbell_ring_pe(&t->peer[to].rank);
        AWAIT_BARRIER(t, &mine->flag[r].seen, epoch);                          /* A1 */
    }
}

/* Wake the members with these numbers but this PE. */
static void ring_members(const struct shmem_team *t, const int *member, int n)
{
    for (int i = 0; i < n; i++) {
        int m = member ? member[i] : i;
        if (m != t->me)
            shi_doorbell_ring_pe(&t->peer[m].rank);
    }
}

/* With more members than cores every round costs a context switch, so there is only one. */
static void barrier_counting(struct shmem_team *t, uint64_t epoch)
{
    struct shi_slot *root = t->slot[0];
    if (shi_unlikely(shi_team_failed(t)))
        return;
    __atomic_store_n(&t->slot[t->me]->came, epoch, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&root->arrived, 1, __ATOMIC_ACQ_REL) == (uint64_t)t->n) { /* R2, A2 */
        __atomic_store_n(&root->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&root->released, epoch, __ATOMIC_RELEASE); /* R3 */
        ring_members(t, NULL, t->n);
    } else {
        AWAIT_BARRIER(t, &root->released, epoch); /* A3 */
    }
}

int shi_team_enter(struct shmem_team *t, uint64_t epoch)
{
    const struct shi_node *here = &t->node[t->my_node];
    struct shi_slot *mine = t->slot[t->me], *first = t->slot[here->member[0]];
    if (shi_unlikely(shi_team_failed(t)))
        return 0;
    __atomic_store_n(&mine->came, epoch, __ATOMIC_RELAXED);
    if (first != mine) {
        if (__atomic_add_fetch(&first->arrived, 1, __ATOMIC_ACQ_REL) == (uint64_t)here->n - 1) /* R2 */
            shi_doorbell_ring_pe(&t->peer[here->member[0]].rank);
        AWAIT_BARRIER(t, &first->released, epoch);           /* A3 */
        return 0;
    }
    AWAIT_BARRIER(t, &mine->arrived, (uint64_t)here->n - 1); /* A2 */
    __atomic_store_n(&mine->arrived, 0, __ATOMIC_RELAXED);
    return 1;
}

void shi_team_release(struct shmem_team *t, uint64_t epoch)
{
    const struct shi_node *here = &t->node[t->my_node];
    if (shi_unlikely(shi_team_failed(t)))
        return;
    __atomic_store_n(&t->slot[t->me]->released, epoch, __ATOMIC_RELEASE); /* R3 */
    ring_members(t, here->member, here->n);
}

void shi_team_node_barrier(struct shmem_team *t)
{
    uint64_t epoch = ++t->epoch;
    shi_wait_allow("a collective");
    if (shi_team_enter(t, epoch))
        shi_team_release(t, epoch);
}

/* The words are those of members, not of rounds: the partner of a round differs from plan to plan, and the store of a later operation
 * may arrive before another partner's. A member sends another one in one round of an operation at most. */
void shi_team_rounds(struct shmem_team *t, uint64_t epoch, const struct shi_carry *c)
{
    const struct shi_slot *mine = t->slot[t->me];
    for (int r = 0; r < shi_plan_rounds(c->plan, t->n_nodes); r++) {
        struct shi_round x = shi_plan_round(c->plan, t->n_nodes, t->my_node, r);
        int from = t->node[x.from].member[0];
        if (c->send)
            c->send(t, &x, r, c->arg);
        shi_team_store_remote(t, t->node[x.to].member[0], &mine->from[t->me], &epoch, sizeof epoch, 0); /* R4 */
        SHI_WAIT_UNTIL(__atomic_load_n(&mine->from[from], __ATOMIC_ACQUIRE) >= epoch, /* A4 */
                       .routine = t->routine, .kind = SHI_FOR_NETWORK, .of = t->peer[from].pe, .team = t);
        if (c->take)
            c->take(t, &x, r, c->arg);
    }
}

/* The first members of the nodes run a dissemination barrier; the other members of a node wait for theirs. */
static void barrier_nodes(struct shmem_team *t, uint64_t epoch)
{
    if (!shi_team_enter(t, epoch))
        return;
    shi_team_rounds(t, epoch, &(const struct shi_carry){.plan = SHI_PLAN_BARRIER});
    shi_team_release(t, epoch);
}

int shi_team_came(const struct shmem_team *t, int member, uint64_t epoch)
{
    const struct shi_slot *next = t->slot[member + 1 < t->n ? member + 1 : 0];
    if (!t->slot[member])
        return -1;
    const uint64_t *word = t->oversubscribed || t->n_nodes > 1 ? &t->slot[member]->came : &next->flag[0].seen;
    return __atomic_load_n(word, __ATOMIC_RELAXED) >= epoch;
}

void shi_team_barrier(const char *routine, struct shmem_team *t)
{
    shi_wait_allow("shmem_barrier, sync or a collective");
    uint64_t epoch = ++t->epoch;
    t->routine = routine;
    if (t->n == 1)
        return;
    if (t->n_nodes > 1)
        barrier_nodes(t, epoch);
    else if (shi_schedule_barrier(t->oversubscribed) == SHI_BARRIER_COUNTING)
        barrier_counting(t, epoch);
    else
        barrier_dissemination(t, epoch);
}

void shi_team_quiet_barrier(const char *routine, struct shmem_team *t)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    shi_doorbell_ring_words();
    shi_remote_quiet(shi_world.lane);
    shi_team_barrier(routine, t);
}

void shi_team_store_remote(const struct shmem_team *t, int to, const void *mine, const void *from, size_t bytes, int more)
{
    const struct shi_shm_region *r = &shi_world.shm.region[shi_world.boot.local_index];
    if (shi_unlikely(shi_team_failed(t)))
        return;
    size_t off = (size_t)((const char *)mine - (shi_world.shm.base + r->sync_off));
    shi_remote_sync_store(t->peer[to].pe, off, from, bytes, more);
}

void shi_team_wait_notify(struct shmem_team *t, int of, uint64_t epoch)
{
    shi_wait_allow("a collective");
    SHI_WAIT_UNTIL(__atomic_load_n(&t->slot[t->me]->from[of], __ATOMIC_ACQUIRE) >= epoch, /* A4 */
                   .routine = t->routine, .kind = SHI_FOR_MEMBERS, .team = t, .epoch = epoch, .of = of);
}

void shi_team_come(struct shmem_team *t, uint64_t epoch)
{
    const struct shi_node *here = &t->node[t->my_node];
    __atomic_store_n(&t->slot[t->me]->came, epoch, __ATOMIC_RELEASE); /* R6 */
    ring_members(t, here->member, here->n);
}

void shi_team_await_come(const struct shmem_team *t, int of, uint64_t epoch)
{
    shi_wait_allow("a collective");
    SHI_WAIT_UNTIL(__atomic_load_n(&t->slot[of]->came, __ATOMIC_ACQUIRE) >= epoch, .routine = t->routine, /* A6 */
                   .kind = SHI_FOR_OTHER, .words = "a PE of the active set has not come to the broadcast before");
}

static void wait_notify_all(struct shmem_team *t, uint64_t epoch)
{
    for (int i = 0; i < t->n; i++)
        if (i != t->me)
            shi_team_wait_notify(t, i, epoch);
}

/* Each starts with the next member, so that not all notify the same one at once. */
void shi_team_notify_and_wait(struct shmem_team *t, uint64_t epoch)
{
    for (int i = t->me + 1; i < t->n; i++)
        shi_team_notify(t, i, epoch);
    for (int i = 0; i < t->me; i++)
        shi_team_notify(t, i, epoch);
    wait_notify_all(t, epoch);
}
