/*
 * bare_ofi.h - two PEs connected by bare libfabric, for rows that bound those of the library over a network.
 *
 * The endpoint is of SHMEM_OFI_PROVIDER (default: libfabric's tcp, called net by some versions) and is polled by the PE itself: nothing
 * polls it while the library is measured, and the library is idle while it is measured. Link with -lfabric.
 *
 * Receives are posted before their messages arrive, and all have the same buffer. At most BARE_WINDOW transfers are in flight.
 */
#ifndef BARE_OFI_H
#define BARE_OFI_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "bench.h"

enum { BARE_WINDOW = 16, BARE_RECVS = 256, BARE_WORD = 8 };

/* What the peer must know; symmetric. */
struct bare_peer {
    char address[256];
    size_t address_bytes;
    uint64_t key, base;
};
static struct bare_peer bare_peers[2];

static struct {
    struct fid_ep *ep;
    struct fid_cq *cq;
    fi_addr_t peer;
    size_t inject_bytes;    /* the longest message of fi_inject */
    int ordered;            /* a message does not overtake the writes before it */
    char *from, *to;        /* sources of transfers, destination of reads and messages */
    size_t bytes;           /* of each of them */
    long came, wanted;      /* messages */
    int idle;               /* entries of free */
    struct fi_context2 *free[BARE_WINDOW], contexts[BARE_WINDOW], recvs[BARE_RECVS];
} bare;

static inline void bare_check(long rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bare libfabric: %s: %s\n", what, fi_strerror((int)-rc));
    shmem_global_exit(2);
}

static inline void bare_post(struct fi_context2 *c)
{
    bare_check(fi_recv(bare.ep, bare.to, bare.bytes, NULL, FI_ADDR_UNSPEC, c), "fi_recv");
}

static inline void bare_poll(void)
{
    struct fi_cq_msg_entry e[16];
    ssize_t n = fi_cq_read(bare.cq, e, 16);
    if (n != -FI_EAGAIN)
        bare_check(n, "fi_cq_read");
    for (ssize_t i = 0; i < n; i++) {
        struct fi_context2 *c = e[i].op_context;
        if (c >= bare.recvs && c < bare.recvs + BARE_RECVS) {
            bare.came++;
            bare_post(c);
        } else {
            bare.free[bare.idle++] = c;
        }
    }
}

static inline void bare_await_messages(long n)
{
    for (bare.wanted += n; bare.came < bare.wanted;)
        bare_poll();
}

/* Wait until all transfers are complete. */
static inline void bare_flush(void)
{
    while (bare.idle < BARE_WINDOW)
        bare_poll();
}

static inline struct fi_context2 *bare_context(void)
{
    while (bare.idle == 0)
        bare_poll();
    return bare.free[--bare.idle];
}

/* Send a message: by fi_inject if it is short enough, else by fi_send. */
static inline void bare_message(size_t bytes)
{
    struct fi_context2 *c = bytes > bare.inject_bytes ? bare_context() : NULL;
    ssize_t rc;
    while ((rc = c ? fi_send(bare.ep, bare.from, bytes, NULL, bare.peer, c)
                   : fi_inject(bare.ep, bare.from, bytes, bare.peer)) == -FI_EAGAIN)
        bare_poll();
    bare_check(rc, c ? "fi_send" : "fi_inject");
}

/* Begin a write to the peer's memory or a read of it. */
static inline void bare_transfer(int writes, size_t bytes)
{
    const struct bare_peer *p = &bare_peers[1 - shmem_my_pe()];
    struct fi_context2 *c = bare_context();
    ssize_t rc;
    while ((rc = writes ? fi_write(bare.ep, bare.from, bytes, NULL, bare.peer, p->base, p->key, c)
                        : fi_read(bare.ep, bare.to, bytes, NULL, bare.peer, p->base, p->key, c)) == -FI_EAGAIN)
        bare_poll();
    bare_check(rc, writes ? "fi_write" : "fi_read");
}

/* A message of PE 0 and PE 1's answer of the same length, so many times. */
static inline void bare_in_turn(size_t bytes, long calls)
{
    for (; calls > 0; calls--) {
        if (shmem_my_pe() == 1)
            bare_await_messages(1);
        bare_message(bytes);
        if (shmem_my_pe() == 0)
            bare_await_messages(1);
    }
    bare_flush();
}

/* PE 0: writes, then a message; wait for its answer, as a quiet does. PE 1: answer. */
static inline void bare_put(size_t bytes, long writes)
{
    if (shmem_my_pe() == 1)
        bare_await_messages(1);
    for (long i = 0; shmem_my_pe() == 0 && i < writes; i++)
        bare_transfer(1, bytes);
    if (!bare.ordered)
        bare_flush();
    bare_message(BARE_WORD);
    if (shmem_my_pe() == 0)
        bare_await_messages(1);
}

/* PE 0: calls times some reads. PE 1 polls until they are complete. */
static inline void bare_get(size_t bytes, long calls, long reads)
{
    for (; shmem_my_pe() == 0 && calls > 0; calls--) {
        for (long i = 0; i < reads; i++)
            bare_transfer(0, bytes);
        bare_flush();
    }
    if (shmem_my_pe() == 0)
        bare_message(BARE_WORD);
    else
        bare_await_messages(1);
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* What libfabric offers for a provider at an address (NULL: any); that of exactly this name first. */
static inline struct fi_info *bare_offer(const char *name, const char *address, uint64_t order)
{
    struct fi_info *h = fi_allocinfo(), *list = NULL, *found = NULL;
    h->ep_attr->type = FI_EP_RDM;
    h->caps = FI_MSG | FI_RMA;
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    h->tx_attr->msg_order = h->rx_attr->msg_order = order;
    h->fabric_attr->prov_name = strdup(name);
    if (fi_getinfo(FI_VERSION(1, 17), address, NULL, address ? FI_SOURCE : 0, h, &list))
        list = NULL;
    for (struct fi_info *f = list; f && !found; f = f->next)
        found = strcmp(f->fabric_attr->prov_name, name) ? NULL : f;
    found = found ? found : list;
    found = found ? fi_dupinfo(found) : NULL;
    fi_freeinfo(list);
    fi_freeinfo(h);
    return found;
}

static inline struct fi_info *bare_find(void)
{
    static const uint64_t orders[] = {FI_ORDER_SAS | FI_ORDER_SAW, FI_ORDER_SAS};
    const char *names[] = {getenv("SHMEM_OFI_PROVIDER"), "net", "tcp"};
    struct fi_info *info = NULL;
    int named = names[0] && *names[0];
    for (int i = !named; !info && i < (named ? 1 : 3); i++) {
        for (int k = 0; !info && k < 2; k++) {
            if (strcmp(names[i], "shm"))
                info = bare_offer(names[i], "127.0.0.1", orders[k]);
            info = info ? info : bare_offer(names[i], NULL, orders[k]);
        }
    }
    if (!info)
        bare_check(-FI_ENODATA, "no such provider");
    return info;
}

/* Collective: connect the two PEs. `shared` is what the peer writes and reads; from and to are of this PE. All have `bytes`. */
static inline void bare_open(char *shared, char *from, char *to, size_t bytes)
{
    struct fi_info *info = bare_find();
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_mr *mr;
    int me = shmem_my_pe();

    bare.from = from;
    bare.to = to;
    bare.bytes = bytes;
    bare.inject_bytes = info->tx_attr->inject_size;
    bare.ordered = (info->tx_attr->msg_order & info->rx_attr->msg_order & FI_ORDER_SAW) != 0;
    for (; bare.idle < BARE_WINDOW; bare.idle++)
        bare.free[bare.idle] = &bare.contexts[bare.idle];
    bare_check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    bare_check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    bare_check(fi_av_open(domain, &(struct fi_av_attr){.type = FI_AV_TABLE}, &av, NULL), "fi_av_open");
    bare_check(fi_cq_open(domain, &(struct fi_cq_attr){.format = FI_CQ_FORMAT_MSG, .size = 4096}, &bare.cq, NULL), "fi_cq_open");
    bare_check(fi_endpoint(domain, info, &bare.ep, NULL), "fi_endpoint");
    bare_check(fi_ep_bind(bare.ep, &av->fid, 0), "fi_ep_bind");
    bare_check(fi_ep_bind(bare.ep, &bare.cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    bare_check(fi_enable(bare.ep), "fi_enable");
    bare_check(fi_mr_reg(domain, shared, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, (uint64_t)me + 1, 0, &mr, NULL), "fi_mr_reg");
    struct bare_peer mine = {.address_bytes = sizeof mine.address, .key = fi_mr_key(mr),
                             .base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)shared : 0};
    bare_check(fi_getname(&bare.ep->fid, mine.address, &mine.address_bytes), "fi_getname");
    for (int pe = 0; pe < 2; pe++)
        shmem_putmem(&bare_peers[me], &mine, sizeof mine, pe);
    shmem_barrier_all();
    bare_check(fi_av_insert(av, bare_peers[1 - me].address, 1, &bare.peer, 0, NULL) == 1 ? 0 : -FI_EINVAL, "fi_av_insert");
    for (int i = 0; i < BARE_RECVS; i++)
        bare_post(&bare.recvs[i]);
    fi_freeinfo(info);
}

#endif
