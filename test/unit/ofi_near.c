/* ofi_near.c - NICs of a node shared out among its PEs; a directory imitates sysfs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../tap.h"
#include "host/net/fabric/ofi_near.h"

enum { MOST = 4, NICS = MOST * MOST, PES = 96 };

/* `parts` parts of a node with `each` NICs each and `pes` PEs, whose local ranks are consecutive in a part, or dealt out to the
 * parts in turn. The largest difference between the loads of two NICs, or -1: a NIC of another part. */
static int unevenness(int parts, int each, int pes, int in_turn)
{
    int load[NICS] = {0}, least = PES, most = 0;
    for (int pe = 0; pe < parts * pes; pe++) {
        unsigned char near[NICS] = {0};
        int part = in_turn ? pe % parts : pe / pes;
        memset(near + part * each, 1, (size_t)each);
        int i = shi_ofi_share(near, parts * each, pe);
        if (i < 0 || i >= parts * each || !near[i])
            return -1;
        load[i]++;
    }
    for (int i = 0; i < parts * each; i++) {
        least = load[i] < least ? load[i] : least;
        most = load[i] > most ? load[i] : most;
    }
    return most - least;
}

/* Catches: PEs of one part that all use the same of its NICs, or one of another part. */
static void share(void)
{
    for (int parts = 1; parts <= MOST; parts++)
        for (int each = 1; each <= MOST; each++)
            for (int pes = 1; pes <= PES / MOST; pes++) {
                int d = unevenness(parts, each, pes, 1), blocks = unevenness(parts, each, pes, 0);
                CHECKF(d == 0 || d == 1, "in turn: %d parts of %d NICs and %d PEs: %d", parts, each, pes, d);
                CHECKF(blocks >= 0 && blocks <= parts, "consecutive: %d parts of %d NICs and %d PEs: %d", parts, each, pes, blocks);
            }
}

/* Catches: PEs in a part of the node without NICs that all use the same one, or a division by 0. */
static void far(void)
{
    unsigned char near[3] = {0};
    for (int pe = 0; pe < 9; pe++)
        CHECK(shi_ofi_share(near, 3, pe) == pe % 3);
    near[1] = 1;
    for (int pe = 0; pe < 9; pe++)
        CHECK(shi_ofi_share(near, 3, pe) == 1);
}

static char sysfs[] = "/tmp/ofi_near.XXXXXX";

/* Write the file of the device below sysfs. */
static void put(const char *device, const char *text)
{
    char path[300], command[400];
    snprintf(path, sizeof path, "%s/%s", sysfs, device);
    snprintf(command, sizeof command, "mkdir -p '%s'", path);
    strcat(path, "/local_cpulist");
    FILE *f = system(command) == 0 ? fopen(path, "w") : NULL;
    if (!f || fputs(text, f) < 0 || fclose(f))
        abort();
}

static int near_by(const char *domain, int pci_bus, int cpu)
{
    struct fi_bus_attr bus = {.bus_type = FI_BUS_PCI, .attr.pci = {.domain_id = 1, .bus_id = (uint8_t)pci_bus}};
    struct fid_nic nic = {.bus_attr = &bus};
    struct fi_domain_attr attr = {.name = (char *)domain};
    struct fi_info info = {.domain_attr = &attr, .nic = pci_bus ? &nic : NULL};
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    return shi_ofi_near(sysfs, &info, &cpus);
}

/* Catches: a machine whose kernel has loaded its RDMA core, taken for one with a device. */
static void has_rdma(void)
{
    char path[64];
    if (!mkdtemp(sysfs))
        abort();
    CHECK(!shi_ofi_has_rdma(sysfs));
    put("class/infiniband", "");
    snprintf(path, sizeof path, "%s/class/infiniband/local_cpulist", sysfs);
    remove(path);
    CHECK(!shi_ofi_has_rdma(sysfs));
    put("class/infiniband/mlx5_0/device", "");
    CHECK(shi_ofi_has_rdma(sysfs));
}

/* Catches: a list of processors read wrongly, the device of another name, an unknown device that is never used. */
static void near(void)
{
    put("bus/pci/devices/0001:c1:00.0", "0-3,8,16-17\n");
    put("class/net/eth0/device", "4\n");
    put("class/infiniband/rdmap0s6/device", "8-15\n");
    put("class/cxi/cxi0/device", "\n");
    for (int cpu = 0; cpu < 20; cpu++)
        CHECKF(near_by("x", 0xc1, cpu) == (cpu <= 3 || cpu == 8 || cpu == 16 || cpu == 17), "processor %d", cpu);
    CHECK(near_by("eth0", 0, 4) && !near_by("eth0", 0, 3) && !near_by("eth0", 7, 3));
    CHECK(near_by("rdmap0s6-rdm", 0, 8) && !near_by("rdmap0s6-rdm", 0, 7));
    CHECK(near_by("cxi0", 0, 0) && near_by("eth1", 0, 0) && near_by(NULL, 0, 0));
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", sysfs);
    CHECK(system(command) == 0);
}

int main(void)
{
    RUN(share, "the PEs near some NICs use all of these evenly");
    RUN(far, "PEs without a NIC near them use all of the node");
    RUN(has_rdma, "an RDMA device, from sysfs");
    RUN(near, "processors near a NIC, from sysfs");
    return tap_end();
}
