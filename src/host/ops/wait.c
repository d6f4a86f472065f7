/*
 * wait.c - the slow half of wait loops: yield, sleep until the doorbell rings, notice an abort, register long waits.
 *
 *   word          written by                            read by          order
 *   (of an entry of blocked_waits)
 *   state         owner: compare-swap FREE to TAKEN,    waiters,         R1 -> A1 the entry is complete
 *                 then REGISTERED, FREE                 signal handler   R2 -> A2 the next owner's writes come after
 *   what          owner while TAKEN                     signal handler   plain, after A1; it reads the state again
 *   since_ns      same                                  same             same
 *   sleeper,      owner                                 owner            plain
 *    watch
 *
 *   cores         waiters                               waiters          relaxed; a lost update is repeated, a mixed one ends
 *                                                                        with the next short yield
 *   waited_ns     waiters of its PE; until the end of   waiters of the   relaxed: a hint; an old value ends a busy time later
 *    (net_shm.h)  a sleep, then now                     node
 */
#include "host/ops/wait.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "host/net/node/doorbell.h"
#include "host/ops/state.h"
#include "host/policy/limits.h"
#include "host/util/cancel.h"
#include "host/util/end.h"
#include "host/util/log.h"

struct shi_wait_rules shi_wait_rules = {.yields_for = SHI_WAIT_NEVER};
int (*shi_wait_work)(void);
int (*shi_wait_fails)(const struct shi_wait_for *what);
enum shi_wait_prospect (*shi_wait_look)(const struct shi_wait_for *what, int in_vain);
_Thread_local const char *shi_wait_inside;
static int only_doorbell; /* SHMEM_WAIT=doorbell, for tests: announced waits sleep until it rings */
static struct shi_wait_cores cores;

/* Waits of further threads are not registered. */
enum { BLOCKED_MAX = 64 };
enum { FREE, TAKEN, REGISTERED };
/* How a registered wait sleeps. */
struct sleeper {
    int announced;    /* the doorbell may wake it; then the others count */
    int rung;         /* the doorbell has just woken it */
    int overslept;    /* SHMEM_WAIT=doorbell: the last sleep ended without a ring */
    uint32_t armed;   /* for shi_doorbell_sleep; 0: the next sleep is without the doorbell */
    unsigned in_vain; /* rings for something else */
    uint64_t off;     /* of the awaited word, for the doorbell */
};
/* When a registered wait looks next whether it may end. */
struct watch {
    uint64_t next_ns, every_ns;
    int in_vain;
};
static struct blocked_wait {
    uint32_t state;
    uint64_t since_ns;
    struct shi_wait_for what;
    struct sleeper sleeper;
    struct watch watch;
} blocked_waits[BLOCKED_MAX];

/* Other PEs of the node ring the doorbell, so a wait must not sleep in the network; the progress thread does. */
static int has_neighbours(void)
{
    return shi_world.shm.n > 1 && shi_world.config.transport != SHI_TRANSPORT_OFI;
}

void shi_wait_set(enum shi_wait_mode mode, long spin, int oversubscribed, int network)
{
    only_doorbell = mode == SHI_WAIT_MODE_DOORBELL;
    __atomic_store_n(&shi_progress_thread_off, only_doorbell && !network, __ATOMIC_RELAXED);
    shi_wait_rules = shi_wait_rules_of(&(const struct shi_wait_facts){mode, spin, oversubscribed, network, has_neighbours()});
}

void shi_wait_leave(void)
{
    only_doorbell = shi_progress_thread_off = 0;
    shi_wait_rules = (struct shi_wait_rules){.yields_for = SHI_WAIT_NEVER};
    memset(&cores, 0, sizeof cores);
    memset(blocked_waits, 0, sizeof blocked_waits);
}

void shi_wait_refuse(const char *routine)
{
    shi_die(routine, "a wait for other PEs inside %s, which might never end", shi_wait_inside);
}

int shi_wait_aborted(void)
{
    int aborted = shi_shm_aborted(&shi_world.shm);
    if (shi_unlikely(aborted)) {
        if (shi_end_under_way()) /* an exit handler waits for PEs that have ended */
            shi_end_finish();
        /* The PE that aborted has reported why; the launcher ends this one, with its status. */
        sleep(SHI_END_HANDLERS_S + SHI_END_LAUNCHER_S);
        _exit(aborted - 1);
    }
    return 0;
}

/* ---- yields ----------------------------------------------------------------------------------------------------------- */

static int shares_cores(void)
{
    return shi_wait_rules.tests && shi_world.shm.region;
}

/* This PE waits until then: now, or the end of a sleep. */
static void say_waits(uint64_t until)
{
    if (!shares_cores())
        return;
    uint64_t *at = shi_shm_waited(&shi_world.shm, shi_world.boot.local_index);
    if (shi_wait_is_to_say(__atomic_load_n(at, __ATOMIC_RELAXED), until))
        __atomic_store_n(at, until, __ATOMIC_RELAXED);
}

static int all_wait(uint64_t now)
{
    for (int i = 0; i < shi_world.shm.n; i++)
        if (!shi_wait_does_wait(__atomic_load_n(shi_shm_waited(&shi_world.shm, i), __ATOMIC_RELAXED), now))
            return 0;
    return 1;
}

/* Yield; or tell the wait to sleep, once it has yielded for so long, or because a process computes on the core. */
static void yield(struct shi_wait *w, uint64_t yields_for)
{
    struct shi_wait_cores was = {__atomic_load_n(&cores.busy_for, __ATOMIC_RELAXED), __atomic_load_n(&cores.busy_until, __ATOMIC_RELAXED),
                                 __atomic_load_n(&cores.by_others, __ATOMIC_RELAXED)};
    uint64_t now = shi_now_ns();
    say_waits(now);
    int all = shares_cores() && shi_wait_needs_all(was) && all_wait(now);
    w->sleeps = shi_wait_is_to_sleep(was, yields_for, w->since_ns, now, all);
    w->since_ns = w->since_ns ? w->since_ns : now;
    if (w->sleeps)
        return;
    sched_yield();
    struct shi_wait_cores is = shi_wait_after_yield(was, now, shi_now_ns(), all);
    if (is.busy_until == was.busy_until)
        return;
    __atomic_store_n(&cores.busy_for, is.busy_for, __ATOMIC_RELAXED);
    __atomic_store_n(&cores.busy_until, is.busy_until, __ATOMIC_RELAXED);
    __atomic_store_n(&cores.by_others, is.by_others, __ATOMIC_RELAXED);
}

static void sleep_for(uint64_t ns)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

int shi_wait_test_ended(int passed)
{
    static _Thread_local struct {
        unsigned failed;
        uint64_t yielded_ns; /* when the last yield or sleep ended */
        struct shi_wait w;   /* of the tests that fail in a row */
    } t;
    if (passed) {
        t.failed = 0;
        t.w = SHI_WAIT_INIT;
    } else if (++t.failed >= shi_wait_rules.tests) {
        SHI_UNCANCELLED;
        t.failed = 0;
        if (shi_wait_has_computed(t.yielded_ns, shi_now_ns()))
            t.w = SHI_WAIT_INIT;
        yield(&t.w, shi_wait_rules.tests_yield_for);
        if (t.w.sleeps) /* briefly: a test that sleeps cannot end in time */
            sleep_for(shi_wait_first_sleep());
        t.yielded_ns = shi_now_ns();
    }
    return passed;
}

/* ---- sleeping ----------------------------------------------------------------------------------------------------- */

/* For the doorbell: where in the node's file the words lie that a wait awaits. */
static uint64_t off_of(const struct shi_wait_for *what)
{
    const struct shi_shm_region *r = &shi_world.shm.region[shi_world.boot.local_index];
    uintptr_t a = (uintptr_t)what->addr;
    if (what->kind != SHI_FOR_WORDS && what->kind != SHI_FOR_LOCK)
        return SHI_DOORBELL_NO_WORD;
    if (what->kind == SHI_FOR_WORDS && what->n != 1)
        return SHI_DOORBELL_ANY_WORD;
    if (a - shi_world.heap_lo < shi_world.heap_bytes)
        return r->heap_off + (a - shi_world.heap_lo);
    if (a - shi_world.data_lo < shi_world.data_bytes)
        return r->data_off + shi_world.relro_bytes + (a - shi_world.data_lo);
    return SHI_DOORBELL_ANY_WORD;
}

/* Sleep until the doorbell rings. After a ring for something else sleep without it, longer each time, so that rings of busy
 * peers wake this PE no more often than a timer would. */
static void sleep_announced(struct sleeper *s, uint64_t limit)
{
    if (s->rung) {
        sleep_for(shi_wait_deaf_for(++s->in_vain, limit));
        s->rung = 0;
    } else if (!s->armed) {
        sleep_for(shi_wait_first_sleep());
    } else {
        __atomic_add_fetch(&shi_progress_left, 1, __ATOMIC_RELAXED);
        s->rung = shi_doorbell_sleep(s->armed, only_doorbell ? SHI_LOST_RING_NS : limit);
        __atomic_sub_fetch(&shi_progress_left, 1, __ATOMIC_RELAXED);
        s->overslept = only_doorbell && !s->rung;
    }
    s->armed = shi_doorbell_arm(s->off);
}

/* SHMEM_WAIT=doorbell: the awaited event came without a ring. */
static void check_overslept(int registered)
{
    if (blocked_waits[registered - 1].sleeper.overslept)
        shi_die(blocked_waits[registered - 1].what.routine, "the awaited event rang no doorbell");
}

static void sleep_once(const struct shi_wait *w, uint64_t limit)
{
    struct sleeper *s = w->registered > 0 ? &blocked_waits[w->registered - 1].sleeper : NULL;
    int announced = s && s->announced, ms = (int)((limit + 999999) / 1000000);
    if (!(announced && has_neighbours()) && shi_progress_idle_wait(ms))
        return;
    if (announced)
        sleep_announced(s, limit);
    else
        sleep_for(limit);
}

static void look(struct blocked_wait *b, uint64_t now)
{
    if (now < b->watch.next_ns || !shi_wait_look)
        return;
    enum shi_wait_prospect p = shi_wait_look(&b->what, b->watch.in_vain);
    if (p == SHI_WAIT_ASKS)
        return;
    b->watch.in_vain = p == SHI_WAIT_IN_VAIN;
    if (p == SHI_WAIT_GOES_ON) {
        b->watch.every_ns = shi_wait_looks_after(b->watch.every_ns);
        b->watch.next_ns = now + b->watch.every_ns;
    }
}

void shi_wait_slow(struct shi_wait *w)
{
    SHI_UNCANCELLED;
    shi_wait_aborted();
    int some = shi_progress(), (*work)(void) = __atomic_load_n(&shi_wait_work, __ATOMIC_ACQUIRE); /* W2 */
    if (shi_unlikely(work != NULL) && !shi_progress_own)
        some += work();
    if (some) { /* the condition may be true now */
        if (w->registered > 0)
            check_overslept(w->registered);
        shi_wait_anew(w);
        return;
    }
    if (!w->sleeps && !shi_progress_own)
        shi_progress_begin_wait();
    if (__atomic_load_n(&shi_progress_on, __ATOMIC_RELAXED) && w->rounds < shi_wait_rules.rounds) {
        w->polls = 0;
        w->rounds++;
        return;
    }
    if (!w->sleeps) {
        yield(w, shi_wait_rules.yields_for);
        return;
    }
    uint64_t now = shi_now_ns(), limit = shi_wait_sleeps_for(now - w->since_ns);
    if (w->registered > 0)
        look(&blocked_waits[w->registered - 1], now);
    say_waits(now + limit);
    sleep_once(w, limit);
    say_waits(shi_now_ns());
}

struct cancelled {
    struct shi_wait *w;
    void (*undo)(void *arg);
    void *arg;
};

static void end_cancelled(void *arg)
{
    const struct cancelled *c = arg;
    shi_wait_end(c->w);
    c->undo(c->arg);
}

void shi_wait_slow_or_end(struct shi_wait *w, void (*undo)(void *arg), void *arg)
{
    struct cancelled c = {w, undo, arg};
    int old = shi_cancel_off();
    shi_wait_slow(w);
    pthread_cleanup_push(end_cancelled, &c);
    shi_cancel_restore(old);
    pthread_testcancel();
    pthread_cleanup_pop(0);
}

static struct sleeper announce(const struct shi_wait *w, const struct shi_wait_for *what)
{
    struct sleeper s = {0};
    if (w->sleeps && shi_world.shm.region) {
        s.off = off_of(what);
        s.announced = shi_doorbell_announce(s.off);
    }
    return s;
}

void shi_wait_register(struct shi_wait *w, const struct shi_wait_for *what)
{
    w->registered = -1;
    for (int i = 0; i < BLOCKED_MAX; i++) {
        uint32_t is = FREE;
        if (!__atomic_compare_exchange_n(&blocked_waits[i].state, &is, TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* A2 */
            continue;
        blocked_waits[i].what = *what;
        blocked_waits[i].since_ns = w->since_ns;
        blocked_waits[i].sleeper = announce(w, what);
        blocked_waits[i].watch = (struct watch){w->since_ns + shi_wait_looks_after(0), shi_wait_looks_after(0), 0};
        __atomic_store_n(&blocked_waits[i].state, REGISTERED, __ATOMIC_RELEASE); /* R1 */
        w->registered = i + 1;
        return;
    }
}

void shi_wait_unregister(struct shi_wait *w)
{
    if (w->registered > 0) {
        const struct sleeper *s = &blocked_waits[w->registered - 1].sleeper;
        if (s->announced)
            shi_doorbell_retract(s->off);
        check_overslept(w->registered);
        __atomic_store_n(&blocked_waits[w->registered - 1].state, FREE, __ATOMIC_RELEASE); /* R2 */
    }
    w->registered = 0;
}

int shi_wait_next_blocked(int *at, struct shi_wait_for *out, uint64_t *since_ns)
{
    while (*at < BLOCKED_MAX) {
        int i = (*at)++;
        if (__atomic_load_n(&blocked_waits[i].state, __ATOMIC_ACQUIRE) != REGISTERED) /* A1 */
            continue;
        *out = blocked_waits[i].what;
        *since_ns = blocked_waits[i].since_ns;
        if (__atomic_load_n(&blocked_waits[i].state, __ATOMIC_RELAXED) == REGISTERED)
            return 1;
    }
    return 0;
}
