/*
 * ofi_local.c - see ofi_local.h.
 *
 *   word     written by                                read by                order
 *   usual    listen, before there is an endpoint       accept, on any thread  libfabric's lock of the listening socket
 *   is_local install, before there is an endpoint      connect, any thread    the same
 */
#include "host/net/ofi_local.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "host/net/ofi_import.h"

static char usual[16]; /* the host's default */
static int (*is_local)(const struct sockaddr *);

/* Any process may choose reno, and the default. */
static void use(int fd, const char *control)
{
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control));
}

static int listen_unpaced(int fd, int backlog)
{
    socklen_t bytes = sizeof usual - 1;
    if (!usual[0] && getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, usual, &bytes))
        usual[0] = 0; /* not TCP */
    if (usual[0])
        use(fd, "reno");
    return listen(fd, backlog);
}

static int connect_unpaced(int fd, const struct sockaddr *to, socklen_t bytes)
{
    if (is_local(to))
        use(fd, "reno");
    return connect(fd, to, bytes);
}

void shi_ofi_local_accepted(int fd, int local)
{
    if (!local && usual[0])
        use(fd, usual);
}

void shi_ofi_local_install(int (*local)(const struct sockaddr *))
{
    is_local = local;
    if (shi_ofi_import("connect", (void *)connect_unpaced))
        shi_ofi_import("listen", (void *)listen_unpaced);
}
