/*
 * oshrun_place.c - the cores of this machine, and to which of them each PE is bound.
 */
#include "oshrun.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A minimal topology for PMIx, which would otherwise discover the whole machine, PCI included. */
static hwloc_topology_t topology_made_up(void)
{
    hwloc_topology_t t;

    if (hwloc_topology_init(&t) || hwloc_topology_set_synthetic(t, "pu:1") || hwloc_topology_load(t))
        abort();
    return t;
}

/* hwloc asks for the affinity with larger and larger masks until the kernel answers, so it never ends in a sandbox that refuses the call. */
static bool affinity_is_refused(void)
{
    unsigned long mask[1 << 12]; /* more processors than Linux supports */
    return syscall(SYS_sched_getaffinity, 0, sizeof mask, mask) < 0;
}

/* The cores in oshrun's own affinity mask: a container or taskset may exclude some. */
static hwloc_topology_t topology_of_machine(void)
{
    static hwloc_topology_t t;
    hwloc_bitmap_t mine;

    if (t)
        return t;
    if (affinity_is_refused())
        return t = topology_made_up();
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

static const hwloc_obj_type_t type_of[] = {
    [LEVEL_HWTHREAD] = HWLOC_OBJ_PU, [LEVEL_CORE] = HWLOC_OBJ_CORE, [LEVEL_NUMA] = HWLOC_OBJ_NUMANODE,
    [LEVEL_SOCKET] = HWLOC_OBJ_PACKAGE};

/* Where PE i of this machine runs: the PEs go to the parts of `map` in turn, and in each to its cores in turn. For `bind` to a
 * hardware thread, PEs that share a core get its threads in turn. NULL: nothing is known. */
static hwloc_obj_t nth(hwloc_topology_t t, int i, enum level map, enum level bind)
{
    hwloc_obj_type_t type = map == LEVEL_HWTHREAD ? HWLOC_OBJ_PU : HWLOC_OBJ_CORE;
    hwloc_const_cpuset_t within = hwloc_topology_get_topology_cpuset(t);
    int parts = map == LEVEL_NUMA || map == LEVEL_SOCKET ? hwloc_get_nbobjs_by_type(t, type_of[map]) : 0;

    if (parts > 0) {
        within = hwloc_get_obj_by_type(t, type_of[map], i % parts)->cpuset;
        i /= parts;
    }
    int n = hwloc_get_nbobjs_inside_cpuset_by_type(t, within, type);
    if (n < 1)
        return NULL;
    hwloc_obj_t o = hwloc_get_obj_inside_cpuset_by_type(t, within, type, i % n);
    int threads = bind == LEVEL_HWTHREAD ? hwloc_get_nbobjs_inside_cpuset_by_type(t, o->cpuset, HWLOC_OBJ_PU) : 0;
    return threads ? hwloc_get_obj_inside_cpuset_by_type(t, o->cpuset, HWLOC_OBJ_PU, i / n % threads) : o;
}

/* The part of this level that contains o; the machine where it has none. */
static hwloc_const_cpuset_t part_around(hwloc_topology_t t, hwloc_obj_t o, enum level level)
{
    hwloc_obj_t part = NULL;

    while ((part = hwloc_get_next_obj_by_type(t, type_of[level], part)))
        if (hwloc_bitmap_isincluded(o->cpuset, part->cpuset))
            return part->cpuset;
    return hwloc_topology_get_topology_cpuset(t);
}

static void pe_bind(struct pe *pe, hwloc_topology_t t, hwloc_const_cpuset_t set)
{
    int cpus = hwloc_bitmap_last(set) + 1;

    pe->mask = CPU_ALLOC(cpus);
    if (!pe->mask || hwloc_cpuset_to_glibc_sched_affinity(t, set, pe->mask, CPU_ALLOC_SIZE(cpus)))
        return;
    pe->nmask = CPU_ALLOC_SIZE(cpus);
    pe->cpuset = hwloc_bitmap_dup(set);
}

void *cores_assign(struct pe *pe, int npes, int first, const struct place *place)
{
    enum level map = place->map, bind = place->bind;
    bool chosen = bind != LEVEL_DEFAULT || (map != LEVEL_DEFAULT && map != LEVEL_NODE && map != LEVEL_SLOT);
    cpu_set_t cpus;

    /* a single PE is unbound by default: several jobs of one PE would all run on the first core */
    if (bind == LEVEL_NONE || first < 0 || (!chosen && npes == 1) ||
        (!chosen && !sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) < npes))
        return topology_made_up();
    hwloc_topology_t t = topology_of_machine();
    if (bind == LEVEL_DEFAULT)
        bind = map == LEVEL_HWTHREAD ? LEVEL_HWTHREAD : LEVEL_CORE;
    if (!chosen && hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE) < npes)
        return t;
    for (int i = 0; i < npes; i++) {
        hwloc_obj_t o = nth(t, first + i, map, bind);
        if (o)
            pe_bind(&pe[i], t, part_around(t, o, bind));
    }
    return t;
}

void place_report(FILE *f, const struct pe *pe)
{
    char host[256] = "", *cpus = NULL;

    gethostname(host, sizeof host - 1);
    if (pe->cpuset && hwloc_bitmap_list_asprintf(&cpus, pe->cpuset) < 0)
        out_of_memory();
    fprintf(f, "PE %d on %s, %s%s: %s\n", pe->rank, host, cpus ? "bound to CPUs " : "not bound", cpus ? cpus : "",
            pe->app->argv[0]);
    free(cpus);
}
