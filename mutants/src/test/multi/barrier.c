/*
 * barrier.c - barriers: no PE leaves before all PEs have entered, and earlier writes are visible afterwards.
 */
#include "../tap_pes.h"

enum { ROUNDS = 10000, REMOTE_ROUNDS = 2000 };

static long came, from_before[2], own[2];
static unsigned state;

/*
 * The count of arrivals: after round r it is at least n (r + 1), and at most one more for each other PE.
 * `puts`: the barrier also completes puts; otherwise it only makes own stores visible to others.
 */
static void rounds(void (*barrier)(void), int puts)
{
    state = 17 + (unsigned)me;
    came = 0;
    long n = has_remote_pes() ? REMOTE_ROUNDS : ROUNDS;
    shmem_barrier_all();
    for (long r = 0; r < n; r++) {
        if (r % 8 == me % 8)
            random_delay(&state);
        own[r % 2] = r;
        if (puts)
            shmem_long_put_nbi(&from_before[r % 2], &r, 1, next_pe());
        if (puts)
            shmem_long_atomic_inc(&came, 0);
        else
            shmem_long_atomic_fetch_inc(&came, 0); /* complete even before a sync, which completes nothing */
        barrier();
        long now = shmem_long_atomic_fetch(&came, 0);
        if (!CHECKF(now >= n_pes * (r + 1) && now <= n_pes * (r + 1) + n_pes - 1, "round %ld: %ld arrivals", r, now))
            break;
        long there = shmem_long_g(&own[r % 2], next_pe());
        CHECKF(there == r, "round %ld: the next PE's own store is still %ld", r, there);
        CHECKF(!puts || from_before[r % 2] == r, "round %ld: the previous PE's put is missing", r);
    }
    shmem_barrier_all();
}

/* Catches: a barrier that sometimes releases a PE too early, or that does not complete puts. */
static void barrier_all(void)
{
    rounds(shmem_barrier_all, 1);
}

static void sync_all(void)
{
    rounds(shmem_sync_all, 0);
}

static void either(void)
{
    static int turn;
    if (turn++ % 2)
        shmem_barrier_all();
    else
        shmem_sync_all();
}

/* Catches: two kinds of barrier on the same words, of which a late PE takes one for the other. */
static void alternately(void)
{
    rounds(either, 0);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(barrier_all, "rounds with delays");
    RUN(sync_all, "rounds with delays");
    RUN(alternately, "sync_all and barrier_all alternately");
    shmem_finalize();
    return tap_end();
}
