/*
 * stranger.c - a process that attacks the ports of PEs through sockets, with libfabric's protocol or with garbage:
 *
 *   stranger MODE SECONDS PORT...
 *
 * prints one line: the numbers of connections that it opened, of those that libfabric accepted as a peer's, and of
 * bytes that it wrote. The modes are in the table at the end. The messages are those of libfabric 1.17's net and tcp
 * providers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECT_REQUEST = 0, MESSAGE = 0, ACK = 2, PORTS = 64 };

/* The first message of a connection. */
struct request {
    uint8_t version, type;
    uint16_t segment_bytes;
    uint32_t segment;
    uint64_t conn_id, msg_id, conn_data;
    uint8_t rdm_version, reserved;
    uint16_t port; /* the port on which the sender claims to listen */
    uint32_t pid;
};

/* The head of each later message. */
struct header {
    uint8_t version, op;
    uint16_t flags;
    uint8_t op_data, rma_iov_count, header_bytes, id;
    uint64_t bytes; /* including this head */
};

static long n_connections, n_joined, n_bytes;
static int ports[PORTS], n_ports, port, other_port;
static double end;
static char garbage[65536];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A connection, or -1. A request that is not answered within milliseconds is given up for the next. */
static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), err = 0;
    socklen_t n = sizeof err;
    if (fd >= 0 && connect(fd, (void *)&a, sizeof a)) {
        struct pollfd p = {fd, POLLOUT, 0};
        if (errno != EINPROGRESS || poll(&p, 1, 2) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n) || err) {
            close(fd);
            return -1;
        }
    }
    if (fd >= 0) {
        fcntl(fd, F_SETFL, 0);
        n_connections++;
    }
    return fd;
}

/* 0, or -1 when the other end has closed or reads nothing for a second. */
static int say(int fd, const void *what, size_t bytes)
{
    struct timeval t = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    while (bytes) {
        ssize_t n = send(fd, what, bytes, MSG_NOSIGNAL);
        if (n <= 0)
            return -1;
        n_bytes += n;
        what = (const char *)what + n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* Reset the connection, which is an error at the other end, instead of closing it. */
static void reset(int fd)
{
    struct linger l = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    close(fd);
}

/* A connection that libfabric has accepted as that of an endpoint at port `claimed`, or -1. A PE that waits for a core answers, or
 * closes the connection, within 20 s. */
static int join(int claimed)
{
    struct request r = {.version = 3, .type = CONNECT_REQUEST, .segment_bytes = htons(8), .conn_data = 1,
                        .port = htons((uint16_t)claimed), .pid = htonl((uint32_t)getpid())};
    struct timeval t = {20, 0};
    char answer[64];
    int fd = dial();
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    if (say(fd, &r, sizeof r) == 0 && recv(fd, answer, sizeof answer, 0) > 0) {
        n_joined++;
        return fd;
    }
    close(fd);
    return -1;
}

static struct header head(size_t payload)
{
    return (struct header){.version = 3, .op = MESSAGE, .header_bytes = sizeof(struct header),
                           .bytes = sizeof(struct header) + payload};
}

/* ---- modes -------------------------------------------------------------------------------------------------------- */

static void churn(void)
{
    int fd = dial();
    if (fd >= 0)
        reset(fd);
}

static void hold(void)
{
    if (dial() < 0 && errno == EMFILE)
        usleep(1000);
}

static void bytes(void)
{
    int fd = dial();
    while (fd >= 0 && now() < end && say(fd, garbage, sizeof garbage) == 0)
        ;
    if (fd >= 0)
        close(fd);
}

static void messages(void)
{
    struct header h = head(512);
    int fd = join(1);
    memcpy(garbage, &h, sizeof h);
    while (fd >= 0 && now() < end && say(fd, garbage, h.bytes) == 0)
        ;
    if (fd >= 0)
        close(fd);
}

static void too_long(void)
{
    struct header h = head(1 << 20);
    int fd = join(1);
    if (fd < 0)
        return;
    if (say(fd, &h, sizeof h) == 0)
        say(fd, garbage, sizeof garbage);
    close(fd);
}

static void cut_at(size_t sent, int with_reset)
{
    struct header h = head(4096);
    int fd = join(1);
    if (fd < 0)
        return;
    if (say(fd, &h, sizeof h) == 0)
        say(fd, garbage, sent);
    usleep(20000);
    if (with_reset)
        reset(fd);
    else
        close(fd);
}

static void cut(void)
{
    cut_at(100, 0);
    cut_at(100, 1);
    cut_at(0, 1);
}

static void acknowledge(void)
{
    struct header h = head(0);
    int fd = join(1);
    h.op_data = ACK;
    if (fd < 0)
        return;
    say(fd, &h, sizeof h);
    usleep(100000);
    close(fd);
}

/* Claim to be the peer that listens on the other port, so that libfabric closes that peer's connection. */
static void steal(void)
{
    int fd = join(other_port);
    usleep(100000);
    if (fd >= 0)
        close(fd);
}

static const struct {
    const char *name;
    void (*once)(void);
} modes[] = {
    {"churn", churn},             /* connections opened and reset */
    {"hold", hold},               /* connections opened and kept */
    {"bytes", bytes},             /* bytes that are not a libfabric message */
    {"messages", messages},       /* libfabric messages with random contents */
    {"long", too_long},           /* a message longer than the posted buffers */
    {"cut", cut},                 /* a connection that ends within a message */
    {"acknowledge", acknowledge}, /* an acknowledgement without a message */
    {"steal", steal},             /* the address of another PE */
};

int main(int argc, char **argv)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (argc < 4)
        return 2;
    end = now() + atof(argv[2]);
    for (int i = 3; i < argc && n_ports < PORTS; i++)
        ports[n_ports++] = atoi(argv[i]);
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)rand();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        for (int k = 0; strcmp(modes[i].name, argv[1]) == 0 && now() < end; k++) {
            port = ports[k % n_ports];
            other_port = ports[(k + 1) % n_ports];
            modes[i].once();
        }
    printf("%s: %ld connections, %ld as a peer, %ld bytes\n", argv[1], n_connections, n_joined, n_bytes);
    return 0;
}
