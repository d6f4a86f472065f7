/*
 * proxy.c - the proxy thread of a PE: polls the rings, yields and then sleeps when there are no requests, and reports
 * kernels that ended or hang after they took a ticket and before they filled its slot.
 *
 * Where kernels run on threads of the host, those threads poll too while they wait: a reply then needs no switch to another
 * core. shmemx_device_sync polls too. `polling` is a try-lock held while polling.
 *
 *   word           written by              read by         order
 *   rings          shi_proxy_serve         pollers         R1 -> A1: a ring is complete before it is served; rings are
 *                                                          removed only when the thread has ended
 *   stop           shi_proxy_down          proxy thread    relaxed: the join orders everything else
 *   others_launch  the program             proxy thread    relaxed: set before the program's first launch
 */
#include "proxy/proxy.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/device.h"
#include "host/net/node/doorbell.h"
#include "host/observe/counts.h"
#include "host/ops/dheap.h"
#include "host/ops/launched.h"
#include "host/ops/state.h"
#include "host/ops/wait.h"
#include "host/policy/limits.h"
#include "host/survive/survive.h"
#include "host/util/copying.h"
#include "host/util/log.h"
#include "host/util/thread.h"
#include "proxy/cpu.h"
#include "proxy/ongoing.h"
#include "proxy/remote.h"
#include "proxy/request.h"
#include "proxy/staged.h"

enum { MAX_OPS = 1024 }; /* requests under way */

static struct shi_proxy_ring *rings;
static pthread_t thread;
static int running, stop;
static int others_launch; /* set once */
static uint64_t next_ns; /* of check_stuck */
static int warned; /* of a slot that stays empty; under polling */
static pthread_mutex_t polling = PTHREAD_MUTEX_INITIALIZER;
/* Under polling: requests of all rings have been advanced in this round; what the network brought, or -1: it was not polled. */
static struct {
    int advanced, came;
} this_round;

/* Poll an engine, and count the requests that it takes. */
static int poll_counted(struct shi_proxy_ring *p)
{
    const uint64_t *done = &shi_ring_line(p->ring)->done;
    uint64_t taken = shi_engine_taken(p->engine), before = *done;
    int n = shi_engine_poll(p->engine);
    taken = shi_engine_taken(p->engine) - taken;
    if (taken)
        shi_counts_ring(taken, *done - before + shi_engine_pending(p->engine));
    return n;
}

/* Where the job goes on when a PE dies: waits of kernels for what PEs do end, until the program has acknowledged the failure. */
static void tell_failures(struct shi_proxy_ring *p)
{
    int why = shi_survive_unacknowledged();
    if (p->ends_waits == why)
        return;
    shi_engine_end_waits(p->engine, why);
    p->ends_waits = why;
}

/* One round over all rings. Returns how many requests were taken, issued or retired. */
static int poll_all(void)
{
    int done = 0;
    this_round.advanced = 0;
    this_round.came = -1;
    for (struct shi_proxy_ring *p = __atomic_load_n(&rings, __ATOMIC_ACQUIRE); p; p = p->next) { /* A1 */
        tell_failures(p);
        int n = shi_unlikely(shi_world.watched) ? poll_counted(p) : shi_engine_poll(p->engine);
        if (n < 0)
            shi_die("proxy", "a request of a kernel failed: %s", strerror(-n));
        done += n;
    }
    if (shi_world.dev_private)
        shi_staged_submit(); /* what rings after the first one brought */
    return done;
}

/* The same; 0 when another thread is polling. *came: what the network brought, or -1: it was not polled. */
static int try_poll(int *came)
{
    *came = -1;
    if (pthread_mutex_trylock(&polling))
        return 0;
    int done = poll_all();
    *came = this_round.came;
    pthread_mutex_unlock(&polling);
    if (done) {
        shi_doorbell_ring_words();
        shi_doorbell_ring_own();
    }
    return done;
}

/* The number of tickets handed out so far; updates the host's copy of the ring's head. */
static uint64_t head_of(const struct shi_proxy_ring *p)
{
    uint64_t head;
    if (p->device_ring == p->ring)
        return shi_load_relaxed(&p->ring->head);
    shi_dheap_copy("proxy", &head, &p->device_ring->head, sizeof head);
    shi_store_relaxed(&p->ring->head, head);
    return head;
}

/* For kernels' threads while they wait: poll. */
static int while_idle(void)
{
    int came, served = try_poll(&came);
    return served + (came < 0 ? shi_progress() : came);
}

static void sleep_for(uint32_t us)
{
    shi_wait_aborted();
    nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL);
}

/* A kernel took a ticket and its slot stays empty: it is starved, stopped or dead. */
static void report_stuck(struct shi_proxy_ring *p, uint64_t now)
{
    int ended = !__atomic_load_n(&others_launch, __ATOMIC_RELAXED) && shi_launched_count() && !shi_device->busy();
    int64_t stuck = shi_engine_stuck(p->engine, now, SHI_STUCK_NS); /* again: an ended kernel may have written since */
    if (stuck < 0)
        return;
    if (ended)
        shi_die("proxy", "%s took ticket %ld of the ring and ended without filling its slot: it was killed, or is wrong",
                shi_launched_words(), (long)stuck);
    if (!warned)
        shi_log_error("proxy: %s took ticket %ld of the ring and has not filled its slot for %d s: it is starved, stopped or "
                      "hangs; the job continues", shi_launched_words(), (long)stuck, (int)(SHI_STUCK_NS / 1000000000));
    warned = 1;
}

/* Some times in the time after which a kernel counts as stuck: where rings' heads are in device memory, each is copied. */
static void check_stuck(void)
{
    uint64_t now = shi_now_ns();
    if (now < next_ns || pthread_mutex_trylock(&polling))
        return;
    next_ns = now + SHI_STUCK_NS / SHI_STUCK_CHECKS;
    shi_staged_check(now);
    for (struct shi_proxy_ring *p = __atomic_load_n(&rings, __ATOMIC_ACQUIRE); p; p = p->next) { /* A1 */
        head_of(p);
        if (shi_engine_stuck(p->engine, now, SHI_STUCK_NS) >= 0)
            report_stuck(p, now);
    }
    pthread_mutex_unlock(&polling);
}

/* Wait after `idle` empty rounds. Its sleeps do not end with a message of the network: rounds poll it while requests await messages. */
static void idle_wait(struct shi_wait *w, unsigned idle)
{
    uint64_t now;
    switch (shi_wait_of_proxy(idle, shi_world.shm.oversubscribed, shi_device->while_idle != NULL)) {
    case SHI_PROXY_WAITS:
        shi_wait_step(w);
        break;
    case SHI_PROXY_POLLS:
        shi_relax();
        break;
    case SHI_PROXY_SLEEPS:
        now = shi_now_ns();
        w->since_ns = w->sleeps ? w->since_ns : now;
        w->sleeps = 1;
        sleep_for((uint32_t)(shi_wait_sleeps_for(now - w->since_ns) / 1000));
    }
}

/* The proxy runs for microseconds at a time: with a short time slice the scheduler prefers it to kernels that compute. Takes
 * effect on Linux 6.12 and later. */
static void request_short_slices(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } a = {.size = sizeof a};
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) == 0 && a.policy == SCHED_OTHER) {
        a.runtime_ns = SHI_PROXY_SLICE_NS;
        syscall(SYS_sched_setattr, 0, &a, 0);
    }
}

static void *serve(void *arg)
{
    struct shi_wait w = SHI_WAIT_INIT;
    unsigned idle = 0;
    int came;
    shi_allow_thread();
    prctl(PR_SET_TIMERSLACK, 1000); /* sleeps are short; the default adds 50 us */
    request_short_slices();
    shi_progress_own = 1;
    if (shi_device->while_idle)
        shi_shm_spread(&shi_world.shm);
    else
        shi_cpu_leave_busy();
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        if (try_poll(&came)) {
            w = SHI_WAIT_INIT;
            idle = 0;
            continue;
        }
        idle_wait(&w, idle++);
        shi_copying_poll();
        if (w.sleeps)
            check_stuck();
    }
    return arg;
}

static int start_thread(void)
{
    int err = shi_staged_up();
    if (err)
        return err;
    stop = 0;
    err = shi_thread_start(&thread, serve, NULL, "shmem-proxy");
    running = !err;
    if (running && shi_device->while_idle)
        shi_device->while_idle(while_idle);
    return err;
}

/* shi_engine_exec.poll: advance the requests in progress. */
static void go_on(void *ring)
{
    struct shi_proxy_ring *p = ring;
    if (!this_round.advanced) {
        this_round.advanced = 1;
        if (shi_world.dev_private)
            shi_staged_poll();
        this_round.came = shi_remote_poll();
    }
    shi_proxy_ongoing_poll(p);
}

int shi_proxy_serve(struct shi_ring *ring, const struct shi_ring *device_ring)
{
    struct shi_proxy_ring *p = malloc(sizeof *p);
    int err = -ENOMEM;
    if (p) {
        *p = (struct shi_proxy_ring){.ring = ring, .device_ring = device_ring, .next = rings};
        const struct shi_engine_exec exec = {shi_proxy_issue, go_on, p, shi_world.watched ? shi_proxy_ended : NULL};
        p->engine = shi_engine_up(ring, &exec, shi_world.n_pes, MAX_OPS);
    }
    if (p && p->engine) {
        __atomic_store_n(&rings, p, __ATOMIC_RELEASE); /* R1 */
        err = running ? 0 : start_thread();
    } else {
        free(p);
    }
    if (err)
        shi_log_error("a ring for kernels cannot be served: %s", strerror(-err));
    return err;
}

static int is_done(const struct shi_proxy_ring *p, uint64_t head)
{
    return !((uint64_t)(shi_load_acquire(&shi_ring_line(p->ring)->done) - head) >> 63); /* A3 */
}

/* Polls itself, because the proxy thread may sleep. */
static void quiet(const struct shi_proxy_ring *p)
{
    uint64_t head = head_of(p);
    int came;
    SHI_WAIT_UNTIL(is_done(p, head) || (try_poll(&came) && is_done(p, head)),
                   .routine = "shmemx_device_sync", .kind = SHI_FOR_OTHER, .words = "requests of kernels are not complete");
}

void shi_proxy_quiet_ring(const struct shi_ring *ring)
{
    for (struct shi_proxy_ring *p = __atomic_load_n(&rings, __ATOMIC_ACQUIRE); p; p = p->next) /* A1 */
        if (p->ring == ring)
            quiet(p);
}

void shi_proxy_quiet(void)
{
    for (struct shi_proxy_ring *p = __atomic_load_n(&rings, __ATOMIC_ACQUIRE); p; p = p->next) /* A1 */
        quiet(p);
}

void shi_proxy_tell_failures(void)
{
    pthread_mutex_lock(&polling);
    for (struct shi_proxy_ring *p = __atomic_load_n(&rings, __ATOMIC_ACQUIRE); p; p = p->next) /* A1 */
        tell_failures(p);
    pthread_mutex_unlock(&polling);
}

void shi_proxy_others_launch(void)
{
    __atomic_store_n(&others_launch, 1, __ATOMIC_RELAXED);
}

void shi_proxy_down(void)
{
    if (running && shi_device->while_idle)
        shi_device->while_idle(NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    if (running)
        pthread_join(thread, NULL);
    running = 0;
    shi_staged_down();
    for (struct shi_proxy_ring *p; (p = rings); free(p)) {
        rings = p->next;
        shi_proxy_ongoing_down(p);
        shi_engine_down(p->engine);
    }
    shi_remote_leave();
    shi_proxy_ongoing_clear();
    next_ns = 0;
    warned = 0;
}
