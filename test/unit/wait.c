/* wait.c - wait loops on cores that other processes use. The time that a yield takes is simulated. */
#include "host/ops/wait.h"

#include <sched.h>

#include "../tap.h"
#include "host/ops/state.h"

enum { WAITS = 50, TRIES = 4, LONG_NS = 4000000 };

static int yields;
static uint64_t yield_ns;

/* Instead of libc's. */
int sched_yield(void)
{
    for (uint64_t end = shi_now_ns() + yield_ns; shi_now_ns() < end;)
        ;
    yields++;
    return 0;
}

struct shi_world shi_world;
int shi_shm_aborted(const struct shi_shm *s)
{
    (void)s;
    return 0;
}

/* Yields of waits, one after the other, when each yield takes so long. */
static int yields_of_waits(uint64_t ns)
{
    yields = 0;
    yield_ns = ns;
    for (int i = 0; i < WAITS; i++) {
        struct shi_wait w = SHI_WAIT_INIT;
        for (int k = 0; k < TRIES; k++)
            shi_wait_slow(&w);
    }
    return yields;
}

/* Catches: waits that lose a time slice to other processes again and again, in which they could have slept. */
static void busy(void)
{
    int n = yields_of_waits(LONG_NS);
    CHECKF(n <= WAITS / 4, "%d yields in %d waits", n, WAITS);
}

/* Catches: waits that sleep where no process uses the core, or after it became free. Other processes of this machine can
 * disturb a try. */
static void idle(void)
{
    int n = 0;
    for (int i = 0; i < 1000 && n < WAITS * TRIES; i++)
        n = yields_of_waits(0);
    CHECKF(n == WAITS * TRIES, "%d yields in %d waits", n, WAITS);
}

/* Does a wait sleep within ns when yields take 50 us? */
static int sleeps_within(enum shi_wait_mode mode, int oversubscribed, uint64_t ns)
{
    struct shi_wait w = SHI_WAIT_INIT;
    shi_wait_set(mode, 0, oversubscribed, 0);
    yield_ns = 50000;
    for (uint64_t end = shi_now_ns() + ns; shi_now_ns() < end && !w.sleep_us;)
        shi_wait_slow(&w);
    return w.sleep_us != 0;
}

/* Catches: an active wait that sleeps; a passive one that keeps its core; a PE with a core of its own that sleeps soon after
 * the start of a wait, or never. */
static void modes(void)
{
    const uint64_t ms = 1000000;
    int alone = 1;
    for (int i = 0; i < 100 && alone; i++) /* another process may take the core */
        alone = sleeps_within(SHI_WAIT_MODE_AUTO, 0, 10 * ms);
    CHECK(!alone);
    CHECK(sleeps_within(SHI_WAIT_MODE_AUTO, 0, 10000 * ms));
    CHECK(sleeps_within(SHI_WAIT_MODE_AUTO, 1, 10000 * ms));
    CHECK(sleeps_within(SHI_WAIT_MODE_PASSIVE, 0, 10000 * ms));
    CHECK(!sleeps_within(SHI_WAIT_MODE_ACTIVE, 1, 100 * ms));
    yields_of_waits(LONG_NS);
    CHECK(!sleeps_within(SHI_WAIT_MODE_ACTIVE, 0, 10 * ms));
    shi_wait_set(SHI_WAIT_MODE_AUTO, 0, 1, 0);
}

int main(void)
{
    shi_wait_set(SHI_WAIT_MODE_AUTO, 0, 1, 0); /* no polls: each try yields or sleeps */
    RUN(idle, "cores are free: waits yield");
    RUN(busy, "cores are busy: waits sleep");
    RUN(idle, "cores are free again: waits yield");
    RUN(modes, "SHMEM_WAIT says when a wait sleeps");
    return tap_end();
}
