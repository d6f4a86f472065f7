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
 *   busy_ns       waiters                               waiters          relaxed; a lost update is repeated
 *   busy_until_ns same                                  same             same
 *   by_others     same                                  same             same
 *   waited_ns     waiters of its PE; until the end of   waiters of the   relaxed: a hint; an old value ends a busy time later
 *    (net_shm.h)  a sleep, then now                     node
 */
#include "host/ops/wait.h"

#include <sched.h>
#include <unistd.h>

#include "host/net/node/doorbell.h"
#include "host/ops/balance.h"
#include "host/ops/state.h"
#include "host/util/cancel.h"
#include "host/util/end.h"
#include "host/util/log.h"

enum { POLLS_ALONE = 4000, POLLS_A_ROUND = 16, TESTS_SHARED = 10, COMPUTES_NS = 20000, PASSIVE_NS = 100000, AUTO_NS = 60000000, BRIEF_NS = 2000000,
       FIRST_SLEEP_US = 20, LAST_SLEEP_US = 1000, LONGEST_SLEEP_US = 4000, LONG_YIELD_NS = 1500000, LOST_NS = 2000000000,
       FIRST_BUSY_NS = 20000000, LAST_BUSY_NS = 1280000000,
       WAITED_NS = 500000 /* between two times that say that a PE waits */ };
#define FIRST_LOOK_NS 1000000000ull /* by a wait, whether it may end; then twice as late each time */
#define LAST_LOOK_NS 16000000000ull

unsigned shi_wait_polls[2] = {POLLS_ALONE, 0};
unsigned shi_wait_tests;
int (*shi_wait_work)(void);
enum shi_wait_prospect (*shi_wait_look)(const struct shi_wait_for *what, int in_vain);
_Thread_local const char *shi_wait_inside;
static unsigned most_rounds = POLLS_ALONE; /* polls of progress before the core is yielded */
static uint64_t yield_ns = AUTO_NS;        /* a wait yields for so long, then sleeps */
static int never_sleeps;
static int only_doorbell; /* SHMEM_WAIT=doorbell, for tests: announced waits sleep until it rings */
static uint64_t busy_ns, busy_until_ns;    /* waits sleep for so long, until then, because other processes use the cores */
static int by_others;                      /* these are not PEs of this node */

/* Waits of further threads are not registered. */
enum { BLOCKED_MAX = 64 };
enum { FREE, TAKEN, REGISTERED };
/* How a registered wait sleeps. */
struct sleeper {
    int announced;    /* the doorbell may wake it; then the others count */
    int rung;         /* the doorbell has just woken it */
    int overslept;    /* SHMEM_WAIT=doorbell: the last sleep ended without a ring */
    uint32_t armed;   /* for shi_doorbell_sleep; 0: the next sleep is without the doorbell */
    uint32_t deaf_us; /* the last sleep without the doorbell, after a ring for something else */
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

/* A poll of shared memory costs as much as one of the condition, a poll of the network several times as much. Without neighbours
 * only the network makes a condition true. */
void shi_wait_set(enum shi_wait_mode mode, long configured, int oversubscribed, int network)
{
    unsigned polls = configured != SHI_CONFIG_AUTO ? (unsigned)configured : oversubscribed ? 0 : POLLS_ALONE;
    never_sleeps = mode == SHI_WAIT_MODE_ACTIVE;
    only_doorbell = mode == SHI_WAIT_MODE_DOORBELL;
    __atomic_store_n(&shi_progress_thread_off, only_doorbell && !network, __ATOMIC_RELAXED);
    shi_wait_tests = !oversubscribed ? 0 : configured == SHI_CONFIG_AUTO ? TESTS_SHARED : polls ? polls : 1;
    yield_ns = mode == SHI_WAIT_MODE_PASSIVE || only_doorbell ? PASSIVE_NS : AUTO_NS;
    unsigned a_round = network && has_neighbours() ? POLLS_A_ROUND : 0;
    shi_wait_polls[0] = polls;
    shi_wait_polls[1] = polls < a_round ? polls : a_round;
    most_rounds = network ? polls / POLLS_A_ROUND : polls;
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

static int shares_cores(void)
{
    return shi_wait_tests && shi_world.shm.region;
}

/* This PE waits until then: now, or the end of a sleep. */
static void say_waits(uint64_t until)
{
    if (!shares_cores())
        return;
    uint64_t *at = shi_shm_waited(&shi_world.shm, shi_world.boot.local_index);
    if (until - __atomic_load_n(at, __ATOMIC_RELAXED) > WAITED_NS)
        __atomic_store_n(at, until, __ATOMIC_RELAXED);
}

/* 1: all PEs of the node have waited within the last millisecond. */
static int all_wait(uint64_t now)
{
    for (int i = 0; i < shi_world.shm.n; i++)
        if ((int64_t)(now - __atomic_load_n(shi_shm_waited(&shi_world.shm, i), __ATOMIC_RELAXED)) > 2 * WAITED_NS)
            return 0;
    return 1;
}

/* Another process that computes keeps the core for its whole time slice after each yield, but a sleeper gets the core back
 * when it wakes up. So after a long yield waits sleep instead, first briefly, for longer each time that the next yield is
 * long again. The process may be a PE of this node. Then waits yield again as soon as all PEs wait; if that yield is long, too, it is not. */
static void yield_or_sleep(struct shi_wait *w, uint64_t most_ns)
{
    uint64_t before = shi_now_ns(), now = before;
    int all = 0;
    say_waits(before);
    if (shi_wait_tests && !shi_progress_own && !__atomic_load_n(&busy_ns, __ATOMIC_RELAXED))
        shi_balance();
    if (never_sleeps) {
        sched_yield();
        return;
    }
    if (shares_cores() && __atomic_load_n(&busy_ns, __ATOMIC_RELAXED) && !__atomic_load_n(&by_others, __ATOMIC_RELAXED))
        all = all_wait(before);
    if (all || before >= __atomic_load_n(&busy_until_ns, __ATOMIC_RELAXED)) {
        sched_yield();
        now = shi_now_ns();
        uint64_t busy = __atomic_load_n(&busy_ns, __ATOMIC_RELAXED), next = 0;
        if (now - before > LONG_YIELD_NS) {
            next = busy == 0 ? FIRST_BUSY_NS : busy * 2 < LAST_BUSY_NS ? busy * 2 : LAST_BUSY_NS;
            __atomic_store_n(&busy_until_ns, now + next, __ATOMIC_RELAXED);
        }
        if (busy && !next)
            __atomic_store_n(&busy_until_ns, 0, __ATOMIC_RELAXED);
        if (all || (busy && !next))
            __atomic_store_n(&by_others, next != 0, __ATOMIC_RELAXED);
        if (next != busy)
            __atomic_store_n(&busy_ns, next, __ATOMIC_RELAXED);
    } else if (!shi_progress_idle_wait(1)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    if (most_ns > BRIEF_NS && __atomic_load_n(&busy_ns, __ATOMIC_RELAXED))
        most_ns = BRIEF_NS;
    if (w->since_ns == 0)
        w->since_ns = before;
    else if (now - w->since_ns > most_ns)
        w->sleep_us = FIRST_SLEEP_US;
}

static void sleep_for(uint32_t us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

/* Sleeps are short: a test that sleeps for longer could not end in time. Yields end early, because each gap between two tests in which
 * another process has the core looks as if the program computed, and the time begins again. */
static void yield_or_sleep_briefly(struct shi_wait *w)
{
    if (w->sleep_us && !never_sleeps)
        sleep_for(FIRST_SLEEP_US);
    else
        yield_or_sleep(w, yield_ns < BRIEF_NS ? yield_ns : BRIEF_NS);
}

int shi_wait_test_ended(int passed)
{
    static _Thread_local struct {
        unsigned failed;
        uint64_t yielded_ns; /* when the last yield ended */
        struct shi_wait w;   /* of the tests that fail in a row */
    } t;
    if (passed) {
        t.failed = 0;
        t.w = SHI_WAIT_INIT;
    } else if (++t.failed >= shi_wait_tests) {
        SHI_UNCANCELLED;
        t.failed = 0;
        if (shi_now_ns() - t.yielded_ns > COMPUTES_NS)
            t.w = SHI_WAIT_INIT;
        yield_or_sleep_briefly(&t.w);
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
static void sleep_announced(struct shi_wait *w, struct sleeper *s, uint32_t most)
{
    if (s->rung) {
        s->deaf_us = s->deaf_us * 2 < FIRST_SLEEP_US ? FIRST_SLEEP_US : s->deaf_us * 2 < most ? s->deaf_us * 2 : most;
        sleep_for(s->deaf_us);
        s->rung = 0;
    } else if (!s->armed) {
        sleep_for(FIRST_SLEEP_US);
    } else {
        __atomic_add_fetch(&shi_progress_left, 1, __ATOMIC_RELAXED);
        s->rung = shi_doorbell_sleep(s->armed, only_doorbell ? LOST_NS : w->sleep_us * 1000ull);
        __atomic_sub_fetch(&shi_progress_left, 1, __ATOMIC_RELAXED);
        s->overslept = only_doorbell && !s->rung;
        w->sleep_us = w->sleep_us * 2 < most ? w->sleep_us * 2 : most;
    }
    s->armed = shi_doorbell_arm(s->off);
}

/* SHMEM_WAIT=doorbell: the awaited event came without a ring. */
static void check_overslept(int registered)
{
    if (blocked_waits[registered - 1].sleeper.overslept)
        shi_die(blocked_waits[registered - 1].what.routine, "the awaited event rang no doorbell");
}

/* The longest sleep now: about 0.4 % of what the wait has taken, within limits. */
static uint32_t most_us(const struct shi_wait *w)
{
    uint64_t us = (shi_now_ns() - w->since_ns) >> 18;
    return us < LAST_SLEEP_US ? LAST_SLEEP_US : us < LONGEST_SLEEP_US ? (uint32_t)us : LONGEST_SLEEP_US;
}

static void sleep_once(struct shi_wait *w, uint32_t most)
{
    struct sleeper *s = w->registered > 0 ? &blocked_waits[w->registered - 1].sleeper : NULL;
    int announced = s && s->announced;
    if (!(announced && has_neighbours()) && shi_progress_idle_wait((int)(most / 1000)))
        return;
    if (announced) {
        sleep_announced(w, s, most);
        return;
    }
    sleep_for(w->sleep_us);
    w->sleep_us = w->sleep_us * 2 < most ? w->sleep_us * 2 : most;
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
        b->watch.every_ns = b->watch.every_ns < LAST_LOOK_NS ? b->watch.every_ns * 2 : LAST_LOOK_NS;
        b->watch.next_ns = now + b->watch.every_ns;
    }
}

void shi_wait_slow(struct shi_wait *w)
{
    SHI_UNCANCELLED;
    shi_wait_aborted();
    int some = shi_progress(), (*work)(void) = __atomic_load_n(&shi_wait_work, __ATOMIC_ACQUIRE); /* W2 */
    if (!some && (w->sleep_us || __atomic_load_n(&busy_ns, __ATOMIC_RELAXED)))
        some = shi_progress(); /* after a sleep: psm3 reads its sockets at every second poll only */
    if (shi_unlikely(work != NULL) && !shi_progress_own)
        some += work();
    if (some) { /* the condition may be true now */
        if (w->registered > 0)
            check_overslept(w->registered);
        shi_wait_anew(w);
        return;
    }
    if (!w->sleep_us && !shi_progress_own)
        shi_progress_begin_wait();
    if (__atomic_load_n(&shi_progress_on, __ATOMIC_RELAXED) && w->rounds < most_rounds) {
        w->polls = 0;
        w->rounds++;
        return;
    }
    if (w->sleep_us == 0) {
        yield_or_sleep(w, yield_ns);
        return;
    }
    uint32_t most = most_us(w);
    uint64_t now = shi_now_ns();
    if (w->registered > 0)
        look(&blocked_waits[w->registered - 1], now);
    say_waits(now + most * 1000ull);
    sleep_once(w, most);
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
    if (w->sleep_us && shi_world.shm.region) {
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
        blocked_waits[i].watch = (struct watch){w->since_ns + FIRST_LOOK_NS, FIRST_LOOK_NS, 0};
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
