/*
 * ofi_select.c - choose a libfabric provider and interface: the fastest kind that has reliable datagrams and remote memory
 * access, whatever its message order. FI_ATOMIC is not requested: some providers claim it without having it, others then
 * offer less message order.
 */
#include "host/net/ofi.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


struct shi_ofi_library shi_ofi;

int shi_ofi_open(char *why, size_t bytes)
{
    if (shi_ofi.error)
        return 0;
    setenv("IPATH_NO_BACKTRACE", "1", 0); /* else libraries of old networks, which libfabric loads, handle signals */
    setenv("HFI_NO_BACKTRACE", "1", 0);
    void *lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        snprintf(why, bytes, "libfabric cannot be loaded (%s); install libfabric1", dlerror());
        return -ENOENT;
    }
    struct shi_ofi_library l = {.getinfo = dlsym(lib, "fi_getinfo"), .freeinfo = dlsym(lib, "fi_freeinfo"),
                                .dupinfo = dlsym(lib, "fi_dupinfo"), .fabric = dlsym(lib, "fi_fabric"),
                                .error = dlsym(lib, "fi_strerror")};
    if (!l.getinfo || !l.freeinfo || !l.dupinfo || !l.fabric || !l.error) {
        snprintf(why, bytes, "libfabric.so.1 lacks functions of version 1.5");
        dlclose(lib);
        return -ENOENT;
    }
    shi_ofi = l;
    return 0;
}

/* Best first: special networks before TCP; shm reaches this node only. */
static const char psm3_by_sockets[] = "psm3 without an RDMA device";
static const char *const ranks[] = {"cxi", "efa", "psm3", "psm2", "opx", "verbs;ofi_rxm", "verbs", "net", "tcp",
                                    "tcp;ofi_rxm", psm3_by_sockets, "shm", "sockets", "sockets;ofi_rxd", "udp;ofi_rxd"};
enum { N_RANKS = sizeof ranks / sizeof *ranks };

static int rank_of(const struct fi_info *f)
{
    const char *name = f->fabric_attr->prov_name;
    if (strcmp(name, "psm3") == 0 && access("/sys/class/infiniband", F_OK))
        name = psm3_by_sockets;
    for (int i = 0; i < N_RANKS; i++)
        if (strcmp(ranks[i], name) == 0)
            return i;
    return N_RANKS;
}

static int is_loopback(const struct fi_info *f)
{
    const struct sockaddr_in *a = f->src_addr;
    if (f->domain_attr->name && strcmp(f->domain_attr->name, "lo") == 0)
        return 1;
    return a && f->addr_format == FI_SOCKADDR_IN && (ntohl(a->sin_addr.s_addr) >> 24) == 127;
}

static int is_version_6(const struct fi_info *f)
{
    return f->addr_format == FI_SOCKADDR_IN6;
}

/* NULL when this one can be used. */
static const char *unfit(const struct fi_info *f, const struct shi_ofi_params *w)
{
    int asked = w->provider[0] != 0;
    if (asked && strcmp(w->provider, f->fabric_attr->prov_name) != 0)
        return "SHMEM_OFI_PROVIDER names another";
    if (w->domain[0] && strcmp(w->domain, f->domain_attr->name) != 0)
        return "SHMEM_OFI_DOMAIN names another";
    if (!asked && rank_of(f) == N_RANKS)
        return "chosen only if SHMEM_OFI_PROVIDER names it";
    if (!w->one_node && is_loopback(f) && !w->domain[0])
        return "loopback reaches this node only";
    if (!w->one_node && strcmp(f->fabric_attr->prov_name, "shm") == 0)
        return "reaches this node only";
    return NULL;
}

/* Smaller is better. */
static int cost(const struct fi_info *f, const struct shi_ofi_params *w)
{
    int detour = w->one_node ? !is_loopback(f) : 0;
    return 4 * rank_of(f) + 2 * detour + is_version_6(f);
}

static struct fi_info *hints(uint64_t order)
{
    struct fi_info *h = shi_ofi.dupinfo(NULL);
    if (!h)
        return NULL;
    h->ep_attr->type = FI_EP_RDM;
    h->caps = FI_MSG | FI_RMA;
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    h->domain_attr->threading = FI_THREAD_SAFE;
    h->domain_attr->resource_mgmt = FI_RM_ENABLED;
    h->domain_attr->av_type = FI_AV_TABLE;
    h->tx_attr->msg_order = h->rx_attr->msg_order = order;
    return h;
}

/* Append what the hints give to the list; frees them. 0 or -errno, -FI_ENODATA: nothing. */
static int add(struct fi_info *h, struct fi_info **list)
{
    if (!h)
        return -ENOMEM;
    while (*list)
        list = &(*list)->next;
    int rc = shi_ofi.getinfo(FI_VERSION(1, 5), NULL, NULL, 0, h, list);
    shi_ofi.freeinfo(h);
    if (rc)
        *list = NULL;
    return rc;
}

/* All that fit, those with more order first: a request for more order hides providers that have less, but some providers
 * give no more than is requested. */
static struct fi_info *candidates(void)
{
    static const uint64_t orders[] = {FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW, FI_ORDER_SAS | FI_ORDER_WAW, FI_ORDER_SAS,
                                      0};
    struct fi_info *all = NULL;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        add(hints(orders[i]), &all);
    return all;
}

static int is_in(const struct fi_info *list, const char *provider)
{
    while (list && strcmp(list->fabric_attr->prov_name, provider) != 0)
        list = list->next;
    return list != NULL;
}

/* Why a provider that SHMEM_OFI_PROVIDER names is not among the candidates. */
static const char *refusal(const char *provider)
{
    static const char *const reasons[] = {"it needs a memory registration or a mode that this library does not have",
                                          "it has no reliable datagrams with remote memory access"};
    for (int i = 0; i < 2; i++) {
        struct fi_info *h = hints(0), *found = NULL;
        if (!h)
            break;
        h->fabric_attr->prov_name = strdup(provider); /* freeinfo frees it */
        h->domain_attr->mr_mode = 0;
        h->mode = ~0ULL;
        if (i == 1) {
            h->ep_attr->type = FI_EP_UNSPEC;
            h->caps = 0;
        }
        int rc = add(h, &found), known = !rc && is_in(found, provider); /* tcp also finds tcp;ofi_rxm */
        if (!rc)
            shi_ofi.freeinfo(found);
        if (known)
            return reasons[i];
    }
    return "this libfabric does not have it, or it finds no interface";
}

/* One line for the user: nothing can be chosen. */
static void explain(const struct shi_ofi_params *p, const struct fi_info *all, char *why, size_t bytes)
{
    if (p->provider[0] && !is_in(all, p->provider))
        snprintf(why, bytes, "SHMEM_OFI_PROVIDER=%s: %s; oshinfo lists the providers that can be used", p->provider,
                 refusal(p->provider));
    else
        snprintf(why, bytes, "no libfabric provider has reliable datagrams with remote memory access%s%s%s%s%s; fi_info -t "
                 "FI_EP_RDM lists what is there", p->provider[0] ? ", SHMEM_OFI_PROVIDER=" : "", p->provider,
                 p->domain[0] ? ", SHMEM_OFI_DOMAIN=" : "", p->domain, p->one_node ? "" : ", and leads to other nodes");
}

int shi_ofi_select(const struct shi_ofi_params *params, shi_ofi_report *report, void *arg, struct fi_info **out,
                   char *why, size_t bytes)
{
    struct fi_info *all = candidates(), *best = NULL;
    for (struct fi_info *f = all; f; f = f->next)
        if (!unfit(f, params) && (!best || cost(f, params) < cost(best, params)))
            best = f;
    if (report && best)
        report(arg, best->fabric_attr->prov_name, best->domain_attr->name, NULL);
    for (struct fi_info *f = all; report && f; f = f->next)
        if (f != best) {
            const char *no = unfit(f, params);
            report(arg, f->fabric_attr->prov_name, f->domain_attr->name, no ? no : "a better one was found");
        }
    *out = best ? shi_ofi.dupinfo(best) : NULL;
    if (!best)
        explain(params, all, why, bytes);
    else if (!*out)
        snprintf(why, bytes, "out of memory for the libfabric provider");
    if (all)
        shi_ofi.freeinfo(all);
    return *out ? 0 : best ? -ENOMEM : -ENODEV;
}
