/*
 * peer_uid.c - the user at the other end of a connection: over IPv4, IPv6, both mixed, and unix-domain sockets.
 */
#include "host/util/peer_uid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"

enum { OTHER = 54321 };

static int no_netlink;

/* Without netlink shi_peer_uid reads /proc. */
int socket(int domain, int type, int protocol)
{
    if (!no_netlink || domain != AF_NETLINK)
        return (int)syscall(SYS_socket, domain, type, protocol);
    errno = EAFNOSUPPORT;
    return -1;
}

/* Listen on the loopback address of a family. */
static int listener(int family, struct sockaddr_storage *at)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof *at;
    int off = 0, s = socket(family, SOCK_STREAM, 0);
    setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    int err = family == AF_INET ? bind(s, (void *)&v4, sizeof v4) : bind(s, (void *)&v6, sizeof v6);
    return s < 0 || err || listen(s, 1) || getsockname(s, (void *)at, &n) ? -1 : s;
}

/* Connect by a process of user uid, which keeps the connection until `hold` is closed. */
static pid_t connect_as(uid_t uid, const struct sockaddr_storage *at, const int hold[2])
{
    char byte;
    pid_t pid = fork();
    if (pid)
        return pid;
    close(hold[1]);
    if (uid != getuid() && setuid(uid))
        _exit(1);
    int s = socket(at->ss_family, SOCK_STREAM, 0);
    _exit(connect(s, (const void *)at, sizeof *at) || read(hold[0], &byte, 1));
}

/* The uid that shi_peer_uid gives for a connection of user uid to `server` at address `to`; or its error. */
static long seen(uid_t uid, int server, const struct sockaddr_storage *to)
{
    int hold[2];
    uid_t found = (uid_t)-2;
    if (pipe(hold))
        return -1000;
    pid_t pid = connect_as(uid, to, hold);
    int s = accept(server, NULL, NULL), err = shi_peer_uid(s, &found);
    close(hold[0]);
    close(hold[1]);
    waitpid(pid, NULL, 0);
    close(s);
    return err ? err : (long)found;
}

/* May a process of this user become another? Not in a user namespace that maps only this one. */
static int may_be(uid_t uid)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(setuid(uid) != 0);
    waitpid(pid, &status, 0);
    return status == 0;
}

/* Catches: the row of the own end taken for the other one, ports or addresses in the wrong byte order. */
static void tcp(void)
{
    struct sockaddr_storage at;
    int s = listener(AF_INET, &at);
    CHECK(s >= 0 && seen(getuid(), s, &at) == (long)getuid());
    if (may_be(OTHER))
        CHECK(seen(OTHER, s, &at) == OTHER);
    close(s);
}

/* Catches: an IPv4 client of an IPv6 socket, which is in the table of the other family, not found. */
static void tcp6(void)
{
    struct sockaddr_storage at;
    int s = listener(AF_INET6, &at);
    if (s < 0) {
        CHECK(errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL);
        return;
    }
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                              .sin6_port = ((struct sockaddr_in6 *)&at)->sin6_port};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = v6.sin6_port};
    uid_t user = may_be(OTHER) ? OTHER : getuid();
    memcpy(&at, &v6, sizeof v6);
    CHECK(seen(user, s, &at) == (long)user);
    memcpy(&at, &v4, sizeof v4);
    CHECK(seen(user, s, &at) == (long)user);
    close(s);
}

static void unix_domain(void)
{
    int pair[2];
    uid_t found = (uid_t)-2;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && shi_peer_uid(pair[0], &found) == 0 && found == getuid());
}

/* Catches: root reported for a closed socket, whose row has uid 0; a descriptor accepted that is not a connection. */
static void no_owner(void)
{
    struct sockaddr_storage at;
    uid_t found = (uid_t)-2;
    int s = listener(AF_INET, &at);
    CHECK(shi_peer_uid(s, &found) == -ENOTCONN && shi_peer_uid(-1, &found) == -EBADF);
    int c = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(c, (void *)&at, sizeof at) == 0);
    int a = accept(s, NULL, NULL);
    close(c);
    int err = shi_peer_uid(a, &found);
    CHECKF((err == -ENOENT || err == -ENOTCONN) && found == (uid_t)-2, "%d, user %d", err, (int)found);
    close(a);
    close(s);
}

/* "The system does not tell", which callers trust, because the process has used all its descriptors. */
static void no_descriptor(void)
{
    struct sockaddr_storage at;
    struct rlimit old, none;
    uid_t found;
    int s = listener(AF_INET, &at), c = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(c, (void *)&at, sizeof at) == 0);
    int a = accept(s, NULL, NULL);
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    int err = shi_peer_uid(a, &found);
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    CHECKF(err == -EMFILE, "%d", err);
    close(a);
    close(c);
    close(s);
}

int main(void)
{
    RUN(tcp, "IPv4");
    RUN(tcp6, "IPv6, and IPv4 addresses on IPv6 sockets");
    RUN(no_owner, "no connection, or closed by the other end");
    RUN(no_descriptor, "no descriptor is free");
    RUN(unix_domain, "unix-domain sockets");
    no_netlink = 1;
    RUN(tcp, "IPv4, from /proc");
    RUN(tcp6, "IPv6, and IPv4 addresses on IPv6 sockets, from /proc");
    RUN(no_owner, "no connection, or closed by the other end, from /proc");
    return tap_end();
}
