/*
 * first_message.c - the provider that a job takes which goes on when a PE dies: what two PEs send each other first arrives, although a connection of the
 * receiver has ended before.
 *
 * libfabric's TCP provider (net of 1.17, tcp since 1.18) lets two endpoints connect to each other at once and keeps one of both connections. It does not
 * reset `remote_pid` of a connection whose memory it uses again (xnet_alloc_conn). So an endpoint that reads the other one's
 * request and the answer to its own request in one poll, in this order, takes the connection that it has for that of an old process, and closes it with
 * all that it has received. The polls below make this order; SHMEM_OFI_PROVIDER=net shows the loss.
 */
#include <arpa/inet.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/net/fabric/ofi.h"

#include "../tap.h"

enum { RECEIVES = 8, NAME = 64, SETTLE_US = 5000, MOST_POLLS = 20000 };

struct end {
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    char name[NAME];
    fi_addr_t peer;
    long in[RECEIVES], sum; /* sum: of the numbers received */
    int got, sent;
};

static struct fi_info *info;
static struct fid_fabric *fabric;

static void need(int rc, const char *what)
{
    if (rc) {
        fprintf(stderr, "%s: %s\n", what, shi_ofi.error(-rc));
        exit(99);
    }
}

static void open_fabric(void)
{
    const char *provider = getenv("SHMEM_OFI_PROVIDER");
    struct shi_ofi_params params = {.provider = provider ? provider : "", .domain = "", .one_node = 1, .goes_on = 1};
    char why[512];
    if (shi_ofi_open(why, sizeof why) || shi_ofi_select(&params, NULL, NULL, &info, why, sizeof why)) {
        printf("1..0 # SKIP %s\n", why);
        exit(0);
    }
    if (info->addr_format != FI_SOCKADDR_IN) {
        printf("1..0 # SKIP %s has no IP addresses\n", info->fabric_attr->prov_name);
        exit(0);
    }
    need(shi_ofi.fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
}

static void up(struct end *e)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_MSG, .size = 64};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    size_t bytes = sizeof e->name;
    need(fi_domain(fabric, info, &e->domain, NULL), "fi_domain");
    need(fi_cq_open(e->domain, &cq, &e->cq, NULL), "fi_cq_open");
    need(fi_av_open(e->domain, &av, &e->av, NULL), "fi_av_open");
    need(fi_endpoint(e->domain, info, &e->ep, NULL), "fi_endpoint");
    need(fi_ep_bind(e->ep, &e->av->fid, 0), "fi_ep_bind");
    need(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    need(fi_enable(e->ep), "fi_enable");
    need(fi_getname(&e->ep->fid, e->name, &bytes), "fi_getname");
    for (int i = 0; i < RECEIVES; i++)
        need((int)fi_recv(e->ep, &e->in[i], sizeof e->in[i], NULL, FI_ADDR_UNSPEC, &e->in[i]), "fi_recv");
}

static void down(struct end *e)
{
    fi_close(&e->ep->fid);
    fi_close(&e->cq->fid);
    fi_close(&e->av->fid);
    fi_close(&e->domain->fid);
}

static fi_addr_t address(struct end *e, const char *name)
{
    fi_addr_t out = 0;
    need(fi_av_insert(e->av, name, 1, &out, 0, NULL) == 1 ? 0 : -FI_EINVAL, "fi_av_insert");
    return out;
}

static void poll_once(struct end *e)
{
    struct fi_cq_msg_entry m;
    ssize_t n = fi_cq_read(e->cq, &m, 1);
    if (n == 1 && m.flags & FI_RECV) {
        e->sum += *(long *)m.op_context;
        e->got++;
    } else if (n == 1) {
        e->sent++;
    } else if (n == -FI_EAVAIL) {
        struct fi_cq_err_entry err = {0};
        fi_cq_readerr(e->cq, &err, 0);
    }
}

/* Has e sent this number? The first try begins a connection. */
static int send_number(struct end *e, fi_addr_t to, long *number)
{
    return fi_send(e->ep, number, sizeof *number, NULL, to, number) == 0;
}

static void settle(struct end *e)
{
    usleep(SETTLE_US); /* the kernel has connected, or carried a request */
    poll_once(e);
}

/* A connection of b ends with the process at its other side. */
static void end_connection(struct end *b, fi_addr_t to, pid_t pid)
{
    static long number;
    while (!send_number(b, to, &number))
        poll_once(b);
    while (!b->sent)
        poll_once(b);
    b->sent = 0;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 4; i++)
        settle(b);
}

static pid_t other;
static char other_name[NAME];

static void first_messages(void)
{
    static long number[] = {1, 10, 100};
    struct end end[2] = {0};
    up(&end[0]);
    up(&end[1]);
    int high = memcmp(end[0].name, end[1].name, sizeof(struct sockaddr_in)) > 0; /* the connection that this one begins is kept */
    struct end *a = &end[high], *b = &end[!high];
    a->peer = address(a, b->name);
    b->peer = address(b, a->name);
    end_connection(b, address(b, other_name), other);

    int from_b = send_number(b, b->peer, &number[2]);
    settle(b); /* its request leaves */
    poll_once(b);
    int from_a = send_number(a, a->peer, &number[0]);
    settle(b); /* accepts a's connection, but there is no request yet */
    for (int i = 0; i < MOST_POLLS && !from_a; i++) {
        settle(a); /* its request leaves, then it takes b's */
        from_a = send_number(a, a->peer, &number[0]);
    }
    for (int i = 0; i < MOST_POLLS && !a->sent; i++)
        poll_once(a);
    CHECK(a->sent == 1);
    int again = 0;
    for (int i = 0; i < MOST_POLLS && (b->got < 2 || a->got < 1); i++) {
        poll_once(b); /* reads a's request and the answer to its own */
        poll_once(a);
        from_b = from_b || send_number(b, b->peer, &number[2]);
        again = again || (i > 100 && send_number(a, a->peer, &number[1]));
        usleep(100);
    }
    CHECKF(b->sum == 11, "%s: numbers 1 and 10 were sent, and their sum is %ld", info->fabric_attr->prov_name, b->sum);
    CHECKF(a->sum == 100, "%s: number 100 was sent, and the sum is %ld", info->fabric_attr->prov_name, a->sum);
    down(&end[0]);
    down(&end[1]);
}

int main(void)
{
    int name[2];
    if (pipe(name) || (other = fork()) < 0)
        return 99;
    if (!other) {
        static struct end c;
        if (!freopen("/dev/null", "w", stdout)) /* the parent says why the test is skipped */
            _exit(99);
        open_fabric();
        up(&c);
        if (write(name[1], c.name, NAME) != NAME)
            _exit(99);
        for (;;) {
            poll_once(&c);
            usleep(100);
        }
    }
    close(name[1]);
    open_fabric();
    if (read(name[0], other_name, NAME) != NAME)
        return 99;
    RUN(first_messages, "the first message between two PEs after the death of a third one");
    return tap_end();
}
