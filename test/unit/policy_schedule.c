/* policy_schedule.c - tables of situations and of the schedule that a collective takes in them. */
#include "host/policy/schedule.h"

#include <stdio.h>
#include <string.h>

#include "../tap.h"

static const char *const name[SHI_SCHEDULES] = {"tree", "scatter", "doubling", "halving", "index", "nodes", "pairwise"};

/* Catches: a length, a number of nodes or of PEs a node that is on the wrong side of a limit; a schedule that is taken though it is
 * impossible. */
static void situations(void)
{
    enum { NO_DOUBLING = 1 << SHI_BY_DOUBLING, NO_INDEX = 1 << SHI_BY_INDEX, NO_NODES = 1 << SHI_BY_NODES };
    static const struct {
        enum shi_collective of;
        struct shi_schedule_facts facts; /* nodes, PEs a node, bytes, without */
        enum shi_schedule way;
    } of[] = {{SHI_COLL_BROADCAST, {2, 1, 8, 0}, SHI_BY_TREE},
              {SHI_COLL_BROADCAST, {15, 64, 1 << 20, 0}, SHI_BY_TREE},
              {SHI_COLL_BROADCAST, {16, 1, 131072, 0}, SHI_BY_TREE},
              {SHI_COLL_BROADCAST, {16, 1, 131073, 0}, SHI_BY_SCATTER_GATHER},
              {SHI_COLL_BROADCAST, {1000, 64, 1 << 30, 0}, SHI_BY_SCATTER_GATHER},
              {SHI_COLL_REDUCE, {2, 1, 8192, 0}, SHI_BY_DOUBLING},
              {SHI_COLL_REDUCE, {1000, 64, 8, 0}, SHI_BY_DOUBLING},
              {SHI_COLL_REDUCE, {2, 1, 8193, 0}, SHI_BY_HALVING},
              {SHI_COLL_REDUCE, {1, 64, 4096, NO_DOUBLING}, SHI_BY_HALVING},
              {SHI_COLL_ALLTOALL, {2, 1, 8, 0}, SHI_BY_INDEX},
              {SHI_COLL_ALLTOALL, {64, 1, 2048, 0}, SHI_BY_INDEX},
              {SHI_COLL_ALLTOALL, {64, 1, 2049, 0}, SHI_BY_PAIRWISE},
              {SHI_COLL_ALLTOALL, {64, 1, 8, NO_INDEX}, SHI_BY_PAIRWISE},
              {SHI_COLL_ALLTOALL, {64, 2, 2048, 0}, SHI_BY_INDEX},
              {SHI_COLL_ALLTOALL, {64, 2, 8, NO_INDEX}, SHI_BY_NODES},
              {SHI_COLL_ALLTOALL, {64, 64, 2049, 0}, SHI_BY_NODES},
              {SHI_COLL_ALLTOALL, {64, 64, 65536, 0}, SHI_BY_NODES},
              {SHI_COLL_ALLTOALL, {64, 64, 65537, 0}, SHI_BY_PAIRWISE},
              {SHI_COLL_ALLTOALL, {64, 64, 2049, NO_NODES}, SHI_BY_PAIRWISE}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        enum shi_schedule way = shi_schedule_choose(of[i].of, &of[i].facts, NULL, 0);
        CHECKF(way == of[i].way, "situation %zu: %d nodes of %d PEs, %zu bytes, without %x: %s", i, of[i].facts.nodes, of[i].facts.pes,
               of[i].facts.bytes, of[i].facts.without, name[way]);
    }
}

/* Catches: a collective whose last rule does not take everything, so that a situation has no schedule. */
static void complete(void)
{
    const struct shi_rule *last[SHI_COLLECTIVES_N] = {NULL}, *r;
    for (int i = 0; (r = shi_schedule_rule(i)); i++)
        last[r->of] = r;
    for (int of = 0; of < SHI_COLLECTIVES_N; of++) {
        r = last[of];
        CHECKF(r && !r->nodes.least && !r->nodes.most && !r->pes.least && !r->pes.most && !r->bytes.least && !r->bytes.most, "collective %d", of);
    }
}

static unsigned state = 7;

static int any(int most)
{
    return (int)(tap_random(&state) % (unsigned)(most + 1));
}

/* Random teams, calls and rules. Catches: a schedule that the collective does not have or that is impossible, a rule of the user that is not
 * the first one that holds. */
static void every_team(void)
{
    int wrong = 0;
    for (int i = 0; i < 200000 && !wrong; i++) {
        enum shi_collective of = (enum shi_collective)any(SHI_COLLECTIVES_N - 1);
        enum shi_schedule last = of == SHI_COLL_BROADCAST ? SHI_BY_SCATTER_GATHER : of == SHI_COLL_REDUCE ? SHI_BY_HALVING : SHI_BY_PAIRWISE;
        struct shi_schedule_facts f = {1 + any(40), 1 + any(70), (size_t)any(1 << any(20)), (unsigned)any((1 << SHI_SCHEDULES) - 1) & ~(1u << last)};
        struct shi_rule given[3];
        int first = -1;
        for (int k = 0; k < 3; k++) {
            given[k] = (struct shi_rule){(enum shi_collective)any(SHI_COLLECTIVES_N - 1), SHI_BY_TREE, {(size_t)any(9), 0}, {0, (size_t)any(70)}, {(size_t)any(99), 0}};
            while (!shi_schedule_has(given[k].of, given[k].way))
                given[k].way = (enum shi_schedule)any(SHI_SCHEDULES - 1);
            int holds = given[k].of == of && (size_t)f.nodes >= given[k].nodes.least && (!given[k].pes.most || (size_t)f.pes <= given[k].pes.most) &&
                        f.bytes >= given[k].bytes.least && !(f.without >> given[k].way & 1);
            first = first < 0 && holds && f.nodes > 1 ? k : first;
        }
        enum shi_schedule way = shi_schedule_choose(of, &f, given, 3);
        wrong += !shi_schedule_has(of, way) || f.without >> way & 1 || way != (first < 0 ? shi_schedule_choose(of, &f, NULL, 0) : given[first].way);
    }
    CHECK(!wrong);
}

/* Catches: a schedule that a collective does not have, or that another one alone has. */
static void has(void)
{
    static const char *const of[SHI_COLLECTIVES_N] = {"tree scatter", "doubling halving", "index nodes pairwise"};
    for (int c = 0; c < SHI_COLLECTIVES_N; c++)
        for (int w = 0; w < SHI_SCHEDULES; w++)
            CHECKF(!shi_schedule_has((enum shi_collective)c, (enum shi_schedule)w) == !strstr(of[c], name[w]), "collective %d: %s", c, name[w]);
}

static void short_ones(void)
{
    static const struct {
        int nodes, members, gathers;
    } of[] = {{1, 2, 0}, {1, 4, 0}, {1, 5, 1}, {1, 64, 1}, {2, 2, 1}, {64, 4096, 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        CHECKF(shi_schedule_gathers(of[i].nodes, of[i].members) == of[i].gathers, "%d nodes, %d members", of[i].nodes, of[i].members);
    CHECK(!shi_schedule_pulls(0) && !shi_schedule_pulls(8191) && shi_schedule_pulls(8192) && shi_schedule_pulls(1 << 30));
    CHECK(shi_schedule_barrier(0) == SHI_BARRIER_DISSEMINATION && shi_schedule_barrier(1) == SHI_BARRIER_COUNTING);
}

/* Catches: a schedule by nodes for a team whose members are no neighbours; one whose records do not fit; with records of the firsts in a team
 * that is not gathered, whose slot is used again while members read them. */
static void scans(void)
{
    static const struct {
        struct shi_scan_facts facts; /* gathered, ordered, fits_exchange, fits_firsts */
        enum shi_scan way;
    } of[] = {{{0, 1, 1, 1}, SHI_SCAN_EXCHANGE}, {{0, 1, 0, 1}, SHI_SCAN_PARTS}, {{0, 1, 0, 0}, SHI_SCAN_PARTS}, {{1, 1, 1, 1}, SHI_SCAN_FIRSTS},
              {{1, 1, 0, 1}, SHI_SCAN_FIRSTS}, {{1, 1, 0, 0}, SHI_SCAN_PARTS}, {{1, 0, 1, 1}, SHI_SCAN_EXCHANGE}, {{1, 0, 0, 1}, SHI_SCAN_READ},
              {{1, 0, 0, 0}, SHI_SCAN_READ}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        CHECKF(shi_schedule_scan(&of[i].facts) == of[i].way, "situation %zu", i);
}

int main(void)
{
    RUN(situations, "the schedules between nodes");
    RUN(complete, "each collective has a schedule for every length and number of nodes");
    RUN(every_team, "random teams, calls and rules");
    RUN(has, "the schedules of each collective");
    RUN(short_ones, "exchanges, long broadcasts and barriers of a node");
    RUN(scans, "prefix sums");
    return tap_end();
}
