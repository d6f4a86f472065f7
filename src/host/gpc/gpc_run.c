/*
 * gpc_run.c - the dispatcher: it runs functions of GPCs, one at a time. Others run meanwhile only while a function waits for
 * a GPC.
 *
 *   word       written by             read by                order
 *   queue.*    posters, dispatcher    the same               queue.lock: run sees all writes from before a post
 *   task.woken under queue.lock       the same               queue.lock
 *   queue.n_*  under queue.lock       all threads            relaxed: a hint; a thread that sleeps on it is woken or looks
 *                                                            again (wait loops: in a millisecond; thread: see nudge)
 *   early.*    posters, team_made     the same               early.lock: a task runs, or waits until team_made
 *   running    dispatchers, tasks     the same               spin.h; a dispatcher that finds it taken returns; a task
 *              that pause                                    releases it while it waits
 *   resuming   tasks that resume      dispatchers            relaxed: a hint; dispatchers then start no task
 *   ignored    pollers, dispatcher    pollers                relaxed: a count of polls without dispatch
 *   wake,stop  nudge, run_down        threads                threads.lock
 *   n, n_deep  tasks that pause       the same               threads.lock
 *
 * Every wait loop of the program's threads (wait.h), shmemx_gpc_test and _wait dispatch. The library's thread dispatches only
 * when they do not: when the progress thread makes progress, since the program computes, or when the program has polled
 * many times without waiting.
 *
 * There is no cycle of waits: a task waits for GPCs that it started itself, and, on its stack, for the tasks above it. Both
 * began later than the task, so the last task to begin waits for none that has begun, and a thread with room on its stack
 * runs those that have not. Checked by test/model/gpc.pml.
 */
#include "host/gpc/gpc_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/coll/team.h"
#include "host/gpc/gpc_wire.h"
#include "host/net/node/doorbell.h"
#include "host/net/node/progress.h"
#include "host/policy/limits.h"
#include "host/util/log.h"
#include "host/util/spin.h"
#include "host/util/thread.h"
#include "host/util/tsan.h"

struct list {
    struct shi_gpc_task *first, **last;
};

static struct {
    uint8_t lock;
    int n_ready, n_pending;
    struct list ready, pending;
} queue = {.ready.last = &queue.ready.first, .pending.last = &queue.pending.first};
static struct {
    uint8_t lock;
    struct list tasks;
} early = {.tasks.last = &early.tasks.first};
static uint8_t running;
static int resuming, ignored;

/* Of this thread: tasks on its stack; 1 while it holds `running`; tests by the innermost task. */
static _Thread_local int nested __attribute__((tls_model("initial-exec")));
static _Thread_local int has_running __attribute__((tls_model("initial-exec")));
static _Thread_local int tests __attribute__((tls_model("initial-exec")));

/* Of this thread: the handle that a task tested last in a pause, NULL when it has completed, and how the pauses for it wait. */
static _Thread_local struct {
    const shmemx_gpc_nbh_t *nbh;
    struct shi_wait w;
} tested __attribute__((tls_model("initial-exec")));

struct thread {
    pthread_t id;
    struct thread *next;
};
static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int wake, stop, allowed;
    int n, n_deep; /* all threads, and those whose tasks are nested to the limit */
    struct thread *first;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

/* ---- queues ------------------------------------------------------------------------------------------------------ */

static void append(struct list *l, struct shi_gpc_task *t)
{
    t->next = NULL;
    *l->last = t;
    l->last = &t->next;
}

static void count(int ready, int pending)
{
    __atomic_store_n(&queue.n_ready, queue.n_ready + ready, __ATOMIC_RELAXED);
    __atomic_store_n(&queue.n_pending, queue.n_pending + pending, __ATOMIC_RELAXED);
}

static void add_ready(struct shi_gpc_task *t)
{
    t->prev = NULL;
    t->woken = 0;
    append(&queue.ready, t);
    count(1, 0);
}

static void take_pending(struct shi_gpc_task *t)
{
    *t->prev = t->next;
    if (t->next)
        t->next->prev = t->prev;
    else
        queue.pending.last = t->prev;
    t->prev = NULL;
    count(0, -1);
}

void shi_gpc_post(struct shi_gpc_task *t)
{
    shi_tsan_release();
    shi_spin_lock(&queue.lock);
    add_ready(t);
    shi_spin_unlock(&queue.lock);
}

void shi_gpc_post_pending(struct shi_gpc_task *t)
{
    shi_tsan_release();
    shi_spin_lock(&queue.lock);
    if (t->woken) {
        add_ready(t);
    } else {
        t->prev = queue.pending.last;
        append(&queue.pending, t);
        count(0, 1);
    }
    shi_spin_unlock(&queue.lock);
}

void shi_gpc_wake(struct shi_gpc_task *t)
{
    shi_tsan_release();
    shi_spin_lock(&queue.lock);
    if (t->prev) {
        take_pending(t);
        add_ready(t);
    } else {
        t->woken = 1; /* running or ready */
    }
    shi_spin_unlock(&queue.lock);
}

static struct shi_gpc_task *take(int ready)
{
    shi_spin_lock(&queue.lock);
    struct shi_gpc_task *t = ready ? queue.ready.first : queue.pending.first;
    if (t && ready) {
        queue.ready.first = t->next;
        if (!queue.ready.first)
            queue.ready.last = &queue.ready.first;
        count(-1, 0);
    } else if (t) {
        take_pending(t);
    }
    shi_spin_unlock(&queue.lock);
    return t;
}

static int queued(void)
{
    return __atomic_load_n(&queue.n_ready, __ATOMIC_RELAXED) + __atomic_load_n(&queue.n_pending, __ATOMIC_RELAXED);
}

/* ---- teams that are not yet made here ---------------------------------------------------------------------------- */

static int is_early(uint64_t team)
{
    int later = 0;
    for (const struct shi_gpc_task *t = early.tasks.first; t; t = t->next)
        if (t->team == team)
            return 1; /* behind it, even if the team is made by now */
    return !shi_team_find(team, &later) && later;
}

void shi_gpc_post_on_team(struct shi_gpc_task *t)
{
    int waits = 0;
    if (t->team > SHI_SLOT_SHARED) {
        shi_spin_lock(&early.lock);
        waits = is_early(t->team);
        if (waits)
            append(&early.tasks, t);
        shi_spin_unlock(&early.lock);
    }
    if (!waits)
        shi_gpc_post(t);
}

static void team_made(const struct shmem_team *team)
{
    shi_spin_lock(&early.lock);
    for (struct shi_gpc_task **at = &early.tasks.first, *t; (t = *at);) {
        if (t->team != team->number) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        if (!*at)
            early.tasks.last = at;
        shi_gpc_post(t);
    }
    shi_spin_unlock(&early.lock);
}

int shi_gpc_prepare(void)
{
    static const struct shi_team_hooks hooks = {.made = team_made};
    shi_team_on_change(&hooks);
    return 0;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int run_from(int ready, int n)
{
    int did = 0;
    while (n-- > 0 && !__atomic_load_n(&resuming, __ATOMIC_RELAXED)) {
        struct shi_gpc_task *t = take(ready);
        if (!t)
            break;
        tests = 0;
        shi_tsan_acquire();
        did += t->run(t);
        shi_tsan_release();
    }
    return did;
}

/* Run the tasks that are ready now and some pending ones, unless another thread does or this thread is inside a task. The
 * number of tasks that made progress. */
static int dispatch(void)
{
    if (shi_likely(!queued()) || has_running || nested >= SHI_GPC_NESTED || __atomic_load_n(&resuming, __ATOMIC_RELAXED) ||
        !shi_spin_try(&running))
        return 0;
    __atomic_store_n(&ignored, 0, __ATOMIC_RELAXED);
    shi_wait_inside = "a function of a GPC";
    nested++;
    has_running = 1;
    int ready = __atomic_load_n(&queue.n_ready, __ATOMIC_RELAXED);
    int pending = __atomic_load_n(&queue.n_pending, __ATOMIC_RELAXED);
    int did = run_from(1, ready) + run_from(0, pending < SHI_GPC_PROBES ? pending : SHI_GPC_PROBES);
    has_running = 0;
    if (--nested == 0)
        shi_wait_inside = NULL;
    shi_spin_unlock(&running);
    shi_doorbell_ring_own(); /* other threads wait for functions to end, or to run one */
    return did;
}

int shi_gpc_step(void)
{
    return shi_progress() + dispatch();
}

void shi_gpc_wait_step(struct shi_wait *w)
{
    if (shi_gpc_step())
        shi_wait_anew(w);
    else
        shi_wait_step(w);
}

/* ---- tasks that wait --------------------------------------------------------------------------------------------- */

static void *serve(void *arg);

/* Under the lock. 0 or -errno. */
static int start_thread(void)
{
    struct thread *t = malloc(sizeof *t);
    if (!t)
        return -ENOMEM;
    int err = shi_thread_start(&t->id, serve, NULL, "shmem-gpc");
    if (err) {
        free(t);
        return err;
    }
    t->next = threads.first;
    threads.first = t;
    threads.n++;
    return 0;
}

/* Under the lock. */
static void wake_one(void)
{
    threads.wake = 1;
    pthread_cond_signal(&threads.cond);
}

/* This thread has reached the limit of nested tasks: make another one run tasks. 0 or -errno. */
static int hand_over(void)
{
    pthread_mutex_lock(&threads.lock);
    threads.n_deep += shi_progress_own;
    int err = threads.n > threads.n_deep ? 0 : threads.allowed ? start_thread() : -EPERM;
    if (err)
        threads.n_deep -= shi_progress_own;
    else
        wake_one();
    pthread_mutex_unlock(&threads.lock);
    return err;
}

/* 1: paused; 0: this thread is not inside a task; or -errno. */
static int pause_task(void)
{
    if (!nested)
        return 0;
    int err = nested < SHI_GPC_NESTED ? 0 : hand_over();
    if (err)
        return err;
    has_running = 0;
    shi_spin_unlock(&running);
    shi_doorbell_ring_own();
    return 1;
}

int shi_gpc_pause(const char *routine)
{
    int paused = pause_task();
    if (paused >= 0)
        return paused;
    shi_log_error("%s: %d functions wait inside each other, and there is no thread for a further one%s", routine, nested,
                  threads.allowed ? "" : " (SHMEM_GPC_THREAD=0)");
    return -EDEADLK;
}

/* Take `running` again. first: no dispatcher starts another task before. */
static void resume(int first)
{
    __atomic_add_fetch(&resuming, first, __ATOMIC_RELAXED);
    SHI_WAIT_LOOP(shi_wait_slow, shi_spin_try(&running), .routine = "shmemx_gpc_wait", .kind = SHI_FOR_OTHER,
                  .words = "the function of another GPC is running");
    __atomic_sub_fetch(&resuming, first, __ATOMIC_RELAXED);
    has_running = 1;
    if (nested < SHI_GPC_NESTED || !shi_progress_own)
        return;
    pthread_mutex_lock(&threads.lock);
    threads.n_deep--;
    pthread_mutex_unlock(&threads.lock);
}

void shi_gpc_resume(void)
{
    resume(1);
}

void shi_gpc_test_failed(const shmemx_gpc_nbh_t *nbh)
{
    int busy = 1;
    if (!nested || ++tests < SHI_GPC_PATIENCE || pause_task() != 1)
        return;
    uint64_t end_ns = shi_now_ns() + SHI_GPC_PAUSE_NS;
    if (tested.nbh != nbh)
        tested.w = SHI_WAIT_INIT;
    while ((busy = __atomic_load_n(&nbh->busy, __ATOMIC_RELAXED)) && shi_now_ns() < end_ns)
        shi_gpc_wait_step(&tested.w); /* over all pauses, so that a function that tests for long sleeps, as one that waits does */
    resume(!busy); /* while busy: the GPC may need other tasks to run first */
    tests = SHI_GPC_PATIENCE;
    tested.nbh = busy ? nbh : NULL;
}

/* ---- the library's threads --------------------------------------------------------------------------------------- */

/* A source of progress that handles nothing: it wakes a thread when the program does not dispatch. */
static int nudge(void)
{
    if (shi_likely(!queued()) || __atomic_load_n(&running, __ATOMIC_RELAXED))
        return 0;
    int passed = __atomic_add_fetch(&ignored, 1, __ATOMIC_RELAXED);
    if (threads.allowed && (shi_progress_own || passed >= SHI_GPC_PATIENCE)) {
        pthread_mutex_lock(&threads.lock);
        wake_one();
        pthread_mutex_unlock(&threads.lock);
    }
    return 0;
}

/* 0: the thread must end. */
static int sleep_until_woken(void)
{
    pthread_mutex_lock(&threads.lock);
    while (!threads.wake && !threads.stop)
        pthread_cond_wait(&threads.cond, &threads.lock);
    threads.wake = 0;
    int go = !threads.stop;
    pthread_mutex_unlock(&threads.lock);
    return go;
}

static void *serve(void *arg)
{
    shi_progress_own = 1;
    while (sleep_until_woken()) {
        uint64_t idle_ns = shi_now_ns();
        while (queued() && !__atomic_load_n(&threads.stop, __ATOMIC_RELAXED)) {
            if (dispatch())
                idle_ns = shi_now_ns();
            else /* all are pending, or another thread dispatches */
                nanosleep(&(struct timespec){.tv_nsec = (long)shi_wait_sleeps_for(shi_now_ns() - idle_ns)}, NULL);
        }
    }
    return arg;
}

static void trim(void)
{
    shi_kept_trim(&shi_gpc_kept);
}

int shi_gpc_run_up(void)
{
    static struct shi_progress_source source = {.poll = nudge, .every_ms = 1, .trim = trim};
    threads.wake = threads.stop = 0;
    threads.allowed = shi_world.config.gpc_thread;
    if (threads.allowed)
        shi_world.threads = 1; /* the program has one thread, and no section that locks only when this is set is open */
    int err = threads.allowed ? start_thread() : 0; /* alone: needs no lock */
    if (!err)
        err = shi_progress_add(&source);
    if (err) {
        shi_log_error("global procedure calls cannot start: %s", strerror(-err));
        return err;
    }
    __atomic_store_n(&shi_wait_work, dispatch, __ATOMIC_RELEASE); /* W1 */
    return 0;
}

void shi_gpc_run_down(void)
{
    __atomic_store_n(&shi_wait_work, NULL, __ATOMIC_RELEASE); /* W1 */
    pthread_mutex_lock(&threads.lock);
    __atomic_store_n(&threads.stop, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&threads.cond);
    pthread_mutex_unlock(&threads.lock);
    for (struct thread *t; (t = threads.first);) {
        threads.first = t->next;
        pthread_join(t->id, NULL);
        free(t);
    }
    threads.n = threads.n_deep = 0;
}
