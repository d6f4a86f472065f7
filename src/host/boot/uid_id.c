/*
 * uid_id.c - make unique ids, and keep the sockets of those that this process has made until it starts a job by them.
 *
 *   word        written by            read by    order
 *   own, n_own  threads of the program  the same  lock
 */
#include "host/boot/uid_id.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/util/log.h"
#include "host/util/random.h"
#include "host/util/siphash.h"

enum {
    VERSION = (1 << 16) + SHI_UID_BYTES,
    AT_SECRET = 4,
    AT_COUNT = 20,
    AT_ADDRS = 22,
    AT_SUM = SHI_UID_BYTES - 8,
    BACKLOG = 4096, /* processes that come before this one looks at them; the system may allow fewer */
    OWN_MAX = 16    /* ids that were made and not used; then the oldest is dropped */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shi_uid_own own[OWN_MAX];
static int n_own;

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

static uint64_t sum(const struct shi_uid *id)
{
    static const uint64_t zero[2];
    return shi_sip_bytes(zero, id->bytes, AT_SUM);
}

int shi_uid_check(const struct shi_uid *id)
{
    int version;
    uint64_t is;
    memcpy(&version, id->bytes, sizeof version);
    memcpy(&is, id->bytes + AT_SUM, sizeof is);
    int n = id->bytes[AT_COUNT];
    return version == VERSION && is == sum(id) && n >= 1 && n <= SHI_UID_ADDRS ? 0 : -EINVAL;
}

void shi_uid_secret(const struct shi_uid *id, uint64_t out[2])
{
    memcpy(out, id->bytes + AT_SECRET, SHI_SECRET_BYTES);
}

void shi_uid_pack(const struct shi_tcp_end *a, unsigned char out[SHI_UID_ADDR_BYTES])
{
    memcpy(out, &a->address, 16);
    out[16] = (unsigned char)(a->port >> 8);
    out[17] = (unsigned char)a->port;
}

void shi_uid_unpack(const unsigned char in[SHI_UID_ADDR_BYTES], struct shi_tcp_end *out)
{
    memcpy(&out->address, in, 16);
    out->port = (unsigned)in[16] << 8 | in[17];
}

int shi_uid_addresses(const struct shi_uid *id, struct shi_tcp_end out[SHI_UID_ADDRS])
{
    int n = id->bytes[AT_COUNT];
    for (int i = 0; i < n; i++)
        shi_uid_unpack(id->bytes + AT_ADDRS + i * SHI_UID_ADDR_BYTES, &out[i]);
    return n;
}

void shi_uid_print(const struct shi_tcp_end *a, char *text, size_t bytes)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (IN6_IS_ADDR_V4MAPPED(&a->address))
        inet_ntop(AF_INET, &a->address.s6_addr[12], host, sizeof host);
    else
        inet_ntop(AF_INET6, &a->address, host, sizeof host);
    snprintf(text, bytes, "%s port %u", host, a->port);
}

/* ---- sockets ------------------------------------------------------------------------------------------------------ */

int shi_uid_listen(struct shi_tcp_end *a)
{
    struct sockaddr_storage at;
    socklen_t bytes = shi_tcp_end_to(a, &at);
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (void *)&at, bytes) || listen(fd, BACKLOG) || getsockname(fd, (void *)&at, &bytes)) {
        int err = -errno;
        close(fd);
        return err;
    }
    shi_tcp_end_of((void *)&at, a);
    return fd;
}

/* Is the interface, or its address, in the list? */
static int is_named(const char *list, const char *name, const struct shi_tcp_end *a)
{
    char text[INET6_ADDRSTRLEN];
    shi_uid_print(a, text, sizeof text);
    text[strcspn(text, " ")] = 0;
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strcspn(at, ",");
        if ((strlen(name) == n && memcmp(name, at, n) == 0) || (strlen(text) == n && memcmp(text, at, n) == 0))
            return 1;
    }
    return 0;
}

/* Names that container engines and hypervisors give to networks inside a host. */
static int is_inside(const char *name)
{
    static const char *const begins[] = {"docker", "br-", "veth", "virbr", "cni", "flannel", "lxc"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return 1;
    return 0;
}

enum { IPV4, IPV6, INSIDE, LOOPBACK, N_KINDS };

/* The order in which others try an address; -1: not at all. Link-local addresses need an interface, which differs between hosts. */
static int kind_of(const struct ifaddrs *i, const struct shi_tcp_end *a)
{
    int v4 = IN6_IS_ADDR_V4MAPPED(&a->address);
    if (!(i->ifa_flags & IFF_UP) || (!v4 && IN6_IS_ADDR_LINKLOCAL(&a->address)))
        return -1;
    return i->ifa_flags & IFF_LOOPBACK ? LOOPBACK : is_inside(i->ifa_name) ? INSIDE : v4 ? IPV4 : IPV6;
}

/* The addresses of this host that the list names, or all, in the order in which others try them; one of the loopback interface is among
 * them, for a host without a network. Returns how many, or -errno after one line. */
static int choose(const char *list, struct shi_tcp_end out[SHI_UID_ADDRS])
{
    struct ifaddrs *all;
    int n = 0;
    if (getifaddrs(&all)) {
        int err = -errno;
        shi_log_error("cannot list the network interfaces: %s", strerror(-err));
        return err;
    }
    for (int kind = 0; kind < N_KINDS; kind++)
        for (struct ifaddrs *i = all; i && n < SHI_UID_ADDRS - (kind < LOOPBACK && !*list); i = i->ifa_next) {
            struct shi_tcp_end a;
            if (!i->ifa_addr || shi_tcp_end_of(i->ifa_addr, &a) || kind_of(i, &a) != kind)
                continue;
            a.port = 0;
            if (!*list || is_named(list, i->ifa_name, &a))
                out[n++] = a;
        }
    freeifaddrs(all);
    if (n == 0)
        shi_log_error(*list ? "SHMEM_UID_INTERFACE=%s names no network interface, or address, of this host that is up%s"
                            : "this host has no network interface that is up, not even the loopback interface%s%s", list, "");
    return n ? n : -EADDRNOTAVAIL;
}

static void drop(struct shi_uid_own *o)
{
    for (int i = 0; i < o->n; i++)
        close(o->fd[i]);
    explicit_bzero(o, sizeof *o);
}

/* The order of the table is that in which ids were made. */
static void forget(int i)
{
    memmove(own + i, own + i + 1, (size_t)(n_own - i - 1) * sizeof *own);
    explicit_bzero(own + --n_own, sizeof *own);
}

static void keep(const struct shi_uid_own *o)
{
    pthread_mutex_lock(&lock);
    if (n_own == OWN_MAX) {
        drop(own);
        forget(0);
    }
    own[n_own++] = *o;
    pthread_mutex_unlock(&lock);
}

int shi_uid_make(const char *interface, struct shi_uid *out)
{
    struct shi_tcp_end at[SHI_UID_ADDRS];
    struct shi_uid_own o = {.n = 0};
    int version = VERSION, n = choose(interface ? interface : "", at), err = n < 0 ? n : 0, refused = 0;
    for (int i = 0; i < n; i++) {
        int fd = shi_uid_listen(&at[i]);
        if (fd < 0) {
            refused = fd;
            continue;
        }
        shi_uid_pack(&at[i], o.id.bytes + AT_ADDRS + o.n * SHI_UID_ADDR_BYTES);
        o.fd[o.n++] = fd;
    }
    if (!err && !o.n) {
        err = refused;
        shi_log_error("cannot listen for the other processes of the job: %s", strerror(-err));
    }
    if (!err)
        err = shi_random_bytes(o.id.bytes + AT_SECRET, SHI_SECRET_BYTES);
    if (err) {
        drop(&o);
        return err;
    }
    memcpy(o.id.bytes, &version, sizeof version);
    o.id.bytes[AT_COUNT] = (unsigned char)o.n;
    uint64_t s = sum(&o.id);
    memcpy(o.id.bytes + AT_SUM, &s, sizeof s);
    *out = o.id;
    keep(&o);
    explicit_bzero(&o, sizeof o);
    return 0;
}

int shi_uid_take(const struct shi_uid *id, struct shi_uid_own *out)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = n_own - 1; i >= 0 && !found; i--)
        if (memcmp(&own[i].id, id, sizeof *id) == 0) {
            *out = own[i];
            forget(i);
            found = 1;
        }
    pthread_mutex_unlock(&lock);
    return found;
}
