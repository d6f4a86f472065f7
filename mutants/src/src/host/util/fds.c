/* fds.c - mark descriptors close-on-exec: those opened in a span of time, and connections by address. */
#include "host/util/fds.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "host/util/tcp_end.h"

/* Call f for every open descriptor. */
static void each(void (*f)(int fd, void *arg), void *arg)
{
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d))
            f(atoi(e->d_name), arg);
    closedir(d);
}

static void highest(int fd, void *arg)
{
    struct shi_fds *f = arg;
    f->n = fd >= f->n ? fd + 1 : f->n;
}

static void note(int fd, void *arg)
{
    struct shi_fds *f = arg;
    if (fd < f->n)
        f->open[fd / 8] |= (unsigned char)(1 << fd % 8);
}

void shi_fds_note(struct shi_fds *out)
{
    out->n = 0;
    each(highest, out);
    out->open = calloc((size_t)out->n / 8 + 1, 1);
    if (out->open)
        each(note, out);
}

static void mark(int fd)
{
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC))
        fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

static void mark_new(int fd, void *arg)
{
    const struct shi_fds *before = arg;
    if (fd >= before->n || !(before->open[fd / 8] >> fd % 8 & 1))
        mark(fd);
}

void shi_fds_close_on_exec(struct shi_fds *before)
{
    if (before->open)
        each(mark_new, before);
    free(before->open);
    before->open = NULL;
}

/* This also marks the program's own connections on that interface; few programs pass sockets to exec'd children without dup2,
 * which clears the mark. */
static void mark_connection(int fd, void *arg)
{
    const struct shi_tcp_end *own = arg;
    struct sockaddr_storage local;
    struct shi_tcp_end end;
    socklen_t bytes = sizeof local;
    int listens = 0;
    socklen_t n = sizeof listens;
    if (getsockname(fd, (void *)&local, &bytes) || shi_tcp_end_of((void *)&local, &end) || shi_tcp_compare_hosts(&end, own))
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && !listens)
        mark(fd);
}

void shi_fds_close_connections_on_exec(const struct sockaddr *own)
{
    struct shi_tcp_end end;
    if (shi_tcp_end_of(own, &end) == 0)
        each(mark_connection, &end);
}
