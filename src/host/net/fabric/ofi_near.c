/* ofi_near.c - see ofi_near.h. */
#include "host/net/fabric/ofi_near.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "host/util/numa.h"

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

/* By the name of the domain; that of an RDMA device may be followed by the kind of endpoint: rdmap0s6-rdm, mlx5_0-xrc. 0: no
 * such file. */
static int read_of_class(const char *sysfs, const char *name, char *list, int bytes)
{
    static const char *const classes[] = {"infiniband", "cxi", "net"};
    char path[256];
    int found = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !found; i++) {
        int length = i == 0 ? (int)strcspn(name, "-") : (int)strlen(name);
        snprintf(path, sizeof path, "%s/class/%s/%.*s/device/local_cpulist", sysfs, classes[i], length, name);
        found = shi_numa_line(path, list, bytes);
    }
    return found;
}

int shi_ofi_near(const char *sysfs, const struct fi_info *nic, const cpu_set_t *cpus)
{
    const struct fi_bus_attr *bus = nic->nic ? nic->nic->bus_attr : NULL;
    char path[256], list[4096];
    int found = 0;
    if (bus && bus->bus_type == FI_BUS_PCI) {
        const struct fi_pci_attr *a = &bus->attr.pci;
        snprintf(path, sizeof path, "%s/bus/pci/devices/%04x:%02x:%02x.%x/local_cpulist", sysfs, a->domain_id, a->bus_id,
                 a->device_id, a->function_id);
        found = shi_numa_line(path, list, sizeof list);
    }
    if (!found && nic->domain_attr->name)
        found = read_of_class(sysfs, nic->domain_attr->name, list, sizeof list);
    return !found || list[0] < '0' || shi_numa_list_holds(list, cpus);
}

/* n / (number of near ones) PEs with consecutive local ranks take the same: so the PEs of one part of the node use all of its
 * NICs, whether consecutive local ranks are in one part or in different ones. */
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
