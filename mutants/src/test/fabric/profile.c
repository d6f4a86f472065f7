/*
 * profile.c - the providers that this libfabric imitates, and its exported functions.
 *
 * FABRIC_PROFILE lists the profiles that the machine has, "tcp" if it is not set; FABRIC_SEED seeds the random numbers
 * of each process together with PMIX_RANK. FABRIC_FAIL=n: the n-th transfer of rank 1 ends with an error.
 * FABRIC_HMEM: see hmem.c.
 * FABRIC_MAX: a lower limit for the bytes of an operation.
 * FABRIC_MORE_NICS: how many more NICs each profile has; their names are that of the first with .1, .2 and so on.
 */
#include "double.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

#define TCP_ORDER (FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW | FI_ORDER_RAW | FI_ORDER_RAR | FI_ORDER_RAS | FI_ORDER_WAS)
#define ALL_ORDER (TCP_ORDER | FI_ORDER_WAR | FI_ORDER_SAR)
#define PSM3_ORDER (FI_ORDER_SAS | FI_ORDER_WAW | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_RAR)
#define KEYED (FI_MR_PROV_KEY | FI_MR_ALLOCATED)

/* From the sources of libfabric 2.6; cxi-key and psm3-basic are the same providers in another registration mode. */
static const struct profile profiles[] = {
    {.name = "tcp", .provider = "tcp", .domain = "lo", .order = TCP_ORDER, .key_bytes = 8, .inject_bytes = 128,
     .max_bytes = SIZE_MAX, .waw_bytes = SIZE_MAX, .depth = 65536, .data_bytes = 8, .can_sleep = 1, .bare_keys = 1},
    {.name = "verbs", .provider = "verbs;ofi_rxm", .domain = "mlx5_0", .order = ALL_ORDER,
     .mr_mode = FI_MR_VIRT_ADDR | KEYED, .key_bytes = 4, .inject_bytes = 16320, .max_bytes = 1 << 30,
     .waw_bytes = SIZE_MAX, .depth = 2048, .data_bytes = 4, .can_sleep = 1, .has_thread = 1, .hmem = 1},
    {.name = "cxi", .provider = "cxi", .domain = "cxi0", .order = FI_ORDER_SAS | FI_ORDER_WAW,
     .mr_mode = FI_MR_ENDPOINT | KEYED, .key_bytes = 8, .inject_bytes = 192, .max_bytes = 0xffffffff,
     .waw_bytes = SIZE_MAX, .depth = 256, .data_bytes = 8, .data_of_messages = 1, .fences = 1, .can_sleep = 1, .hmem = 1},
    {.name = "cxi-key", .provider = "cxi", .domain = "cxi0", .order = FI_ORDER_SAS | FI_ORDER_WAW,
     .mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED, .key_bytes = 4, .inject_bytes = 192, .max_bytes = 0xffffffff,
     .waw_bytes = SIZE_MAX, .depth = 256, .data_bytes = 8, .data_of_messages = 1, .fences = 1, .can_sleep = 1},
    {.name = "efa", .provider = "efa", .domain = "rdmap0s6-rdm", .order = FI_ORDER_SAS, .mr_mode = FI_MR_VIRT_ADDR | KEYED,
     .key_bytes = 8, .max_bytes = 1 << 30, .depth = 512, .data_bytes = 4, .greets = 1, .hmem = 1},
    {.name = "efa-direct", .provider = "efa", .domain = "rdmap0s6-dir", .mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | KEYED,
     .mode = FI_CONTEXT2, .key_bytes = 8, .inject_bytes = 32, .max_bytes = 1 << 30, .depth = 512,
     .data_bytes = 4},
    {.name = "psm3", .provider = "psm3", .domain = "psm3_0", .order = PSM3_ORDER, .mode = FI_CONTEXT, .key_bytes = 8,
     .inject_bytes = 64, .max_bytes = 0xfffff000, .waw_bytes = 4096, .depth = 1024, .data_bytes = 4, .data_on_request = 1,
     .waits_for_peers = 1, .skips_polls = 20, .polls_again = 1, .has_job_key = 1},
    {.name = "psm3-basic", .provider = "psm3", .domain = "psm3_0", .order = PSM3_ORDER, .mode = FI_CONTEXT,
     .mr_mode = FI_MR_VIRT_ADDR | KEYED, .key_bytes = 8, .inject_bytes = 64, .max_bytes = 0xfffff000, .waw_bytes = 4096,
     .depth = 1024, .data_bytes = 4, .data_on_request = 1, .waits_for_peers = 1, .skips_polls = 20, .polls_again = 1, .has_job_key = 1},
    {.name = "opx", .provider = "opx", .domain = "hfi1_0", .order = 0, .mr_mode = 0, .mode = FI_CONTEXT2, .key_bytes = 8,
     .inject_bytes = 16, .max_bytes = 0x7fffffff, .depth = 1024, .data_bytes = 4},
};
enum { N_PROFILES = sizeof profiles / sizeof *profiles };

/* ---- for the other files ------------------------------------------------------------------------------------------ */

pthread_mutex_t fabric_lock = PTHREAD_MUTEX_INITIALIZER;

void misuse(const char *format, ...)
{
    va_list args;
    char line[512];
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "fabric: misuse: %s\n", line);
    abort();
}

uint64_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

uint32_t below(uint32_t n)
{
    static uint64_t state;
    if (!state)
        state = (number("FABRIC_SEED") + 1) * 0x9e3779b97f4a7c15 + number("PMIX_RANK") * 0xbf58476d1ce4e5b9 + 1;
    state = state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(state >> 33) % n;
}

int fails(void)
{
    static uint64_t n;
    return number("PMIX_RANK") == 1 && ++n == number("FABRIC_FAIL");
}

/* Is the word in the list, whose separator is a comma? */
static int is_in(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (!p[n] || p[n] == ','))
            return 1;
    return 0;
}

static int is_present(const struct profile *p)
{
    const char *present = getenv("FABRIC_PROFILE"), *only = getenv("FI_PROVIDER");
    return is_in(present ? present : "tcp", p->name) && (!only || !*only || is_in(only, p->provider));
}

const struct profile *profile_of(const char *name)
{
    for (const struct profile *p = profiles; p < profiles + N_PROFILES; p++)
        if (is_present(p) && strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

/* ---- fi_info ------------------------------------------------------------------------------------------------------ */

static void *copy_of(const void *from, size_t bytes)
{
    void *to = calloc(1, bytes ? bytes : 1);
    if (!to)
        misuse("out of memory");
    return from ? memcpy(to, from, bytes) : to;
}

static char *text_of(const char *from)
{
    return from ? copy_of(from, strlen(from) + 1) : NULL;
}

API void fi_freeinfo(struct fi_info *info)
{
    for (struct fi_info *next; info; info = next) {
        next = info->next;
        free(info->src_addr);
        free(info->domain_attr->name);
        free(info->fabric_attr->name);
        free(info->fabric_attr->prov_name);
        free(info->tx_attr);
        free(info->rx_attr);
        free(info->ep_attr);
        free(info->domain_attr);
        free(info->fabric_attr);
        free(info);
    }
}

API struct fi_info *fi_dupinfo(const struct fi_info *from)
{
    struct fi_info *to = copy_of(from, sizeof *from);
    to->next = NULL;
    to->tx_attr = copy_of(to->tx_attr, sizeof *to->tx_attr);
    to->rx_attr = copy_of(to->rx_attr, sizeof *to->rx_attr);
    to->ep_attr = copy_of(to->ep_attr, sizeof *to->ep_attr);
    to->domain_attr = copy_of(to->domain_attr, sizeof *to->domain_attr);
    to->fabric_attr = copy_of(to->fabric_attr, sizeof *to->fabric_attr);
    to->domain_attr->name = text_of(to->domain_attr->name);
    to->fabric_attr->name = text_of(to->fabric_attr->name);
    to->fabric_attr->prov_name = text_of(to->fabric_attr->prov_name);
    to->src_addr = NULL;
    return to;
}

static const uint64_t all_caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
                                 FI_REMOTE_WRITE | FI_LOCAL_COMM | FI_REMOTE_COMM;

static size_t longest(const struct profile *p)
{
    uint64_t limit = number("FABRIC_MAX");
    return limit && limit < p->max_bytes ? limit : p->max_bytes;
}

/* Do the hints allow this profile? As in libfabric: the profile must have each requested order, capability and size,
 * and the hints must offer each mode of the provider. */
static int fits(const struct profile *p, const struct fi_info *h)
{
    const char *asked = h->fabric_attr ? h->fabric_attr->prov_name : NULL;
    const char *domain = h->domain_attr ? h->domain_attr->name : NULL;
    if ((asked && strcmp(asked, p->provider) != 0) || (domain && strcmp(domain, p->domain) != 0))
        return 0;
    if ((h->caps & ~all_caps & ~(p->fences ? FI_FENCE : 0) & ~(hmem_is_offered(p) ? FI_HMEM : 0)) || (p->mode & ~h->mode))
        return 0;
    if (h->caps & FI_HMEM && !(h->domain_attr && h->domain_attr->mr_mode & FI_MR_HMEM))
        return 0;
    if (h->ep_attr && h->ep_attr->type && h->ep_attr->type != FI_EP_RDM)
        return 0;
    if (h->domain_attr && h->domain_attr->mr_mode && (p->mr_mode & ~h->domain_attr->mr_mode))
        return 0;
    if ((h->tx_attr && (h->tx_attr->msg_order & ~p->order)) || (h->rx_attr && (h->rx_attr->msg_order & ~p->order)))
        return 0;
    if (h->domain_attr && h->domain_attr->cq_data_size > p->data_bytes)
        return 0;
    return !(h->ep_attr && h->ep_attr->max_msg_size > longest(p)) &&
           !(h->tx_attr && h->tx_attr->inject_size > p->inject_bytes);
}

/* cxi and efa grant the requested order only, others all that they have. */
static struct fi_info *info_of(const struct profile *p, const struct fi_info *h, int nic)
{
    char name[64];
    snprintf(name, sizeof name, nic ? "%s.%d" : "%s", p->domain, nic);
    struct fi_info *i = fi_dupinfo(NULL);
    int asks = h && h->domain_attr && h->domain_attr->cq_data_size;
    size_t data = p->data_on_request && !asks ? 0 : p->data_bytes;
    int exact = strcmp(p->provider, "cxi") == 0 || strcmp(p->provider, "efa") == 0;
    uint64_t order = p->order & (exact && h && h->tx_attr ? h->tx_attr->msg_order : ~0ULL);
    i->caps = h && h->caps ? h->caps : all_caps;
    i->mode = p->mode;
    *i->tx_attr = (struct fi_tx_attr){.caps = i->caps, .mode = p->mode, .msg_order = order, .inject_size = p->inject_bytes,
                                      .size = p->depth, .iov_limit = 1, .rma_iov_limit = 1};
    *i->rx_attr = (struct fi_rx_attr){.caps = i->caps, .mode = p->mode, .msg_order = order, .size = 1024, .iov_limit = 1};
    *i->ep_attr = (struct fi_ep_attr){.type = FI_EP_RDM, .max_msg_size = longest(p), .max_order_waw_size = p->waw_bytes,
                                      .max_order_raw_size = p->waw_bytes, .tx_ctx_cnt = 1, .rx_ctx_cnt = 1};
    *i->domain_attr = (struct fi_domain_attr){.name = text_of(name), .threading = FI_THREAD_SAFE,
                                              .control_progress = FI_PROGRESS_MANUAL, .data_progress = FI_PROGRESS_MANUAL,
                                              .resource_mgmt = FI_RM_ENABLED, .av_type = FI_AV_TABLE,
                                              .mr_mode = p->mr_mode | (i->caps & FI_HMEM ? FI_MR_HMEM : 0),
                                              .mr_key_size = p->key_bytes,
                                              .cq_data_size = data, .cq_cnt = 64, .ep_cnt = 64, .mr_cnt = 65536, .mr_iov_limit = 1};
    *i->fabric_attr = (struct fi_fabric_attr){.name = text_of(p->name), .prov_name = text_of(p->provider),
                                              .prov_version = FI_VERSION(2, 6)};
    return i;
}

API int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **out)
{
    struct fi_info **last = out;
    (void)node, (void)service, (void)flags;
    *out = NULL;
    for (const struct profile *p = profiles; p < profiles + N_PROFILES; p++)
        for (int nic = 0; is_present(p) && (!hints || fits(p, hints)) && nic <= (int)number("FABRIC_MORE_NICS"); nic++) {
            *last = info_of(p, hints, nic);
            (*last)->fabric_attr->api_version = version;
            last = &(*last)->next;
        }
    return *out ? 0 : -FI_ENODATA;
}

/* ---- the rest ------------------------------------------------------------------------------------------------------ */

API int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    return fabric_open(attr, out, context);
}

API const char *fi_strerror(int err)
{
    return err < FI_ERRNO_OFFSET ? strerror(err) : "an error of libfabric";
}

API uint32_t fi_version(void)
{
    return FI_VERSION(2, 6);
}
