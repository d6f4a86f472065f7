/*
 * ofi_select.c - choose a libfabric provider and interface: the fastest kind that has reliable datagrams, messages in order
 * and remote memory access. FI_ATOMIC is not requested: some providers claim it without having it, others then offer less
 * message order.
 */
#include "host/net/ofi.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


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
static const char *const ranks[] = {"cxi", "efa", "psm3", "psm2", "opx", "verbs;ofi_rxm", "verbs", "net", "tcp",
                                    "tcp;ofi_rxm", "shm", "sockets", "sockets;ofi_rxd", "udp;ofi_rxd"};
enum { N_RANKS = sizeof ranks / sizeof *ranks };

static int rank_of(const struct fi_info *f)
{
    for (int i = 0; i < N_RANKS; i++)
        if (strcmp(ranks[i], f->fabric_attr->prov_name) == 0)
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

/* Providers that order messages behind writes; if there is none, those that order messages only. */
static int candidates(struct fi_info **out)
{
    static const uint64_t orders[] = {FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW, FI_ORDER_SAS};
    int rc = -FI_ENODATA;
    for (int i = 0; rc && i < 2; i++) {
        struct fi_info *h = hints(orders[i]);
        if (!h)
            return -ENOMEM;
        rc = shi_ofi.getinfo(FI_VERSION(1, 5), NULL, NULL, 0, h, out);
        shi_ofi.freeinfo(h);
    }
    return rc;
}

int shi_ofi_select(const struct shi_ofi_params *params, shi_ofi_report *report, void *arg, struct fi_info **out,
                   char *why, size_t bytes)
{
    struct fi_info *all = NULL, *best = NULL;
    int rc = candidates(&all);
    for (struct fi_info *f = all; !rc && f; f = f->next)
        if (!unfit(f, params) && (!best || cost(f, params) < cost(best, params)))
            best = f;
    if (report && best)
        report(arg, best->fabric_attr->prov_name, best->domain_attr->name, NULL);
    for (struct fi_info *f = all; report && !rc && f; f = f->next)
        if (f != best) {
            const char *no = unfit(f, params);
            report(arg, f->fabric_attr->prov_name, f->domain_attr->name, no ? no : "a better one was found");
        }
    *out = best ? shi_ofi.dupinfo(best) : NULL;
    if (all)
        shi_ofi.freeinfo(all);
    if (*out)
        return 0;
    snprintf(why, bytes, "no libfabric provider has reliable datagrams with messages in order and remote memory access%s%s%s%s"
             "%s; fi_info -t FI_EP_RDM lists what is there", params->provider[0] ? ", SHMEM_OFI_PROVIDER=" : "",
             params->provider, params->domain[0] ? ", SHMEM_OFI_DOMAIN=" : "", params->domain,
             params->one_node ? "" : ", and leads to other nodes");
    return best ? -ENOMEM : -ENODEV;
}
