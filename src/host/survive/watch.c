/*
 * watch.c - see watch.h. Each PE holds a pidfd of each other PE of its node: the number of a process that has ended may be another's.
 *
 *   word           written by     read by               order
 *   reported[pe]   any thread     thread that watches   R1 -> A1 `some`: the thread that clears it finds the bytes that were set before it
 *   some           the same       the same
 *   fresh[i]       any thread     thread that watches   a descriptor + 1, that the latter takes; written and taken under lock
 *
 * The lock is held while news are taken: none of a process that has died is taken for news of its successor.
 */
#include "host/survive/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/net/stream/stream.h"
#include "host/ops/state.h"
#include "host/survive/failed.h"
#include "host/survive/lifeline.h"
#include "host/util/log.h"
#include "host/util/thread.h"

static struct {
    struct pollfd *fd; /* [n] of the PEs, -1: not watched; then the one that wakes the thread, and the connection */
    int n, has_line, leave;
    uint8_t *reported; /* [n_pes] */
    int some;
    int *fresh; /* [n] pidfds of new processes, + 1 */
    pthread_mutex_t lock;
    void (*failed)(int pe, int is_certain);
    int (*is_over)(int pe);
    pthread_t thread;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int *wake_fd(void)
{
    return &watch.fd[watch.n].fd;
}

void shi_watch_wake(void)
{
    uint64_t one = 1;
    if (watch.fd && write(*wake_fd(), &one, sizeof one) < 0)
        return; /* it is awake */
}

void shi_watch_report(int pe)
{
    if (!watch.reported || __atomic_exchange_n(&watch.reported[pe], 1, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&watch.some, 1, __ATOMIC_RELEASE); /* R1 */
    shi_watch_wake();
}

void shi_watch_again(int i, uint64_t number)
{
    int pe = shi_world.boot.local_pe[i], fd = (int)syscall(SYS_pidfd_open, shi_world.shm.region[i].pid, 0);
    pthread_mutex_lock(&watch.lock);
    int was = watch.fresh[i];
    watch.fresh[i] = fd + 1; /* 0: it has ended */
    __atomic_store_n(&watch.reported[pe], 0, __ATOMIC_RELAXED);
    shi_failed_replace(pe, number);
    pthread_mutex_unlock(&watch.lock);
    if (was)
        close(was - 1);
    if (fd < 0)
        shi_watch_report(pe);
    shi_watch_wake();
}

static void take_fresh(void)
{
    pthread_mutex_lock(&watch.lock);
    for (int i = 0; i < watch.n; i++) {
        int fd = watch.fresh[i] - 1;
        watch.fresh[i] = 0;
        if (fd < 0)
            continue;
        if (watch.fd[i].fd >= 0)
            close(watch.fd[i].fd);
        watch.fd[i] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    pthread_mutex_unlock(&watch.lock);
}

static void fail(int pe, int is_certain)
{
    if (!watch.is_over(pe))
        watch.failed(pe, is_certain);
}

static void take_reports(void)
{
    if (!__atomic_exchange_n(&watch.some, 0, __ATOMIC_ACQUIRE)) /* A1 */
        return;
    for (int pe = 0; pe < shi_world.n_pes; pe++)
        if (__atomic_load_n(&watch.reported[pe], __ATOMIC_RELAXED))
            fail(pe, 0);
}

/* All of a host that does not answer. */
static void take_line(short revents)
{
    int silent, pe = shi_lifeline_look(revents, &silent);
    if (pe >= 0 && !silent)
        fail(pe, 1);
    for (int i = 0; pe >= 0 && silent && i < shi_world.n_pes; i++)
        if (shi_stream_node(i) == shi_stream_node(pe))
            fail(i, 0);
}

static void take_pidfds(void)
{
    for (int i = 0; i < watch.n; i++) {
        if (watch.fd[i].fd < 0 || !watch.fd[i].revents || watch.fresh[i])
            continue;
        close(watch.fd[i].fd);
        watch.fd[i].fd = -1;
        fail(shi_world.boot.local_pe[i], 1);
    }
}

static void *serve(void *arg)
{
    uint64_t n;
    while (!__atomic_load_n(&watch.leave, __ATOMIC_RELAXED)) {
        int limit_ms = -1;
        struct pollfd *line = &watch.fd[watch.n + 1];
        take_fresh();
        *line = watch.has_line ? shi_lifeline_poll(&limit_ms) : (struct pollfd){.fd = -1};
        if (poll(watch.fd, (nfds_t)watch.n + 2, limit_ms) < 0)
            continue;
        if (watch.fd[watch.n].revents && read(*wake_fd(), &n, sizeof n) < 0)
            continue;
        pthread_mutex_lock(&watch.lock);
        take_pidfds();
        take_reports();
        if (watch.has_line)
            take_line(line->fd >= 0 ? line->revents : 0);
        pthread_mutex_unlock(&watch.lock);
    }
    return arg;
}

static void close_all(void)
{
    for (int i = 0; watch.fd && i <= watch.n; i++)
        if (watch.fd[i].fd >= 0)
            close(watch.fd[i].fd);
    free(watch.fd);
    for (int i = 0; watch.fresh && i < watch.n; i++)
        if (watch.fresh[i])
            close(watch.fresh[i] - 1);
    free(watch.fresh);
    watch.fresh = NULL;
    free(watch.reported);
    watch.fd = NULL;
    watch.reported = NULL;
    watch.some = watch.leave = 0;
}

static int open_all(void)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < most.rlim_max) {
        most.rlim_cur = most.rlim_max;
        setrlimit(RLIMIT_NOFILE, &most);
    }
    for (int i = 0; i < watch.n; i++) {
        int fd = i == shi_world.boot.local_index ? -1 : (int)syscall(SYS_pidfd_open, shi_world.shm.region[i].pid, 0);
        watch.fd[i] = (struct pollfd){.fd = fd, .events = POLLIN};
        if (fd >= 0 || i == shi_world.boot.local_index)
            continue;
        int err = errno;
        if (err == ESRCH && shi_world.boot.is_new) { /* it has died before this process came */
            shi_watch_report(shi_world.boot.local_pe[i]);
            continue;
        }
        shi_log_error("SHMEM_FAULTS=continue: the process of PE %d cannot be watched (pidfd_open: %s)", shi_world.boot.local_pe[i], strerror(err));
        return -err;
    }
    watch.fd[watch.n] = (struct pollfd){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .events = POLLIN};
    return *wake_fd() < 0 ? -errno : 0;
}

int shi_watch_up(void (*failed)(int pe, int is_certain), int (*is_over)(int pe))
{
    watch.n = shi_world.shm.n;
    watch.has_line = watch.n < shi_world.n_pes;
    watch.failed = failed;
    watch.is_over = is_over;
    watch.reported = calloc((size_t)shi_world.n_pes, 1);
    watch.fresh = calloc((size_t)watch.n, sizeof *watch.fresh);
    watch.fd = malloc(((size_t)watch.n + 2) * sizeof *watch.fd);
    for (int i = 0; watch.fd && i < watch.n + 2; i++)
        watch.fd[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    int err = watch.fd && watch.fresh && watch.reported ? open_all() : -ENOMEM;
    if (!err && watch.has_line)
        err = shi_lifeline_up(is_over);
    if (err)
        close_all();
    return err;
}

int shi_watch_start(void)
{
    if (watch.has_line)
        shi_lifeline_tell();
    int err = shi_thread_start(&watch.thread, serve, NULL, "shmem-survive");
    shi_watch_wake(); /* for what open_all has reported */
    return err;
}

void shi_watch_stop(void)
{
    __atomic_store_n(&watch.leave, 1, __ATOMIC_RELAXED);
    shi_watch_wake();
    pthread_join(watch.thread, NULL);
}

void shi_watch_down(void)
{
    if (watch.has_line)
        shi_lifeline_down();
    close_all();
}
