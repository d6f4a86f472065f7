/* peer_uid.c - the user at the other end of a connection: SO_PEERCRED, or the row of that end in /proc/net/tcp and tcp6. */
#include "host/util/peer_uid.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TRIES = 4, TRY_US = 500 };

/* One end of a TCP connection; an IPv4 address in its IPv6 form, because a socket of either family may use it. */
struct end {
    uint32_t word[4];
    unsigned port;
};

static int end_of(const struct sockaddr_storage *s, struct end *out)
{
    const struct sockaddr_in *v4 = (const void *)s;
    const struct sockaddr_in6 *v6 = (const void *)s;
    if (s->ss_family == AF_INET)
        *out = (struct end){{0, 0, htonl(0xffff), v4->sin_addr.s_addr}, ntohs(v4->sin_port)};
    else if (s->ss_family == AF_INET6)
        memcpy(out->word, &v6->sin6_addr, sizeof out->word), out->port = ntohs(v6->sin6_port);
    else
        return -ENOSYS;
    return 0;
}

static int same(const struct end *a, const struct end *b)
{
    return a->port == b->port && memcmp(a->word, b->word, sizeof a->word) == 0;
}

/* Parse 8 or 32 digits: the address in words of 32 bits, each printed as a number of the host's byte order. */
static int parse_address(const char *text, struct end *out)
{
    uint32_t *w = out->word;
    *out = (struct end){{0, 0, htonl(0xffff)}, out->port};
    if (strlen(text) == 8)
        return sscanf(text, "%8x", &w[3]) == 1;
    return sscanf(text, "%8x%8x%8x%8x", &w[0], &w[1], &w[2], &w[3]) == 4;
}

/* Look for the socket `local` that is connected to `remote`. 0, or -ENOENT, or -ENOSYS. */
static int find_in(const char *path, const struct end *local, const struct end *remote, uid_t *out)
{
    char line[512], from[33], to[33];
    FILE *f = fopen(path, "re");
    int err = f ? -ENOENT : -ENOSYS;
    while (err == -ENOENT && fgets(line, sizeof line, f)) {
        struct end a, b;
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

static int tcp_uid(const struct end *peer, const struct end *own, uid_t *out)
{
    int err = find_in("/proc/net/tcp", peer, own, out), err6 = err ? find_in("/proc/net/tcp6", peer, own, out) : 0;
    return !err || !err6 ? 0 : err == -ENOSYS ? err : -ENOENT; /* without IPv6 there is no tcp6 */
}

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
    struct end a, b;
    if (end_of(&peer, &a) || end_of(&own, &b))
        return -ENOSYS;
    /* The kernel prints the table in pieces: a row may be missing when others come and go meanwhile. */
    int err = tcp_uid(&a, &b, out);
    for (int i = 1; i < TRIES && err == -ENOENT; i++) {
        usleep(TRY_US);
        err = tcp_uid(&a, &b, out);
    }
    return err;
}

int shi_peer_uid(int fd, uid_t *out)
{
    int kept = errno, err = find_uid(fd, out);
    errno = kept;
    return err;
}
