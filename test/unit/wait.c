/*
 * wait.c - wait loops on cores that other processes use, and beside the progress thread. The time that a yield takes is simulated, and
 * so is a network in whose wait the thread sleeps.
 */
#include "host/ops/wait.h"

#include <sched.h>
#include <semaphore.h>
#include <time.h>

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

/* ---- a network in which nothing comes ------------------------------------------------------------------------------ */

enum { WAIT_MS = 20000 };

static sem_t wakes;
static int waits_in_network, woken, timeouts;

static int network_poll(void)
{
    return 0;
}

static int network_wait(int ms)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000L;
    if (end.tv_nsec >= 1000000000)
        end = (struct timespec){end.tv_sec + 1, end.tv_nsec - 1000000000};
    __atomic_add_fetch(&waits_in_network, 1, __ATOMIC_SEQ_CST);
    if (sem_timedwait(&wakes, &end) && ms == WAIT_MS)
        __atomic_add_fetch(&timeouts, 1, __ATOMIC_SEQ_CST);
    return 1;
}

static void network_wake(void)
{
    __atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
    sem_post(&wakes);
}

/* Until the thread sleeps in the network; or it does not within a minute. */
static int thread_sleeps(void)
{
    for (int ms = 0; ms < 60000 && !__atomic_load_n(&shi_progress_asleep, __ATOMIC_RELAXED); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return __atomic_load_n(&waits_in_network, __ATOMIC_SEQ_CST) > 0;
}

/* Catches: the thread stays in the network's wait, so that the awaited message wakes it, on the core of the PE that waits; a wait
 * that sleeps wakes the thread, too, a thousand times a second; each short wait beside a thread that sleeps does. */
static void thread_leaves(void)
{
    static struct shi_progress_source network = {.poll = network_poll, .idle_wait = network_wait, .wake = network_wake,
                                                 .every_ms = WAIT_MS};
    struct shi_wait asleep = {.sleep_us = 1000, .since_ns = shi_now_ns()}, w = SHI_WAIT_INIT;
    sem_init(&wakes, 0, 0);
    CHECK(shi_progress_add(&network) == 0);
    CHECK(thread_sleeps());
    shi_wait_slow(&asleep);
    CHECKF(woken == 0, "%d wakes by a wait that sleeps", woken);
    __atomic_store_n(&shi_progress_left, 1, __ATOMIC_RELAXED);
    shi_wait_slow(&w);
    __atomic_store_n(&shi_progress_left, 0, __ATOMIC_RELAXED);
    CHECKF(woken == 0, "%d wakes beside a thread whose polling the progress thread does", woken);
    shi_wait_slow(&w);
    CHECKF(woken == 1, "%d wakes by a wait that begins", woken);
    for (int i = 0; i < 1000; i++)
        sem_post(&wakes);
    shi_progress_stop();
    CHECKF(timeouts == 0, "%d waits in the network ended by their time limit", timeouts);
}

int main(void)
{
    shi_wait_set(SHI_WAIT_MODE_AUTO, 0, 1, 0); /* no polls: each try yields or sleeps */
    RUN(idle, "cores are free: waits yield");
    RUN(busy, "cores are busy: waits sleep");
    RUN(idle, "cores are free again: waits yield");
    RUN(modes, "SHMEM_WAIT says when a wait sleeps");
    RUN(thread_leaves, "a wait that begins takes the progress thread out of the network's wait");
    return tap_end();
}
