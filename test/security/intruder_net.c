/* intruder_net.c - see intruder.h. */
#include "intruder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fi_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "host/net/fabric/ofi.h"

struct sockaddr_in port[PORTS];
int n_ports;
long tried, sent, obtained;

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void give_up(const char *what, int err)
{
    fprintf(stderr, "intruder: %s: %s\n", what, strerror(err));
    exit(2);
}

void random_bytes(void *to, size_t n)
{
    for (size_t at = 0; at < n; at += 256)
        if (getrandom((char *)to + at, n - at < 256 ? n - at : 256, 0) < 0)
            give_up("getrandom", errno);
}

/* One pass over the list. */
static void read_ports(unsigned uid)
{
    char line[512];
    const char *path = getenv("INTRUDER_TCP");
    FILE *f = fopen(path ? path : "/proc/net/tcp", "re");
    n_ports = 0;
    while (f && fgets(line, sizeof line, f)) {
        unsigned host, at, state, owner;
        if (sscanf(line, " %*d: %x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %u", &host, &at, &state, &owner) == 4 &&
            state == TCP_LISTEN && owner == uid && n_ports < PORTS)
            port[n_ports++] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)at),
                                                   .sin_addr.s_addr = host ? host : htonl(INADDR_LOOPBACK)};
    }
    if (f)
        fclose(f);
}

void find_ports(unsigned uid)
{
    double end = now() + 20;
    while (read_ports(uid), n_ports == 0) {
        if (now() > end)
            give_up("the user has no listening port", ENOENT);
        usleep(20000);
    }
}

int connect_to(const struct sockaddr_in *p)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)p, sizeof *p) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- libfabric ---------------------------------------------------------------------------------------------------- */

static struct fi_info *info;
struct fid_domain *domain;
static struct fid_av *av;
struct fid_ep *ep;
static struct fid_cq *cq;
static struct fi_context2 context[64];
static uint64_t attempt;

void new_endpoint(void)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_MSG, .size = 256};
    if (ep)
        fi_close(&ep->fid);
    if (cq)
        fi_close(&cq->fid);
    int rc = fi_cq_open(domain, &attr, &cq, NULL);
    if (!rc)
        rc = fi_endpoint(domain, info, &ep, NULL);
    if (!rc)
        rc = fi_ep_bind(ep, &av->fid, 0);
    if (!rc)
        rc = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV);
    if (!rc)
        rc = fi_enable(ep);
    if (rc)
        give_up("libfabric's endpoint", -rc);
}

void open_fabric(void)
{
    static struct fid_fabric *fabric;
    const char *provider = getenv("SHMEM_OFI_PROVIDER"), *interface = getenv("SHMEM_OFI_DOMAIN");
    struct shi_ofi_params params = {provider ? provider : "", interface ? interface : "", 1, 0, 0, 0};
    struct fi_av_attr table = {.type = FI_AV_TABLE, .count = PORTS};
    char why[512];
    if (shi_ofi_open(why, sizeof why) || shi_ofi_select(&params, NULL, NULL, &info, why, sizeof why)) {
        fprintf(stderr, "intruder: %s\n", why);
        exit(2);
    }
    int rc = shi_ofi.fabric(info->fabric_attr, &fabric, NULL);
    if (!rc)
        rc = fi_domain(fabric, info, &domain, NULL);
    if (!rc)
        rc = fi_av_open(domain, &table, &av, NULL);
    if (rc)
        give_up("libfabric", -rc);
    new_endpoint();
}

fi_addr_t peer(const struct sockaddr_in *p)
{
    fi_addr_t out;
    if (fi_av_insert(av, p, 1, &out, 0, NULL) != 1)
        give_up("libfabric's address", EINVAL);
    return out;
}

int outcome(const void *of, double seconds)
{
    for (double end = now() + seconds; now() < end;) {
        struct fi_cq_msg_entry e;
        struct fi_cq_err_entry err = {0};
        ssize_t n = fi_cq_read(cq, &e, 1);
        if (n == 1 && e.op_context == of)
            return 1;
        if (n == -FI_EAVAIL && fi_cq_readerr(cq, &err, 0) == 1 && err.op_context == of)
            return -err.err;
        if (n == -FI_EAGAIN)
            usleep(20); /* the target may need the core */
    }
    return 0;
}

void *next_context(void)
{
    return &context[attempt++ % (sizeof context / sizeof *context)];
}

static int send_with(fi_addr_t to, const void *bytes, size_t n, uint64_t flags, double seconds)
{
    struct iovec local = {(void *)bytes, n};
    struct fi_msg m = {.msg_iov = &local, .iov_count = 1, .addr = to, .context = next_context()};
    double end = now() + 1;
    ssize_t rc;
    while ((rc = fi_sendmsg(ep, &m, FI_COMPLETION | flags)) == -FI_EAGAIN && now() < end)
        outcome(NULL, 0.001);
    int done = rc == 0 && outcome(m.context, seconds) == 1;
    tried++;
    sent += done;
    return done;
}

int send_to(fi_addr_t to, const void *bytes, size_t n)
{
    return send_with(to, bytes, n, 0, 1);
}

int deliver_to(fi_addr_t to, const void *bytes, size_t n)
{
    return send_with(to, bytes, n, FI_DELIVERY_COMPLETE, 10);
}

/* ---- relay -------------------------------------------------------------------------------------------------------- */

/* A relay: one connection to a port of this process, of which `limit` bytes are forwarded to the port `target`. */
static struct relay {
    int listener, change, sent;
    const struct sockaddr_in *target;
    long limit;
    int served; /* release by the relay's thread, acquire by the attack: the connection has ended */
} relay;

static void *relay_one(void *arg)
{
    (void)arg;
    int from = accept(relay.listener, NULL, NULL), to = connect_to(relay.target);
    struct pollfd p[2] = {{.fd = from, .events = POLLIN}, {.fd = to, .events = POLLIN}};
    char buffer[4096];
    long passed = 0;
    while (from >= 0 && to >= 0 && passed < relay.limit && poll(p, 2, 30) > 0) {
        ssize_t n = 0;
        if (p[1].revents && ((n = recv(to, buffer, sizeof buffer, 0)) <= 0 || send(from, buffer, (size_t)n, MSG_NOSIGNAL) < 0))
            break;
        if (!p[0].revents)
            continue;
        long room = relay.limit - passed;
        n = recv(from, buffer, room < (long)sizeof buffer ? (size_t)room : sizeof buffer, 0);
        if (n <= 0)
            break;
        passed += n;
        if (relay.change && passed == relay.limit)
            buffer[n - 1] ^= (char)(1 << relay.limit % 8);
        if (send(to, buffer, (size_t)n, MSG_NOSIGNAL) < 0)
            break;
        relay.sent = 1;
    }
    close(from);
    close(to);
    __atomic_store_n(&relay.served, 1, __ATOMIC_RELEASE);
    return NULL;
}

void cut_at(const struct sockaddr_in *p, long limit, int change)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    pthread_t thread;
    static const char message[1024];
    relay = (struct relay){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .target = p, .limit = limit,
                           .change = change};
    if (relay.listener < 0 || bind(relay.listener, (struct sockaddr *)&a, sizeof a) || listen(relay.listener, 4) ||
        getsockname(relay.listener, (struct sockaddr *)&a, &n) || pthread_create(&thread, NULL, relay_one, NULL))
        give_up("relay", errno);
    new_endpoint();
    fi_addr_t to = peer(&a);
    void *c = next_context();
    double end = now() + 2;
    int waits = 1;
    while (!__atomic_load_n(&relay.served, __ATOMIC_ACQUIRE) && now() < end) {
        if (waits)
            waits = fi_send(ep, message, sizeof message, NULL, to, c) == -FI_EAGAIN;
        outcome(NULL, 0.001);
    }
    shutdown(relay.listener, SHUT_RDWR); /* no connection came: accept fails */
    pthread_join(thread, NULL);
    close(relay.listener);
    tried++;
    sent += relay.sent;
}

/* ---- capture ------------------------------------------------------------------------------------------------------ */

union captured *captured;
int n_captured;
static int sniffer = -1;

void open_sniffer(void)
{
    struct sockaddr_ll lo = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)if_nametoindex("lo")};
    int bytes = 16 << 20;
    sniffer = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP));
    if (sniffer < 0 || bind(sniffer, (struct sockaddr *)&lo, sizeof lo))
        give_up("packet socket", errno);
    setsockopt(sniffer, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
}

static int is_port(unsigned p)
{
    for (int i = 0; i < n_ports; i++)
        if (ntohs(port[i].sin_port) == p)
            return 1;
    return 0;
}

/* Could a complete message of the streams begin here? */
static int is_message(const char *at, size_t room)
{
    struct head h;
    if (room < sizeof h)
        return 0;
    memcpy(&h, at, sizeof h);
    return h.bytes > sizeof h && h.bytes <= room && h.bytes % 8 == 0 && h.pe < 8 && h.lane < SHI_NET_LANES &&
           h.ack_lane < SHI_NET_LANES && h.seq && h.seq < 1 << 20 && h.ack < 1 << 20;
}

void capture(unsigned uid, double seconds)
{
    static char packet[1 << 16];
    for (int n = 0; n_ports < 2 || n_ports != n; find_ports(uid)) { /* until all PEs listen */
        n = n_ports;
        usleep(200000);
    }
    captured = calloc(CAPTURED, sizeof *captured);
    for (double end = now() + seconds; captured && n_captured < CAPTURED && now() < end;) {
        struct sockaddr_ll from;
        socklen_t length = sizeof from;
        struct pollfd p = {.fd = sniffer, .events = POLLIN};
        if (poll(&p, 1, 100) <= 0)
            continue;
        ssize_t n = recvfrom(sniffer, packet, sizeof packet, 0, (struct sockaddr *)&from, &length);
        const struct iphdr *ip = (const void *)packet;
        const struct tcphdr *tcp = (const void *)(packet + ip->ihl * 4);
        if (n < (ssize_t)(sizeof *ip + sizeof *tcp) || from.sll_pkttype == PACKET_OUTGOING || ip->protocol != IPPROTO_TCP ||
            !(is_port(ntohs(tcp->source)) || is_port(ntohs(tcp->dest))))
            continue;
        const char *at = (const char *)tcp + tcp->doff * 4, *last = packet + n;
        for (; at < last && n_captured < CAPTURED; at++)
            if (is_message(at, (size_t)(last - at))) {
                union captured *c = &captured[n_captured++];
                memcpy(c->data, at, sizeof c->head);
                memcpy(c->data, at, c->head.bytes);
                at += c->head.bytes - 1;
            }
    }
}

