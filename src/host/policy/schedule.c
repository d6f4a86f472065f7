/*
 * schedule.c - see schedule.h. Each constant names the situations in which it pays. "Two cores": a machine with two, on which PEs over
 * libfabric's tcp stand for nodes; bench/README.md has the figures.
 */
#include "host/policy/schedule.h"

/* Lengths in bytes, and members of one node. */
enum {
    /* What a record of the exchange buffers holds. Two cores, 2 to 8 nodes of one PE, 8 KiB: doubling is 1.5 to 1.6 times as fast as halving.
     * Clusters: half of the messages. */
    DOUBLING = 8192,
    /* Clusters only: scattered and gathered, the data crosses a link twice at most, down a tree log2(nodes) times (van de Geijn). With 16 nodes,
     * 2 us and 100 Gb/s that is 1.4 times as fast from here on. Two cores, 3 to 8 nodes: the tree is 1.2 to 2.7 times as fast. */
    TREE = 131072, TREE_NODES = 15,
    /* Two cores, 8 and 16 nodes of one PE: Bruck's index is 1.9 to 2.3 times as fast as pairwise with 8 B, 1.3 to 1.6 times with 1 KiB; 4 nodes
     * of 4 PEs, 8 and 128 B: 1.3 and 1.4 times as fast as by nodes. Clusters: log2(nodes) messages. It has to fit into the exchange
     * buffers. */
    INDEX = 2048,
    /* Two cores, 4 nodes of 4 PEs, 2 of 8: 2.5 to 3 times as fast as pairwise with 1 KiB, 1.5 times with 32 and 8 KiB. Clusters: as many
     * messages as other nodes, not PEs. */
    BY_NODES = 65536,
    /* Two cores, 16 KiB on one node: pulled, 2 and 4 PEs are 4.8 and 1.6 times as fast. Below it pushing spares the root a wait. */
    PULLED = 8192,
    /* Two cores, short reductions, collects, splits: direct exchanges of 2 PEs are 1.5 to 2.1 times as fast, of 4 about as fast, of 16 0.5 to
     * 0.8 times. */
    DIRECT = 4,
};

static const struct shi_rule rules[] = {
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_TREE, .nodes = {0, TREE_NODES}},
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_TREE, .bytes = {0, TREE}},
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_SCATTER_GATHER},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_DOUBLING, .bytes = {0, DOUBLING}},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_HALVING},
    {.of = SHI_COLL_ALLTOALL, .way = SHI_BY_INDEX, .bytes = {0, INDEX}},
    {.of = SHI_COLL_ALLTOALL, .way = SHI_BY_NODES, .pes = {2, 0}, .bytes = {0, BY_NODES}},
    {.of = SHI_COLL_ALLTOALL, .way = SHI_BY_PAIRWISE},
};
enum { N_RULES = sizeof rules / sizeof *rules };

const struct shi_rule *shi_schedule_rule(int i)
{
    return i < N_RULES ? &rules[i] : NULL;
}

static int within(struct shi_limits limits, size_t n)
{
    return n >= limits.least && (!limits.most || n <= limits.most);
}

static int holds(const struct shi_rule *r, enum shi_collective of, const struct shi_schedule_facts *f)
{
    return r->of == of && !(f->without >> r->way & 1) && within(r->nodes, (size_t)f->nodes) && within(r->pes, (size_t)f->pes) &&
           within(r->bytes, f->bytes);
}

enum shi_schedule shi_schedule_choose(enum shi_collective of, const struct shi_schedule_facts *f, const struct shi_rule *given, int n_given)
{
    for (int i = 0; f->nodes > 1 && i < n_given; i++)
        if (holds(&given[i], of, f))
            return given[i].way;
    int i = 0;
    while (!holds(&rules[i], of, f))
        i++;
    return rules[i].way;
}

int shi_schedule_has(enum shi_collective of, enum shi_schedule way)
{
    int i = 0;
    while (i < N_RULES && (rules[i].of != of || rules[i].way != way))
        i++;
    return i < N_RULES;
}

int shi_schedule_gathers(int nodes, int members)
{
    return nodes > 1 || members > DIRECT;
}

int shi_schedule_pulls(size_t bytes)
{
    return bytes >= PULLED;
}

/* Two cores: by dissemination 2 PEs are 1.8 times as fast; by counting 8 PEs 1.9 and 16 PEs 2.4 times, as each round costs a switch of
 * processes. Nodes with a core for each PE: ceil(log2 n) lines cross, and no counter that all change. */
enum shi_barrier shi_schedule_barrier(int oversubscribed)
{
    return oversubscribed ? SHI_BARRIER_COUNTING : SHI_BARRIER_DISSEMINATION;
}

enum shi_scan shi_schedule_scan(const struct shi_scan_facts *f)
{
    if (f->fits_exchange && (!f->gathered || !f->ordered))
        return SHI_SCAN_EXCHANGE;
    if (!f->ordered)
        return SHI_SCAN_READ;
    return f->gathered && f->fits_firsts ? SHI_SCAN_FIRSTS : SHI_SCAN_PARTS;
}
