/*
 * ofi_accept.c - which connections libfabric's accept gets: of the job's hosts and, on this host, of this user, over IPv4, IPv6 and
 * both mixed, however many others were refused before.
 *
 * Each row runs in a process of its own, because a PE names its peers once.
 */
#include "host/net/fabric/ofi_accept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "host/net/fabric/ofi_import.h"

enum { OTHER = 54321, MANY = 1000, PATIENCE_MS = 10000, SKIPPED = 2 };

/* What libfabric would call. */
static int (*accept_)(int, struct sockaddr *, socklen_t *);

int shi_ofi_import(const char *name, void *function)
{
    if (strcmp(name, "accept") == 0)
        memcpy(&accept_, &function, sizeof accept_);
    return 1;
}

static socklen_t address(const char *text, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (void *)out;
    struct sockaddr_in6 *v6 = (void *)out;
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        return v4->sin_family = AF_INET, (socklen_t)sizeof *v4;
    v6->sin6_family = AF_INET6;
    return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1 ? (socklen_t)sizeof *v6 : 0;
}

/* Listen at an address, of IPv4 too where it is any address of IPv6. */
static int listener(const char *at, struct sockaddr_storage *own)
{
    int off = 0;
    socklen_t n = address(at, own);
    int s = socket(own->ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    int err = s < 0 || bind(s, (void *)own, n) || listen(s, 4);
    n = sizeof *own;
    return err || getsockname(s, (void *)own, &n) ? -1 : s;
}

enum outcome { ACCEPTED, REFUSED, NEITHER, IMPOSSIBLE };

/* Connect from this address, as this user, to the listener's port, and let libfabric accept. */
static enum outcome attempt(int server, in_port_t port, const char *from, uid_t user)
{
    struct sockaddr_storage a;
    char byte;
    socklen_t n = address(from, &a);
    int set = user != getuid() ? seteuid(user) : 0; /* the socket belongs to this user */
    int c = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (user != getuid() && set == 0 && seteuid(getuid()))
        set = -1;
    if (set || bind(c, (void *)&a, n))
        return close(c), IMPOSSIBLE;
    const char *to = a.ss_family == AF_INET ? "127.0.0.1" : "::1";
    n = address(to, &a);
    *(a.ss_family == AF_INET ? &((struct sockaddr_in *)&a)->sin_port : &((struct sockaddr_in6 *)&a)->sin6_port) = port;
    struct pollfd connected = {c, POLLOUT, 0}, pending = {server, POLLIN, 0}, reset = {c, POLLIN, 0};
    enum outcome o = NEITHER;
    if ((connect(c, (void *)&a, n) == 0 || errno == EINPROGRESS) && poll(&connected, 1, PATIENCE_MS) == 1 &&
        poll(&pending, 1, PATIENCE_MS) == 1) {
        int fd = accept_(server, NULL, NULL);
        if (fd >= 0)
            o = ACCEPTED;
        else if (errno == EAGAIN && poll(&reset, 1, PATIENCE_MS) == 1 && recv(c, &byte, 1, 0) < 0 && errno == ECONNRESET)
            o = REFUSED;
        close(fd);
    }
    close(c);
    return o;
}

static const struct row {
    const char *what, *at, *peer, *from;
    int other_user, refused;
} rows[] = {
    {"IPv4, the PE's host", "127.0.0.1", "127.0.0.1", "127.0.0.1", 0, 0},
    {"IPv4, another host", "127.0.0.1", "127.0.0.1", "127.0.0.2", 0, 1},
    {"IPv4, another user", "127.0.0.1", "127.0.0.1", "127.0.0.1", 1, 1},
    {"IPv6, the PE's host", "::1", "::1", "::1", 0, 0},
    {"IPv6, another host", "::1", "fd00::77", "::1", 0, 1},
    {"IPv6, another user", "::1", "::1", "::1", 1, 1},
    {"both, the PE's host by IPv6", "::", "::1", "::1", 0, 0},
    {"both, another host by IPv4", "::", "::1", "127.0.0.1", 0, 1},
    {"both, the PE's host by IPv4", "::", "127.0.0.1", "127.0.0.1", 0, 0},
    {"both, another host by IPv6", "::", "127.0.0.1", "::1", 0, 1},
    {"both, another user by IPv4", "::", "127.0.0.1", "127.0.0.1", 1, 1},
};

/* In a process of its own: the exit status. */
static int run_row(const struct row *r)
{
    struct sockaddr_storage own, peer;
    int close_on_exec, server = listener(r->at, &own);
    in_port_t port = own.ss_family == AF_INET ? ((struct sockaddr_in *)&own)->sin_port : ((struct sockaddr_in6 *)&own)->sin6_port;
    uid_t user = r->other_user ? OTHER : getuid();
    if (server < 0 || (r->other_user && getuid()))
        return SKIPPED;
    shi_ofi_accept_install(&close_on_exec);
    shi_ofi_accept_at((void *)&own);
    address(r->peer, &peer);
    if (accept_(server, NULL, NULL) >= 0 || errno != EAGAIN)
        return 1;
    shi_ofi_accept_from((void *)&peer, 1);
    for (int i = 0; i < (r->refused ? MANY : 1); i++) {
        enum outcome o = attempt(server, port, r->from, user);
        if (o == IMPOSSIBLE)
            return SKIPPED;
        if (o != (r->refused ? REFUSED : ACCEPTED)) {
            printf("# %s: connection %d: %d\n", r->what, i, o);
            return 1;
        }
    }
    if (r->refused && strcmp(r->peer, "fd00::77") && attempt(server, port, r->peer, getuid()) != ACCEPTED) {
        printf("# %s: then the job's own connection is not accepted\n", r->what);
        return 1;
    }
    return 0;
}

/* Catches: a connection of another host or user that libfabric gets, by one of the families; one of the job that is refused, or that
 * the kernel drops after a flood of others (a filter that was attached to the listener and that no poll detached). */
static void accepted(void)
{
    int skipped = 0, n = sizeof rows / sizeof *rows;
    for (int i = 0; i < n; i++) {
        int status = -1;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            int rc = run_row(&rows[i]);
            fflush(stdout);
            _exit(rc);
        }
        waitpid(pid, &status, 0);
        int skip = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
        skipped += skip;
        CHECKF(skip || status == 0, "%s: %#x", rows[i].what, status);
    }
    printf("# %d of %d rows were skipped\n", skipped, n);
    CHECK(skipped < n);
}

int main(void)
{
    RUN(accepted, "connections that libfabric accepts");
    return tap_end();
}
