/*
 * oshrun_accept.c - accept(2) for the PMIx server: connections of this user's processes only.
 *
 * libpmix believes the user id that a client sends, and waits without limit for the first message of each connection, so
 * another user of this host could join the job or stop its start. The dynamic linker resolves libpmix's accept to the
 * functions below, so libpmix never sees such a connection.
 *
 *   word     written by          read by      order
 *   refused  PMIx's threads      main thread  relaxed: a number, no other data; the eventfd wakes the main thread
 *   failure  PMIx's threads      main thread  the same
 */
#include "oshrun.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/util/peer_uid.h"

enum { NONE = -1 };

static int wake = -1;
static _Atomic int64_t refused = NONE; /* the user of a refused connection */
static atomic_int failure;             /* the errno of a sandbox that refuses accept: libpmix would repeat the call for ever */

void accept_up(int wake_fd)
{
    wake = wake_fd;
}

int64_t accept_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed);
}

int accept_failure(void)
{
    return atomic_load_explicit(&failure, memory_order_relaxed);
}

static int accept_trusted(int listener, struct sockaddr *addr, socklen_t *bytes, int flags)
{
    /* close-on-exec: PEs that are started later must not hold the connections of earlier ones */
    int fd = syscall(SYS_accept4, listener, addr, bytes, flags | SOCK_CLOEXEC), own;
    uid_t user;

    if (fd < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS) && !accept_failure()) {
        atomic_store_explicit(&failure, errno, memory_order_relaxed);
        eventfd_write(wake, 1);
        errno = EAGAIN;
    }
    if (fd < 0 || (own = shi_peer_is_own(fd, &user)) == 1)
        return fd;
    if (own == 0 && accept_refused() == NONE) {
        atomic_store_explicit(&refused, user, memory_order_relaxed);
        eventfd_write(wake, 1);
    }
    shi_peer_refuse(fd); /* EAGAIN is the one error after which all versions of libpmix continue */
    return -1;
}

int our_accept(int listener, struct sockaddr *addr, socklen_t *bytes) REPLACES("accept");
int our_accept4(int listener, struct sockaddr *addr, socklen_t *bytes, int flags) REPLACES("accept4");

int our_accept(int listener, struct sockaddr *addr, socklen_t *bytes)
{
    return accept_trusted(listener, addr, bytes, 0);
}

int our_accept4(int listener, struct sockaddr *addr, socklen_t *bytes, int flags)
{
    return accept_trusted(listener, addr, bytes, flags);
}
