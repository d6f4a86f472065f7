/* reach.c - shmemx_pe_reach: by which way this PE reaches memory of another, and an order of the costs. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx_memory.h>
#include <string.h>

#include "host/net/stream/stream.h"
#include "host/ops/added.h"
#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/util/log.h"
#include "host/util/numa.h"

/* Distances: of loads and stores that of the NUMA nodes, at least LOCAL; FAR more for each step away from them. */
enum { LOCAL = 10, FAR = 1000 };

/* The NUMA node on which a PE of this node allocates, as long as its cores are all of one: -1: unknown. */
static int node_of(int pe)
{
    cpu_set_t cpus;
    _Static_assert(sizeof cpus >= sizeof shi_world.shm.region->cpus, "all of the mask");
    memset(&cpus, 0, sizeof cpus);
    memcpy(&cpus, shi_world.shm.region[shi_world.peer[pe].rank].cpus, sizeof shi_world.shm.region->cpus);
    return shi_numa_node_of("/sys", &cpus);
}

/* Of host memory that this PE loads and stores; bound: the node of its pages, or -1. */
static int load_store_distance(int pe, int bound)
{
    if (pe == shi_world.pe && bound < 0)
        return 0;
    return shi_numa_distance("/sys", node_of(shi_world.pe), bound < 0 ? node_of(pe) : bound, LOCAL);
}

/* The region and place of a symmetric address; -1: it is not one. */
static int find(const struct shi_peer *p, const void *addr, struct shi_remote_addr *out)
{
    return shi_remote_addr_of(p, SHI_READ, addr, 1, out) ? -1 : 0;
}

static int over_network(int pe, enum shi_region region)
{
    return shi_stream_reaches(pe, region) ? SHMEMX_REACH_NETWORK : SHMEMX_REACH_MESSAGES;
}

/* Can the host's or this PE's kernels' loads and stores reach device memory of PE pe? */
static void device_ways(const struct shi_peer *p, enum shi_region region, shmemx_reach_t *r)
{
    int added = region >= SHI_REGION_ADDED, i = (int)(region - SHI_REGION_ADDED);
    const void *mapped = added ? shi_added_at(i)->at[p->pe] : shi_dheap_of(p->pe);
    const void *direct = added ? mapped : shi_dheap_direct(p->pe);
    int far = mapped || !p->remote ? SHMEMX_REACH_DEVICE : over_network(p->pe, region);
    r->how = mapped && !shi_world.dev_private ? SHMEMX_REACH_LOAD_STORE : far;
    r->kernels = direct && shi_world.config.device_direct ? SHMEMX_REACH_LOAD_STORE : far;
}

SHI_DEF(int, shmemx_pe_reach, (const void *addr, int pe, shmemx_reach_t *reach))
{
    struct shi_remote_addr at;
    shi_need_up(__func__);
    *reach = (shmemx_reach_t){.how = SHMEMX_REACH_NONE};
    if (pe < 0 || pe >= shi_world.n_pes)
        return -1;
    const struct shi_peer *p = &shi_world.peer[pe];
    if (find(p, addr, &at))
        return -1;
    int i = at.region >= SHI_REGION_ADDED ? (int)(at.region - SHI_REGION_ADDED) : -1;
    if (at.region == SHI_REGION_DEVICE || (i >= 0 && shi_added_at(i)->device)) {
        reach->memory = SHMEMX_MEMORY_DEVICE;
        device_ways(p, at.region, reach);
        reach->distance = reach->how == SHMEMX_REACH_LOAD_STORE ? load_store_distance(pe, -1) : (reach->how - 1) * FAR;
        return 0;
    }
    reach->how = shi_reach_read(p, addr, 1) ? SHMEMX_REACH_LOAD_STORE : over_network(pe, at.region);
    reach->distance = reach->how == SHMEMX_REACH_LOAD_STORE ? load_store_distance(pe, i < 0 ? -1 : shi_added_at(i)->of[pe])
                                                            : (reach->how - 1) * FAR;
    return 0;
}
