/*
 * progress.c - the list of progress sources, and the helper thread that polls them when the program does not.
 *
 *   word            written by             read by     order
 *   polls           program's threads      thread      relaxed: it only has to differ after a while
 *   left            waits              thread      relaxed: a hint; a wait that sleeps polls, too, but seldom
 *   thread_off      shi_wait_set           thread      relaxed: it may poll once more
 *   asleep          thread, waits          waits       relaxed: one that sees it early or late wakes the thread once more,
 *                                                      or not
 *   stop            shi_progress_stop      thread      R1 -> A1; the join orders everything else
 *   first, .next    shi_progress_add       all         R2 -> A2 a source is whole before it is in the list
 *
 * While the program polls, the thread only compares the count of polls every SHI_LOOK_NS, for each look takes the core from the program.
 * When it does not, or sleeps until a doorbell rings, the thread sleeps in the transport's wait, handles what comes, and rings the
 * doorbell. Without a transport it sleeps at the PE's doorbell, which the senders of messages ring, unless a thread of the program does. A
 * wait of the program that begins wakes it there.
 */
#include "host/net/node/progress.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>

#include "host/net/node/doorbell.h"
#include "host/policy/limits.h"
#include "host/policy/wait.h"
#include "host/util/base.h"
#include "host/util/cancel.h"
#include "host/util/thread.h"
#include "host/util/tsan.h"

int shi_progress_on;
_Thread_local int shi_progress_own;
int shi_progress_left, shi_progress_thread_off, shi_progress_asleep;

static struct shi_progress_source *first, **last = &first;
static unsigned long polls;
static int stop, running;
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* add and stop */

static const struct shi_progress_source *follow(struct shi_progress_source *const *link)
{
    return __atomic_load_n(link, __ATOMIC_ACQUIRE); /* A2 */
}

static int poll_all(void)
{
    SHI_TSAN_IGNORED;
    int handled = 0;
    for (const struct shi_progress_source *s = follow(&first); s; s = follow(&s->next))
        handled += s->poll();
    if (handled) /* other threads may wait for it */
        shi_doorbell_ring_own();
    return handled;
}

int shi_progress_poll(void)
{
    SHI_UNCANCELLED;
    if (!shi_progress_own)
        __atomic_store_n(&polls, __atomic_load_n(&polls, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    return poll_all();
}

static void pause_ns(long ns)
{
    struct timespec t = {.tv_nsec = ns};
    nanosleep(&t, NULL);
}

int shi_progress_idle_wait(int timeout_ms)
{
    SHI_TSAN_IGNORED;
    for (const struct shi_progress_source *s = follow(&first); s; s = follow(&s->next))
        if (s->idle_wait && s->idle_wait(timeout_ms))
            return 1;
    return 0;
}

/* The thread's use of the doorbell. The order of its steps is that of doorbell.h: announce, a short sleep, then arm, poll, sleep. */
struct bell {
    int announced, rung;
    uint32_t armed;
    unsigned in_vain; /* rings after which nothing had come */
};

static void leave_doorbell(struct bell *b)
{
    if (b->announced)
        shi_doorbell_retract(SHI_DOORBELL_NO_WORD);
    *b = (struct bell){0};
}

/* At most for ns. After a ring for something else the thread sleeps without the doorbell, longer each time. */
static void sleep_at_doorbell(struct bell *b, long ns)
{
    if (!b->announced) {
        b->announced = shi_doorbell_announce(SHI_DOORBELL_NO_WORD);
        pause_ns(b->announced ? (long)shi_wait_first_sleep() : ns);
    } else if (b->rung) {
        pause_ns((long)shi_wait_deaf_for(++b->in_vain, (uint64_t)ns));
        b->rung = 0;
    } else {
        b->rung = shi_doorbell_sleep(b->armed, (uint64_t)ns);
    }
    if (b->announced)
        b->armed = shi_doorbell_arm(SHI_DOORBELL_NO_WORD);
}

/* Something had come, and poll_all has rung this doorbell. */
static void has_polled(struct bell *b)
{
    b->rung = 0;
    b->in_vain = 0;
    if (b->announced)
        b->armed = shi_doorbell_arm(SHI_DOORBELL_NO_WORD);
}

/* Sleep until something may have come: in the transport's wait or at the doorbell, else, and there at most, longer and longer. */
static void idle_wait(struct bell *b, long *idle_ns)
{
    int ms = INT_MAX, rings = 0;
    for (const struct shi_progress_source *s = follow(&first); s; s = follow(&s->next)) {
        ms = s->every_ms < ms ? s->every_ms : ms;
        rings |= s->rings;
    }
    __atomic_store_n(&shi_progress_asleep, 1, __ATOMIC_RELAXED);
    int slept = shi_progress_idle_wait(ms);
    if (!slept && rings && !__atomic_load_n(&shi_progress_left, __ATOMIC_RELAXED)) {
        sleep_at_doorbell(b, *idle_ns);
    } else {
        leave_doorbell(b);
        if (!slept)
            pause_ns(*idle_ns);
    }
    __atomic_store_n(&shi_progress_asleep, 0, __ATOMIC_RELAXED);
    if (!slept)
        *idle_ns = *idle_ns * 2 < SHI_IDLE_LAST_NS ? *idle_ns * 2 : SHI_IDLE_LAST_NS;
}

void shi_progress_wake_thread(void)
{
    if (!__atomic_exchange_n(&shi_progress_asleep, 0, __ATOMIC_RELAXED))
        return;
    for (const struct shi_progress_source *s = follow(&first); s; s = follow(&s->next))
        if (s->wake)
            s->wake();
    shi_doorbell_ring_own();
}

static void trim(uint64_t *due_ns)
{
    uint64_t now = shi_now_ns();
    if (now < *due_ns)
        return;
    *due_ns = now + SHI_TRIM_NS;
    for (const struct shi_progress_source *s = follow(&first); s; s = follow(&s->next))
        if (s->trim)
            s->trim();
}

static void *serve(void *arg)
{
    uint64_t trim_ns = shi_now_ns() + SHI_TRIM_NS;
    unsigned long polled = 0;
    long idle_ns = SHI_IDLE_FIRST_NS;
    struct bell bell = {0};
    shi_progress_own = 1;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) { /* A1 */
        if (shi_unlikely(__atomic_load_n(&shi_progress_thread_off, __ATOMIC_RELAXED))) {
            pause_ns(SHI_LOOK_NS);
            continue;
        }
        trim(&trim_ns);
        unsigned long before = polled;
        polled = __atomic_load_n(&polls, __ATOMIC_RELAXED);
        if (polled != before && !__atomic_load_n(&shi_progress_left, __ATOMIC_RELAXED)) {
            leave_doorbell(&bell);
            pause_ns(SHI_LOOK_NS);
        } else if (poll_all() + poll_all()) { /* twice: psm3 reads its sockets at every second poll only */
            idle_ns = SHI_IDLE_FIRST_NS;
            has_polled(&bell);
        } else {
            idle_wait(&bell, &idle_ns);
        }
    }
    leave_doorbell(&bell);
    return arg;
}

static int start_thread(void)
{
    __atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
    return shi_thread_start(&thread, serve, NULL, "shmem-progress");
}

int shi_progress_add(struct shi_progress_source *source)
{
    int err = 0;
    pthread_mutex_lock(&lock);
    __atomic_store_n(&source->next, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(last, source, __ATOMIC_RELEASE); /* R2 */
    last = &source->next;
    __atomic_store_n(&shi_progress_on, 1, __ATOMIC_RELAXED);
    if (!running)
        err = start_thread();
    running = !err;
    pthread_mutex_unlock(&lock);
    return err;
}

void shi_progress_stop(void)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE); /* R1 */
    shi_doorbell_ring_own();
    if (running)
        pthread_join(thread, NULL);
    running = 0;
    __atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
    thread = 0;
    for (struct shi_progress_source *s = first, *next; s; s = next) {
        next = s->next;
        __atomic_store_n(&s->next, NULL, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&first, NULL, __ATOMIC_RELAXED);
    last = &first;
    __atomic_store_n(&shi_progress_on, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}
