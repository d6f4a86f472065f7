/*
 * ofi_accept.c - see ofi_accept.h.
 *
 *   word             written by                          read by                 order
 *   own[], n_own     shi_ofi_accept_at, one at a time    accept, on any thread   R1 -> A1 an address is whole before it is counted
 *   hosts[], n_hosts shi_ofi_accept_from, one thread     accept, on any thread   R2 -> A2 complete before anything is accepted
 */
#include "host/net/fabric/ofi_accept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/net/fabric/net.h"
#include "host/net/fabric/ofi_import.h"
#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/peer_uid.h"
#include "host/util/tcp_end.h"

static struct shi_tcp_end own[SHI_NET_LANES];
static int n_own;
static struct host {
    struct shi_tcp_end end;
    int local; /* this host */
} *hosts;      /* of all PEs while they are named; then each once, in order */
static int n_hosts, complete;
static int n_named, reported; /* PEs whose host was named; a line was written */

/* ---- addresses ---------------------------------------------------------------------------------------------------- */

void shi_ofi_accept_at(const struct sockaddr *a)
{
    if (n_own == SHI_NET_LANES || shi_tcp_end_of(a, &own[n_own]))
        return;
    __atomic_store_n(&n_own, n_own + 1, __ATOMIC_RELEASE); /* R1 */
}

static int compare(const void *a, const void *b)
{
    return shi_tcp_compare_hosts(&((const struct host *)a)->end, &((const struct host *)b)->end);
}

static struct host *find_host(const struct shi_tcp_end *e)
{
    const struct host wanted = {.end = *e};
    return bsearch(&wanted, hosts, (size_t)n_hosts, sizeof *hosts, compare);
}

/* Mark the addresses that an interface of this host has. */
static void find_local(void)
{
    struct ifaddrs *all = NULL;
    struct shi_tcp_end end;
    int unknown = getifaddrs(&all);
    for (int i = 0; i < n_hosts; i++)
        hosts[i].local = unknown; /* when in doubt, the user is checked */
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        struct host *h = i->ifa_addr && !shi_tcp_end_of(i->ifa_addr, &end) ? find_host(&end) : NULL;
        if (h)
            h->local = 1;
    }
    if (!unknown)
        freeifaddrs(all);
}

/* All PEs are named. */
static void settle(void)
{
    int n = 0;
    qsort(hosts, (size_t)n_hosts, sizeof *hosts, compare);
    for (int i = 0; i < n_hosts; i++)
        if (n == 0 || compare(&hosts[n - 1], &hosts[i]))
            hosts[n++] = hosts[i];
    n_hosts = n;
    find_local();
    __atomic_store_n(&complete, 1, __ATOMIC_RELEASE); /* R2 */
}

void shi_ofi_accept_from(const struct sockaddr *peer, int n_pes)
{
    if (!hosts && !(hosts = malloc((size_t)n_pes * sizeof *hosts)))
        shi_die("network", "out of memory for the addresses of %d PEs", n_pes);
    n_hosts += shi_tcp_end_of(peer, &hosts[n_hosts].end) == 0;
    if (++n_named == n_pes)
        settle();
}

void shi_ofi_accept_leave(void)
{
    free(hosts);
    hosts = NULL;
    n_hosts = complete = n_named = reported = n_own = 0;
    memset(own, 0, sizeof own);
}

/* ---- accepting ---------------------------------------------------------------------------------------------------- */

/* Does the listening socket belong to an endpoint of this PE? The program may use libfabric too. */
static int is_own(int listener)
{
    struct sockaddr_storage a;
    socklen_t bytes = sizeof a;
    struct shi_tcp_end e;
    if (getsockname(listener, (void *)&a, &bytes) || shi_tcp_end_of((void *)&a, &e))
        return 0;
    for (int i = 0, n = __atomic_load_n(&n_own, __ATOMIC_ACQUIRE); i < n; i++) /* A1 */
        if (own[i].port == e.port)
            return 1;
    return 0;
}

/* May the other end be a PE of this job? If not, say so once, unless it has gone. */
static int is_peer(int fd)
{
    struct sockaddr_storage a;
    socklen_t bytes = sizeof a;
    struct shi_tcp_end e;
    uid_t uid = 0;
    char name[INET6_ADDRSTRLEN] = "";
    if (getpeername(fd, (void *)&a, &bytes) || shi_tcp_end_of((void *)&a, &e))
        return 0;
    const struct host *h = find_host(&e);
    int own_user = h && h->local ? shi_peer_is_own(fd, &uid) : h != NULL;
    if (own_user == 1)
        return 1;
    if (own_user < 0 || __atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED))
        return 0;
    inet_ntop(AF_INET6, &e.address, name, sizeof name);
    if (h)
        shi_log_error("network: connections of user %u of this host are refused", (unsigned)uid);
    else
        shi_log_error("network: connections from %s are refused: no PE of this job is there",
                      strncmp(name, "::ffff:", 7) == 0 ? name + 7 : name);
    return 0;
}

static int checked_accept(int listener, struct sockaddr *a, socklen_t *bytes)
{
    if (!is_own(listener))
        return accept(listener, a, bytes);
    int fd = __atomic_load_n(&complete, __ATOMIC_ACQUIRE) ? accept(listener, a, bytes) : -1; /* A2 */
    if (fd >= 0 && is_peer(fd)) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        return fd;
    }
    if (fd >= 0)
        shi_peer_refuse(fd);
    errno = EAGAIN;
    return -1;
}

static int socket_close_on_exec(int domain, int type, int protocol)
{
    return socket(domain, type | SOCK_CLOEXEC, protocol);
}

int shi_ofi_accept_install(int *close_on_exec)
{
    int n = shi_ofi_import("accept", (void *)checked_accept);
    *close_on_exec = n && shi_ofi_import("socket", (void *)socket_close_on_exec);
    return n;
}
