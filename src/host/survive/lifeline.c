/*
 * lifeline.c - see lifeline.h.
 *
 *   word        written by             read by                order
 *   addr[pe]    handler of messages    thread that watches    R1 -> A1 it is there before has[pe] is set
 *   line        thread that watches    the same               plain
 */
#include "host/survive/lifeline.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/net/am/am.h"
#include "host/net/stream/lost.h"
#include "host/net/stream/stream.h"
#include "host/ops/state.h"
#include "host/policy/limits.h"
#include "host/util/base.h"
#include "host/util/log.h"

struct listens {
    struct shi_message m;
    struct sockaddr_in6 at;
};

static struct {
    struct sockaddr_in6 at;    /* where this PE listens; or a shorter address */
    struct sockaddr_in6 *addr; /* [n_pes] */
    uint8_t *has;
    int listener;
    int (*is_over)(int pe);
} own = {.listener = -1};

static struct {
    int pe, fd; /* -1: none */
    int connected;
    uint64_t since_ns;
} line = {.pe = -1, .fd = -1};

static socklen_t length(const struct sockaddr_in6 *a)
{
    return a->sin6_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof *a;
}

/* ---- listening ---------------------------------------------------------------------------------------------------------- */

static void in_forked_child(void)
{
    if (own.listener >= 0)
        close(own.listener);
    if (line.fd >= 0)
        close(line.fd);
    own.listener = line.fd = -1;
}

/* At the address by which others reach this PE's network, at any port. */
static int listen_at(struct sockaddr_in6 *at)
{
    static int registered;
    struct shi_net_address net;
    socklen_t n = sizeof *at;
    int err = shi_stream_socket_address(&net);
    if (err)
        return err;
    memcpy(at, net.data, sizeof *at);
    at->sin6_port = 0; /* where that of an IPv4 address is, too */
    own.listener = socket(at->sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (own.listener < 0 || bind(own.listener, (struct sockaddr *)at, length(at)) || listen(own.listener, SHI_LIFELINES) ||
        getsockname(own.listener, (struct sockaddr *)at, &n))
        return -errno;
    if (!registered && (err = -pthread_atfork(NULL, NULL, in_forked_child)))
        return err;
    registered = 1;
    return 0;
}

static int is_near(int pe)
{
    return shi_stream_node(pe) == shi_stream_node(shi_world.pe);
}

int shi_lifeline_up(int (*is_over)(int pe))
{
    own.is_over = is_over;
    own.addr = calloc((size_t)shi_world.n_pes, sizeof *own.addr);
    own.has = calloc((size_t)shi_world.n_pes, 1);
    int err = own.addr && own.has ? listen_at(&own.at) : -ENOMEM;
    if (err == -ENOTSUP)
        shi_log_error("SHMEM_FAULTS=continue: on several hosts only with providers of libfabric whose addresses are those of sockets (tcp, verbs)");
    else if (err)
        shi_log_error("SHMEM_FAULTS=continue: this PE cannot listen: %s", strerror(-err));
    return err;
}

void shi_lifeline_tell(void)
{
    const struct listens l = {{shi_team_world.number, SHI_MESSAGE_LISTENS}, own.at};
    for (int pe = 0; pe < shi_world.n_pes; pe++)
        if (!is_near(pe))
            shi_message_send(pe, &l.m, sizeof l);
}

static void cut(void)
{
    if (line.fd >= 0)
        close(line.fd);
    line.fd = line.pe = -1;
    line.connected = 0;
}

void shi_lifeline_down(void)
{
    cut();
    if (own.listener >= 0)
        close(own.listener);
    own.listener = -1;
    free(own.addr);
    free(own.has);
    own.addr = NULL;
    own.has = NULL;
}

void shi_lifeline_take(struct shmem_team *t, int pe, const struct shi_message *m, size_t bytes)
{
    (void)t;
    if (bytes != sizeof(struct listens))
        shi_am_refuse(pe, "an invalid address of a PE");
    if (!own.has || own.has[pe])
        return;
    own.addr[pe] = ((const struct listens *)m)->at;
    __atomic_store_n(&own.has[pe], 1, __ATOMIC_RELEASE); /* R1 */
}

/* ---- the connection ------------------------------------------------------------------------------------------------------- */

/* The PE to hold a connection to; -1: none. */
static int next(void)
{
    int pe = shi_world.pe;
    do
        pe = (pe + 1) % shi_world.n_pes;
    while (pe != shi_world.pe && own.is_over(pe));
    return is_near(pe) ? -1 : pe;
}

static void keep_alive(int fd)
{
    int one = 1, third = (int)(shi_world.config.heartbeat + 2) / 3, tries = 2;
    if (shi_world.config.heartbeat <= 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &third, sizeof third);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &third, sizeof third);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
}

static void dial(int pe)
{
    const struct sockaddr_in6 *to = &own.addr[pe];
    line.since_ns = shi_now_ns();
    line.fd = socket(to->sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (line.fd < 0) {
        shi_log_debug("no socket for the connection to PE %d: %s", pe, strerror(errno));
        return;
    }
    keep_alive(line.fd);
    connect(line.fd, (const struct sockaddr *)to, length(to)); /* its error is found by the poll */
}

static uint64_t limit_ns(void)
{
    return (uint64_t)shi_world.config.heartbeat * 1000000000;
}

struct pollfd shi_lifeline_poll(int *limit_ms)
{
    int pe = next();
    if (pe != line.pe) {
        cut();
        line.pe = pe;
    }
    if (pe >= 0 && line.fd < 0 && __atomic_load_n(&own.has[pe], __ATOMIC_ACQUIRE)) /* A1 */
        dial(pe);
    *limit_ms = pe < 0 || line.connected ? -1 : SHI_LIFELINE_MS; /* an address may come, or the connection be made */
    return (struct pollfd){.fd = line.fd, .events = (short)(line.connected ? POLLIN | POLLRDHUP : POLLOUT)};
}

int shi_lifeline_look(short revents, int *silent)
{
    int err = 0, pe = line.pe;
    socklen_t n = sizeof err;
    *silent = 0;
    if (line.fd < 0)
        return -1;
    if (!revents) {
        *silent = !line.connected && limit_ns() && shi_now_ns() - line.since_ns > limit_ns();
        return *silent ? pe : -1;
    }
    getsockopt(line.fd, SOL_SOCKET, SO_ERROR, &err, &n);
    if (!line.connected && !err) {
        line.connected = 1;
        return -1;
    }
    *silent = err == ETIMEDOUT || err == EHOSTUNREACH || err == ENETUNREACH;
    return pe;
}
