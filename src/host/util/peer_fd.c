/* peer_fd.c - duplicate another process's descriptor: through /proc, which Yama allows between siblings, else by pidfd_getfd. */
#include "host/util/peer_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/util/log.h"

/* A duplicate, or -errno. */
static int get(int pid, int fd)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int mine = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0), err = -errno;
    if (pidfd >= 0)
        close(pidfd);
    return mine >= 0 ? mine : err;
}

int shi_peer_fd_try(int pid, int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    int mine = open(path, O_RDWR | O_CLOEXEC);
    return mine < 0 ? get(pid, fd) : mine;
}

int shi_peer_fd_open(int pid, int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    int mine = open(path, O_RDWR | O_CLOEXEC), proc_errno = errno;
    if (mine < 0)
        mine = get(pid, fd);
    if (mine < 0)
        shi_log_error("cannot share memory with process %d of this node: %s: %s; pidfd_getfd: %s; PEs of a node need one PID "
                      "namespace and one user", pid, path, strerror(proc_errno), strerror(-mine));
    return mine;
}

int shi_peer_fd_same(int pid, int fd)
{
    int mine = get(pid, fd);
    if (mine < 0)
        shi_log_error("cannot share memory with process %d of this node: pidfd_getfd: %s; PEs of a node need one PID namespace, one user, "
                      "and kernel.yama.ptrace_scope below 2", pid, strerror(-mine));
    return mine;
}
