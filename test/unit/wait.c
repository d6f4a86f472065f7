/*
 * wait.c - wait loops on cores that other processes use, and beside the progress thread. The time that a yield takes is simulated, and
 * so is a network in whose wait the thread sleeps. Also: a lock that one PE takes again and again.
 */
#include "host/ops/wait.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "../tap.h"
#include "host/ops/lock.h"
#include "host/ops/amo.h"
#include "host/ops/remote.h"
#include "host/ops/span.h"

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

/* Four PEs of a node on two cores; this is one of them. */
static struct shi_shm_region regions[4];

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

/* The other PEs of the node wait, or not. */
static void others_wait(int do_wait)
{
    for (int i = 1; i < 4; i++)
        regions[i].waited_ns = do_wait ? shi_now_ns() + 1000000000 : 0;
}

/* Catches: waits that sleep for long after PEs of this node have computed, although these wait again; waits that yield to other
 * processes again and again because all PEs wait. Other processes of this machine can disturb a try. */
static void busy_peers(void)
{
    int n = 0, again = 0;
    shi_world.shm.region = regions;
    shi_world.shm.n = 4;
    for (int i = 0; i < 20 && again < WAITS * TRIES; i++) {
        others_wait(0);
        n = yields_of_waits(LONG_NS);
        CHECKF(n <= WAITS / 4, "%d yields in %d waits while PEs compute", n, WAITS);
        others_wait(1);
        again = yields_of_waits(0);
    }
    CHECKF(again == WAITS * TRIES, "%d yields in %d waits once all PEs wait", again, WAITS);
    n = yields_of_waits(LONG_NS);
    CHECKF(n <= WAITS / 4, "%d yields in %d waits while all PEs wait and others compute", n, WAITS);
    shi_world.shm.region = NULL;
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
    for (uint64_t end = shi_now_ns() + ns; shi_now_ns() < end && !w.sleeps;)
        shi_wait_slow(&w);
    return w.sleeps != 0;
}

/* Catches: an active wait that sleeps; a passive one that keeps its core; a PE that sleeps soon after the start of a wait although
 * yields are short, or never. */
static void modes(void)
{
    const uint64_t ms = 1000000;
    for (int shared = 0; shared < 2; shared++) {
        int sleeps = 1;
        for (int i = 0; i < 100 && sleeps; i++) { /* another process may take the core, and waits then sleep for a while */
            clock_nanosleep(CLOCK_REALTIME, 0, &(struct timespec){.tv_nsec = 20 * (long)ms}, NULL);
            sleeps = sleeps_within(SHI_WAIT_MODE_AUTO, shared, 10 * ms);
        }
        CHECKF(!sleeps, "waits sleep within 10 ms, shared cores: %d", shared);
    }
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

/* Instead of libc's: until when the PE has said that it waits. */
static uint64_t said_ns;
int nanosleep(const struct timespec *t, struct timespec *left)
{
    if (!shi_progress_own)
        said_ns = regions[shi_world.boot.local_index].waited_ns;
    return clock_nanosleep(CLOCK_REALTIME, 0, t, left) ? -1 : 0;
}

/* Catches: a PE that sleeps in a wait and counts as one that computes, so that the waits of others go on sleeping; one that still
 * counts as waiting when it has woken up. */
static void sleeper_says(void)
{
    uint64_t before = shi_now_ns();
    struct shi_wait asleep = {.sleeps = 1, .since_ns = before - 64000000};
    shi_world.shm.region = regions;
    shi_wait_slow(&asleep);
    CHECK(said_ns >= before + 1000000);
    CHECK(regions[shi_world.boot.local_index].waited_ns <= shi_now_ns());
    shi_world.shm.region = NULL;
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
    struct shi_wait asleep = {.sleeps = 1, .since_ns = shi_now_ns()}, w = SHI_WAIT_INIT;
    sem_init(&wakes, 0, 0);
    CHECK(shi_progress_add(&network) == 0);
    CHECK(thread_sleeps());
    shi_wait_slow(&asleep);
    CHECKF(woken == 0, "%d wakes by a wait that sleeps", woken);
    __atomic_store_n(&shi_progress_left, 1, __ATOMIC_RELAXED);
    shi_wait_slow(&w);
    __atomic_store_n(&shi_progress_left, 0, __ATOMIC_RELAXED);
    CHECKF(woken == 0, "%d wakes beside a thread whose polling the progress thread does", woken);
    w = SHI_WAIT_INIT; /* the one before may sleep, as another process may have had the core */
    shi_wait_slow(&w);
    CHECKF(woken == 1, "%d wakes by a wait that begins", woken);
    for (int i = 0; i < 1000; i++)
        sem_post(&wakes);
    shi_progress_stop();
    CHECKF(timeouts == 0, "%d waits in the network ended by their time limit", timeouts);
}

/* ---- a lock of one PE -------------------------------------------------------------------------------------------------- */

enum { LOCKS = 10000 };

struct shmem_ctx shi_ctx_small[2];
static int polls_of_locks;

void *shi_resolve_slow(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg, const void *addr,
                       size_t bytes, int pe)
{
    (void)routine, (void)ctx, (void)use, (void)arg, (void)bytes, (void)pe;
    return (void *)addr;
}

uint64_t shi_amo_fetch(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call)
{
    (void)ctx, (void)pe;
    return shi_amo_word(addr, width, call->op, call->value, call->cond);
}

void shi_remote_quiet(struct shi_lane *l)
{
    (void)l;
}

void shi_span_begin(struct shi_span *span, enum shi_family family, const char *routine, const struct shmem_team *team, int pe,
                    size_t bytes)
{
    (void)span, (void)family, (void)routine, (void)team, (void)pe, (void)bytes;
}

static int count_poll(void)
{
    polls_of_locks += !shi_progress_own;
    return 0;
}

void shi_span_count(const struct shi_span *span)
{
    (void)span;
}

/* Catches: a PE that takes its own lock again and again, which does not poll the network meanwhile; one that polls each time. */
static void own_lock(void)
{
    static struct shi_progress_source network = {.poll = count_poll, .every_ms = 1};
    static const struct shi_peer none;
    static long lock;
    shi_world.n_pes = 1;
    shi_world.peer = &none;
    CHECK(shi_progress_add(&network) == 0);
    for (int i = 0; i < LOCKS; i++) {
        shi_lock_set("shmem_set_lock", &lock);
        shi_lock_clear("shmem_clear_lock", &lock);
    }
    shi_progress_stop();
    CHECKF(polls_of_locks >= 5 && polls_of_locks <= LOCKS / 100, "%d polls in %d calls", polls_of_locks, LOCKS);
}

static int undone;

static void undo(void *arg)
{
    undone += arg == &undone;
}

static void *wait_for_ever(void *arg)
{
    struct shi_wait w = SHI_WAIT_INIT;
    for (;;) {
        shi_wait_slow_or_end(&w, undo, &undone);
        SHI_WAIT_REGISTER(&w, .routine = "wait_for_ever", .kind = SHI_FOR_OTHER, .words = "nothing happens");
        if (w.registered > 0)
            __atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Catches: a thread that ends in a wait and leaves its place in the table of waits taken, so that reports read its stack, which is
 * unmapped, and after 64 such threads name no wait. */
static void cancelled(void)
{
    enum { THREADS = 5 };
    struct shi_wait_for what;
    uint64_t since_ns;
    for (int i = 0; i < THREADS; i++) {
        pthread_t t;
        void *result;
        int registered = 0, at = 0;
        CHECK(pthread_create(&t, NULL, wait_for_ever, &registered) == 0);
        while (!__atomic_load_n(&registered, __ATOMIC_ACQUIRE))
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        CHECK(shi_wait_next_blocked(&at, &what, &since_ns));
        pthread_cancel(t);
        CHECK(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
        at = 0;
        CHECKF(!shi_wait_next_blocked(&at, &what, &since_ns), "a wait of a thread that has ended");
        CHECK(undone == i + 1);
    }
}

int main(void)
{
    shi_wait_set(SHI_WAIT_MODE_AUTO, 0, 1, 0); /* no polls: each try yields or sleeps */
    RUN(idle, "cores are free: waits yield");
    RUN(busy, "cores are busy: waits sleep");
    RUN(idle, "cores are free again: waits yield");
    RUN(busy_peers, "PEs of the node compute, then wait: waits sleep, then yield");
    RUN(idle, "cores are free again: waits yield");
    RUN(modes, "SHMEM_WAIT says when a wait sleeps");
    RUN(sleeper_says, "a PE that sleeps in a wait says that it waits");
    RUN(thread_leaves, "a wait that begins takes the progress thread out of the network's wait");
    RUN(own_lock, "a PE that takes its own lock again and again polls now and then");
    RUN(cancelled, "a cancelled thread leaves no wait");
    return tap_end();
}
