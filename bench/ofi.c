/*
 * ofi.c - the network compared with bare libfabric: latency, bandwidth and rate by our calls and by the provider's,
 * alternately. Needs SHMEM_TRANSPORT=ofi and two PEs on one host, and is linked with libfabric:
 *
 *     oshcc -O2 bench/ofi.c -lfabric -o ofi && SHMEM_TRANSPORT=ofi oshrun -n 2 ./ofi
 *
 * The bare side has its own endpoint of SHMEM_OFI_PROVIDER (default: libfabric's tcp, called net by some versions),
 * which the PE polls itself; nothing polls it during our rows, and our library is idle during its rows.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "bench.h"

enum { BIG = 1 << 20, WINDOW = 16, FLOOD = 1000, RECVS = 256, WORD = 8 };

/* What the peer must know; symmetric. */
struct peer_record {
    char address[256];
    size_t address_bytes;
    uint64_t key, base;
};
static struct peer_record records[2];

static struct fid_ep *ep;
static struct fid_cq *cq;
static fi_addr_t peer;
static char *area, *heap;
static struct fi_context2 contexts[WINDOW], recv_contexts[RECVS];
static char recvs[RECVS][WORD];
static struct peer_record *remote;
static long came, wanted;    /* messages */
static long started, ended;  /* transfers */
static uint64_t signal_word; /* symmetric, and so are the next two */
static long word, flag;

static void check(long rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "ofi: %s: %s\n", what, fi_strerror((int)-rc));
    shmem_global_exit(2);
}

static void post(struct fi_context2 *c)
{
    check(fi_recv(ep, recvs[c - recv_contexts], WORD, NULL, FI_ADDR_UNSPEC, c), "fi_recv");
}

static void poll_bare(void)
{
    struct fi_cq_msg_entry e[16];
    ssize_t n = fi_cq_read(cq, e, 16);
    if (n != -FI_EAGAIN)
        check(n, "fi_cq_read");
    for (ssize_t i = 0; i < n; i++) {
        struct fi_context2 *c = e[i].op_context;
        if (c >= recv_contexts && c < recv_contexts + RECVS) {
            came++;
            post(c);
        } else {
            ended++;
        }
    }
}

static void message(void)
{
    ssize_t rc;
    while ((rc = fi_inject(ep, area, WORD, peer)) == -FI_EAGAIN)
        poll_bare();
    check(rc, "fi_inject");
}

static void await_messages(long n)
{
    for (wanted += n; came < wanted;)
        poll_bare();
}

static struct fi_info *find(void)
{
    const char *names[] = {getenv("SHMEM_OFI_PROVIDER"), "net", "tcp"};
    struct fi_info *info = NULL;
    for (int i = 0; i < 3 && !info; i++) {
        if (!names[i])
            continue;
        struct fi_info *h = fi_allocinfo();
        h->ep_attr->type = FI_EP_RDM;
        h->caps = FI_MSG | FI_RMA;
        h->mode = FI_CONTEXT | FI_CONTEXT2;
        h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
        h->fabric_attr->prov_name = strdup(names[i]);
        if (fi_getinfo(FI_VERSION(1, 17), strcmp(names[i], "shm") ? "127.0.0.1" : NULL, NULL,
                       strcmp(names[i], "shm") ? FI_SOURCE : 0, h, &info))
            info = NULL;
        fi_freeinfo(h);
    }
    if (!info)
        check(-FI_ENODATA, "no such provider");
    return info;
}

static void bare_up(void)
{
    struct fi_info *info = find();
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_mr *mr;
    int me = shmem_my_pe();
    check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    check(fi_av_open(domain, &(struct fi_av_attr){.type = FI_AV_TABLE}, &av, NULL), "fi_av_open");
    check(fi_cq_open(domain, &(struct fi_cq_attr){.format = FI_CQ_FORMAT_MSG, .size = 4096}, &cq, NULL), "fi_cq_open");
    check(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
    check(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
    check(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_enable(ep), "fi_enable");
    check(fi_mr_reg(domain, heap, BIG, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, (uint64_t)me + 1, 0, &mr, NULL), "fi_mr_reg");
    struct peer_record c = {.address_bytes = sizeof c.address, .key = fi_mr_key(mr),
                     .base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)heap : 0};
    check(fi_getname(&ep->fid, c.address, &c.address_bytes), "fi_getname");
    for (int pe = 0; pe < 2; pe++)
        shmem_putmem(&records[me], &c, sizeof c, pe);
    shmem_barrier_all();
    remote = &records[1 - me];
    check(fi_av_insert(av, remote->address, 1, &peer, 0, NULL) == 1 ? 0 : -FI_EINVAL, "fi_av_insert");
    for (int i = 0; i < RECVS; i++)
        post(&recv_contexts[i]);
}

/* ---- one way ------------------------------------------------------------------------------------------------------- */

static void loop_message(void *arg, long calls)
{
    (void)arg;
    for (; calls > 0; calls--) {
        if (shmem_my_pe() == 1)
            await_messages(1);
        message();
        if (shmem_my_pe() == 0)
            await_messages(1);
    }
}

static void loop_put_signal(void *arg, long calls)
{
    static uint64_t turn;
    (void)arg;
    for (; calls > 0; calls--) {
        turn++;
        if (shmem_my_pe() == 1)
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, turn);
        shmem_putmem_signal(heap, area, WORD, &signal_word, turn, SHMEM_SIGNAL_SET, 1 - shmem_my_pe());
        if (shmem_my_pe() == 0)
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, turn);
    }
}

static void loop_p(void *arg, long calls)
{
    static long turn;
    (void)arg;
    for (; calls > 0; calls--) {
        turn++;
        if (shmem_my_pe() == 1)
            shmem_long_wait_until(&word, SHMEM_CMP_GE, turn);
        shmem_long_p(&word, turn, 1 - shmem_my_pe());
        if (shmem_my_pe() == 0)
            shmem_long_wait_until(&word, SHMEM_CMP_GE, turn);
    }
}

/* ---- PE 0 calls, PE 1 polls -------------------------------------------------------------------------------------- */

/* PE 1 polls until PE 0 has finished. */
static void through_bare(void)
{
    if (shmem_my_pe() == 0)
        message();
    else
        await_messages(1);
}

static void through_ours(void)
{
    static long turn;
    turn++;
    if (shmem_my_pe() == 0)
        shmem_long_p(&flag, turn, 1);
    else
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, turn);
}

static void transfer(int writes, size_t bytes, int i)
{
    ssize_t rc;
    while ((rc = writes ? fi_write(ep, area, bytes, NULL, peer, remote->base, remote->key, &contexts[i])
                        : fi_read(ep, area, bytes, NULL, peer, remote->base, remote->key, &contexts[i])) == -FI_EAGAIN)
        poll_bare();
    check(rc, writes ? "fi_write" : "fi_read");
    started++;
}

static void bare_window(int writes, size_t bytes, int window)
{
    for (int i = 0; i < window; i++)
        transfer(writes, bytes, i);
    while (ended < started)
        poll_bare();
}

static void bare_reads(size_t bytes, long calls, int window)
{
    for (; shmem_my_pe() == 0 && calls > 0; calls--)
        bare_window(0, bytes, window);
    through_bare();
}

static void loop_bare_get(void *arg, long calls)
{
    (void)arg;
    bare_reads(WORD, calls, 1);
}

/* A window is complete, as after a quiet, when the peer has answered a message sent after it. */
static void loop_bare_write_big(void *arg, long calls)
{
    (void)arg;
    for (; calls > 0; calls--) {
        if (shmem_my_pe() == 0) {
            bare_window(1, BIG, WINDOW);
            message();
            await_messages(1);
        } else {
            await_messages(1);
            message();
        }
    }
}

static void loop_bare_read_big(void *arg, long calls)
{
    (void)arg;
    bare_reads(BIG, calls, WINDOW);
}

static void loop_get(void *arg, long calls)
{
    (void)arg;
    for (; shmem_my_pe() == 0 && calls > 0; calls--)
        shmem_getmem(area, heap, WORD, 1);
    through_ours();
}

static void loop_fetch_add(void *arg, long calls)
{
    (void)arg;
    for (; shmem_my_pe() == 0 && calls > 0; calls--)
        shmem_long_atomic_fetch_add(&word, 0, 1);
    through_ours();
}

static void loop_put_big(void *arg, long calls)
{
    (void)arg;
    for (; shmem_my_pe() == 0 && calls > 0; calls--) {
        for (int i = 0; i < WINDOW; i++)
            shmem_putmem_nbi(heap, area, BIG, 1);
        shmem_quiet();
    }
    through_ours();
}

static void loop_get_big(void *arg, long calls)
{
    (void)arg;
    for (; shmem_my_pe() == 0 && calls > 0; calls--) {
        for (int i = 0; i < WINDOW; i++)
            shmem_getmem_nbi(area, heap, BIG, 1);
        shmem_quiet();
    }
    through_ours();
}

/* ---- floods -------------------------------------------------------------------------------------------------------- */

static void loop_flood(void *arg, long calls)
{
    (void)arg;
    if (shmem_my_pe() == 0) {
        for (long i = 0; i < calls * FLOOD; i++)
            message();
        await_messages(1);
    } else {
        await_messages(calls * FLOOD);
        message();
    }
}

static void loop_flood_p(void *arg, long calls)
{
    (void)arg;
    for (long i = 0; shmem_my_pe() == 0 && i < calls * FLOOD; i++)
        shmem_long_p((long *)heap + i % 1024, i, 1);
    shmem_quiet();
    through_ours();
}

int main(void)
{
    bench_init("ofi", 2);
    area = bench_private(BIG);
    heap = bench_symmetric(BIG);
    bare_up();
    struct bench_case cases[] = {
        {"bare_message", "heap", NULL, BENCH_US, WORD, 2, loop_message, NULL, 0, {0}},
        {"put_signal", "heap", "bare_message", BENCH_US, WORD, 2, loop_put_signal, NULL, 0, {0}},
        {"pingpong_p", "static", "bare_message", BENCH_US, WORD, 2, loop_p, NULL, 0, {0}},
        {"bare_read", "heap", NULL, BENCH_US, WORD, 1, loop_bare_get, NULL, 0, {0}},
        {"get", "heap", "bare_read", BENCH_US, WORD, 1, loop_get, NULL, 0, {0}},
        {"fetch_add", "static", "bare_read", BENCH_US, WORD, 1, loop_fetch_add, NULL, 0, {0}},
        {"bare_write", "heap", NULL, BENCH_GB_PER_S, BIG, WINDOW, loop_bare_write_big, NULL, 0, {0}},
        {"bandwidth_put", "heap", "bare_write", BENCH_GB_PER_S, BIG, WINDOW, loop_put_big, NULL, 0, {0}},
        {"bare_read", "heap", NULL, BENCH_GB_PER_S, BIG, WINDOW, loop_bare_read_big, NULL, 0, {0}},
        {"bandwidth_get", "heap", "bare_read", BENCH_GB_PER_S, BIG, WINDOW, loop_get_big, NULL, 0, {0}},
        {"bare_inject", "heap", NULL, BENCH_MILLION_PER_S, WORD, FLOOD, loop_flood, NULL, 0, {0}},
        {"rate_p", "heap", "bare_inject", BENCH_MILLION_PER_S, WORD, FLOOD, loop_flood_p, NULL, 0, {0}},
    };
    bench_joint(cases, sizeof cases / sizeof *cases);
    shmem_finalize();
    return 0;
}
