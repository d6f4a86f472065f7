/* watch.c - see watch.h. Each PE holds a pidfd of each other PE of its node: the number of a process that has ended may be another's. */
#include "host/survive/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/ops/state.h"
#include "host/util/log.h"
#include "host/util/thread.h"

static struct {
    struct pollfd *fd; /* [n] of the PEs, -1: not watched; then the one that ends the thread */
    int n;
    void (*ended)(int pe);
    pthread_t thread;
} watch;

static void *serve(void *arg)
{
    while (poll(watch.fd, (nfds_t)watch.n + 1, -1) < 0 || !watch.fd[watch.n].revents)
        for (int i = 0; i < watch.n; i++) {
            if (watch.fd[i].fd < 0 || !watch.fd[i].revents)
                continue;
            close(watch.fd[i].fd);
            watch.fd[i].fd = -1;
            if (!*shi_shm_left_job(&shi_world.shm, i))
                watch.ended(shi_world.boot.local_pe[i]);
        }
    return arg;
}

static void close_all(void)
{
    for (int i = 0; watch.fd && i <= watch.n; i++)
        if (watch.fd[i].fd >= 0)
            close(watch.fd[i].fd);
    free(watch.fd);
    watch.fd = NULL;
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
        shi_log_error("SHMEM_FAULTS=continue: the process of PE %d cannot be watched (pidfd_open: %s)", shi_world.boot.local_pe[i], strerror(err));
        return -err;
    }
    watch.fd[watch.n].fd = eventfd(0, EFD_CLOEXEC);
    return watch.fd[watch.n].fd < 0 ? -errno : 0;
}

int shi_watch_up(void (*ended)(int pe))
{
    watch.n = shi_world.shm.n;
    watch.ended = ended;
    watch.fd = malloc(((size_t)watch.n + 1) * sizeof *watch.fd);
    for (int i = 0; watch.fd && i <= watch.n; i++)
        watch.fd[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    int err = watch.fd ? open_all() : -ENOMEM;
    if (!err)
        err = shi_thread_start(&watch.thread, serve, NULL, "shmem-survive");
    if (err)
        close_all();
    return err;
}

void shi_watch_down(void)
{
    uint64_t one = 1;
    if (write(watch.fd[watch.n].fd, &one, sizeof one) == sizeof one)
        pthread_join(watch.thread, NULL);
    close_all();
}
