/*
 * startup.c - end the job with one line when a phase of shmem_init takes too long.
 *
 * A thread sleeps until the phase's deadline. It does not use the network or the launcher, which may be what hangs.
 *
 *   word                      written by                read by      order
 *   phase, deadline, active   the thread in shmem_init  the watcher  lock
 */
#include "host/util/startup.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/util/log.h"
#include "host/util/tracer.h"

enum { STACK_BYTES = 128 << 10 };

static const struct shi_phase own_steps = {.text = "start of the library"};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_t watcher;
static const struct shi_phase *phase;
static struct timespec deadline;
static long limit_s;
static int active;

static void begin(const struct shi_phase *next)
{
    phase = next ? next : &own_steps;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += limit_s + phase->patience_s;
}

static int is_late(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec >= deadline.tv_nsec);
}

static void *watch(void *arg)
{
    char who[512] = "", host[256] = "";
    pthread_mutex_lock(&lock);
    while (active) {
        if (is_late() && !shi_is_traced())
            break;
        if (is_late())
            begin(phase); /* a debugger stops this PE as long as it likes */
        struct timespec until = deadline;
        pthread_cond_timedwait(&changed, &lock, &until);
    }
    const struct shi_phase *late = active ? phase : NULL;
    if (late && late->missing)
        late->missing(who, sizeof who, late->arg);
    pthread_mutex_unlock(&lock);
    gethostname(host, sizeof host - 1);
    if (late)
        shi_die("shmem_init", "%s took more than %ld s on %s (SHMEM_START_TIMEOUT; 0: no limit)%s%s", late->text, limit_s, host,
                *who ? ": " : "", who);
    return arg;
}

void shi_startup_up(long limit)
{
    pthread_attr_t attr;
    pthread_condattr_t clock;
    sigset_t all, old;
    if (limit == 0 || active)
        return;
    limit_s = limit < INT_MAX / 2 ? limit : INT_MAX / 2;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &clock);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES); /* little, as the lack of memory may be what hangs */
    begin(NULL);
    active = 1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* a new thread inherits the mask */
    if (pthread_create(&watcher, &attr, watch, NULL))
        active = 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    pthread_condattr_destroy(&clock);
}

void shi_startup_phase(const struct shi_phase *next)
{
    if (!active)
        return;
    pthread_mutex_lock(&lock);
    begin(next);
    pthread_mutex_unlock(&lock);
}

void shi_startup_down(void)
{
    if (!active)
        return;
    pthread_mutex_lock(&lock);
    active = 0;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(watcher, NULL);
    pthread_cond_destroy(&changed);
}

int shi_startup_stopped(int pid)
{
    char path[32], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *behind_name = strrchr(text, ')');
    return behind_name && behind_name[1] && strchr("Tt", behind_name[2]);
}
