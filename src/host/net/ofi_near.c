/* ofi_near.c - see ofi_near.h. */
#include "host/net/ofi_near.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder is there, and empty, once the kernel has loaded its RDMA core. */
int shi_ofi_has_rdma(const char *sysfs)
{
    char path[256];
    int found = 0;
    snprintf(path, sizeof path, "%s/class/infiniband", sysfs);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && !found && (e = readdir(d));)
        found = e->d_name[0] != '.';
    if (d)
        closedir(d);
    return found;
}

/* Does the list, such as 0-3,8, name one of the processors? */
static int lists(const char *list, const cpu_set_t *cpus)
{
    for (char *end; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
        unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (; first <= last && first < CPU_SETSIZE; first++)
            if (CPU_ISSET(first, cpus))
                return 1;
    }
    return 0;
}

/* Read a file of sysfs into text; "" if there is none. */
static void read_text(const char *path, char *text, size_t bytes)
{
    FILE *f = fopen(path, "re");
    text[0] = 0;
    if (f && !fgets(text, (int)bytes, f))
        text[0] = 0;
    if (f)
        fclose(f);
}

/* By the name of the domain; that of an RDMA device may be followed by the kind of endpoint: rdmap0s6-rdm, mlx5_0-xrc. */
static void read_of_class(const char *sysfs, const char *name, char *text, size_t bytes)
{
    static const char *const classes[] = {"infiniband", "cxi", "net"};
    char path[256];
    text[0] = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !text[0]; i++) {
        int length = i == 0 ? (int)strcspn(name, "-") : (int)strlen(name);
        snprintf(path, sizeof path, "%s/class/%s/%.*s/device/local_cpulist", sysfs, classes[i], length, name);
        read_text(path, text, bytes);
    }
}

int shi_ofi_near(const char *sysfs, const struct fi_info *nic, const cpu_set_t *cpus)
{
    const struct fi_bus_attr *bus = nic->nic ? nic->nic->bus_attr : NULL;
    char path[256], text[4096] = "";
    if (bus && bus->bus_type == FI_BUS_PCI) {
        const struct fi_pci_attr *a = &bus->attr.pci;
        snprintf(path, sizeof path, "%s/bus/pci/devices/%04x:%02x:%02x.%x/local_cpulist", sysfs, a->domain_id, a->bus_id,
                 a->device_id, a->function_id);
        read_text(path, text, sizeof text);
    }
    if (!text[0] && nic->domain_attr->name)
        read_of_class(sysfs, nic->domain_attr->name, text, sizeof text);
    return text[0] < '0' || lists(text, cpus);
}

/* n / (number of near ones) PEs with consecutive local ranks take the same: so the PEs of one part of the node use all of its
 * NICs, whether their local ranks are consecutive or dealt out to the parts in turn. */
int shi_ofi_share(const unsigned char *near, int n, int local_index)
{
    int n_near = 0, i = 0;
    for (int k = 0; k < n; k++)
        n_near += near[k] != 0;
    if (n_near == 0)
        return local_index % n;
    for (int skip = local_index / (n / n_near) % n_near; !near[i] || skip-- > 0; i++)
        ;
    return i;
}
