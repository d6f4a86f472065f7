/*
 * progress.c - the progress thread sleeps at a doorbell while the program computes. The doorbell is one of this test, whose sleeps have no time
 * limit: a message that the thread would only find by its timer is never found.
 */
#include "host/net/node/progress.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "../tap.h"
#include "host/net/node/doorbell.h"
#include "host/util/base.h"

enum { MESSAGES = 500, IN_VAIN = 6, ARMED = 1 };
static const uint64_t patience_ns = 60000000000;

/* ---- a doorbell ------------------------------------------------------------------------------------------------------- */

static struct shi_doorbell_counts counts;
const struct shi_doorbell_counts *shi_doorbell_counts = &counts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rings = PTHREAD_COND_INITIALIZER;
static uint32_t word;
static int asleep, pauses;
static long last_pause_ns;

int shi_doorbell_announce(uint64_t off)
{
    (void)off;
    __atomic_store_n(&counts.threads, 1, __ATOMIC_SEQ_CST);
    return 1;
}

void shi_doorbell_retract(uint64_t off)
{
    (void)off;
    __atomic_store_n(&counts.threads, 0, __ATOMIC_SEQ_CST);
}

uint32_t shi_doorbell_arm(uint64_t off)
{
    (void)off;
    return __atomic_or_fetch(&word, ARMED, __ATOMIC_SEQ_CST);
}

int shi_doorbell_sleep(uint32_t armed, uint64_t ns)
{
    (void)ns;
    pthread_mutex_lock(&lock);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == armed) {
        __atomic_store_n(&asleep, 1, __ATOMIC_SEQ_CST);
        pthread_cond_wait(&rings, &lock);
    }
    __atomic_store_n(&asleep, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&lock);
    return 1;
}

void shi_doorbell_ring_own_now(void)
{
    pthread_mutex_lock(&lock);
    if (__atomic_load_n(&word, __ATOMIC_SEQ_CST) & ARMED)
        __atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&rings);
    pthread_mutex_unlock(&lock);
}

/* Instead of libc's: pauses of the thread. */
int nanosleep(const struct timespec *t, struct timespec *left)
{
    if (shi_progress_own) {
        last_pause_ns = t->tv_nsec;
        __atomic_add_fetch(&pauses, 1, __ATOMIC_SEQ_CST);
    }
    return clock_nanosleep(CLOCK_REALTIME, 0, t, left) ? -1 : 0;
}

/* ---- a source --------------------------------------------------------------------------------------------------------- */

static int come, handled;

static int poll(void)
{
    if (!__atomic_exchange_n(&come, 0, __ATOMIC_SEQ_CST))
        return 0;
    __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
    return 1;
}

static struct shi_progress_source source = {.poll = poll, .every_ms = 1, .rings = 1};

#define UNTIL(CONDITION)                                                                                             \
    for (uint64_t end = shi_now_ns() + patience_ns; !(CONDITION) && shi_now_ns() < end;)                             \
    sched_yield()

static int is(const int *value)
{
    return __atomic_load_n(value, __ATOMIC_SEQ_CST);
}

static void ring_when_asleep(int with_message)
{
    UNTIL(is(&asleep));
    pthread_mutex_lock(&lock); /* it is in its wait */
    pthread_mutex_unlock(&lock);
    __atomic_store_n(&asleep, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&come, with_message, __ATOMIC_SEQ_CST);
    shi_doorbell_ring_own_now();
}

/* Catches: a thread that polls by a timer while the program computes, which finds a message some ms late; one that does not arm the doorbell
 * again; one that takes its own ring for one in vain. */
static void messages(void)
{
    CHECK(shi_progress_add(&source) == 0);
    for (int i = 0; i < MESSAGES && is(&handled) == i; i++) {
        ring_when_asleep(1);
        UNTIL(is(&handled) == i + 1);
    }
    CHECKF(is(&handled) == MESSAGES, "%d of %d messages", is(&handled), MESSAGES);
    CHECKF(is(&pauses) == 1, "%d pauses: one follows the announcement", is(&pauses));
}

/* Catches: a thread that rings for other threads, or for nothing, wake each time. */
static void in_vain(void)
{
    for (int i = 1; i <= IN_VAIN; i++) {
        ring_when_asleep(0);
        UNTIL(is(&pauses) == 1 + i);
    }
    UNTIL(is(&asleep));
    CHECK(is(&pauses) == 1 + IN_VAIN && last_pause_ns >= 20000l << (IN_VAIN - 1));
    ring_when_asleep(1);
    UNTIL(is(&handled) == MESSAGES + 1);
    ring_when_asleep(0);
    UNTIL(is(&pauses) == 2 + IN_VAIN);
    UNTIL(is(&asleep));
    CHECK(is(&pauses) == 2 + IN_VAIN && last_pause_ns == 20000);
}

/* Catches: a thread that stays at the doorbell while the program polls, or while a thread of the program sleeps there, so that each message
 * wakes it, too; a wait that begins and leaves it there. */
static void leaves(void)
{
    UNTIL(is(&asleep));
    CHECK(is(&shi_progress_asleep) == 1);
    shi_progress_poll();
    shi_progress_begin_wait();
    UNTIL(!__atomic_load_n(&counts.threads, __ATOMIC_SEQ_CST));
    CHECK(!__atomic_load_n(&counts.threads, __ATOMIC_SEQ_CST));
    UNTIL(is(&asleep)); /* the program computes again */
    CHECK(is(&asleep));
    __atomic_store_n(&shi_progress_left, 1, __ATOMIC_SEQ_CST);
    ring_when_asleep(0);
    UNTIL(!__atomic_load_n(&counts.threads, __ATOMIC_SEQ_CST));
    CHECK(!__atomic_load_n(&counts.threads, __ATOMIC_SEQ_CST));
    __atomic_store_n(&shi_progress_left, 0, __ATOMIC_SEQ_CST);
}

/* Catches: an end that waits for a thread which sleeps at the doorbell; one that leaves it announced. */
static void stops(void)
{
    UNTIL(is(&asleep));
    shi_progress_stop();
    CHECK(!counts.threads && !shi_progress_asleep);
}

int main(void)
{
    RUN(messages, "the ring of a message wakes the thread");
    RUN(in_vain, "after rings in vain it sleeps without the doorbell");
    RUN(leaves, "it leaves the doorbell to threads of the program");
    RUN(stops, "the end wakes it");
    return tap_end();
}
