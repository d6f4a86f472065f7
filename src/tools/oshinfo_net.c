/* oshinfo_net.c - list the providers that the library's own selection would use here, with the attributes that matter to it. */
#include "oshinfo_net.h"

#include <rdma/fi_domain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/fabric/ofi.h"

struct flag {
    uint64_t bit;
    const char *name;
};
static const struct flag orders[] = {{FI_ORDER_SAS, "SAS"}, {FI_ORDER_SAW, "SAW"}, {FI_ORDER_WAW, "WAW"}, {0, NULL}};
static const struct flag modes[] = {{FI_MR_ENDPOINT, "ENDPOINT"}, {FI_MR_VIRT_ADDR, "VIRT_ADDR"}, {FI_MR_ALLOCATED, "ALLOCATED"},
                                    {FI_MR_PROV_KEY, "PROV_KEY"}, {0, NULL}};

enum { COLUMNS = 9, CELL = 96, ROWS = 128 };
struct table {
    int n, json;
    char cell[ROWS][COLUMNS][CELL];
};
static const char *const titles[COLUMNS] = {"provider", "interface", "order", "registration", "inject",
                                            "largest", "immediate", "HMEM", "use between hosts"};

struct oshinfo_net_chosen oshinfo_net_chosen;

static uint64_t order_of(const struct fi_info *f)
{
    return f->tx_attr->msg_order & f->rx_attr->msg_order;
}

/* Number of bytes, at most SIZE_MAX, to three digits. */
static void put_bytes(size_t n, char *out)
{
    double d = (double)n;
    int unit = 0;
    for (; d >= 1023.5; d /= 1024)
        unit++;
    if (n == SIZE_MAX || unit > 4)
        snprintf(out, CELL, "any");
    else
        snprintf(out, CELL, "%.3g%.*s", d, unit > 0, &" KMGT"[unit]);
}

static void put_names(const struct flag *flags, uint64_t bits, char *out)
{
    snprintf(out, CELL, "none");
    for (int used = 0; flags->name; flags++)
        if (bits & flags->bit)
            used += snprintf(out + used, CELL - (size_t)used, "%s%s", used ? " " : "", flags->name);
}

static void add_row(struct table *t, const struct fi_info *f, const char *why_not)
{
    if (t->n == ROWS)
        return;
    char(*c)[CELL] = t->cell[t->n++];
    snprintf(c[0], CELL, "%s", f->fabric_attr->prov_name);
    snprintf(c[1], CELL, "%s", f->domain_attr->name ? f->domain_attr->name : "");
    put_names(orders, order_of(f), c[2]);
    if (order_of(f) & FI_ORDER_WAW && f->ep_attr->max_order_waw_size < f->ep_attr->max_msg_size) {
        size_t used = strlen(c[2]);
        snprintf(c[2] + used, CELL - used, "<=");
        put_bytes(f->ep_attr->max_order_waw_size, c[2] + used + 2);
    }
    put_names(modes, (uint64_t)f->domain_attr->mr_mode, c[3]);
    put_bytes(f->tx_attr->inject_size, c[4]);
    put_bytes(f->ep_attr->max_msg_size, c[5]);
    put_bytes(f->domain_attr->cq_data_size, c[6]);
    snprintf(c[7], CELL, "%s", f->caps & FI_HMEM ? "yes" : "no");
    snprintf(c[8], CELL, "%s", why_not ? why_not : "chosen");
}

static void print_list(const char *title, const struct flag *flags, uint64_t bits)
{
    printf(", \"%s\": [", title);
    for (int n = 0; flags->name; flags++)
        if (bits & flags->bit)
            printf("%s\"%s\"", n++ ? ", " : "", flags->name);
    printf("]");
}

static void print_object(struct table *t, const struct fi_info *f, const char *why_not)
{
    printf("%s{\"provider\": \"%s\", \"domain\": \"%s\", \"taken\": %s, \"why_not\": \"%s\"", t->n++ ? ",\n  " : "",
           f->fabric_attr->prov_name, f->domain_attr->name ? f->domain_attr->name : "", why_not ? "false" : "true",
           why_not ? why_not : "");
    print_list("message_order", orders, order_of(f));
    print_list("mr_mode", modes, (uint64_t)f->domain_attr->mr_mode);
    printf(", \"waw_bytes\": %zu, \"inject_bytes\": %zu, \"message_bytes\": %zu, \"immediate_bytes\": %zu, \"hmem\": %s}",
           f->ep_attr->max_order_waw_size, f->tx_attr->inject_size, f->ep_attr->max_msg_size, f->domain_attr->cq_data_size,
           f->caps & FI_HMEM ? "true" : "false");
}

static void report(void *arg, const struct fi_info *f, const char *why_not)
{
    struct table *t = arg;
    if (t->json)
        print_object(t, f, why_not);
    else
        add_row(t, f, why_not);
}

static void ask(struct table *t, char *why, size_t bytes)
{
    const char *provider = getenv("SHMEM_OFI_PROVIDER"), *domain = getenv("SHMEM_OFI_DOMAIN"), *hmem = getenv("SHMEM_TEST_OFI_HMEM"),
               *faults = getenv("SHMEM_FAULTS");
    const struct shi_ofi_params params = {provider ? provider : "", domain ? domain : "", 0, 0, !hmem || strcmp(hmem, "0"),
                                          faults && strcmp(faults, "continue") == 0};
    struct fi_info *info = NULL;
    if (shi_ofi_open(why, bytes) || shi_ofi_select(&params, report, t, &info, why, bytes))
        return;
    snprintf(oshinfo_net_chosen.provider, sizeof oshinfo_net_chosen.provider, "%s", info->fabric_attr->prov_name);
    oshinfo_net_chosen.hmem = (info->caps & FI_HMEM) != 0;
    shi_ofi.freeinfo(info);
    why[0] = 0;
}

static void print_row(const char *lead, char cell[][CELL], const char *const *texts, const int *width)
{
    printf("%s", lead);
    for (int k = 0; k < COLUMNS - 1; k++)
        printf(k >= 4 && k < 7 ? "%*s  " : "%-*s  ", width[k], cell ? cell[k] : texts[k]); /* numbers: to the right */
    printf("%s\n", cell ? cell[COLUMNS - 1] : texts[COLUMNS - 1]);
}

void oshinfo_net_people(const char *lead)
{
    static struct table t;
    char why[512] = "", spaces[32];
    int width[COLUMNS];
    ask(&t, why, sizeof why);
    snprintf(spaces, sizeof spaces, "%*s", (int)strlen(lead), "");
    for (int k = 0; k < COLUMNS; k++) {
        width[k] = (int)strlen(titles[k]);
        for (int i = 0; i < t.n; i++)
            if ((int)strlen(t.cell[i][k]) > width[k])
                width[k] = (int)strlen(t.cell[i][k]);
    }
    if (t.n)
        print_row(lead, NULL, titles, width);
    for (int i = 0; i < t.n; i++)
        print_row(spaces, t.cell[i], NULL, width);
    if (why[0])
        printf("%s%s\n", t.n ? spaces : lead, why);
}

void oshinfo_net_json(void)
{
    static struct table t = {.json = 1};
    char why[512];
    printf("[");
    ask(&t, why, sizeof why);
    printf("]");
}
