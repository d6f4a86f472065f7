/*
 * gpc_run.c - the dispatcher: functions of GPCs run here, one at a time, interrupted by nothing but progress that they
 * make themselves, which only adds to the queue.
 *
 *   word       written by             read by                order
 *   queue.*    posters, dispatcher    the same               queue.lock: what was done before a post is seen by run
 *   queue.n    under queue.lock       everybody              relaxed: a hint; who goes to sleep on it is woken or looks
 *                                                            again (wait loops: in a millisecond; thread: see nudge)
 *   running    dispatchers            dispatchers            spin.h; whoever finds it taken goes away
 *   ignored    pollers, dispatcher    pollers                relaxed: a count of looks
 *   wake,stop  nudge, run_down        thread                 wake_lock
 *
 * Who dispatches: every wait loop of the program's threads (wait.h) and shmemx_gpc_test and _wait. The thread only steps
 * in when they do not: when progress is being made by the library's own thread, for the program computes, or when the
 * program has polled many times without ever waiting.
 */
#include "host/ops/gpc_run.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "host/net/progress.h"
#include "host/ops/wait.h"
#include "host/ops/world.h"
#include "host/util/log.h"
#include "host/util/spin.h"

enum { PATIENCE_POLLS = 64, FIRST_PAUSE_NS = 20000, LAST_PAUSE_NS = 1000000 };

static struct {
    uint8_t lock;
    int n;
    struct shi_gpc_task *first, **last;
} queue = {.last = &queue.first};
static uint8_t running;
static int ignored;

static pthread_t thread;
static pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake_cond = PTHREAD_COND_INITIALIZER;
static int wake, stop, has_thread;

void shi_gpc_post(struct shi_gpc_task *t)
{
    t->next = NULL;
    shi_spin_lock(&queue.lock);
    *queue.last = t;
    queue.last = &t->next;
    __atomic_store_n(&queue.n, queue.n + 1, __ATOMIC_RELAXED);
    shi_spin_unlock(&queue.lock);
}

static struct shi_gpc_task *take(void)
{
    shi_spin_lock(&queue.lock);
    struct shi_gpc_task *t = queue.first;
    if (t) {
        queue.first = t->next;
        if (!queue.first)
            queue.last = &queue.first;
        __atomic_store_n(&queue.n, queue.n - 1, __ATOMIC_RELAXED);
    }
    shi_spin_unlock(&queue.lock);
    return t;
}

static int queued(void)
{
    return __atomic_load_n(&queue.n, __ATOMIC_RELAXED);
}

int shi_gpc_dispatch(void)
{
    int did = 0;
    if (shi_likely(!queued()) || shi_wait_inside || !shi_spin_try(&running))
        return 0;
    __atomic_store_n(&ignored, 0, __ATOMIC_RELAXED);
    shi_wait_inside = "a function of a GPC";
    for (int n = queued(); n > 0; n--) {
        struct shi_gpc_task *t = take();
        if (t)
            did += t->run(t);
    }
    shi_wait_inside = NULL;
    shi_spin_unlock(&running);
    return did;
}

/* ---- the thread --------------------------------------------------------------------------------------------------- */

/* A source of progress that handles nothing: it notices that nobody dispatches. */
static int nudge(void)
{
    if (shi_likely(!queued()) || __atomic_load_n(&running, __ATOMIC_RELAXED))
        return 0;
    int looks = __atomic_add_fetch(&ignored, 1, __ATOMIC_RELAXED);
    if (has_thread && (shi_progress_own || looks >= PATIENCE_POLLS)) {
        pthread_mutex_lock(&wake_lock);
        wake = 1;
        pthread_cond_signal(&wake_cond);
        pthread_mutex_unlock(&wake_lock);
    }
    return 0;
}

/* 0: the thread is to end. */
static int sleep_until_woken(void)
{
    pthread_mutex_lock(&wake_lock);
    while (!wake && !stop)
        pthread_cond_wait(&wake_cond, &wake_lock);
    wake = 0;
    int go = !stop;
    pthread_mutex_unlock(&wake_lock);
    return go;
}

static void *serve(void *arg)
{
    shi_progress_own = 1;
    while (sleep_until_woken()) {
        struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};
        while (queued() && !__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
            if (shi_gpc_dispatch()) {
                pause.tv_nsec = FIRST_PAUSE_NS;
                continue;
            }
            nanosleep(&pause, NULL); /* all are pending, or somebody else is at it */
            pause.tv_nsec = pause.tv_nsec * 2 < LAST_PAUSE_NS ? pause.tv_nsec * 2 : LAST_PAUSE_NS;
        }
    }
    return arg;
}

/* Signals are the program's: none is delivered here. */
static int start_thread(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    wake = stop = 0;
    shi_world.threads = 1; /* the program's only thread is here, in no section that locks only when this is set */
    int err = pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    has_thread = !err;
    return -err;
}

int shi_gpc_run_up(void)
{
    static const struct shi_progress_source source = {.poll = nudge, .every_ms = 1};
    int err = shi_world.config.gpc_thread ? start_thread() : 0;
    if (!err)
        err = shi_progress_add(&source);
    if (err) {
        shi_log_error("global procedure calls cannot start: %s", strerror(-err));
        return err;
    }
    shi_wait_work = shi_gpc_dispatch;
    return 0;
}

void shi_gpc_run_down(void)
{
    shi_wait_work = NULL;
    if (!has_thread)
        return;
    pthread_mutex_lock(&wake_lock);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_cond_signal(&wake_cond);
    pthread_mutex_unlock(&wake_lock);
    pthread_join(thread, NULL);
    has_thread = 0;
}
