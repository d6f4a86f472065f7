/* ofi_fd.c - mark libfabric's descriptors close-on-exec: those opened in a span of time, and connections by address. */
#include "host/net/ofi_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/util/tcp_end.h"

static struct shi_tcp_end own;
static int has_own;

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

static void note(int fd, void *arg)
{
    struct shi_ofi_fds *f = arg;
    if (fd < SHI_OFI_FDS)
        f->open[fd / 8] |= (unsigned char)(1 << fd % 8);
}

void shi_ofi_fds_note(struct shi_ofi_fds *out)
{
    memset(out, 0, sizeof *out);
    each(note, out);
}

void shi_ofi_fds_own(const struct sockaddr *address)
{
    has_own = shi_tcp_end_of(address, &own) == 0;
}

static void mark(int fd)
{
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC))
        fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

static void mark_new(int fd, void *arg)
{
    const struct shi_ofi_fds *before = arg;
    if (fd < SHI_OFI_FDS && !(before->open[fd / 8] >> fd % 8 & 1))
        mark(fd);
}

/* Mark a connection from the endpoint's own address. This also marks the program's own connections on that interface; few
 * programs pass sockets to exec'd children without dup2, which clears the mark. */
static void mark_connection(int fd, void *arg)
{
    struct sockaddr_storage local;
    struct shi_tcp_end end;
    socklen_t bytes = sizeof local;
    int listens = 0;
    socklen_t n = sizeof listens;
    (void)arg;
    if (getsockname(fd, (void *)&local, &bytes) || shi_tcp_end_of((void *)&local, &end) || shi_tcp_compare_hosts(&end, &own))
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && !listens)
        mark(fd);
}

void shi_ofi_fds_close_on_exec(const struct shi_ofi_fds *before)
{
    if (before)
        each(mark_new, (void *)before);
    else if (has_own)
        each(mark_connection, NULL);
}
