/* oshinfo_net.c - list the providers that the library's own selection would use here. */
#include "oshinfo_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/ofi.h"

struct shown {
    const char *lead;
    int n, json;
    char seen[8192]; /* "provider on domain\n" of each */
};

static void report(void *arg, const struct fi_info *f, const char *why_not)
{
    struct shown *s = arg;
    const char *provider = f->fabric_attr->prov_name, *domain = f->domain_attr->name;
    char line[256], key[256];
    int length = snprintf(key, sizeof key, "\n%s on %s\n", provider, domain);
    if (strstr(s->seen, key) || strlen(s->seen) + (size_t)length >= sizeof s->seen)
        return; /* libfabric lists an interface once for each address format */
    strcat(s->seen, key);
    snprintf(line, sizeof line, s->json ? "{\"provider\": \"%s\", \"domain\": \"%s\", \"taken\": %s, \"why_not\": \"%s\"}"
                                        : "%s on %s: %s%s", provider, domain, why_not ? (s->json ? "false" : "no, ") :
             s->json ? "true" : "taken between hosts", why_not ? why_not : "");
    if (s->json)
        printf("%s%s", s->n++ ? ", " : "", line);
    else
        printf("%-*s%s\n", (int)strlen(s->lead), s->n++ ? "" : s->lead, line);
}

static void ask(struct shown *s, char *why, size_t bytes)
{
    const char *provider = getenv("SHMEM_OFI_PROVIDER"), *domain = getenv("SHMEM_OFI_DOMAIN");
    const struct shi_ofi_params params = {provider ? provider : "", domain ? domain : "", 0};
    struct fi_info *info = NULL;
    if (shi_ofi_open(why, bytes) || shi_ofi_select(&params, report, s, &info, why, bytes))
        return;
    shi_ofi.freeinfo(info);
    why[0] = 0;
}

void oshinfo_net_people(const char *lead)
{
    struct shown s = {.lead = lead};
    char why[512] = "";
    ask(&s, why, sizeof why);
    if (why[0])
        printf("%-*s%s\n", (int)strlen(lead), s.n ? "" : lead, why);
}

void oshinfo_net_json(void)
{
    struct shown s = {.json = 1};
    char why[512];
    printf("[");
    ask(&s, why, sizeof why);
    printf("]");
}
