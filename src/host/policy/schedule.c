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
    TREE = 65536,
    INDEX_ALONE = 2048,
    INDEX = 128,
    BY_NODES = 65536,
    /* Two cores, 16 KiB on one node: pulled, 2 and 4 PEs are 4.8 and 1.6 times as fast. Below it pushing spares the root a wait. */
    PULLED = 8192,
    /* Two cores, short reductions, collects, splits: direct exchanges of 2 PEs are 1.5 to 2.1 times as fast, of 4 about as fast, of 16 0.5 to
     * 0.8 times. */
    DIRECT = 4,
};

static const struct shi_rule rules[] = {
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_TREE, .nodes = {0, 2}},
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_TREE, .bytes = {0, TREE}},
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_SCATTER_GATHER},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_DOUBLING, .bytes = {0, DOUBLING}},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_HALVING},
    {.of = SHI_COLL_ALLTOALL, .way = SHI_BY_INDEX, .pes = {0, 1}, .bytes = {0, INDEX_ALONE}},
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
