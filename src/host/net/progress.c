/*
 * progress.c - the sources of progress and the thread that polls them when nobody else does.
 *
 *   word      written by             read by     order
 *   polls,    program's threads      thread      relaxed: they only have to differ after a while
 *   posts
 *   stop      shi_progress_stop      thread      R1 -> A1; the join orders everything else
 *   sources   shi_progress_add       all         n_sources: R2 -> A2 a source is whole before it is counted
 *
 * The thread looks once a millisecond whether the program polls by itself; while it does, the thread touches nothing, and
 * looks less often the longer that lasts, for each look takes the core from the program. While the program only posts,
 * the thread polls once a millisecond; when it does neither, the thread rests in the network's own wait and serves what
 * comes.
 */
#include "host/net/progress.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>

#include "host/util/thread.h"

enum { MAX_SOURCES = 4, LOOK_NS = 1000000, RARE_NS = 4000000, LAST_NS = 8000000, OFTEN_NS = 20000 };

/* How long the program has polled by itself, and the thread's last nap of that. */
struct alone {
    long for_ns, nap_ns;
};

int shi_progress_on;
_Thread_local int shi_progress_own;

static struct shi_progress_source sources[MAX_SOURCES];
static int n_sources;
static unsigned long polls;
unsigned long shi_progress_posts;
static int stop, running;
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* add and stop */

static int poll_all(void)
{
    int handled = 0, n = __atomic_load_n(&n_sources, __ATOMIC_ACQUIRE); /* A2 */
    for (int i = 0; i < n; i++)
        handled += sources[i].poll();
    return handled;
}

int shi_progress_poll(void)
{
    __atomic_store_n(&polls, __atomic_load_n(&polls, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    return poll_all();
}

static void pause_ns(long ns)
{
    struct timespec t = {.tv_nsec = ns};
    nanosleep(&t, NULL);
}

/* Sleep while the program polls by itself: while it does so often, longer and longer, but for no more than an eighth of the
 * time for which it has, so that what comes once it computes waits little in comparison. */
static void leave_alone(struct alone *a, unsigned long polls_since)
{
    int often = polls_since * OFTEN_NS >= (unsigned long)a->nap_ns;
    a->for_ns = often ? a->for_ns + a->nap_ns : 0;
    a->nap_ns = a->for_ns / 8 < LOOK_NS ? LOOK_NS : a->for_ns / 8 < RARE_NS ? a->for_ns / 8 : RARE_NS;
    pause_ns(a->nap_ns);
}

/* Sleep until something may have come: in the network's wait where there is one, else longer and longer. */
static void rest(long *idle_ns)
{
    int n = __atomic_load_n(&n_sources, __ATOMIC_ACQUIRE), ms = INT_MAX; /* A2 */
    for (int i = 0; i < n; i++)
        ms = sources[i].every_ms < ms ? sources[i].every_ms : ms;
    for (int i = 0; i < n; i++)
        if (sources[i].rest && sources[i].rest(ms))
            return;
    pause_ns(*idle_ns);
    *idle_ns = *idle_ns * 2 < LAST_NS ? *idle_ns * 2 : LAST_NS;
}

int shi_progress_rest(void)
{
    int n = __atomic_load_n(&n_sources, __ATOMIC_ACQUIRE); /* A2 */
    for (int i = 0; i < n; i++)
        if (sources[i].rest && sources[i].rest(1))
            return 1;
    return 0;
}

static void *serve(void *arg)
{
    struct alone alone = {0};
    unsigned long polled = 0, posted = 0;
    long idle_ns = LOOK_NS;
    shi_progress_own = 1;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) { /* A1 */
        unsigned long polled_now = __atomic_load_n(&polls, __ATOMIC_RELAXED);
        unsigned long posted_now = __atomic_load_n(&shi_progress_posts, __ATOMIC_RELAXED);
        if (polled_now != polled) {
            leave_alone(&alone, polled_now - polled);
            polled = polled_now;
            continue;
        }
        alone = (struct alone){0};
        if (posted_now != posted) { /* it wants the locks and the core, and will poll */
            posted = posted_now;
            poll_all();
            pause_ns(LOOK_NS);
        } else if (poll_all()) {
            idle_ns = LOOK_NS;
        } else {
            rest(&idle_ns);
        }
    }
    return arg;
}

static int start_thread(void)
{
    __atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
    return shi_thread_start(&thread, serve, NULL, "shmem-progress");
}

int shi_progress_add(const struct shi_progress_source *source)
{
    pthread_mutex_lock(&lock);
    int err = n_sources < MAX_SOURCES ? 0 : -ENOSPC;
    if (!err) {
        sources[n_sources] = *source;
        __atomic_store_n(&n_sources, n_sources + 1, __ATOMIC_RELEASE); /* R2 */
        __atomic_store_n(&shi_progress_on, 1, __ATOMIC_RELAXED);
        if (!running)
            err = start_thread();
        running = !err;
    }
    pthread_mutex_unlock(&lock);
    return err;
}

void shi_progress_stop(void)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE); /* R1 */
    if (running)
        pthread_join(thread, NULL);
    running = 0;
    __atomic_store_n(&n_sources, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&shi_progress_on, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}
