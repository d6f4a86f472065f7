/*
 * oshrun_place.c - the cores of this machine, and to which of them each PE is bound.
 */
#include "oshrun.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <sched.h>
#include <stdlib.h>

/* A minimal topology for PMIx, which would otherwise discover the whole machine, PCI included. */
static hwloc_topology_t topology_made_up(void)
{
    hwloc_topology_t t;

    if (hwloc_topology_init(&t) || hwloc_topology_set_synthetic(t, "pu:1") || hwloc_topology_load(t))
        abort();
    return t;
}

/* The cores in oshrun's own affinity mask: a container or taskset may exclude some. */
static hwloc_topology_t topology_of_machine(void)
{
    static hwloc_topology_t t;
    hwloc_bitmap_t mine;

    if (t)
        return t;
    bool quiet = !getenv("HWLOC_HIDE_ERRORS");
    if (quiet) /* no error messages in a container without sysfs */
        setenv("HWLOC_HIDE_ERRORS", "2", 1);
    if (hwloc_topology_init(&t))
        return t = topology_made_up();
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    bool failed = hwloc_topology_load(t) != 0;
    if (quiet) /* the PEs must not inherit it */
        unsetenv("HWLOC_HIDE_ERRORS");
    if (failed) {
        hwloc_topology_destroy(t);
        return t = topology_made_up();
    }
    mine = hwloc_bitmap_alloc();
    if (mine && !hwloc_get_cpubind(t, mine, HWLOC_CPUBIND_PROCESS))
        hwloc_topology_restrict(t, mine, 0);
    hwloc_bitmap_free(mine);
    return t;
}

int cores_count(void)
{
    int n = hwloc_get_nbobjs_by_type(topology_of_machine(), HWLOC_OBJ_CORE);

    return n > 0 ? n : 1;
}

static void pe_bind(struct pe *pe, hwloc_topology_t t, hwloc_obj_t core)
{
    int cpus = hwloc_bitmap_last(core->cpuset) + 1;

    pe->mask = CPU_ALLOC(cpus);
    if (!pe->mask || hwloc_cpuset_to_glibc_sched_affinity(t, core->cpuset, pe->mask, CPU_ALLOC_SIZE(cpus)))
        return;
    pe->nmask = CPU_ALLOC_SIZE(cpus);
    pe->cpuset = core->cpuset;
}

void *cores_assign(struct pe *pe, int npes, enum bind bind)
{
    cpu_set_t cpus;
    hwloc_topology_t t;
    int ncores;

    /* a single PE is unbound by default: several jobs of one PE would all run on the first core */
    if (bind == BIND_NONE || (bind == BIND_DEFAULT && npes == 1) ||
        (bind == BIND_DEFAULT && !sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) < npes))
        return topology_made_up();
    t = topology_of_machine();
    ncores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
    if (ncores < 1 || (bind == BIND_DEFAULT && ncores < npes))
        return t;
    for (int i = 0; i < npes; i++)
        pe_bind(&pe[i], t, hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, i % ncores));
    return t;
}
