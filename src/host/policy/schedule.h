/*
 * schedule.h - which schedule a collective takes: facts of the team and the call in, a decision out. Functions here have no state and make no
 * calls. All members of a team must decide alike, so facts are those that are equal on all of them.
 */
#ifndef SHI_SCHEDULE_H
#define SHI_SCHEDULE_H

#include <stddef.h>

/* Collectives between nodes for which there are several schedules. */
enum shi_collective { SHI_COLL_BROADCAST, SHI_COLL_REDUCE, SHI_COLL_ALLTOALL, SHI_COLLECTIVES_N };

enum shi_schedule { SHI_BY_TREE, SHI_BY_SCATTER_GATHER, SHI_BY_DOUBLING, SHI_BY_HALVING, SHI_BY_INDEX, SHI_BY_NODES, SHI_BY_PAIRWISE,
                    SHI_SCHEDULES };

/* most 0: no upper limit. */
struct shi_limits {
    size_t least, most;
};

struct shi_rule {
    enum shi_collective of;
    enum shi_schedule way;
    struct shi_limits nodes, pes; /* pes: of the node that has most */
    struct shi_limits bytes;      /* of one member's contribution; alltoall: from one member to another */
};

/* A team and a call. */
struct shi_schedule_facts {
    int nodes, pes;   /* pes: of the node that has most */
    size_t bytes;     /* as in a rule */
    unsigned without; /* a bit, 1 << way, for each schedule that is impossible, as the team's buffers or its order do not serve it */
};

/* The built-in rule i, or NULL after the last. The last rule of each collective has no limits, and its schedule is always possible. */
const struct shi_rule *shi_schedule_rule(int i);

/* The schedule of the first rule of the collective whose limits hold and whose schedule is possible: of `given`, where the team has several
 * nodes, then of the built-in ones. */
enum shi_schedule shi_schedule_choose(enum shi_collective of, const struct shi_schedule_facts *f, const struct shi_rule *given, int n_given);

/* Does the collective have such a schedule? */
int shi_schedule_has(enum shi_collective of, enum shi_schedule way);

/* Do exchanges of short records go through the first member of each node? 0: each member stores into every other's slot. */
int shi_schedule_gathers(int nodes, int members);

/* Does one member of a node read what another has, instead of getting it stored? */
int shi_schedule_pulls(size_t bytes);

/* Barriers of one node. oversubscribed: it may have more PEs than cores. */
enum shi_barrier { SHI_BARRIER_DISSEMINATION, SHI_BARRIER_COUNTING };
enum shi_barrier shi_schedule_barrier(int oversubscribed);

/*
 * Prefix sums: all members exchange their elements; a node's first member combines for its node, and the firsts in rounds; each member
 * does that for a part of the array; all members in rounds, by reads.
 */
enum shi_scan { SHI_SCAN_EXCHANGE, SHI_SCAN_FIRSTS, SHI_SCAN_PARTS, SHI_SCAN_READ };

/* ordered: the members of each node are neighbours in the team; fits: the elements fit into the records of an exchange, or of the firsts. */
struct shi_scan_facts {
    int gathered, ordered, fits_exchange, fits_firsts;
};
enum shi_scan shi_schedule_scan(const struct shi_scan_facts *f);

#endif
