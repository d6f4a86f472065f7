/*
 * ofi_select.c - choose a libfabric provider and interface: the fastest kind that has reliable datagrams and remote memory
 * access, whatever its message order.
 *
 * One request with the fewest requirements lists all candidates. Requests to one provider then find the best attributes that
 * it grants, because some providers grant only what is requested. FI_ATOMIC is not requested: some providers claim it
 * without having it, others then offer less message order.
 */
#include "host/net/fabric/ofi.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/fabric/ofi_near.h"

static const char *provider_of(const struct fi_info *f)
{
    return f->fabric_attr->prov_name;
}

const struct shi_provider *shi_ofi_row(const struct fi_info *f)
{
    static int has_rdma = -1; /* not looked for */
    if (has_rdma < 0)
        has_rdma = shi_ofi_has_rdma("/sys");
    return shi_provider_of(provider_of(f), has_rdma);
}

static const char *domain_of(const struct fi_info *f)
{
    return f->domain_attr->name ? f->domain_attr->name : "";
}

static const char *fabric_of(const struct fi_info *f)
{
    return f->fabric_attr->name ? f->fabric_attr->name : "";
}

static int is_loopback(const struct fi_info *f)
{
    const struct sockaddr_in *a = f->src_addr;
    if (strcmp(domain_of(f), "lo") == 0)
        return 1;
    return a && f->addr_format == FI_SOCKADDR_IN && (ntohl(a->sin_addr.s_addr) >> 24) == 127;
}

/* 2: this is the provider's name; 1: its name without the layer above it ("verbs" for "verbs;ofi_rxm"). */
static int names(const char *name, const char *provider)
{
    size_t n = strlen(name);
    return strcmp(name, provider) == 0 ? 2 : strncmp(name, provider, n) == 0 && provider[n] == ';';
}

/* Is the word in the list, whose separator is a comma? */
static int lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (!p[n] || p[n] == ','))
            return 1;
    return 0;
}

/* Why a candidate cannot be used; the last that holds is reported. */
enum unfit { FIT, NODE_ONLY, LOOPBACK, NOT_RANKED, OTHER_DOMAIN, OTHER_PROVIDER };
static const char *const reasons[] = {"a better one was found", "reaches this node only", "loopback reaches this node only",
                                      "chosen only if SHMEM_OFI_PROVIDER names it", "SHMEM_OFI_DOMAIN names another",
                                      "SHMEM_OFI_PROVIDER names another"};

static enum unfit unfit(const struct fi_info *f, const struct shi_ofi_params *w)
{
    int asked = w->provider[0] != 0;
    if (asked && !names(w->provider, provider_of(f)))
        return OTHER_PROVIDER;
    if (w->domain[0] && !lists(w->domain, domain_of(f)))
        return OTHER_DOMAIN;
    if (!asked && !shi_ofi_row(f))
        return NOT_RANKED;
    if (!w->one_node && is_loopback(f) && !w->domain[0])
        return LOOPBACK;
    if (!w->one_node && shi_ofi_row(f) && shi_ofi_row(f)->node_only)
        return NODE_ONLY;
    return FIT;
}

/* ---- candidates --------------------------------------------------------------------------------------------------- */

struct candidate {
    const struct fi_info *info;
    enum unfit unfit;
    int cost, index; /* cost: smaller is better; index: libfabric's order */
};

static int cost_of(const struct fi_info *f, const struct shi_ofi_params *w)
{
    int exact = names(w->provider, provider_of(f)) == 2, detour = w->one_node && !is_loopback(f);
    return 4 * (exact ? -1 : shi_provider_rank(shi_ofi_row(f), w->goes_on)) + 2 * detour + (f->addr_format == FI_SOCKADDR_IN6);
}

static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->unfit != y->unfit ? (int)x->unfit - (int)y->unfit : x->cost != y->cost ? x->cost - y->cost : x->index - y->index;
}

/* Candidates, best first, each interface of a provider once: libfabric lists one for each address and variant. */
static int sort(const struct fi_info *list, const struct shi_ofi_params *params, struct candidate **out)
{
    int n = 0, kept = 0;
    for (const struct fi_info *f = list; f; f = f->next)
        n++;
    struct candidate *c = malloc(((size_t)n + 1) * sizeof *c);
    if (!c)
        return -ENOMEM;
    n = 0;
    for (const struct fi_info *f = list; f; f = f->next, n++)
        c[n] = (struct candidate){f, unfit(f, params), cost_of(f, params), n};
    qsort(c, (size_t)n, sizeof *c, compare);
    for (int i = 0, k; i < n; i++) {
        for (k = 0; k < kept && (strcmp(provider_of(c[k].info), provider_of(c[i].info)) ||
                                 strcmp(domain_of(c[k].info), domain_of(c[i].info))); k++)
            ;
        if (k == kept)
            c[kept++] = c[i];
    }
    *out = c;
    return kept;
}

/* ---- requests ------------------------------------------------------------------------------------------------------ */

/* Best first. Immediate data (of a write) tells the target that a write is in place, where messages overtake writes; it needs
 * no FI_RMA_EVENT. */
enum { IMMEDIATE_BYTES = 4 };
static const struct request {
    uint64_t order;
    size_t data_bytes;
} requests[] = {{FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW, 0},
                {FI_ORDER_SAS | FI_ORDER_WAW, IMMEDIATE_BYTES},
                {FI_ORDER_SAS | FI_ORDER_WAW, 0},
                {FI_ORDER_SAS, IMMEDIATE_BYTES},
                {FI_ORDER_SAS, 0},
                {0, IMMEDIATE_BYTES}};
enum { N_REQUESTS = sizeof requests / sizeof *requests };

/* The modes are those that this library satisfies; a provider returns those that it requires. */
static struct fi_info *hints(const struct request *r, const char *provider, int hmem)
{
    struct fi_info *h = shi_ofi.dupinfo(NULL);
    if (!h)
        return NULL;
    h->ep_attr->type = FI_EP_RDM;
    h->caps = FI_MSG | FI_RMA | (hmem ? FI_HMEM : 0);
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | (hmem ? FI_MR_HMEM : 0);
    h->domain_attr->threading = FI_THREAD_SAFE;
    h->domain_attr->resource_mgmt = FI_RM_ENABLED;
    h->domain_attr->av_type = FI_AV_TABLE;
    h->domain_attr->cq_data_size = r->data_bytes;
    h->tx_attr->msg_order = h->rx_attr->msg_order = r->order;
    h->fabric_attr->prov_name = provider ? strdup(provider) : NULL; /* freeinfo frees it */
    return h;
}

#define DMABUF_SINCE FI_VERSION(1, 20)

/* What the hints give, NULL: nothing; frees them. The version of the interface decides which registrations there are. */
static struct fi_info *get(struct fi_info *h)
{
    struct fi_info *list = NULL;
    if (!h)
        return NULL;
    uint32_t version = !(h->caps & FI_HMEM) ? FI_VERSION(1, 5) : shi_ofi.version < DMABUF_SINCE ? FI_VERSION(1, 9) : DMABUF_SINCE;
    int rc = shi_ofi.getinfo(version, NULL, NULL, 0, h, &list);
    shi_ofi.freeinfo(h);
    return rc ? NULL : list;
}

static int same_interface(const struct fi_info *a, const struct fi_info *b)
{
    int same_address = a->src_addrlen == b->src_addrlen &&
                       (!a->src_addr || !b->src_addr || memcmp(a->src_addr, b->src_addr, a->src_addrlen) == 0);
    return strcmp(provider_of(a), provider_of(b)) == 0 && strcmp(domain_of(a), domain_of(b)) == 0 &&
           a->addr_format == b->addr_format && (!shi_ofi_has_ip_addresses(a) || same_address);
}

/* A copy of what the provider grants for the candidate's interface, or NULL. */
static struct fi_info *grant(const struct fi_info *f, const struct request *r, int hmem)
{
    struct fi_info *granted = get(hints(r, provider_of(f), hmem)), *copy = NULL;
    for (const struct fi_info *g = granted; g && !copy; g = g->next)
        if (same_interface(f, g))
            copy = shi_ofi.dupinfo(g);
    if (granted)
        shi_ofi.freeinfo(granted);
    return copy;
}

/* A copy of the candidate with the best attributes that the provider grants, or NULL: no memory. */
static struct fi_info *best_of(const struct fi_info *f, int hmem)
{
    struct fi_info *best = NULL, *with_hmem = NULL;
    for (int i = 0; !best && i < N_REQUESTS; i++) {
        best = grant(f, &requests[i], 0);
        if (best && hmem)
            with_hmem = grant(f, &requests[i], 1);
    }
    if (with_hmem)
        shi_ofi.freeinfo(best);
    return with_hmem ? with_hmem : best ? best : shi_ofi.dupinfo(f);
}

/* ---- selection ----------------------------------------------------------------------------------------------------- */

/* Why a provider that SHMEM_OFI_PROVIDER names is not among the candidates. */
static const char *refusal(const char *provider)
{
    static const char *const why[] = {"it needs a memory registration or a mode that this library does not have",
                                      "it has no reliable datagrams with remote memory access"};
    for (int i = 0; i < 2; i++) {
        struct fi_info *h = hints(&(struct request){0}, provider, 0);
        if (!h)
            break;
        h->domain_attr->mr_mode = 0;
        h->mode = ~0ULL;
        if (i == 1) {
            h->ep_attr->type = FI_EP_UNSPEC;
            h->caps = 0;
        }
        struct fi_info *found = get(h);
        int known = 0;
        for (const struct fi_info *f = found; f; f = f->next)
            known |= names(provider, provider_of(f));
        if (found)
            shi_ofi.freeinfo(found);
        if (known)
            return why[i];
    }
    return "this libfabric does not have it, or it finds no interface";
}

/* One line for the user: nothing can be chosen; `nearest` is the candidate that lacks least, or NULL. */
static void explain(const struct shi_ofi_params *p, const struct candidate *nearest, char *why, size_t bytes)
{
    if (p->provider[0] && (!nearest || nearest->unfit == OTHER_PROVIDER))
        snprintf(why, bytes, "SHMEM_OFI_PROVIDER=%s: %s; oshinfo lists the providers that can be used", p->provider,
                 refusal(p->provider));
    else if (!nearest)
        snprintf(why, bytes, "no libfabric provider has reliable datagrams with remote memory access; fi_info -t FI_EP_RDM lists "
                 "what is there");
    else if (nearest->unfit == OTHER_DOMAIN)
        snprintf(why, bytes, "SHMEM_OFI_DOMAIN=%s: %s%s has %s interface; oshinfo lists those that can be used", p->domain,
                 p->provider[0] ? "provider " : "no libfabric provider", p->provider, p->provider[0] ? "no such" : "such an");
    else
        snprintf(why, bytes, "no libfabric provider can be used%s%s: %s on %s: %s; oshinfo lists all",
                 p->provider[0] ? " with SHMEM_OFI_PROVIDER=" : "", p->provider, provider_of(nearest->info),
                 domain_of(nearest->info), reasons[nearest->unfit]);
    const char *filter = getenv("FI_PROVIDER"); /* of libfabric */
    size_t used = strlen(why);
    if (filter && *filter)
        snprintf(why + used, bytes - used, "; FI_PROVIDER=%s restricts the providers", filter);
}

/* Warn of the first interface in params->domain that the provider of the chosen candidate does not have. */
static void explain_unknown(const struct candidate *c, int n, const struct shi_ofi_params *params, char *why, size_t bytes)
{
    size_t length;
    for (const char *name = params->domain; *name; name += length + (name[length] == ',')) {
        length = strcspn(name, ",");
        int known = length == 0;
        for (int i = 0; i < n; i++)
            known |= strcmp(provider_of(c[i].info), provider_of(c->info)) == 0 &&
                     strncmp(domain_of(c[i].info), name, length) == 0 && !domain_of(c[i].info)[length];
        if (known)
            continue;
        snprintf(why, bytes, "SHMEM_OFI_DOMAIN=%s: %s has no interface %.*s on this node; oshinfo lists those that can be used",
                 params->domain, provider_of(c->info), (int)length, name);
        return;
    }
}

/* Set FI_HMEM if the provider can access memory of devices; only a request for it shows that. */
static void look_for_hmem(struct fi_info *f)
{
    struct fi_info *found = grant(f, &(struct request){0}, 1);
    if (found) {
        f->caps |= FI_HMEM;
        shi_ofi.freeinfo(found);
    }
}

/* How many of the candidates, from the first on, the PEs of a node share: NICs of one fabric. With IP addresses, where routes
 * determine which hosts an interface reaches, SHMEM_OFI_DOMAIN must list them. With the domain "autoselect", psm3 chooses a NIC
 * for each process. */
static int n_shared(const struct candidate *c, int n, const struct shi_ofi_params *params)
{
    const struct fi_info *first = c->info;
    int i = 1;
    if ((shi_ofi_has_ip_addresses(first) && !params->domain[0]) || strncmp(domain_of(first), "autoselect", 10) == 0)
        return 1;
    while (i < n && c[i].unfit == FIT && strcmp(provider_of(c[i].info), provider_of(first)) == 0 &&
           strcmp(fabric_of(c[i].info), fabric_of(first)) == 0 && c[i].info->addr_format == first->addr_format)
        i++;
    return i;
}

/* The candidate for this PE among those that the PEs of the node share. */
static const struct fi_info *own_of(const struct candidate *c, int n, const struct shi_ofi_params *params)
{
    enum { MOST_SHARED = 64 };
    unsigned char near[MOST_SHARED];
    cpu_set_t cpus;
    int unknown = sched_getaffinity(0, sizeof cpus, &cpus);
    n = n < MOST_SHARED ? n : MOST_SHARED;
    for (int i = 0; i < n; i++)
        near[i] = unknown || shi_ofi_near("/sys", c[i].info, &cpus);
    return c[shi_ofi_share(near, n, params->local_index)].info;
}

static void report_all(const struct candidate *c, int n, int shared, shi_ofi_report *report, void *arg)
{
    for (int i = 0; i < n; i++) {
        struct fi_info *f = best_of(c[i].info, 0);
        if (!f)
            return;
        look_for_hmem(f);
        report(arg, f, i < shared ? NULL : reasons[c[i].unfit]);
        shi_ofi.freeinfo(f);
    }
}

int shi_ofi_select(const struct shi_ofi_params *params, shi_ofi_report *report, void *arg, struct fi_info **out,
                   char *why, size_t bytes)
{
    struct fi_info *all = get(hints(&(struct request){0}, NULL, 0));
    struct candidate *c = NULL;
    int n = sort(all, params, &c), found = n > 0 && c->unfit == FIT;
    int shared = found ? n_shared(c, n, params) : 0;
    why[0] = 0;
    *out = found ? best_of(shared > 1 ? own_of(c, shared, params) : c->info, params->hmem) : NULL;
    if (n < 0 || (found && !*out))
        snprintf(why, bytes, "out of memory for the libfabric provider");
    else if (!found)
        explain(params, n ? c : NULL, why, bytes);
    else
        explain_unknown(c, n, params, why, bytes);
    if (report)
        report_all(c, n, shared, report, arg);
    free(c);
    if (all)
        shi_ofi.freeinfo(all);
    return *out ? 0 : n < 0 || found ? -ENOMEM : -ENODEV;
}

/* ---- what the chosen provider promises ------------------------------------------------------------------------------- */

struct shi_net_limits shi_ofi_limits(const struct fi_info *f)
{
    uint64_t order = f->tx_attr->msg_order & f->rx_attr->msg_order;
    const struct shi_provider *p = shi_ofi_row(f);
    const char *text = p && p->variable ? getenv(p->variable) : NULL;
    struct shi_net_limits l = {.short_bytes = f->tx_attr->inject_size,
                               .message_bytes = shi_provider_message(p, text, f->ep_attr->max_msg_size, SHI_NET_MESSAGE_BYTES,
                                                                     SHI_NET_LONGEST_BYTES),
                               .rma_bytes = f->ep_attr->max_msg_size,
                               .pins = (f->domain_attr->mr_mode & FI_MR_ALLOCATED) != 0};
    int of_all_sizes = f->ep_attr->max_order_waw_size >= f->ep_attr->max_msg_size; /* psm3: up to 4 KiB */
    if (order & FI_ORDER_WAW && of_all_sizes)
        l.ordered = SHI_NET_WAW | (order & FI_ORDER_SAW ? SHI_NET_SAW : 0);
    if (p && p->immediate)
        l.ordered |= SHI_NET_IMMEDIATE;
    return l;
}
