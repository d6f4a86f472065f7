/*
 * barrier.c - both barriers of a team, and the exchange, with threads as members. The number of cores is simulated, so
 * that the test uses every round of the dissemination barrier on a small machine, too.
 */
#include "host/coll/team.h"

#include <pthread.h>
#include <stdlib.h>

#include "../tap.h"
#include "host/ops/remote.h"
#include "host/ops/wait.h"

enum { MOST = 9, ROUNDS = 1500 };

/* Stubs of the modules that the linked sources use. */
struct shi_world shi_world;
int shi_shm_aborted(const struct shi_shm *s)
{
    (void)s;
    return 0;
}

/* This test has no network. */
void shi_remote_sync_store(int world_pe, uint64_t off, const void *from, size_t bytes)
{
    (void)world_pe, (void)off, (void)from, (void)bytes;
    abort();
}
void shi_remote_quiet(struct shi_lane *l)
{
    (void)l;
}

static struct shi_slot *slots[MOST];
static struct shmem_team members[MOST];
static long came, early, torn;

static void *member(void *arg)
{
    struct shmem_team *t = arg;
    unsigned state = 5 + (unsigned)t->me;
    for (long r = 1; r <= ROUNDS; r++) {
        for (volatile unsigned i = tap_random(&state) % 500; i > 0; i--)
            ;
        __atomic_fetch_add(&came, 1, __ATOMIC_RELAXED);
        shi_team_barrier("barrier", t);
        long now = __atomic_load_n(&came, __ATOMIC_RELAXED);
        if (now < r * t->n || now > r * t->n + t->n - 1)
            __atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
        long mine = r * 100 + t->me;
        if (r % 3 == 0) {
            shi_team_exchange(t, &mine, sizeof mine);
            for (int i = 0; i < t->n; i++)
                if (*(long *)shi_team_buffer(t, t->me, i) != r * 100 + i)
                    __atomic_fetch_add(&torn, 1, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

static struct shi_peer peers[MOST];

static void every_size(int oversubscribed)
{
    for (int n = 1; n <= MOST; n++) {
        pthread_t thread[MOST];
        shi_world.n_pes = n;
        came = early = torn = 0;
        for (int i = 0; i < n; i++) {
            slots[i] = aligned_alloc(SHI_LINE_BYTES, 1 << 16);
            memset(slots[i], 0, 1 << 16);
            members[i] = (struct shmem_team){.slot = slots, .peer = peers, .n = n, .me = i, .stride = 1, .oversubscribed = oversubscribed,
                                             .buffer_bytes = SHI_EXCHANGE_BYTES};
        }
        for (int i = 0; i < n; i++)
            CHECK(pthread_create(&thread[i], NULL, member, &members[i]) == 0);
        for (int i = 0; i < n; i++)
            pthread_join(thread[i], NULL);
        CHECKF(early == 0, "%d members: %ld times one left before all had entered", n, early);
        CHECKF(torn == 0, "%d members: %ld exchanged words were old", n, torn);
        for (int i = 0; i < n; i++)
            free(slots[i]);
    }
}

/* Catches: a round too few, or a partner beyond the number of members. */
static void dissemination(void)
{
    every_size(0);
}

/* Catches: a counter that is reset after the release, or a release before the last member has entered. */
static void counting(void)
{
    every_size(1);
}

int main(void)
{
    shi_wait_set(SHI_WAIT_MODE_AUTO, 0, 1, 0); /* more threads than cores: yield at once */
    RUN(dissemination, "1 to 9 members, more cores than members");
    RUN(counting, "1 to 9 members, fewer cores than members");
    return tap_end();
}
