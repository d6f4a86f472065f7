/* ofi.h - libfabric for net_ofi.c: the library, opened at first use, and the choice of a provider. */
#ifndef SHI_OFI_H
#define SHI_OFI_H

#include <rdma/fabric.h>

#include "host/net/fabric/net.h"
#include "host/policy/provider.h"

/* libfabric's functions that are not inline, and its version. Opening the library takes up to 0.2 s, so programs on one node do not. 0, or
 * -ENOENT and in why[bytes] what is missing. */
struct shi_ofi_library {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*error)(int errnum);
    uint32_t version;
};
extern struct shi_ofi_library shi_ofi;
int shi_ofi_open(char *why, size_t bytes);

/* Restrictions on the provider. */
struct shi_ofi_params {
    const char *provider, *domain; /* "": any; domain: a list, separated by commas */
    int one_node;                  /* every PE is on this node: loopback will do, and is fastest */
    int local_index;               /* local rank of this PE, which decides among NICs of one fabric */
    int hmem;                      /* request FI_HMEM, which the result has if the provider grants it with the same message order */
    int goes_on;                   /* the job goes on when a PE dies */
};

/* Called for each interface of each provider, best first, with the attributes that it would be used with and the reason why it
 * was not chosen; NULL: PEs of this node use it. The capabilities have FI_HMEM if the provider can access memory of devices. */
typedef void shi_ofi_report(void *arg, const struct fi_info *candidate, const char *why_not);

/* Choose the provider. 0, *out (freeinfo) and in why[bytes] a warning or "", or -errno and in why[bytes] one line. With
 * message order SAW, or with WAW for writes of every size, writes need no immediate data; else domain_attr->cq_data_size is 4
 * or more if the provider has it. */
int shi_ofi_select(const struct shi_ofi_params *params, shi_ofi_report *report, void *arg, struct fi_info **out,
                   char *why, size_t bytes);

/* What it promises; lane_cap and peer_cap are the caller's. */
struct shi_net_limits shi_ofi_limits(const struct fi_info *chosen);

/* What this library knows of its provider, or NULL. */
const struct shi_provider *shi_ofi_row(const struct fi_info *chosen);

static inline int shi_ofi_has_ip_addresses(const struct fi_info *i)
{
    return i->addr_format == FI_SOCKADDR_IN || i->addr_format == FI_SOCKADDR_IN6;
}

#endif
