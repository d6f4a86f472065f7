/*
 * peer_uid.c - the user at the other end of a connection: SO_PEERCRED; for TCP the socket that is the other end, from the
 * kernel's socket diagnostics (netlink), or, where they are missing, from /proc/net/tcp and tcp6.
 */
#include "host/util/peer_uid.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/util/tcp_end.h"

enum { TRIES = 4, TRY_US = 500 };

/* ---- netlink ------------------------------------------------------------------------------------------------------ */

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

/* The kernel looks for a socket of any family under the IPv4 addresses. */
static struct question question_of(const struct shi_tcp_end *local, const struct shi_tcp_end *remote)
{
    struct question q = {.head = {.nlmsg_len = sizeof q, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
                         .body = {.sdiag_family = AF_INET6, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u}};
    struct inet_diag_sockid *id = &q.body.id;
    size_t skip = 0;
    if (IN6_IS_ADDR_V4MAPPED(&local->address)) {
        q.body.sdiag_family = AF_INET;
        skip = 12;
    }
    memcpy(id->idiag_src, local->address.s6_addr + skip, sizeof local->address - skip);
    memcpy(id->idiag_dst, remote->address.s6_addr + skip, sizeof remote->address - skip);
    id->idiag_sport = htons((uint16_t)local->port);
    id->idiag_dport = htons((uint16_t)remote->port);
    id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return q;
}

/* Ask for the socket `local` that is connected to `remote`. 0, or -ENOENT, or another -errno: no answer. The kernel may answer
 * with a socket that listens on `local`. One without inode was closed by its process; its uid is 0. */
static int ask(int netlink, const struct shi_tcp_end *local, const struct shi_tcp_end *remote, uid_t *out)
{
    struct question q = question_of(local, remote);
    struct {
        struct nlmsghdr head;
        union {
            struct inet_diag_msg found;
            struct nlmsgerr err;
        };
        char more[512];
    } reply;
    if (send(netlink, &q, sizeof q, 0) != sizeof q)
        return -errno;
    ssize_t n = recv(netlink, &reply, sizeof reply, 0);
    if (n < (ssize_t)(sizeof reply.head + sizeof reply.err))
        return n < 0 ? -errno : -EPROTO;
    if (reply.head.nlmsg_type == NLMSG_ERROR)
        return reply.err.error;
    if (reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < (ssize_t)(sizeof reply.head + sizeof reply.found))
        return -EPROTO;
    if (reply.found.idiag_state == TCP_LISTEN || !reply.found.idiag_inode)
        return -ENOENT;
    *out = reply.found.idiag_uid;
    return 0;
}

/* 0, or -ENOENT, or -ENOSYS: the kernel lacks socket diagnostics. It answers ENOENT without them, too, and then also for the own
 * end. */
static int diag_uid(const struct shi_tcp_end *peer, const struct shi_tcp_end *own, uid_t *out)
{
    uid_t mine;
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    int err = netlink < 0 ? -ENOSYS : ask(netlink, peer, own, out);
    if (err == -ENOENT && ask(netlink, own, peer, &mine))
        err = -ENOSYS;
    if (netlink >= 0)
        close(netlink);
    return !err || err == -ENOENT ? err : -ENOSYS;
}

/* ---- /proc -------------------------------------------------------------------------------------------------------- */

static int same(const struct shi_tcp_end *a, const struct shi_tcp_end *b)
{
    return a->port == b->port && shi_tcp_compare_hosts(a, b) == 0;
}

/* Parse 8 or 32 digits: the address in words of 32 bits, each printed as a number of the host's byte order. */
static int parse_address(const char *text, struct shi_tcp_end *out)
{
    uint32_t w[4];
    int n = sscanf(text, "%8x%8x%8x%8x", &w[0], &w[1], &w[2], &w[3]);
    if (n == 1)
        out->address = shi_in6_of(w[0]);
    else if (n == 4)
        memcpy(&out->address, w, sizeof w);
    return n == 1 || n == 4;
}

/* Look for the socket `local` that is connected to `remote`. 0; -ENOENT; -ENOSYS without /proc; or -errno, as without a free
 * descriptor. */
static int find_in(const char *path, const struct shi_tcp_end *local, const struct shi_tcp_end *remote, uid_t *out)
{
    char line[512], from[33], to[33];
    FILE *f = fopen(path, "re");
    int err = f ? -ENOENT : errno == ENOENT || errno == EACCES ? -ENOSYS : -errno;
    while (err == -ENOENT && fgets(line, sizeof line, f)) {
        struct shi_tcp_end a, b;
        unsigned uid;
        unsigned long inode;
        if (sscanf(line, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %u %*d %lu", from, &a.port, to, &b.port,
                   &uid, &inode) != 6 || !parse_address(from, &a) || !parse_address(to, &b))
            continue;
        if (!same(&a, local) || !same(&b, remote) || !inode) /* no inode: closed by its process, and the uid is 0 */
            continue;
        *out = uid;
        err = 0;
    }
    if (f)
        fclose(f);
    return err;
}

/* As find_in, in both tables. The kernel prints the table in pieces, so a row may be missing when others come and go
 * meanwhile. */
static int proc_uid(const struct shi_tcp_end *peer, const struct shi_tcp_end *own, uid_t *out)
{
    int err = -ENOENT;
    for (int i = 0; i < TRIES && err == -ENOENT; i++) {
        usleep(i ? TRY_US : 0);
        err = find_in("/proc/net/tcp", peer, own, out);
        if (err == -ENOENT && find_in("/proc/net/tcp6", peer, own, out) == 0) /* there is none without IPv6 */
            err = 0;
    }
    return err;
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

static int find_uid(int fd, uid_t *out)
{
    struct sockaddr_storage own, peer;
    socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
    if (getsockname(fd, (void *)&own, &own_bytes) || getpeername(fd, (void *)&peer, &peer_bytes))
        return -errno;
    if (own.ss_family == AF_UNIX) {
        struct ucred c;
        socklen_t bytes = sizeof c;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &bytes))
            return -errno;
        *out = c.uid;
        return 0;
    }
    struct shi_tcp_end a, b;
    if (shi_tcp_end_of((void *)&peer, &a) || shi_tcp_end_of((void *)&own, &b))
        return -ENOSYS;
    int err = diag_uid(&a, &b, out);
    return err == -ENOSYS ? proc_uid(&a, &b, out) : err;
}

int shi_peer_uid(int fd, uid_t *out)
{
    int kept = errno, err = find_uid(fd, out);
    errno = kept;
    return err;
}

int shi_peer_is_own(int fd, uid_t *other)
{
    int err = shi_peer_uid(fd, other);
    return err ? err == -ENOSYS ? 1 : err : *other == geteuid();
}

void shi_peer_refuse(int fd)
{
    const struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
    errno = EAGAIN;
}
